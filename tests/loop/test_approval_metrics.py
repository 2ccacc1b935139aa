"""How approvals are counted: from real runs, on a clock that stands still between two words."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from asking import asking, stop_clock
from loops import ASK_ALL, ASK_WRITES, DONE, call, contract, opened, says

from checkrein import capability
from checkrein.compose import Parts
from checkrein.contracts.approval import ApprovalRequest
from checkrein.contracts.effect import Effect
from checkrein.contracts.task import TaskContract
from checkrein.graph.report import Report
from checkrein.harness import Harness
from checkrein.ports.approval_metrics import ApprovalMetrics
from checkrein.ports.capability import Capability
from checkrein.settings import Settings

NOON = datetime(2026, 11, 30, 12, tzinfo=UTC)
WRITE = says("I write.", call("workspace.write_file", path="a.txt", content="two\n"))
PATCH = says("", call("workspace.apply_patch", path="a.txt", patch="@@ -1 +1 @@\n-one\n+two\n"))
TWO = '"roles": ["approver"], "quorum": 2'


class Desk:
    """A harness whose clock moves only when it is told to."""

    def __init__(self, settings: Settings, folder: Path, harness: Harness, parts: Parts) -> None:
        self._settings = settings
        self._folder = folder
        self.harness = harness
        self.parts = parts
        self.now = NOON

    def wait(self, seconds: float) -> None:
        """Let so much time pass."""
        self.now += timedelta(seconds=seconds)
        stop_clock(self._settings, self.now)

    def task(self, *turns: dict[str, Any], **fields: Any) -> TaskContract:
        """A task in a folder of its own."""
        place = self._folder / f"task{len(list(self._folder.iterdir()))}"
        given: dict[str, Any] = {"policy": ASK_WRITES, **fields}
        return contract(place, turns or (WRITE, DONE), **given)

    async def asked(self, *turns: dict[str, Any], **fields: Any) -> tuple[Report, ApprovalRequest]:
        """A run that waits for one yes."""
        report = await self.harness.run(self.task(*turns, **fields))
        (request,) = report.approvals
        return report, request

    async def approved(
        self, *turns: dict[str, Any], after: float = 5, **fields: Any
    ) -> tuple[Report, ApprovalRequest]:
        """A run that has its yes, and has not gone on yet."""
        report, request = await self.asked(*turns, **fields)
        self.wait(after)
        await self.harness.approve(request.approval_id, by="bob")
        return report, request

    async def metrics(self, **chosen: Any) -> ApprovalMetrics:
        """What is counted."""
        return await self.parts.approval_reports.metrics(**chosen)

    async def overturned(self) -> int | None:
        """Of all rules."""
        return (await self.metrics()).total.overturned


@asynccontextmanager
async def desk(settings: Settings, folder: Path, *capabilities: Capability) -> AsyncGenerator[Desk]:
    """Open a desk at noon."""
    stop_clock(settings, NOON)
    async with opened(settings, *capabilities) as (harness, parts):
        yield Desk(settings, folder, harness, parts)


async def test_what_was_not_measured_is_null(tmp_path: Path, settings: Settings) -> None:
    """Protects: no zero is told where nothing was seen."""
    async with desk(settings, tmp_path) as at:
        nothing = await at.metrics()
        assert (nothing.actions, nothing.asked, nothing.share_asked) == (0, 0, None)
        assert nothing.rules == {}
        line = nothing.total
        assert (line.asked, line.median_s, line.p90_s) == (0, None, None)
        assert (line.blind, line.blind_share, line.overturned) == (None, None, None)
        _, request = await at.asked()
        asked = (await at.metrics()).rules["write_asked"]
        assert (asked.asked, asked.open, asked.median_s, asked.blind) == (1, 1, None, None)
        at.wait(7)
        await at.harness.reject(request.approval_id, by="bob", reason="no")
        said_no = (await at.metrics()).rules["write_asked"]
    assert (said_no.rejected, said_no.answers, said_no.median_s) == (1, 1, 7.0)
    assert (said_no.blind, said_no.overturned) == (None, None)


async def test_each_answer_is_counted_with_its_time(tmp_path: Path, settings: Settings) -> None:
    """Protects: by rule, in seconds of the database's clock, and a yes under 2 s is blind."""
    async with desk(settings, tmp_path) as at:
        for seconds in (1.9, 2.0, 10.0):
            report, _ = await at.approved(after=seconds)
            assert (await at.harness.resume(report.attempt_id)).effects == {"COMMITTED": 1}
        _, request = await at.asked()
        at.wait(20)
        await at.harness.edit(request.approval_id, {"path": "b.txt", "content": "x"}, by="bob")
        _, request = await at.asked()
        at.wait(0.5)
        await at.harness.respond(request.approval_id, "By hand.", by="carol")
        policy = asking(tmp_path / "soon", '"roles": ["approver"], "expires_in_s": 60')
        late, _ = await at.asked(policy=policy)
        at.wait(60)
        before = await at.metrics()
        await at.harness.resume(late.attempt_id)
        found = await at.metrics()
        assert found == before.model_copy(update={"since": None})
    line = found.rules["write_asked"]
    assert (line.asked, line.approved, line.edited, line.responded) == (5, 3, 1, 1)
    assert (line.answers, line.yes, line.median_s, line.p90_s) == (5, 3, 2.0, 16.0)
    assert (line.blind, line.blind_share, line.overturned) == (1, 1 / 3, 0)
    gone = found.rules["asked"]
    assert (gone.asked, gone.expired, gone.open, gone.answers) == (1, 1, 0, 0)
    assert (gone.median_s, gone.blind) == (None, None)
    assert found.total.asked == 6
    assert list(found.rules) == ["write_asked", "asked"]


