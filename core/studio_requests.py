"""What a signed-in person may ask of a thread, and the one place where the server takes answers.

A client of LangGraph's server can send any command. Only an answer to what is pending goes on, and
not its content: that is stored here, under the name of who is signed in.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, NoReturn, cast

from langgraph_sdk import Auth, get_client
from langgraph_sdk.errors import NotFoundError

from checkrein.compose import Parts
from checkrein.contracts.approval import ApprovalStatus, Approver
from checkrein.contracts.token import TokenScope
from checkrein.errors import ConflictError, InputError
from checkrein.graph.approvals import answer_approval
from checkrein.nodes.waiting import waiting_for
from checkrein.ports.records import Position
from checkrein.studio_answers import addressed, decision, text
from checkrein.studio_people import Person

DOORBELL = "look in the database"
"""All that the graph is told when it is resumed."""

_OP = "studio.run"


class Thread(NamedTuple):
    """A thread as the server sees it."""

    busy: bool
    interrupts: Sequence[Mapping[str, Any]]


async def look(thread_id: str) -> Thread | None:
    """Ask the server itself, as the person who is signed in; None for no such thread."""
    async with get_client(url=None, api_key=None) as client:
        try:
            found = await client.threads.get(thread_id)
        except NotFoundError:
            return None
    # A thread that never ran has no such key, whatever the type says.
    raised = [one for several in (found.get("interrupts") or {}).values() for one in several]
    return Thread(found["status"] == "busy", cast("list[Mapping[str, Any]]", raised))


async def head(thread_id: str) -> str | None:
    """The id of the thread's newest checkpoint; None where it has none, or is not there."""
    async with get_client(url=None, api_key=None) as client:
        try:
            state = await client.threads.get_state(thread_id)
        except NotFoundError:
            return None
    # Null where there is none, whatever the type says.
    checkpoint = cast("Mapping[str, str] | None", state["checkpoint"])
    return checkpoint.get("checkpoint_id") if checkpoint else None


async def check(value: dict[str, Any]) -> None:
    """Refuse whatever leads around the graph's own order, whoever asks for it.

    Raises:
        HTTPException: 403, with what to do instead.
    """
    kwargs: dict[str, Any] = value["kwargs"]
    command: dict[str, Any] = kwargs.get("command") or {}
    for name in ("goto", "update"):
        if command.get(name):
            _forbid(f"`command.{name}` is refused", "answer what is pending by `command.resume`")
    for name in ("interrupt_before", "interrupt_after", "webhook"):
        if kwargs.get(name):
            _forbid(f"`{name}` is refused", "leave it out")
    if value["multitask_strategy"] in {"interrupt", "rollback"}:
        _forbid(
            f"The strategy {value['multitask_strategy']} is refused",
            "stop the attempt with `checkrein pause` or `checkrein cancel`",
        )
    if value["thread_id"] is None or kwargs.get("temporary"):
        _forbid("A run without a thread is refused", "create a thread first")
    await _check_place(str(value["thread_id"]), kwargs["config"]["configurable"])


async def _check_place(thread_id: str, configurable: dict[str, Any]) -> None:
    """A run goes on from where its own thread stands, and from nowhere else."""
    for name, given in configurable.items():
        inside = name in {"checkpoint_map", "checkpoint_ns"} or name.startswith("__pregel")
        if (inside and given) or (name == "thread_id" and str(given) != thread_id):
            _forbid(f"`{name}` is refused", "leave it out")
    named = configurable.pop("checkpoint_id", None)
    if named is not None and named != await head(thread_id):
        # Studio names the newest checkpoint with every answer; an older one would be a fork.
        _forbid("Going back to an earlier checkpoint is refused", "leave `checkpoint_id` out")


