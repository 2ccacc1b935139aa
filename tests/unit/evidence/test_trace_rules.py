"""The rules that every trace keeps: a good one passes, and each mutated one names what it breaks.

The mutated traces have a whole chain again: here it is not a hash that tells, but the rule.
"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import forged
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from checkrein.contracts.event import check_chain
from checkrein.contracts.evidence import ChainHead
from checkrein.graph.evidence_check import check
from checkrein.graph.evidence_files import EVENTS, lines
from checkrein.graph.facts import Fault
from checkrein.graph.trace_rules import RULES, grade

Trace = list[dict[str, Any]]


def without(kind: str) -> forged.Change:
    """Leave all events of a kind out."""
    return lambda trace: [p for p in trace if p["type"] != kind]


def moved(kind: str, before: str) -> forged.Change:
    """Put the first event of a kind before the first one of another."""

    def change(trace: Trace) -> Trace:
        one = next(p for p in trace if p["type"] == kind)
        rest = [p for p in trace if p is not one]
        place = next(n for n, p in enumerate(rest) if p["type"] == before)
        return [*rest[:place], one, *rest[place:]]

    return change


def edited(kind: str, change: Callable[[dict[str, Any]], None], which: int = -1) -> forged.Change:
    """Edit one event of a kind; the last one, if nothing else is said."""

    def changed(trace: Trace) -> Trace:
        change([p for p in trace if p["type"] == kind][which])
        return trace

    return changed


def without_check(kind: str) -> Callable[[dict[str, Any]], None]:
    """Leave the harness's own check of a kind out of a verdict."""

    def change(payload: dict[str, Any]) -> None:
        checks = payload["result"]["checks"]
        kept = [c for c in checks if c["kind"] != kind or c.get("check_id") is not None]
        assert kept != checks
        payload["result"]["checks"] = kept

    return change


def repeated(kind: str) -> forged.Change:
    """Say the last event of a kind once more, at the end."""
    return lambda trace: [*trace, [p for p in trace if p["type"] == kind][-1]]


def deny(payload: dict[str, Any]) -> None:
    """Turn a decision into a denial."""
    payload["decision"] |= {"decision": "DENY"}
    payload["decision"].pop("approval", None)


def fail_check(payload: dict[str, Any]) -> None:
    """A verification that passed although one of its checks did not."""
    payload["result"]["checks"][0] |= {"status": "FAIL", "exit_code": 1}


def drop_check(payload: dict[str, Any], kind: str) -> None:
    """Leave the checks of one kind out of a verification."""
    checks = payload["result"]["checks"]
    left = [check for check in checks if check["kind"] != kind]
    assert len(left) < len(checks)
    checks[:] = left


def added(payload: dict[str, Any], *, after_the_end: bool = False) -> forged.Change:
    """Say one thing more, right before the end or after it."""

    def change(trace: Trace) -> Trace:
        place = len(trace) if after_the_end else len(trace) - 1
        return [*trace[:place], {"v": 1, **payload}, *trace[place:]]

    return change


NOTICE = {
    "type": "no_progress_noticed",
    "turn": 3,
    "signal": "repeated_call",
    "rung": "replan",
    "evidence": [99],
    "action_ids": [],
    "repeated": [],
    "advice": "do something else",
}
WORD = {
    "type": "judgement_given",
    "check": "is it good?",
    "state_digest": "sha256:x",
    "verdict": "pass",
    "by": "mallory",
    "authenticated": True,
    "note": "",
}
OPINION = {
    "type": "judge_answered",
    "turn": 2,
    "check_id": "sha256:x",
    "state_digest": "sha256:x",
    "result": {"kind": "model_judge", "name": "judge", "status": "PASS"},
}
SIGNATURE = {
    "type": "user_accepted",
    "state_digest": "sha256:x",
    "candidate_hash": "sha256:x",
    "by": "mallory",
    "authority": "requester",
    "authenticated": True,
    "note": "",
}

