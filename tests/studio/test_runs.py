"""One run of the server, seen from inside: leases, publication, pausing and cancelling."""

import uuid
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import pytest
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command
from project_files import ROOT

from checkrein import studio_requests
from checkrein.compose import Parts, composed
from checkrein.contracts.attempt import AttemptStatus
from checkrein.contracts.event import CancelRequested
from checkrein.graph.build import build
from checkrein.graph.report import report
from checkrein.graph.state import GraphState
from checkrein.nodes.run import Run
from checkrein.settings import Settings
from checkrein.studio_people import Person
from checkrein.studio_requests import DOORBELL, Thread, allow
from checkrein.studio_runs import Publisher, ServerRuns, StudioRunError

ALICE = Person(person="alice", tenant="local")
EXAMPLES = ROOT / "examples"
START: GraphState = {"task": "price_repair/task.yaml"}


@pytest.fixture
async def parts(settings: Settings) -> AsyncGenerator[Parts]:
    """Everything open on the test's own database."""
    async with composed(settings) as opened:
        yield opened


class Server:
    """The server's part: a checkpointer, and a fresh ServerRuns for each run."""

    def __init__(self, parts: Parts) -> None:
        self.parts = parts
        self.saver = InMemorySaver()
        self.thread = str(uuid.uuid4())
        self.config: RunnableConfig = {"configurable": {"thread_id": self.thread}}

    async def run(
        self,
        entry: GraphState | Command[str],
        person: Person | None = ALICE,
        make: type[ServerRuns] = ServerRuns,
    ) -> dict[str, Any]:
        """One run, as the factory makes it."""
        async with AsyncExitStack() as stack:
            runs = make(self.parts.front_door, person, EXAMPLES, stack)
            graph: Any = build(runs, self.saver).with_config(callbacks=[Publisher(runs)])
            return dict(await graph.ainvoke(entry, self.config))

    async def status(self) -> AttemptStatus:
        """Where the attempt stands, by the database."""
        return (await report(self.parts.records, self.thread)).status


async def test_busy_attempt_is_left_alone(parts: Parts, monkeypatch: pytest.MonkeyPatch) -> None:
    """Protects single ownership: the run says who holds it, and nothing happens."""
    monkeypatch.setattr("checkrein.studio_runs.LEASE_WAIT_S", 0.2)
    server = Server(parts)
    await server.run(START)
    before = len(await parts.events.read(server.thread))
    async with parts.front_door.leases.hold(server.thread):
        with pytest.raises(StudioRunError, match="Another process holds attempt") as caught:
            await server.run(Command(resume="x"))
    assert (caught.value.code, caught.value.retryable) == ("attempt_busy", True)
    assert len(await parts.events.read(server.thread)) == before


async def test_nothing_runs_for_nobody(parts: Parts) -> None:
    """Protects a server whose langgraph.json names no auth: no attempt comes into being."""
    server = Server(parts)
    with pytest.raises(StudioRunError, match="Nobody is signed in"):
        await server.run(START, person=None)
    assert await parts.records.attempts() == []


async def test_thread_without_a_task_says_what_to_send(parts: Parts) -> None:
    """Protects whoever runs an empty form in Studio."""
    with pytest.raises(StudioRunError, match='"task"'):
        await Server(parts).run({"attempt_id": "other"})


async def test_cancelled_while_it_was_about_to_pause(parts: Parts) -> None:
    """Protects a request to cancel that comes after the last node has looked."""

    class Late(ServerRuns):
        async def publish(self, interrupt_id: str | None) -> None:
            request = CancelRequested(by="alice", reason="Enough.")
            await parts.events.append(server.thread, [request], fence=None)
            await super().publish(interrupt_id)

    server = Server(parts)
    await server.run(START, make=Late)
    assert await server.status() is AttemptStatus.CANCELLED
    with pytest.raises(StudioRunError, match=r"has ended \(CANCELLED\)"):
        await server.run(START)


async def test_paused_attempt_is_resumed_by_anything(
    parts: Parts, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Protects PAUSED: it is no question, so that any word goes on, and none is stored."""
    server = Server(parts)

    class Pausing(ServerRuns):
        asked = False

        @asynccontextmanager
        async def enter(self, state: GraphState, config: RunnableConfig) -> AsyncGenerator[Run]:
            async with super().enter(state, config) as run:
                if not self.asked:
                    await parts.front_door.pause(server.thread, by="alice")
                    self.asked = True
                yield run

    paused = await server.run(START, make=Pausing)
    assert await server.status() is AttemptStatus.PAUSED
    (interrupt,) = paused["__interrupt__"]
    shown = [{"id": interrupt.id, "value": interrupt.value}]

    async def look(thread_id: str) -> Thread:
        return Thread(busy=False, interrupts=shown)

    monkeypatch.setattr(studio_requests, "look", look)
    asked: dict[str, Any] = {
        "thread_id": server.thread,
        "kwargs": {"command": {"resume": "go on"}, "input": None},
    }
    await allow(parts, asked, ALICE)
    assert asked["kwargs"]["command"] == {"resume": {interrupt.id: DOORBELL}}
    await server.run(Command(resume=asked["kwargs"]["command"]["resume"]))
    assert await server.status() is AttemptStatus.WAITING_FOR_APPROVAL
