"""A yes that reaches further than one action: within its bounds, its uses, its time, its task."""

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from asking import asking, move_clock
from loops import DONE, call, contract, opened, payloads, says

from checkrein import capability
from checkrein.contracts.approval import Answer, Approver, Said
from checkrein.contracts.attempt import AttemptStatus
from checkrein.contracts.event import PermissionUsed
from checkrein.contracts.permission import Bound, Reach, Scope
from checkrein.errors import InputError
from checkrein.graph.approvals import answer_approval
from checkrein.settings import Settings

WIDE = '"roles": ["approver"], "scopes": ["once", "task", "class"]'
TO_ACME = {"to": "acme", "amount": 500}
UP_TO_1000 = {"amount": Bound(at_least=1, at_most=1000)}


def paying(taken: list[tuple[str, int]]) -> Any:
    """A till that counts."""

    @capability("till.pay", resource=lambda a: f"account:{a['to']}")
    async def pay(to: str, amount: int) -> None:
        """Pay somebody."""
        taken.append((to, amount))

    return pay


def pay(to: str, amount: int) -> dict[str, Any]:
    return says("I pay.", call("till.pay", to=to, amount=amount))


class Till:
    """One task that pays several times, and what was paid."""

    def __init__(self, folder: Path, settings: Settings, *turns: dict[str, Any]) -> None:
        self.taken: list[tuple[str, int]] = []
        self.folder, self.settings = folder, settings
        self.turns = [*turns, DONE]

    async def until_asked_again(
        self, reach: Reach, terms: str = WIDE, *, meanwhile: Any = None, **fields: Any
    ) -> tuple[str, list[PermissionUsed]]:
        """Say yes to the first payment so far, go on, and tell how the attempt then stands."""
        task = contract(
            self.folder,
            self.turns,
            policy=asking(self.folder, terms),
            capabilities=["till.pay"],
            **fields,
        )
        async with opened(self.settings, paying(self.taken)) as (harness, parts):
            report = await harness.run(task)
            said = Said(answer=Answer.APPROVE, reach=reach)
            approval_id = report.approvals[0].approval_id
            who = Approver(name="bob")
            await answer_approval(parts.events, parts.records, approval_id, said, who)
            if meanwhile is not None:
                await meanwhile(parts, approval_id)
            report = await harness.resume(report.attempt_id)
            told = await payloads(parts, report.attempt_id)
        return report.status, [p for p in told if isinstance(p, PermissionUsed)]


WAITS, VERIFIED = AttemptStatus.WAITING_FOR_APPROVAL, AttemptStatus.CANDIDATE_VERIFIED
A_CLASS = Reach(scope=Scope.CLASS, bounds=UP_TO_1000, uses=2)


async def test_the_same_again_in_this_task(tmp_path: Path, settings: Settings) -> None:
    """Protects: `task` covers the same call with the same arguments, and no other."""
    till = Till(tmp_path, settings, *[pay("acme", 500)] * 3, pay("acme", 501))
    status, used = await till.until_asked_again(Reach(scope=Scope.TASK))
    assert (status, len(used)) == (WAITS, 2)
    assert till.taken == [("acme", 500)] * 3


@pytest.mark.parametrize(
    "outside", [pay("acme", 1001), pay("acme", 0), pay("acme", -5), pay("evil", 10)]
)
async def test_a_class_ends_at_its_bounds(
    outside: dict[str, Any], tmp_path: Path, settings: Settings
) -> None:
    """Protects: an argument beyond its bound, or one that has none, is asked about."""
    till = Till(tmp_path, settings, pay("acme", 500), pay("acme", 1000), outside)
    status, used = await till.until_asked_again(A_CLASS)
    assert (status, len(used)) == (WAITS, 1)
    assert till.taken == [("acme", 500), ("acme", 1000)]


async def test_a_class_is_used_up(tmp_path: Path, settings: Settings) -> None:
    """Protects: the count, which the database keeps."""
    till = Till(tmp_path, settings, *(pay("acme", n) for n in (1, 2, 3, 4)))
    status, used = await till.until_asked_again(A_CLASS)
    assert (status, len(used)) == (WAITS, 2)
    assert till.taken == [("acme", 1), ("acme", 2), ("acme", 3)]


async def test_once_is_once(tmp_path: Path, settings: Settings) -> None:
    """Protects: a plain yes covers nothing but its action."""
    till = Till(tmp_path, settings, pay("acme", 500), pay("acme", 500))
    status, used = await till.until_asked_again(Reach())
    assert (status, used, till.taken) == (WAITS, [], [("acme", 500)])


async def _revoked(parts: Any, approval_id: str) -> None:
    await parts.events.say("local", "grant", approval_id, granted=False, by="erin", reason="no")


async def _gone(parts: Any, approval_id: str) -> None:
    await parts.events.say("local", "user", "bob", granted=False, by="erin", reason="left")


