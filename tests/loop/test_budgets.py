"""Budgets in whole runs: near the limit the model is told, at it the run stops, a person raises."""

from pathlib import Path
from typing import Any

import loops
import pytest

from checkrein import capability
from checkrein.compose import Parts
from checkrein.contracts.attempt import AttemptStatus
from checkrein.contracts.budget import Budget
from checkrein.contracts.event import (
    BudgetExhausted,
    BudgetRaised,
    BudgetSettled,
    BudgetWarning,
    ContextCompiled,
)
from checkrein.contracts.token import TokenOrder, TokenScope
from checkrein.errors import BudgetExceededError, CheckreinError, ConflictError, InputError
from checkrein.graph.evidence import package
from checkrein.ports.capability import Capability
from checkrein.settings import Settings

PATIENT = {"repeats": 99, "facts": 99, "plan": 99, "cycles": 99}
"""Lets a model look at the same thing again and again: here the budget is to stop it."""

LOOK = loops.says("", loops.call("workspace.read", path="a.txt"))
WRITE = loops.says("", loops.call("workspace.write_file", path="a.txt", content="two\n"))
EUROS = {"limit": 500, "currency": "EUR", "input_per_million": 300, "output_per_million": 1500}
PAYS = {"budget_role": "treasurer", "roles": {"approver": ["bob"], "treasurer": ["tina"]}}


def shop(sent: list[str], cost: int = 0) -> Capability:
    """Something that cannot be undone, which counts itself."""

    @capability("shop.order", cost=cost)
    async def order(what: str) -> dict[str, Any]:
        """Order something for good."""
        sent.append(what)
        return {"ordered": what}

    return order


def orders(*what: str) -> loops.Turn:
    return loops.says("", *(loops.call("shop.order", what=one) for one in what))


async def stopped_by(parts: Parts, attempt_id: str) -> BudgetExhausted:
    """The one time that a budget ran out, with something unfinished."""
    told = await loops.payloads(parts, attempt_id)
    (found,) = [p for p in told if isinstance(p, BudgetExhausted)]
    assert found.unfinished
    return found


async def balanced(parts: Parts, attempt_id: str) -> dict[Budget, tuple[int, int]]:
    """Spent and reserved of the attempt's own budgets, once all books were found to balance."""
    lines = await parts.records.books(attempt_id)
    assert all(line.balances for line in lines)
    return {x.budget: (x.spent, x.reserved) for x in lines if x.pool == attempt_id}


@pytest.mark.shows(193, 198)
async def test_a_raised_budget_lets_the_same_attempt_go_on_where_it_stopped(
    tmp_path: Path, settings: Settings
) -> None:
    """Protects: stopped is not failed, no model call is made twice, and the raise is on record."""
    task = loops.contract(tmp_path, [LOOK, WRITE, loops.DONE], budgets={"steps": 2}, approvals=PAYS)
    async with loops.opened(settings) as (harness, parts):
        report = await harness.run(task)
        assert report.status is AttemptStatus.BUDGET_EXHAUSTED
        assert f"checkrein budget raise {report.attempt_id} steps LIMIT" in (
            report.waiting_for or ""
        )
        stop = await stopped_by(parts, report.attempt_id)
        assert (stop.budget, stop.pool, stop.limit) == (Budget.STEPS, report.attempt_id, 2)
        assert stop.unfinished == report.unfinished == ["check 1 (command) has not passed"]
        again = await harness.resume(report.attempt_id)
        assert again.status is AttemptStatus.BUDGET_EXHAUSTED, "nobody has raised it yet"

        await harness.raise_budget(report.attempt_id, Budget.STEPS, 9, by="tina", reason="go on")
        after = await harness.status(report.attempt_id)
        assert (after.waiting_for, after.unfinished) == (None, [])
        done = await harness.resume(report.attempt_id)
        assert done.status is AttemptStatus.CANDIDATE_VERIFIED
        assert done.attempt_id == report.attempt_id
        assert loops.model_calls(tmp_path) == ["turn 1", "turn 2", "turn 3"]
        (raised,) = [
            p for p in await loops.payloads(parts, done.attempt_id) if isinstance(p, BudgetRaised)
        ]
        assert (raised.by, raised.authority, raised.from_limit, raised.to_limit) == (
            ("tina", "treasurer", 2, 9)
        )
        packed = await package(parts.records, parts.events, parts.artifacts, done.attempt_id)
        assert packed.usage["steps"] == 3


