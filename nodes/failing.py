"""When errors of tools end an attempt as FAILED: by their structure alone, never by their words."""

from collections.abc import Sequence
from typing import NamedTuple

from checkrein.contracts.task import TaskContract
from checkrein.nodes.turn_facts import CallFacts, TurnFacts
from checkrein.ports.capability import PLAN, RESULT

BROKEN_TURNS = 3
"""After so many turns in a row in which every call failed for good, and every capability that is
granted among them, nothing else is left."""


class Failure(NamedTuple):
    """Why an attempt has failed: the last error's type, and words for people."""

    error_type: str
    detail: str


def failed_for_good(history: Sequence[TurnFacts], contract: TaskContract) -> Failure | None:
    """Why the attempt has failed, after its newest closed turn; None where it has not."""
    if not history:
        return None
    for call in history[-1].calls:
        if call.tool in contract.essential and call.lasting:
            return _of(call, f"{call.tool}, which the task declares essential, failed")
    newest = history[-BROKEN_TURNS:]
    granted = {name for name in contract.capabilities if name not in {PLAN, RESULT}}
    broken = {call.tool for turn in newest for call in turn.calls if _permanent(call)}
    for_good = all(turn.calls and all(map(_permanent, turn.calls)) for turn in newest)
    if len(newest) < BROKEN_TURNS or not for_good or not granted or not granted <= broken:
        return None
    last = newest[-1].calls[-1]
    return _of(
        last,
        f"nothing else is left: in the last {BROKEN_TURNS} turns every capability that is granted "
        f"failed for good, at last {last.tool}",
    )


def _permanent(call: CallFacts) -> bool:
    why = call.observation.diagnostics
    return call.lasting and why is not None and not why.retryable


def _of(call: CallFacts, what: str) -> Failure:
    why = call.observation.diagnostics
    assert why is not None, "what failed says why"
    return Failure(why.error_type, f"{what}: {why.error_type}. {why.advice}".strip()[:1_000])
