"""Closed turns as a run leaves them, for tests of what counts as progress; nothing is run."""

import json
from typing import Any

from checkrein.contracts.observation import Diagnostics, Observation, ObservationStatus
from checkrein.nodes.proposals import read_reply
from checkrein.nodes.turn_facts import TurnFacts, turn_facts
from checkrein.ports.records import TurnRecord


def called(
    turn: int,
    tool: str,
    args: dict[str, Any],
    *,
    result: object = None,
    error: str | None = None,
    effect: bool = False,
    said: str = "",
    answer: str | None = None,
) -> TurnFacts:
    """A turn of one call with its result; `effect`: it changed something."""
    raw = {"text": said, "calls": [{"call_id": "c", "name": tool, "args": args}]}
    status = ObservationStatus.OK if error is None else ObservationStatus.FAILED
    seen = Observation(
        action_id=f"act_{turn}_0",
        turn=turn,
        position=0,
        call_id="c",
        name=tool,
        status=status,
        structured_result={"found": result} if error is None else {},
        diagnostics=None if error is None else Diagnostics(error_type=error, advice=f"try {turn}"),
        effect_id=f"eff_{turn}" if effect else None,
    )
    record = TurnRecord(turn=turn, raw=json.dumps(raw).encode(), observations=[seen], answer=answer)
    return turn_facts(record, read_reply(record.raw))
