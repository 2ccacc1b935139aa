"""Recorded decisions in the shape of OPA's own decision log, so that its tools can read them.

What looks like a credential is masked, and `masked` names the places, as OPA's log does.
"""

import json
from typing import Any

from checkrein.contracts.secrets import masked
from checkrein.ports.decisions import RecordedDecision
from checkrein.version import VERSION

PATH = "checkrein/decision"
"""What was asked, as OPA names it."""


def entry(recorded: RecordedDecision) -> dict[str, Any]:
    """One line of a decision log: input, result, revision, duration, and what was masked."""
    decision = recorded.decision
    document: Any = None if recorded.input is None else json.loads(recorded.input)
    shown, places = _masked(document)
    result = decision.model_dump(
        mode="json",
        include={
            "decision",
            "reason_code",
            "reasons",
            "constraints",
            "approval",
            "obligations",
        },
    )
    return {
        "decision_id": recorded.name,
        "labels": {
            "app": "checkrein",
            "version": VERSION,
            "engine": decision.engine,
            "attempt_id": recorded.attempt_id,
            "action_id": recorded.action_id,
            "phase": recorded.phase,
        },
        "bundles": {"checkrein": {"revision": decision.policy_version}},
        "path": PATH,
        "input": shown,
        "input_digest": decision.input_ref,
        "result": result,
        "masked": [f"/input/action/args{place}" for place in places],
        "timestamp": recorded.at,
        "metrics": {"timer_server_handler_ns": round(decision.duration_ms * 1_000_000)},
        **({"error": {"message": decision.message}} if decision.message else {}),
    }


def _masked(document: Any) -> tuple[Any, list[str]]:
    """The input with its arguments masked: all else in it comes from the harness."""
    if document is None:
        return None, []
    args, places = masked(document["action"]["args"])
    return {**document, "action": {**document["action"], "args": args}}, places
