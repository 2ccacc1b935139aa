"""What decides in a commit attempt: no model, but one fixed proposal, and then the end."""

from typing import Any

from checkrein.contracts.codec import canonical
from checkrein.contracts.context import CompiledContext
from checkrein.contracts.proposal import ModelReply, RawCall, RawReply, Usage


class CommitProposer:
    """ports.model.Model of a commit attempt: it proposes the commit in turn 1, and stops."""

    max_output_tokens = 1
    """It uses none; a call reserves at least one."""

    def __init__(self, by: str, tool: str, args: dict[str, Any]) -> None:
        """`tool`: the name by which models call the capability."""
        self.name = f"commit:{by}"
        self._tool = tool
        self._args = args

    async def respond(self, context: CompiledContext) -> ModelReply:
        """The same for each turn, however often it is asked."""
        if context.turn == 1:
            call = RawCall(call_id="commit-1", name=self._tool, args=self._args)
            reply = RawReply(
                text="The commit authority hands over what was verified.", calls=[call]
            )
        else:
            reply = RawReply(text="The final commit was made; look whether it holds.")
        raw = canonical(reply.model_dump(mode="json")).decode().encode("ascii", "backslashreplace")
        return ModelReply(raw=raw, usage=Usage(), model_id=self.name)

    def closing_note(self, turns: int) -> str | None:
        """Nothing to say."""
        return None
