"""Attempts whose loop is not ours: what a middleware asks of the harness, and no more."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple, cast

from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from langchain_core.tools import BaseTool

from checkrein.adapters.governed_tool import govern
from checkrein.adapters.loop_model import Call, LoopModel, again, heard, offered, said_in
from checkrein.attempt_ports import Opener
from checkrein.compose import Parts
from checkrein.contracts.approval import ApprovalStatus, Approver
from checkrein.contracts.event import ApprovalShown
from checkrein.contracts.task import TaskContract
from checkrein.graph.approvals import answer_approval
from checkrein.graph.lifecycle import FrontDoor
from checkrein.graph.report import Report, report
from checkrein.nodes import messages
from checkrein.nodes.guests import sent
from checkrein.nodes.offer import payload
from checkrein.nodes.proposals import read_reply
from checkrein.nodes.run import Guest
from checkrein.nodes.waiting import waiting_for
from checkrein.ports.capability import Capability, CapabilitySpec
from checkrein.studio_answers import addressed, decision


class Heard(NamedTuple):
    """What came of a model call: the model's message, with the call ids that the record has.

    There is none where the attempt has ended, or must wait, before its model was called.
    """

    report: Report
    message: AIMessage | None


Tool = Capability | BaseTool | Callable[..., Any]
"""A tool as the harness runs it, or one that nobody declared, which is taken at its worst."""


def governed(tools: Sequence[Tool]) -> tuple[Capability, ...]:
    """The capabilities of an agent's tools.

    Raises:
        InputError: a tool cannot be used (code capability_unusable).
    """
    return tuple(_governed(tool) for tool in tools)


def _governed(tool: Tool) -> Capability:
    if isinstance(getattr(tool, "spec", None), CapabilitySpec):
        return cast(Capability, tool)
    return govern(cast("BaseTool | Callable[..., Any]", tool))


class Guests:
    """The harness for one loop that is not ours."""

    def __init__(self, parts: Parts, governed: Sequence[Capability], name: str) -> None:
        """`governed`: its tools as capabilities. `name`: its model's."""
        self._parts = parts
        self._governed = tuple(governed)
        self._name = name

    async def begin(self, contract: TaskContract) -> Report:
        """Create a task with its first attempt. Raises as `Harness.run` does."""
        return await self._door(LoopModel(self._name)).begin(contract)

    async def status(self, attempt_id: str) -> Report:
        """Where an attempt stands."""
        return await report(self._parts.records, attempt_id)

    async def go_on(self, attempt_id: str) -> Report:
        """Take up what people said meanwhile."""
        return await self._door(LoopModel(self._name)).step(attempt_id, Guest())

    async def ask(
        self,
        attempt_id: str,
        said: Sequence[BaseMessage],
        tools: Sequence[BaseTool | dict[str, Any]],
        call: Call,
        most: int | None,
    ) -> Heard:
        """Have the loop's model called, once, within the budgets and on record."""
        model = LoopModel(self._name, call, most)
        door = self._door(model)
        given = Guest(messages=heard(said), tools=offered(tools))
        found = await door.step(attempt_id, given)
        if model.response is None and model.fault is not None:
            raise model.fault
        if model.response is None and not found.status.is_terminal and found.waiting_for is None:
            # An effect was on its way, or calls of an earlier turn were: they went first.
            found = await door.step(attempt_id, given)
        position = await self._parts.records.position(attempt_id)
        turn = position.turn
        if turn is None or turn.raw_ref is None or turn.sent != sent(heard(said), offered(tools)):
            return Heard(found, None)  # what is on record is the answer to something else
        reply = read_reply(await self._parts.events.blob(turn.raw_ref))
        own = said_in(model.response)
        if not isinstance(own, AIMessage):
            return Heard(found, again(reply))
        names = [call.call_id for call in reply.calls]
        calls = [one | {"id": name} for one, name in zip(own.tool_calls, names, strict=False)]
        return Heard(found, own.model_copy(update={"tool_calls": calls}))

    async def run(self, attempt_id: str, call_id: str) -> ToolMessage | None:
        """Have one call run that the loop has come to, or find what came of it before.

        None where nothing came of it: it is none of the newest turn, or it waits for somebody.
        """
        door = self._door(LoopModel(self._name))
        done = await self._result(attempt_id, call_id)
        if done is None:
            await door.step(attempt_id, Guest(arrived=frozenset({call_id})))
            done = await self._result(attempt_id, call_id)
        return done

    async def args_of(self, attempt_id: str, call_id: str) -> dict[str, Any] | None:
        """The arguments that a call of the newest turn was judged with."""
        position = await self._parts.records.position(attempt_id)
        for state in position.actions:
            if state.action.call_id == call_id:
                return state.action.args
        return None

    async def say(self, attempt_id: str, text: str, by: str) -> None:
        """Take a person's next message for the answer that the attempt waits for, if it does."""
        waiting = waiting_for(await self._parts.records.position(attempt_id))
        if waiting is not None and "answer" in waiting.answers:
            await self._parts.front_door.answer(attempt_id, text, by=by)

    async def shown(self, attempt_id: str, place: str) -> list[str]:
        """The requests that pauses at this place have shown, in order; empty for other waits."""
        told = [event.read() for event in await self._parts.events.read(attempt_id)]
        return [p.approval_id for p in told if isinstance(p, ApprovalShown) and p.place == place]

    async def show(self, found: Report, place: str, pause: int) -> str:
        """Choose the request that a pause shows; an empty id where another thing is waited for.

        It is on record before anybody sees it, so that an answer is taken for nothing else.
        """
        shown = found.approvals[0].approval_id if found.approvals else ""
        told = ApprovalShown(approval_id=shown, place=place, pause=pause)
        await self._parts.events.append(found.attempt_id, [told], fence=None)
        return shown

    async def asked(self, approval_id: str, waiting_for: str | None = None) -> dict[str, Any]:
        """What a pause is about, in the shape that LangChain's UIs know."""
        if not approval_id:
            return {"kind": "waiting", "waiting_for": waiting_for}
        request, _ = await self._parts.records.approval(approval_id)
        return payload(request)

    async def answer(self, approval_id: str, said: Any, by: str) -> None:
        """Store a person's answer to one request; nothing where it is not open any more.

        Raises:
            InputError: it cannot be read, or the person may not give it.
        """
        request, _ = await self._parts.records.approval(approval_id)
        if request.status is not ApprovalStatus.PENDING:
            return
        spoken = decision(addressed(said, ""), request)
        who = Approver(name=by, authenticated=False)
        await answer_approval(self._parts.events, self._parts.records, approval_id, spoken, who)

    async def _result(self, attempt_id: str, call_id: str) -> ToolMessage | None:
        position = await self._parts.records.position(attempt_id)
        if position.turn is None:
            return None
        turn = position.turn.turn
        past = await self._parts.records.history(attempt_id, before=turn + 1, limit=1)
        for observation in past[-1].observations if past else ():
            if observation.call_id == call_id and observation.turn == turn:
                shown = messages.result(observation)
                return ToolMessage(
                    content=shown.text,
                    tool_call_id=call_id,
                    name=observation.name,
                    status="error" if shown.failed else "success",
                )
        return None

    def _door(self, model: LoopModel) -> FrontDoor:
        door = self._parts.front_door
        opener = cast(Opener, door.opener)
        given = replace(
            opener.given,
            model=None,
            decider=model,
            capabilities=(*opener.given.capabilities, *self._governed),
        )
        return door.through(replace(opener, given=given))