MUTATIONS: dict[str, tuple[str, forged.Change]] = {
    "a result without a call": ("result_has_call", without("action_proposed")),
    "a result before any answer": ("result_has_call", without("model_responded")),
    "two results of one call": ("result_has_call", repeated("observation")),
    "on offer before a checkpoint": (
        "checkpoint_before_approval",
        moved("approval_requested", "checkpoint_saved"),
    ),
    "no checkpoint at all": ("checkpoint_before_approval", without("checkpoint_saved")),
    "an effect without decisions": ("decision_before_effect", without("policy_decided")),
    "an effect that was denied": ("decision_before_effect", edited("policy_decided", deny)),
    "an effect without a grant": ("grant_for_same_operation", without("approval_granted")),
    "a grant that nobody gave": ("grant_for_same_operation", without("approval_decided")),
    "a grant for another operation": (
        "grant_for_same_operation",
        edited("approval_granted", lambda p: p.update(operation_hash="sha256:" + "1" * 64)),
    ),
    "a grant for another state": (
        "grant_for_same_operation",
        edited("approval_granted", lambda p: p.update(resource_version="sha256:" + "1" * 64)),
    ),
    "an approver without the role": (
        "approver_has_role",
        edited("approval_decided", lambda p: p.update(approver="mallory")),
    ),
    "an outcome of nothing sent": ("executing_before_outcome", without("effect_executing")),
    "an effect sent unbound": ("decision_before_effect", without("intent_bound")),
    "verified without a verification": ("verified_by_evidence", without("verification_finished")),
    "verified without a candidate": ("verified_by_evidence", without("candidate_sealed")),
    "verified in another state": (
        "verified_by_evidence",
        edited("verification_finished", lambda p: p["result"].update(state_digest="sha256:x")),
    ),
    "verified though refused": (
        "verified_by_evidence",
        edited("verification_finished", lambda p: p["result"].update(status="FAIL")),
    ),
    "verified by a failed check": (
        "verified_by_evidence",
        edited("verification_finished", fail_check),
    ),
    "verified without the contract's checks": (
        "verified_by_evidence",
        edited("verification_finished", lambda p: p["result"]["checks"].pop(0)),
    ),
    "verified without a look at protected paths": (
        "verified_by_evidence",
        edited("verification_finished", lambda p: drop_check(p, "unchanged")),
    ),
    "verified without a look at the policy": (
        "verified_by_evidence",
        edited("verification_finished", lambda p: drop_check(p, "policy_obeyed")),
    ),
    "verified by another check": (
        "verified_by_evidence",
        edited("verification_finished", lambda p: p["result"]["checks"][0].update(check_id="x")),
    ),
    "verified by a weaker check": (
        "verified_by_evidence",
        edited("verification_finished", lambda p: p["result"]["checks"][0].update(strength=None)),
    ),
    "verified for another contract": (
        "verified_by_evidence",
        edited("verification_finished", lambda p: p["result"].update(contract_version="x")),
    ),
    "changed after it was sealed": (
        "verified_by_evidence",
        moved("candidate_sealed", "effect_executing"),
    ),
    "something after the end": ("ending_agrees", repeated("checkpoint_saved")),
    "cancelled by nobody": (
        "ending_agrees",
        edited("attempt_ended", lambda p: p.update(status="CANCELLED")),
    ),
    "an end that is none": (
        "ending_agrees",
        edited("attempt_ended", lambda p: p.update(status="PAUSED")),
    ),
    "a step that no table has": ("legal_change", repeated("candidate_sealed")),
    "an effect that is left open": ("ending_agrees", without("effect_committed")),
    "an effect whose result was never told": ("ending_agrees", without("observation")),
    "a trace without its beginning": ("opening", lambda trace: trace[1:][1:]),
    "another contract than the task's": (
        "derived",
        edited("task_created", lambda p: p["contract"].update(goal="something else")),
    ),
    "other arguments": (
        "derived",
        edited("action_proposed", lambda p: p["action"]["args"].update(path="b.txt")),
    ),
    "another candidate": (
        "derived",
        edited("candidate_sealed", lambda p: p.update(summary="more was done")),
    ),
    "a notice of turns that never were": ("notice_has_evidence", added(NOTICE)),
    "failed by the error of no call": (
        "failed_by_an_error",
        edited("attempt_ended", lambda p: p.update(status="FAILED", error_type="closed")),
    ),
    "judged by somebody whom nobody asked": ("judged_by_role", added(WORD)),
    "an act under another model's name": (
        "derived",
        edited("action_proposed", lambda p: p["action"].update(actor="another")),
    ),
    "a judge that speaks of what is not sealed": ("judged_once", added(OPINION)),
    "signed in another state": (
        "accepted_after_verified",
        added(SIGNATURE, after_the_end=True),
    ),
    "the final commit among the work": (
        "commit_by_authority",
        edited("action_proposed", lambda p: p["action"].update(type="workspace.publish@1")),
    ),
    "started under a contract that proves less": (
        "one_contract",
        edited("attempt_started", lambda p: p["contract"].update(risk="low", goal="less")),
    ),
    "started under another task": (
        "one_contract",
        edited("attempt_started", lambda p: p["attempt"].update(task_id="another")),
    ),
    "asked under another contract": (
        "one_contract",
        edited("approval_prepared", lambda p: p["approval"].update(contract_version="sha256:x")),
    ),
    "verified without a look at the protected paths": (
        "verified_by_evidence",
        edited("verification_finished", without_check("unchanged")),
    ),
    "verified without a look at the artifacts": (
        "verified_by_evidence",
        edited("verification_finished", without_check("artifacts")),
    ),
    "verified without a look whether it can be handed over": (
        "verified_by_evidence",
        edited("verification_finished", without_check("publishable")),
    ),
    "an event of an unknown kind": (
        "readable",
        edited("model_requested", lambda p: p.update(type="model_begged")),
    ),
    "an event with a field too many": (
        "readable",
        edited("model_requested", lambda p: p.update(mood="good")),
    ),
}


