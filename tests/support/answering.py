"""Answering with LangGraph's own SDK, and what the record says came of it."""

from pathlib import Path
from typing import Any, NamedTuple

import httpx
from studio_server import StudioServer

from checkrein.contracts.event import ApprovalDecided, Observed, Payload, check_chain
from checkrein.contracts.observation import Observation
from checkrein.graph.report import Report
from checkrein.graph.trace_rules import grade
from checkrein.harness import Harness

YES: dict[str, Any] = {"decisions": [{"type": "approve"}]}


class Told(NamedTuple):
    """What a client hears: the status, the message of a refusal, else the state."""

    status: int
    text: str
    state: dict[str, Any]


class Record(NamedTuple):
    """What is on record, after checking that the chain is whole and lawful."""

    report: Report
    payloads: list[Payload]

    @property
    def decided(self) -> list[tuple[str, str, str]]:
        """Who said what, and why."""
        said = [p for p in self.payloads if isinstance(p, ApprovalDecided)]
        return [(p.approver, str(p.answer), p.reason) for p in said]

    @property
    def observed(self) -> list[Observation]:
        """What the model was told of its calls."""
        return [p.observation for p in self.payloads if isinstance(p, Observed)]

    def count(self, kind: str) -> int:
        """How many events there are of a type."""
        return sum(p.type == kind for p in self.payloads)


async def send(studio: StudioServer, person: str, thread: str, **body: Any) -> Told:
    """Run a thread by the SDK, and wait until it ends or pauses."""
    try:
        return Told(200, "", await studio.by_sdk(person, thread, **body))
    except httpx.HTTPStatusError as error:
        return Told(error.response.status_code, error.response.text, {})


async def answer(studio: StudioServer, person: str, thread: str, resume: Any, **more: Any) -> Told:
    """Answer what a thread waits for."""
    return await send(studio, person, thread, command={"resume": resume}, **more)


async def pending(studio: StudioServer, thread: str) -> dict[str, Any]:
    """The one interrupt that a thread shows."""
    async with studio.client("carol") as client:
        found = await client.threads.get(thread)
    assert found["status"] == "interrupted"
    ((interrupt,),) = found["interrupts"].values()
    return dict(interrupt)


async def record(studio: StudioServer, thread: str) -> Record:
    """Read what is on record of a thread."""
    async with Harness.open(settings=studio.settings) as harness:
        report = await harness.status(thread)
        events = await harness.trace(thread)
    assert check_chain(events, len(events), events[-1].hash) == []
    assert grade(events) == []
    return Record(report, [event.read() for event in events])


async def still_waits(studio: StudioServer, thread: str, before: Record) -> None:
    """Nothing at all was recorded since, and the thread shows what it showed."""
    now = await record(studio, thread)
    assert now == before
    assert (str(now.report.status), now.report.effects) == ("WAITING_FOR_APPROVAL", {})
    shown = (await pending(studio, thread))["value"]
    assert shown["approval_id"] == now.report.approvals[0].approval_id


def files(of: Record) -> dict[str, str]:
    """The files of the attempt's workspace."""
    return {path.name: path.read_text() for path in Path(of.report.workspace).iterdir()}
