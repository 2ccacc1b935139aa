"""The model: it only proposes."""

from typing import Protocol

from checkrein.contracts.context import CompiledContext
from checkrein.contracts.proposal import ModelReply


class Model(Protocol):
    """One language model behind one name."""

    @property
    def name(self) -> str:
        """How people name it, for example `scripted:decisions.yaml` or `openai:gpt-5`."""
        ...

    @property
    def max_output_tokens(self) -> int:
        """The most tokens that one reply may use; reserved before each call."""
        ...

    async def respond(self, context: CompiledContext) -> ModelReply:
        """Call the model once and return its reply unread.

        The reply's raw bytes are a RawReply in ASCII JSON. Usage is the provider's where it
        reports one, else an estimate that errs high. The turn is `context.turn`; a scripted model
        answers by it, never by counting messages.

        Raises:
            ModelError: retryable for a passing fault (connection, rate limit, 5xx), else not.
        """
        ...

    def closing_note(self, turns: int) -> str | None:
        """Return a warning for people once the attempt ended after `turns` turns, or None."""
        ...