async def test_the_share_of_actions_asked(tmp_path: Path, settings: Settings) -> None:
    """Protects: allowed, asked and denied at their proposal, each action once."""
    look = says("", call("workspace.read", path="a.txt"), call("workspace.list", path="."))
    forbidden = says("", call("workspace.write_file", path="tests/test_a.py", content="x"))
    files = {"a.txt": "one\n", "tests/test_a.py": "assert True\n"}
    guarded: list[Any] = [{"unchanged": ["tests/**"]}]
    async with desk(settings, tmp_path) as at:
        await at.harness.run(at.task(look, WRITE, DONE))
        task = at.task(forbidden, DONE, policy=None, files=files, constraints=guarded)
        await at.harness.run(task)
        found = await at.metrics()
        assert (found.actions, found.allowed, found.asked, found.denied) == (4, 2, 1, 1)
        assert (found.covered, found.share_asked) == (0, 0.25)
        at.wait(3600)
        recent = await at.metrics(ago_s=1800)
        assert (recent.since, recent.actions, recent.share_asked) == (
            at.now - timedelta(minutes=30),
            0,
            None,
        )
        assert (await at.metrics(since=NOON)).actions == 4
        assert (await at.metrics(tenant="other")).actions == 0
        assert (await at.metrics(tenant="local")).total.asked == 1


async def test_a_yes_that_did_not_hold(tmp_path: Path, settings: Settings) -> None:
    """Protects: each way in which a yes is overturned is counted, and once."""
    async with desk(settings, tmp_path) as at:
        report, _ = await at.approved(PATCH, DONE)
        assert await at.overturned() == 0
        (Path(report.workspace) / "a.txt").write_text("other\n")
        await at.harness.resume(report.attempt_id)
        assert await at.overturned() == 1
        # Whoever said yes says no before the second yes.
        policy = asking(tmp_path / "two", TWO)
        _, request = await at.approved(policy=policy)
        await at.harness.reject(request.approval_id, by="bob", reason="I looked again")
        assert await at.overturned() == 2
        # Cancelled between the yes and the act.
        report, _ = await at.approved()
        await at.harness.cancel(report.attempt_id, by="alice", reason="not now")
        assert await at.overturned() == 3
        # The approval itself, then one of those who gave it, is revoked.
        _, request = await at.approved()
        await _revoke(at, "grant", request.approval_id)
        assert await at.overturned() == 4
        used, _ = await at.approved()
        await at.harness.resume(used.attempt_id)
        await at.approved()
        await _revoke(at, "user", "bob")
        assert await at.overturned() == 5
        line = (await at.metrics()).rules["asked"]
    assert (line.rejected, line.approved, line.overturned) == (1, 0, 1)


async def _revoke(at: Desk, kind: str, value: str) -> None:
    await at.parts.events.say("local", kind, value, granted=False, by="erin", reason="r")


async def test_an_effect_that_did_not_show_or_was_undone(
    tmp_path: Path, settings: Settings
) -> None:
    """Protects: what came of the yes counts too, also long after it was said."""

    async def verify(effect: Effect) -> bool:
        return False

    @capability("orders.ship", verify=verify)
    async def ship(order: str) -> dict[str, str]:
        """Ship an order."""
        return {"shipped": order}

    @capability("orders.book")
    async def book(order: str) -> dict[str, str]:
        """Book an order."""
        return {"booked": order}

    @capability("orders.unbook", compensates="orders.book")
    async def unbook(effect_id: str) -> dict[str, str]:
        """Undo a booking."""
        return {"undone": effect_id}

    granted = ["orders.ship", "orders.book", "orders.unbook"]
    async with desk(settings, tmp_path, ship, book, unbook) as at:
        shipping = says("", call("orders.ship", order="o1"))
        report, _ = await at.approved(shipping, DONE, policy=ASK_ALL, capabilities=granted)
        assert await at.overturned() == 0
        await at.harness.resume(report.attempt_id)
        assert await at.overturned() == 1
        booking = says("", call("orders.book", order="o1"))
        wait = says("", call("ask_user", question="Is it right?"))
        task = at.task(booking, wait, DONE, policy=ASK_ALL, capabilities=granted)
        report = await at.harness.run(task)
        await at.harness.approve(report.approvals[0].approval_id, by="bob")
        await at.harness.resume(report.attempt_id)
        (effect,) = await at.parts.records.effects(report.attempt_id)
        assert task.model is not None
        undo = says("", call("orders.unbook", effect_id=effect.effect_id))
        contract(Path(task.model.partition(":")[2]).parent, [booking, wait, undo, DONE])
        await at.parts.front_door.answer(report.attempt_id, "no", by="alice")
        report = await at.harness.resume(report.attempt_id)
        await at.harness.approve(report.approvals[0].approval_id, by="bob")
        assert await at.overturned() == 1
        done = await at.harness.resume(report.attempt_id)
        assert done.effects == {"COMMITTED": 2}
        assert await at.overturned() == 2