async def allow(parts: Parts, value: dict[str, Any], person: Person) -> None:
    """Let a run begin: a new attempt, an answer, or going on after a crash.

    Raises:
        ConflictError: the attempt has ended, is being worked on, or waits for something else.
        InputError: the answer cannot be read, or the person may not give it.
    """
    kwargs: dict[str, Any] = value["kwargs"]
    attempt_id = str(value["thread_id"])
    thread = await look(attempt_id)
    if thread is not None and thread.busy:
        _conflict(
            f"A run of thread {attempt_id} is going on. Wait until it ends or pauses.", "busy"
        )
    position = await _position(parts, attempt_id)
    if position is not None:
        await _of_tenant(parts, attempt_id, person)
        if position.attempt.status.is_terminal:
            _conflict(
                f"Attempt {attempt_id} has ended ({position.attempt.status}). Start another "
                "thread, or make a new attempt with `checkrein retry`.",
                "attempt_ended",
            )
    if kwargs.get("command"):
        resume: Any = kwargs["command"].get("resume")
        interrupt_id = await _answer(parts, position, thread, resume, person)
        kwargs |= {"command": {"resume": {interrupt_id: DOORBELL}}, "input": None}
    else:
        person.require(TokenScope.RUN)
        kwargs["input"] = _input(position, thread, kwargs.get("input"))


def _input(position: Position | None, thread: Thread | None, given: Any) -> dict[str, str]:
    """What the graph is entered with: a task for a new attempt, nothing for one that exists."""
    task = cast("dict[str, Any]", given).get("task") if isinstance(given, dict) else None
    if position is None:
        if not isinstance(task, str) or not task.strip():
            raise InputError(
                'A new attempt needs the input {"task": the path of a task file}.',
                op=_OP,
            )
        return {"task": task}
    waiting = waiting_for(position)
    if waiting is not None and waiting.answers and thread is not None and thread.interrupts:
        _conflict(
            f"The attempt waits: {waiting.reason}. New input would drop what is asked; answer it "
            "by `command.resume`.",
            "attempt_waits",
        )
    return {"attempt_id": position.attempt.attempt_id}


async def _answer(
    parts: Parts, position: Position | None, thread: Thread | None, resume: Any, person: Person
) -> str:
    """Store what the person said to the pending interrupt, and return the interrupt's id."""
    if position is None or thread is None or len(thread.interrupts) != 1:
        _conflict(
            "Nothing is pending on this thread. Start a run with the input {} to come back to "
            "where its attempt stands.",
            "nothing_pending",
        )
    interrupt_id = str(thread.interrupts[0]["id"])
    shown: dict[str, Any] = thread.interrupts[0].get("value") or {}
    said = addressed(resume, interrupt_id)
    if said is None:
        raise InputError("`command.resume` holds no answer.", op=_OP, code="unusable_answer")
    if shown.get("kind") == "approval":
        person.require(TokenScope.APPROVE)
        await _decide(parts, position, str(shown["approval_id"]), said, person)
    elif (waiting := waiting_for(position)) is not None and "answer" in waiting.answers:
        person.require(TokenScope.RUN)
        await parts.front_door.answer(position.attempt.attempt_id, text(said), by=person.person)
    elif waiting is not None and "approve" in waiting.answers:
        _conflict("What is shown is out of date. Start a run with the input {}.", "out_of_date")
    return interrupt_id


async def _decide(
    parts: Parts, position: Position, approval_id: str, said: Any, person: Person
) -> None:
    """Store a decision about the request that the thread shows; no other one can be meant."""
    attempt_id = position.attempt.attempt_id
    request, _ = await parts.records.approval(approval_id)
    if request.attempt_id != attempt_id:
        _conflict(f"The request shown belongs to attempt {request.attempt_id}.", "out_of_date")
    if request.status is ApprovalStatus.PREPARED:
        # The owner died after it had saved and before it had published.
        await parts.front_door.sweep()
    spoken = decision(said, request)
    who = Approver(name=person.person, authenticated=True, tenant=person.tenant)
    await answer_approval(parts.events, parts.records, approval_id, spoken, who)


async def _position(parts: Parts, attempt_id: str) -> Position | None:
    try:
        return await parts.records.position(attempt_id)
    except InputError as error:
        if error.code != "unknown_attempt":
            raise
        return None


async def _of_tenant(parts: Parts, attempt_id: str, person: Person) -> None:
    contract = await parts.events.contract(attempt_id)
    if contract.tenant != person.tenant:
        raise Auth.exceptions.HTTPException(
            404, f"There is no attempt {attempt_id} for {person.tenant}."
        )


def _forbid(problem: str, instead: str) -> NoReturn:
    raise Auth.exceptions.HTTPException(
        403, f"{problem}: an attempt goes its own way through the graph. Instead, {instead}."
    )


def _conflict(problem: str, code: str) -> NoReturn:
    raise ConflictError(problem, op=_OP, code=code)
