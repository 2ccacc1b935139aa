"""The harness inside of an agent of LangChain's `create_agent`: theirs stays the loop.

    async with Harness.open(policy="policies/refunds") as harness:
        guard = HarnessMiddleware(harness, [refund])
        agent = create_agent(model, [refund_tool], middleware=[guard], checkpointer=saver)

Every model call is on record and within the budgets; every tool call goes through the policy, a
person's approval where one is asked for, and the ledger. What the tool node would run is replaced
by the harness's own door, innermost, so that no other middleware's order or jump leads around it.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from typing import Annotated, Any, NoReturn, NotRequired, cast
from weakref import WeakValueDictionary

from langchain.agents.middleware.types import (
    AgentMiddleware,
    AgentState,
    ModelRequest,
    ModelResponse,
    PrivateStateAttr,
    ToolCallRequest,
    hook_config,
)
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from langchain_core.tools import BaseTool
from langgraph.runtime import Runtime
from langgraph.types import Command, interrupt
from pydantic import ConfigDict

from checkrein.contracts.attempt import AttemptStatus
from checkrein.contracts.task import TaskContract
from checkrein.errors import ConflictError, InputError
from checkrein.graph.report import Report
from checkrein.guests import Guests, Tool, governed
from checkrein.harness import Harness

MAX_GOAL = 20_000
"""Characters of a person's message that become an attempt's goal."""

_OP = "middleware"


class HarnessState(AgentState[Any]):
    """What the middleware keeps in the agent's state: which attempt this thread works on."""

    checkrein_attempt: NotRequired[Annotated[str, PrivateStateAttr]]


