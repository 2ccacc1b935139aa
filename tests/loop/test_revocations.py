"""Rights that people take back count at once, whatever a policy says and somebody approved."""

import json
from pathlib import Path
from typing import Any

import pytest
from loops import ASK_ALL, DONE, call, contract, opened, payloads, says

from checkrein import capability
from checkrein.contracts.attempt import AttemptStatus
from checkrein.contracts.event import ActionProposed, Observed
from checkrein.settings import Settings


def paying(taken: list[str]) -> Any:
    """A till that counts."""

    @capability("till.pay", resource=lambda a: f"order:{a['order']}")
    async def pay(order: str) -> None:
        """Pay an order."""
        taken.append(order)

    return pay


PAY = says("I pay.", call("till.pay", order="o1"))


@pytest.mark.shows(81, 112)
@pytest.mark.parametrize(
    "subject", ["user:alice", "capability:till.pay", "resource:order:o1", "agent:", "grant:"]
)
async def test_a_revocation_between_approval_and_dispatch(
    subject: str, tmp_path: Path, settings: Settings
) -> None:
    """Protects: nothing is sent on an approval whose ground was taken away since."""
    taken: list[str] = []
    async with opened(settings, paying(taken)) as (harness, parts):
        task = contract(tmp_path, [PAY, DONE], policy=ASK_ALL, capabilities=["till.pay"])
        report = await harness.run(task)
        request = report.approvals[0]
        await harness.approve(request.approval_id, by="bob")
        model = (await parts.records.position(report.attempt_id)).attempt.model
        kind, _, value = subject.partition(":")
        value = value or {"agent": model, "grant": request.approval_id}[kind]
        await parts.events.say("local", kind, value, granted=False, by="carol", reason="stop")
        report = await harness.resume(report.attempt_id)
        told = await payloads(parts, report.attempt_id)
    assert (taken, report.effects) == ([], {})
    (seen,) = [p.observation for p in told if isinstance(p, Observed)]
    assert seen.status == "denied"
    assert seen.diagnostics is not None
    assert seen.diagnostics.error_type == "revoked"


@pytest.mark.parametrize("late", [False, True])
async def test_a_revoked_fallback_does_not_act(
    late: bool, tmp_path: Path, settings: Settings
) -> None:
    """Protects: who acts is the model that proposed, at the policy and in the database alike."""
    taken: list[str] = []
    look = says("", call("workspace.read", path="a.txt"))
    other = tmp_path / "other.yaml"
    script = {"version": 1, "turns": [PAY] * 20}
    other.write_text(json.dumps(script), encoding="utf-8")
    name = f"scripted:{other}"
    pay = paying(taken)
    prepare = pay.prepare
    async with opened(settings, pay) as (harness, parts):

        async def revoke() -> None:
            await parts.events.say("local", "agent", name, granted=False, by="carol", reason="stop")

        async def prepared(args: dict[str, Any], *, preview: bool = True) -> Any:
            if late:
                await revoke()
            return await prepare(args, preview=preview)

        pay.prepare = prepared
        if not late:
            await revoke()
        task = contract(
            tmp_path,
            [look] * 20,
            capabilities=["till.pay", "workspace.read"],
            fallback_model=name,
        )
        report = await harness.run(task)
        told = await payloads(parts, report.attempt_id)
    assert (taken, report.effects) == ([], {})
    proposed = [p.action for p in told if isinstance(p, ActionProposed)]
    paid = {action.action_id for action in proposed if action.type.startswith("till.pay")}
    assert {action.actor for action in proposed if action.action_id in paid} == {name}
    seen = [p.observation for p in told if isinstance(p, Observed)]
    assert {o.status for o in seen if o.action_id in paid} == {"denied"}


@pytest.mark.shows(112)
async def test_a_revocation_in_the_last_moment(tmp_path: Path, settings: Settings) -> None:
    """Protects: the database looks once more in the very transaction that marks it EXECUTING."""
    taken: list[str] = []
    pay = paying(taken)
    async with opened(settings, pay) as (harness, parts):
        prepare = pay.prepare

        async def revoked_meanwhile(args: dict[str, Any], *, preview: bool = True) -> Any:
            await parts.events.say(
                "local", "capability", "till.pay", granted=False, by="carol", reason="stop"
            )
            return await prepare(args, preview=preview)

        pay.prepare = revoked_meanwhile
        report = await harness.run(contract(tmp_path, [PAY, DONE], capabilities=["till.pay"]))
        told = await payloads(parts, report.attempt_id)
    assert (taken, report.effects) == ([], {})
    (seen,) = [p.observation for p in told if isinstance(p, Observed)]
    assert seen.status == "denied"


async def test_the_newest_word_counts_and_only_for_its_tenant(
    tmp_path: Path, settings: Settings
) -> None:
    """Protects: what was given back works again; another tenant's words say nothing here."""
    taken: list[str] = []
    async with opened(settings, paying(taken)) as (harness, parts):

        async def say(tenant: str, *, granted: bool) -> None:
            await parts.events.say(
                tenant, "capability", "till.pay", granted=granted, by="carol", reason="why"
            )

        await say("other", granted=False)
        await say("local", granted=False)
        await say("local", granted=True)
        report = await harness.run(contract(tmp_path, [PAY, DONE], capabilities=["till.pay"]))
        words = await parts.records.authority("local")
    assert report.status is AttemptStatus.CANDIDATE_VERIFIED
    assert taken == ["o1"]
    assert [(w.granted, w.newest) for w in words] == [(True, True), (False, False)]