@pytest.mark.shows(193)
async def test_near_the_limit_it_is_said_once_and_told_to_the_model(
    tmp_path: Path, settings: Settings
) -> None:
    """Protects: at four fifths one warning, and every later turn knows."""
    looks = [LOOK] * 4
    task = loops.contract(tmp_path, [*looks, loops.DONE], budgets={"steps": 5}, progress=PATIENT)
    async with loops.opened(settings) as (harness, parts):
        report = await harness.run(task)
        assert report.status is AttemptStatus.CANDIDATE_VERIFIED
        told = await loops.payloads(parts, report.attempt_id)
        (warning,) = [p for p in told if isinstance(p, BudgetWarning)]
        assert (warning.budget, warning.used, warning.limit) == (Budget.STEPS, 4, 5)
        position = await parts.records.position(report.attempt_id)
        assert [near.warned for near in position.near] == [True]
        last = [p for p in told if isinstance(p, ContextCompiled)][-1]
        assert last.turn == 5
        assert told.index(warning) < told.index(last)


@pytest.mark.shows(192)
@pytest.mark.parametrize(
    ("budgets", "named"),
    [
        ({"input_tokens": 400}, "input_tokens"),
        ({"output_tokens": 4000}, "output_tokens"),
        # What a whole answer of the model might cost is more than is left.
        ({"money": EUROS | {"limit": 1}}, "money"),
    ],
)
async def test_tokens_of_each_direction_and_money_are_limits_of_their_own(
    budgets: dict[str, Any], named: str, tmp_path: Path, settings: Settings
) -> None:
    task = loops.contract(tmp_path, [LOOK, LOOK, loops.DONE], budgets=budgets)
    async with loops.opened(settings) as (harness, parts):
        report = await harness.run(task)
        assert report.status is AttemptStatus.BUDGET_EXHAUSTED
        stop = await stopped_by(parts, report.attempt_id)
        assert (stop.budget, stop.needed > stop.left) == (named, True)
        spent, reserved = (await balanced(parts, report.attempt_id))[Budget(named)]
        assert (spent <= stop.limit, reserved) == (True, 0)


@pytest.mark.shows(192)
async def test_money_counts_model_calls_by_their_tokens_and_tools_by_their_cost(
    tmp_path: Path, settings: Settings
) -> None:
    """Each call is rounded up: 10 and 5 tokens at these prices are one cent, an order is 40."""
    sent: list[str] = []
    task = loops.contract(
        tmp_path,
        [orders("a"), orders("b"), loops.DONE],
        capabilities=["shop.order"],
        budgets={"money": EUROS},
    )
    async with loops.opened(settings, shop(sent, cost=40)) as (harness, parts):
        report = await harness.run(task)
        assert report.status is AttemptStatus.CANDIDATE_VERIFIED
        assert (await balanced(parts, report.attempt_id))[Budget.MONEY] == (3 * 1 + 2 * 40, 0)
        packed = await package(parts.records, parts.events, parts.artifacts, report.attempt_id)
        assert packed.usage["money"] == 83


@pytest.mark.shows(192)
async def test_what_cannot_be_undone_is_sent_no_more_often_than_budgeted(
    tmp_path: Path, settings: Settings
) -> None:
    """Protects: the third order is not sent; after a raise it is, once."""
    sent: list[str] = []
    task = loops.contract(
        tmp_path,
        [orders("a", "b", "c"), loops.DONE],
        capabilities=["shop.order"],
        budgets={"high_risk_actions": 2},
        commit_authority="tina",
    )
    async with loops.opened(settings, shop(sent)) as (harness, parts):
        report = await harness.run(task)
        assert (report.status, sent) == (AttemptStatus.BUDGET_EXHAUSTED, ["a", "b"])
        stop = await stopped_by(parts, report.attempt_id)
        assert stop.budget is Budget.HIGH_RISK_ACTIONS
        assert stop.unfinished[0].startswith("shop.order")
        assert (await balanced(parts, report.attempt_id))[stop.budget] == (2, 0)
        await harness.raise_budget(report.attempt_id, stop.budget, 3, by="tina")
        done = await harness.resume(report.attempt_id)
        assert (done.status, sent) == (AttemptStatus.CANDIDATE_VERIFIED, ["a", "b", "c"])
        assert loops.model_calls(tmp_path) == ["turn 1", "turn 2"]