class HarnessMiddleware(AgentMiddleware[HarnessState, Any, Any]):
    """Puts every model call and every tool call of an agent under the harness.

    It is async only: call the agent by `ainvoke` or `astream`. One attempt lasts from a person's
    message to the agent's last answer, which is checked as any candidate is; an answer that is
    refused goes back to the model with what was found.
    """

    state_schema = HarnessState

    def __init__(
        self,
        harness: Harness,
        tools: Sequence[Tool] = (),
        *,
        contract: TaskContract | None = None,
        requested_by: str = "local",
        approvers: Sequence[str] = (),
        answered_by: str | None = None,
        unnamed: bool = False,
    ) -> None:
        """Put an agent under a harness that is open for as long as the agent runs.

        Args:
            harness: an open harness; its policy judges.
            tools: the agent's tools, as capabilities (`govern`, `@capability`). One that is given
                as it is counts as the worst that a tool can be; a call of any other is refused.
            contract: budgets, approval rules and checks of each attempt. Its goal is replaced by
                the person's message. None: every tool is granted, and the answer is checked for
                nothing but that the policy was obeyed throughout.
            requested_by: whom the attempts are for.
            approvers: who has the role `approver`, where no `contract` names people.
            answered_by: in whose name a value that the agent is resumed with answers. None: such a
                value only rings, and answers come by `checkrein approve` or `Harness.approve`.
            unnamed: take an answer that does not say by `approval_id` which request it is to, as
                UIs send it. A second click on one question is then an answer to the next.
        """
        super().__init__()
        self.tools = []
        self._governed = governed(tools)
        self._contract = contract
        self._requested_by = requested_by
        self._approvers = list(approvers)
        self._answered_by = answered_by
        self._unnamed = unnamed
        self._harness = harness
        # Gone with the last call that holds it: a process may serve attempts without end.
        self._locks = WeakValueDictionary[str, asyncio.Lock]()

    @property
    def name(self) -> str:
        """The middleware's name in the agent's graph."""
        return "HarnessMiddleware"

    # --- a person's message ------------------------------------------------------------------

    async def abefore_agent(
        self, state: HarnessState, runtime: Runtime[Any]
    ) -> dict[str, Any] | None:
        """Begin an attempt for a person's message, unless one is going on."""
        guests = self._guests("")
        before = state.get("checkrein_attempt")
        said = _said(state["messages"])
        if before is not None and not (await guests.status(before)).status.is_terminal:
            await guests.say(before, said, self._requested_by)
            return None
        begun = await guests.begin(self._asked(said))
        return {"checkrein_attempt": begun.attempt_id}

    async def abefore_model(
        self, state: HarnessState, runtime: Runtime[Any]
    ) -> dict[str, Any] | None:
        """Wait here for what people must say before the model is asked again."""
        await self._waited(self._attempt_of(state), runtime)
        return None

    # --- the model -----------------------------------------------------------------------------

    async def awrap_model_call(
        self,
        request: ModelRequest[Any],
        handler: Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]],
    ) -> ModelResponse[Any] | AIMessage:
        """Have the agent's own call made within the budgets, once, and judge what it proposes."""
        attempt_id = self._attempt_of(cast(HarnessState, request.state))
        said: list[BaseMessage] = list(request.messages)
        if request.system_message is not None:
            said.insert(0, request.system_message)
        made: list[ModelResponse[Any]] = []

        async def call() -> ModelResponse[Any]:
            made.append(await handler(request))
            return made[-1]

        guests = self._guests(_named(request.model))
        async with self._lock(attempt_id):
            heard = await guests.ask(attempt_id, said, request.tools, call, _most(request))
        if heard.message is None:
            return _stopped(heard.report)
        if not made:
            return heard.message  # an earlier process had it answered
        result = [heard.message if isinstance(m, AIMessage) else m for m in made[-1].result]
        return replace(made[-1], result=result)

    @hook_config(can_jump_to=["model"])
    async def aafter_model(
        self, state: HarnessState, runtime: Runtime[Any]
    ) -> dict[str, Any] | None:
        """Wait for the people who must approve; send a refused answer back to the model."""
        attempt_id = self._attempt_of(state)
        found = await self._waited(attempt_id, runtime)
        last = state["messages"][-1]
        claims = isinstance(last, AIMessage) and not last.tool_calls
        if not claims or found.status is AttemptStatus.CANDIDATE_VERIFIED:
            return None
        if found.status.is_terminal:
            return {"messages": [_stopped(found)]}
        gaps = "" if found.verification is None else _listed(found.verification.gaps)
        if not gaps:
            return None
        text = f"The harness checked your answer and did not accept it:\n{gaps}"
        return {"messages": [HumanMessage(content=text)], "jump_to": "model"}

    # --- the tools -----------------------------------------------------------------------------

    async def awrap_tool_call(
        self,
        request: ToolCallRequest,
        handler: Callable[[ToolCallRequest], Awaitable[ToolMessage | Command[Any]]],
    ) -> ToolMessage | Command[Any]:
        """Put the harness's door in the tool's place, for whatever the others hand on."""
        attempt_id = self._attempt_of(cast(HarnessState, request.state))
        door = _Door(
            name=request.tool_call["name"],
            description="The harness's door.",
            opened=lambda name, args, call_id: self._called(attempt_id, name, args, call_id),
        )
        changed = request.override()
        object.__setattr__(changed, "tool", door)
        return await handler(changed)

    async def _called(
        self, attempt_id: str, name: str, args: dict[str, Any], call_id: str
    ) -> ToolMessage:
        guests = self._guests("")
        async with self._lock(attempt_id):
            judged = await guests.args_of(attempt_id, call_id)
            if judged is not None and judged != args:
                return _refused(
                    name,
                    call_id,
                    "its arguments were changed after it was judged; call it anew with those",
                )
            done = await guests.run(attempt_id, call_id)
            if done is not None:
                return done
            found = await guests.status(attempt_id)
        if found.status.is_terminal:
            return _refused(name, call_id, f"the attempt has ended ({found.status})")
        why = found.waiting_for or "nobody proposed it in this turn"
        return _refused(name, call_id, why)

    # --- what nobody may do --------------------------------------------------------------------

    def before_agent(self, state: HarnessState, runtime: Runtime[Any]) -> NoReturn:
        """Refuse a synchronous call, which would go around all of this."""
        raise InputError(
            "An agent under the harness is async only. Call it by `ainvoke` or `astream`.",
            op=_OP,
            code="async_only",
        )

    # -------------------------------------------------------------------------------------------

    async def _waited(self, attempt_id: str, runtime: Runtime[Any]) -> Report:
        """Where the attempt stands once nobody must say anything any more.

        A node that paused is entered anew from its first line, and gets what it was resumed with by
        the number of the pause. So each pause is answered for what it has shown, by the record.
        """
        guests, place = self._guests(""), _place(runtime)
        found = await guests.status(attempt_id)
        if not found.status.is_suspended:
            return found
        earlier, problem = await guests.shown(attempt_id, place), ""
        for shown in earlier:
            said = interrupt(await guests.asked(shown))
            problem = await self._heard(guests, shown, said)
        found = await guests.go_on(attempt_id)
        pause = len(earlier)
        while found.status.is_suspended:
            shown = await guests.show(found, place, pause)
            asked = await guests.asked(shown, found.waiting_for)
            said = interrupt(asked | {"problem": problem} if problem else asked)
            problem = await self._heard(guests, shown, said)
            found = await guests.go_on(attempt_id)
            pause += 1
        return found

    async def _heard(self, guests: Guests, approval_id: str, said: Any) -> str:
        """Store an answer; returns what is wrong with it, for whoever is asked again.

        Nothing is raised: LangGraph keeps what a node was resumed with, and one that fails on it
        would fail on it for ever.
        """
        if not approval_id or self._answered_by is None:
            return ""
        meant = cast("dict[str, Any]", said).get("approval_id") if isinstance(said, dict) else None
        if meant != approval_id and (meant is not None or not self._unnamed):
            return (
                f"An answer says which request it is to: resume with approval_id={approval_id} "
                "beside the decisions."
            )
        try:
            await guests.answer(approval_id, said, self._answered_by)
        except (InputError, ConflictError) as error:
            return str(error)
        return ""

    def _asked(self, goal: str) -> TaskContract:
        if self._contract is not None:
            return self._contract.model_copy(update={"goal": goal})
        return TaskContract.model_validate(
            {
                "goal": goal,
                "requested_by": self._requested_by,
                "capabilities": [one.spec.name for one in self._governed],
                "success": [{"policy_obeyed": {}}],
                "approvals": {"roles": {"approver": self._approvers} if self._approvers else {}},
                "policy": self._harness.policy,
            }
        )

    def _attempt_of(self, state: HarnessState) -> str:
        attempt_id = state.get("checkrein_attempt")
        if attempt_id is None:
            raise InputError(
                "This agent's state names no attempt: HarnessMiddleware did not see the beginning. "
                "Start the agent by a message, and give it a checkpointer.",
                op=_OP,
                code="no_attempt",
            )
        return attempt_id

    def _lock(self, attempt_id: str) -> asyncio.Lock:
        """Parallel calls of one turn, one after the other: an attempt has one owner."""
        lock = self._locks.get(attempt_id)
        if lock is None:
            self._locks[attempt_id] = lock = asyncio.Lock()
        return lock

    def _guests(self, model: str) -> Guests:
        return self._harness.guests(self._governed, model or "agent")