async def test_time_ends_a_permission(tmp_path: Path, settings: Settings) -> None:
    """Protects: a permission lasts as long as was said, by the database's clock."""
    till = Till(tmp_path, settings, pay("acme", 1), pay("acme", 2))

    async def later(parts: Any, approval_id: str) -> None:
        move_clock(settings, timedelta(seconds=61))

    reach = Reach(scope=Scope.CLASS, bounds=UP_TO_1000, lasts_s=60)
    status, used = await till.until_asked_again(reach, meanwhile=later)
    assert (status, used, till.taken) == (WAITS, [], [("acme", 1)])


@pytest.mark.parametrize("meanwhile", [_revoked, _gone])
async def test_taken_back_it_covers_nothing(
    meanwhile: Any, tmp_path: Path, settings: Settings
) -> None:
    """Protects: a permission ends with a word, and with whoever gave it."""
    till = Till(tmp_path, settings, pay("acme", 1), pay("acme", 2))
    _, used = await till.until_asked_again(A_CLASS, meanwhile=meanwhile)
    assert (used, till.taken) == ([], [])


@pytest.mark.parametrize(
    ("terms", "reach", "told"),
    [
        ('"roles": ["approver"]', Reach(scope=Scope.TASK), "offers no yes for task"),
        (
            '"roles": ["approver"], "scopes": ["once", "task"]',
            A_CLASS,
            "offers no yes for class",
        ),
        (f'{WIDE}, "quorum": 2', Reach(scope=Scope.TASK), "on its own"),
        (WIDE, Reach(scope=Scope.CLASS, bounds={"fee": Bound(one_of=[1])}), "no argument fee"),
        (
            WIDE,
            Reach(scope=Scope.CLASS, bounds={"amount": Bound(at_least=1, at_most=2)}),
            "leaves out",
        ),
        (WIDE, Reach(scope=Scope.CLASS, bounds={"to": Bound(one_of=["evil"])}), "leaves out"),
    ],
)
async def test_a_yes_reaches_as_far_as_the_policy_lets_it(
    terms: str, reach: Reach, told: str, tmp_path: Path, settings: Settings
) -> None:
    """Protects: an approver cannot give more than the policy offers, nor by mistake."""
    till = Till(tmp_path, settings, pay("acme", 500))
    with pytest.raises(InputError, match=told):
        await till.until_asked_again(reach, terms)
    assert till.taken == []


async def test_other_limits_end_it(tmp_path: Path, settings: Settings) -> None:
    """Protects: a yes under one limit is none under another."""
    till = Till(tmp_path, settings, pay("acme", 1), pay("acme", 2))
    policy = asking(tmp_path, WIDE) / "asking.rego"
    limit = '\nlimit contains {"timeout_ms": 5000} if input.action.args.amount == 2\n'
    task = contract(tmp_path, till.turns, policy=policy.parent, capabilities=["till.pay"])
    policy.write_text(policy.read_text() + limit)
    async with opened(settings, paying(till.taken)) as (harness, parts):
        report = await harness.run(task)
        said = Said(answer=Answer.APPROVE, reach=A_CLASS)
        approval_id = report.approvals[0].approval_id
        await answer_approval(parts.events, parts.records, approval_id, said, Approver(name="bob"))
        report = await harness.resume(report.attempt_id)
    assert (report.status, till.taken) == (WAITS, [("acme", 1)])


async def test_another_task_has_nothing_of_it(tmp_path: Path, settings: Settings) -> None:
    """Protects: a permission belongs to the task that it was given in."""
    first = Till(tmp_path / "a", settings, pay("acme", 1), pay("acme", 2))
    status, _ = await first.until_asked_again(A_CLASS)
    assert status == VERIFIED
    second = Till(tmp_path / "b", settings, pay("acme", 2))
    async with opened(settings, paying(second.taken)) as (harness, _):
        task = contract(
            tmp_path / "b",
            second.turns,
            policy=asking(tmp_path / "b", WIDE),
            capabilities=["till.pay"],
        )
        assert (await harness.run(task)).status == WAITS
    assert second.taken == []


async def test_no_editor_approves_their_own_edit_by_a_permission(
    tmp_path: Path, settings: Settings
) -> None:
    """Protects: where duties are separated, a wide yes of one's own is no yes to one's own edit."""
    till = Till(tmp_path, settings, pay("acme", 1), pay("evil", 9))
    terms = f'{WIDE}, "separation_of_duty": true'
    task = contract(tmp_path, till.turns, policy=asking(tmp_path, terms), capabilities=["till.pay"])
    async with opened(settings, paying(till.taken)) as (harness, parts):
        report = await harness.run(task)
        said = Said(answer=Answer.APPROVE, reach=A_CLASS)
        first = report.approvals[0].approval_id
        await answer_approval(parts.events, parts.records, first, said, Approver(name="bob"))
        report = await harness.resume(report.attempt_id)
        await harness.edit(report.approvals[0].approval_id, {"to": "acme", "amount": 7}, by="bob")
        report = await harness.resume(report.attempt_id)
    assert (report.status, till.taken) == (WAITS, [("acme", 1)])