@pytest.mark.shows(192)
async def test_no_more_requests_wait_for_people_than_budgeted(
    tmp_path: Path, settings: Settings
) -> None:
    """Protects people from a flood; a decided request makes room for the next."""
    both = loops.says(
        "", *WRITE["calls"], loops.call("workspace.write_file", path="b.txt", content="b")
    )
    task = loops.contract(
        tmp_path,
        [both, loops.DONE],
        policy=loops.ASK_WRITES,
        budgets={"approvals_outstanding": 1},
        approvals=PAYS,
    )
    budget = Budget.APPROVALS_OUTSTANDING
    async with loops.opened(settings) as (harness, parts):
        report = await harness.run(task)
        assert (report.status, report.approvals) == (AttemptStatus.BUDGET_EXHAUSTED, [])
        stop = await stopped_by(parts, report.attempt_id)
        assert stop.unfinished[:2] == ["workspace.write_file is not judged"] * 2
        await harness.raise_budget(report.attempt_id, budget, 2, by="tina")
        report = await harness.resume(report.attempt_id)
        assert report.status is AttemptStatus.WAITING_FOR_APPROVAL
        assert (await balanced(parts, report.attempt_id))[budget] == (0, 2)
        await harness.reject(report.approvals[0].approval_id, by="bob", reason="no")
        assert (await balanced(parts, report.attempt_id))[budget] == (0, 1)
        await harness.approve(report.approvals[1].approval_id, by="bob")
        done = await harness.resume(report.attempt_id)
        assert done.status is AttemptStatus.CANDIDATE_VERIFIED
        assert (await balanced(parts, report.attempt_id))[budget] == (0, 0)
        assert loops.model_calls(tmp_path) == ["turn 1", "turn 2"]


@pytest.mark.shows(202)
async def test_a_child_is_stopped_by_what_its_parent_has_left(
    tmp_path: Path, settings: Settings
) -> None:
    """Protects: a child cannot overspend its parent, whatever its own contract allows."""
    waits = loops.says("", loops.call("ask_user", question="Which?"))
    for name in ("parent", "child"):
        (tmp_path / name).mkdir()
    above = loops.contract(
        tmp_path / "parent",
        [LOOK, waits],
        budgets={"steps": 4, "children": 1},
        approvals=PAYS,
    )
    below = loops.contract(tmp_path / "child", [LOOK, LOOK, LOOK, loops.DONE], progress=PATIENT)
    async with loops.opened(settings) as (harness, parts):
        parent = (await harness.run(above)).attempt_id
        child = await harness.run(below, parent=parent)
        assert child.status is AttemptStatus.BUDGET_EXHAUSTED
        stop = await stopped_by(parts, child.attempt_id)
        assert (stop.budget, stop.pool) == (Budget.STEPS, parent)
        assert f"checkrein budget raise {parent} steps LIMIT" in (child.waiting_for or "")
        assert (await balanced(parts, parent))[Budget.STEPS] == (4, 0)
        assert (await balanced(parts, parent))[Budget.CHILDREN] == (0, 1)
        with pytest.raises(BudgetExceededError):
            await harness.run(below, parent=parent)
        await harness.raise_budget(parent, Budget.STEPS, 6, by="tina")
        done = await harness.resume(child.attempt_id)
        assert done.status is AttemptStatus.CANDIDATE_VERIFIED
        assert (await balanced(parts, parent))[Budget.CHILDREN] == (0, 0)
        assert len(loops.model_calls(tmp_path / "child")) == 4