class _Door(BaseTool):
    """What the tool node runs in a tool's place."""

    model_config = ConfigDict(arbitrary_types_allowed=True)

    opened: Callable[[str, dict[str, Any], str], Awaitable[ToolMessage]]

    async def ainvoke(self, input: Any, config: Any = None, **kwargs: Any) -> Any:
        """The whole call, as the tool node hands it over."""
        return await self.opened(input["name"], input["args"], input["id"])

    def _run(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise InputError("The harness's door is async only.", op=_OP, code="async_only")


def _said(messages: Sequence[BaseMessage]) -> str:
    people = [message.text for message in messages if isinstance(message, HumanMessage)]
    return (people[-1] if people else "")[:MAX_GOAL].strip() or "Answer the person."


def _place(runtime: Runtime[Any]) -> str:
    info = runtime.execution_info
    return "" if info is None else info.task_id


def _refused(name: str, call_id: str, why: str) -> ToolMessage:
    text = f"The harness did not run this call: {why}."
    return ToolMessage(content=text, tool_call_id=call_id, name=name, status="error")


def _stopped(found: Report) -> AIMessage:
    gaps = "" if found.verification is None else _listed(found.verification.gaps)
    why = found.waiting_for or gaps or found.detail or "see `checkrein status`"
    return AIMessage(
        content=f"The harness stopped attempt {found.attempt_id} ({found.status}): {why}"
    )


def _listed(gaps: Sequence[str]) -> str:
    return "\n".join(f"- {gap}" for gap in gaps)


def _named(model: Any) -> str:
    for key in ("model_name", "model"):
        value = getattr(model, key, None)
        if isinstance(value, str) and value:
            return value
    return type(model).__name__


def _most(request: ModelRequest[Any]) -> int | None:
    for given in (
        request.model_settings.get("max_tokens"),
        getattr(request.model, "max_tokens", None),
    ):
        if isinstance(given, int) and given > 0:
            return given
    return None
