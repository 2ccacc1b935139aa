"""A policy over time: decided by one version, recorded with it, decided by it again."""

import json
from collections import Counter
from pathlib import Path

import pytest
from loops import DONE, call, contract, opened, payloads, says

from checkrein import capability
from checkrein.contracts.decision import DecisionInput, PolicyDecision, Verdict
from checkrein.contracts.event import ActionProposed, PolicyDecided
from checkrein.policy_rego.bundle_files import load_bundle, shipped_bundle
from checkrein.policy_rego.embedded import EmbeddedPolicy
from checkrein.settings import Settings

RULES = """package checkrein.rules.mine

allow contains {"reason_code": "counted"} if input.action.capability in {"till.count", "till.open"}
"""
TIGHTER = (
    RULES + '\ndeny contains {"reason_code": "closed"} if input.action.capability == "till.open"\n'
)


def bundle(folder: Path, text: str) -> Path:
    """A bundle of one file, written over what was there."""
    folder.mkdir(exist_ok=True)
    (folder / "mine.rego").write_text(text, encoding="utf-8")
    return folder


def what(decision: PolicyDecision) -> dict[str, object]:
    """All that a decision says and what it was made of; not how long it took."""
    return decision.model_dump(exclude={"duration_ms", "engine"})


@pytest.mark.shows(69)
async def test_a_version_that_is_back_decides_as_before_and_revocations_stay(
    tmp_path: Path, settings: Settings
) -> None:
    """Protects: rolled back means the old answers under the old name, and no right comes back."""
    opened_by: list[str] = []

    @capability("till.count", side_effect="READ")
    async def count() -> int:
        """Count the money."""
        return 3

    @capability("till.open")
    async def open_till() -> None:
        """Open the till."""
        opened_by.append("x")

    turns = [says("", call("till.count"), call("till.open")), DONE]
    rules = tmp_path / "rules"
    found: list[list[tuple[str, str, str]]] = []
    async with opened(settings, count, open_till) as (harness, parts):
        for number, text in enumerate((RULES, TIGHTER, RULES, RULES)):
            if number == 3:
                await parts.events.say(
                    "local", "capability", "till.count", granted=False, by="carol", reason="no"
                )
            folder = tmp_path / str(number)
            folder.mkdir()
            task = contract(
                folder,
                turns,
                policy=bundle(rules, text),
                capabilities=["till.count", "till.open"],
            )
            report = await harness.run(task)
            told = await payloads(parts, report.attempt_id)
            decisions = [p.decision for p in told if isinstance(p, PolicyDecided)]
            found.append([(d.decision, d.reason_code, d.policy_version) for d in decisions])
    version = load_bundle(rules).version
    first, tighter, back, revoked = found
    assert {named for *_, named in first} == {version}
    assert {named for *_, named in tighter} == {load_bundle(bundle(rules, TIGHTER)).version}
    assert version not in {named for *_, named in tighter}
    assert (Verdict.DENY, "closed") in {(verdict, code) for verdict, code, _ in tighter}
    assert back == first
    # The old bundle allows it by its every rule, and knows of no revocation.
    assert revoked[0] == (Verdict.DENY, "revoked", version)
    assert len(opened_by) == 3


@pytest.mark.shows(7)
async def test_each_action_is_decided_once_and_would_be_again(
    tmp_path: Path, settings: Settings
) -> None:
    """Protects auditors: one decision when it is proposed, by a version that still says the same.

    What runs is decided once more, right before; what is denied never gets there.
    """
    turn = says(
        "",
        call("workspace.read", path="a.txt"),
        call("workspace.write_file", path="a.txt", content="two\n"),
        call("workspace.write_file", path="tests/a.txt", content="two\n"),
    )
    async with opened(settings) as (harness, parts):
        report = await harness.run(contract(tmp_path, [turn, DONE], policy=None))
        await harness.approve(report.approvals[0].approval_id, by="bob")
        await harness.resume(report.attempt_id)
        recorded = [one async for one in parts.decisions.since(None)]
        told = await payloads(parts, report.attempt_id)
    counts = Counter((one.action_id, one.phase) for one in recorded)
    actions = {p.action.action_id for p in told if isinstance(p, ActionProposed)}
    assert len(actions) == 3 and set(counts.values()) == {1}
    assert {action for action, phase in counts if phase == "propose"} == actions
    denied = {one.action_id for one in recorded if one.decision.denies}
    assert len(denied) == 1
    assert {action for action, phase in counts if phase == "dispatch"} == actions - denied
    policy = await EmbeddedPolicy.load(shipped_bundle())
    try:
        for one in recorded:
            assert one.input is not None
            again = await policy.decide(DecisionInput.model_validate(json.loads(one.input)))
            assert again.policy_version == one.decision.policy_version
            assert what(again) == what(one.decision)
    finally:
        await policy.close()