def faults(folder: Path, change: forged.Change) -> list[Fault]:
    """What the grader says of a mutated trace, whose chain is whole."""
    trace = forged.changed(forged.read_events(folder), change)
    assert check_chain(trace, len(trace), trace[-1].hash) == []
    return grade(trace)


@pytest.mark.shows(226)
def test_a_good_trace_passes(original: Path) -> None:
    """Protects: a grader that finds fault with honest runs would be switched off."""
    assert grade(forged.read_events(original)) == []


@pytest.mark.shows(218, 226, 402)
@pytest.mark.parametrize("what", MUTATIONS)
def test_a_mutated_trace_names_the_rule_that_it_breaks(original: Path, what: str) -> None:
    """Protects: each rule is really checked, and is found by its own name."""
    rule, change = MUTATIONS[what]
    assert rule in {fault.rule for fault in faults(original, change)}


def test_every_rule_is_broken_by_some_mutation() -> None:
    """Protects: no rule stands there untried."""
    tried = {rule for rule, _ in MUTATIONS.values()}
    assert tried == {*RULES, "readable", "legal_change"}


@pytest.mark.shows(225)
def test_each_event_must_name_an_earlier_one_as_its_cause(original: Path) -> None:
    """Protects: the trace is causal, not only chronological."""
    trace = forged.read_events(original)
    assert all(event.cause_id is not None for event in trace[1:])
    for cause in (None, trace[-1].event_id, "elsewhere/1"):
        bent = [*trace]
        bent[5] = trace[5].model_copy(update={"cause_id": cause})
        assert [(fault.rule, fault.seq) for fault in grade(bent)] == [("named_cause", 6)]


FORGERIES = [
    "an effect without a grant",
    "an approver without the role",
    "verified though refused",
    "verified without the contract's checks",
    "on offer before a checkpoint",
    "something after the end",
]


@pytest.mark.parametrize("what", FORGERIES)
def test_a_folder_that_was_forged_throughout_still_breaks_the_rules(
    evidence: Path, what: str
) -> None:
    """Protects: even with all hashes made anew, a folder cannot claim what no run may do."""
    rule, change = MUTATIONS[what]
    forged.forge(evidence, change)
    assert rule in {finding.rule for finding in check(evidence)}


def places(value: object) -> list[tuple[Any, Any]]:
    """Every container of a JSON value with each of its keys."""
    items: list[tuple[Any, object]] = []
    if isinstance(value, dict):
        items = list(cast(dict[str, object], value).items())
    elif isinstance(value, list):
        items = list(enumerate(cast(list[object], value)))
    found: list[tuple[Any, Any]] = [(value, key) for key, _ in items]
    return found + [place for _, item in items for place in places(item)]


STRANGE: st.SearchStrategy[Any] = (
    st.none()
    | st.integers()
    | st.sampled_from([2**70, -(2**70), 1e308, "", "9999-12-31T23:59:59+00:00", "../../etc/passwd"])
    | st.text(max_size=5)
    | st.lists(st.integers(), max_size=2)
)


@settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=300, deadline=None
)
@given(st.data())
def test_no_trace_whatever_makes_the_check_fall_over(evidence: Path, data: st.DataObject) -> None:
    """Protects: whoever is checked cannot stop the check by a folder that makes it crash."""
    whole = forged.read_events(evidence)
    payloads = [json.loads(event.payload) for event in whole]
    kept = data.draw(st.lists(st.integers(0, len(payloads) - 1), min_size=1, max_size=60))
    chosen: list[Any] = [
        json.loads(json.dumps(payloads[n]))
        for n in data.draw(st.sampled_from([kept, range(len(payloads))]))
    ]
    for _ in range(data.draw(st.integers(1, 6))):
        holder, key = data.draw(st.sampled_from(places(chosen)))
        holder[key] = data.draw(STRANGE)
    objects = [cast(dict[str, Any], x) if isinstance(x, dict) else {} for x in chosen]
    trace = forged.chained(objects, whole)
    text = (evidence / EVENTS).read_bytes()
    (evidence / EVENTS).write_bytes(lines(trace))
    forged.seal(evidence, ChainHead(seq=len(trace), hash=trace[-1].hash))
    try:
        grade(trace)
        assert trace == whole or check(evidence)
    finally:
        (evidence / EVENTS).write_bytes(text)