@pytest.mark.shows(194)
async def test_only_a_person_with_authority_raises_a_budget(
    tmp_path: Path, settings: Settings
) -> None:
    """Protects: no tool, no requester, no stranger, no forged event makes a budget larger."""
    turns = [loops.says("", loops.call("budget.raise", budget="steps", limit=99)), LOOK, loops.DONE]
    task = loops.contract(
        tmp_path,
        turns,
        budgets={"steps": 1},
        approvals={
            "budget_role": "treasurer",
            "roles": {"treasurer": ["tina", "alice"]},
            "separation_of_duty": True,
        },
    )
    async with loops.opened(settings) as (harness, parts):
        attempt_id = (await harness.run(task)).attempt_id
        for who, code in (
            ("bob", "raiser_not_permitted"),
            (None, "raiser_not_permitted"),
            ("alice", "requester_excluded"),  # she asked for the task
        ):
            with pytest.raises(InputError) as refused:
                await harness.raise_budget(attempt_id, Budget.STEPS, 9, by=who)
            assert refused.value.code == code
        right: dict[str, Any] = {
            "budget": "steps",
            "pool": attempt_id,
            "from_limit": 1,
            "to_limit": 9,
            "by": "tina",
            "authority": "treasurer",
            "authenticated": False,
        }
        wrong: list[dict[str, Any]] = [
            {"by": "scripted", "authenticated": True},
            {"by": "alice", "authenticated": True},
            {"from_limit": 2},
            {"to_limit": 1},
            {"pool": "another"},
            {"budget": "money"},
        ]
        for change in wrong:
            forged = BudgetRaised.model_validate(right | change)
            with pytest.raises(CheckreinError):
                await parts.events.append(attempt_id, [forged], fence=None)
        await parts.events.say("local", "user", "tina", granted=False, by="boss", reason="left")
        with pytest.raises(ConflictError, match="revoked"):
            await harness.raise_budget(attempt_id, Budget.STEPS, 9, by="tina")
        assert (await parts.records.position(attempt_id)).budgets[Budget.STEPS].limit == 1


@pytest.mark.shows(194)
async def test_where_the_contract_names_nobody_it_takes_a_token(
    tmp_path: Path, settings: Settings
) -> None:
    task = loops.contract(tmp_path, [LOOK, loops.DONE], budgets={"steps": 1}, approvals={})
    async with loops.opened(settings) as (harness, parts):
        attempt_id = (await harness.run(task)).attempt_id
        with pytest.raises(InputError) as refused:
            await harness.raise_budget(attempt_id, Budget.STEPS, 9, by="alice")
        assert refused.value.code == "identity_required"
        order = TokenOrder(
            person="tina",
            tenant="local",
            scopes=frozenset({TokenScope.AUTHORITY}),
            days=1,
            issued_by="boss",
        )
        token = (await parts.tokens.issue(order)).secret
        line = await harness.raise_budget(attempt_id, Budget.STEPS, 9, token=token)
        assert line.limit == 9
        with pytest.raises(InputError, match="does not raise it"):
            await harness.raise_budget(attempt_id, Budget.STEPS, 9, token=token)
        with pytest.raises(InputError, match="no limit for money"):
            await harness.raise_budget(attempt_id, Budget.MONEY, 9, token=token)
        with pytest.raises(InputError, match="no limit for steps"):
            await harness.raise_budget(attempt_id, Budget.STEPS, 19, token=token, shared=True)


async def test_every_reservation_of_a_run_is_settled_by_its_events(
    tmp_path: Path, settings: Settings
) -> None:
    """Protects: the books are what the events say, and a broken model call is in them too."""
    task = loops.contract(tmp_path, [LOOK])  # the script ends: the second call fails
    async with loops.opened(settings) as (harness, parts):
        report = await harness.run(task)
        assert report.status is AttemptStatus.MODEL_ERROR
        books = await balanced(parts, report.attempt_id)
        told = await loops.payloads(parts, report.attempt_id)
        for budget in (Budget.STEPS, Budget.MODEL_TOKENS, Budget.TOOL_CALLS):
            booked = sum(p.spent.get(budget, 0) for p in told if isinstance(p, BudgetSettled))
            assert books[budget] == (booked, 0)
        assert books[Budget.TOOL_CALLS] == (1, 0)
