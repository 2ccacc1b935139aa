"""What a task says of progress and of what it cannot do without, checked where it is written."""

from typing import Any

import pytest
from pydantic import ValidationError

from checkrein.contracts.attempt import AttemptStatus
from checkrein.contracts.progress import LADDER, Rung
from checkrein.contracts.retrying import AGENT_LOOP, DURABLE_TASK, RETRY
from checkrein.contracts.task import TaskContract

TASK: dict[str, Any] = {
    "goal": "mend it",
    "capabilities": ["shop.ask"],
    "success": [{"command": {"argv": ["true"]}}],
}


@pytest.mark.parametrize(
    ("field", "value"),
    [("essential", ["shop.pay"]), ("progress", {"polling": ["shop.pay"]})],
)
def test_what_is_named_is_granted(field: str, value: Any) -> None:
    """Protects: a slip in a name is told at once, and does not leave a rule without use."""
    with pytest.raises(ValidationError, match=r"shop\.pay, which capabilities does not grant"):
        TaskContract.model_validate(TASK | {field: value})


@pytest.mark.parametrize("rules", [{"repeats": 1}, {"patience": 0}, {"facts": True}, {"steps": 3}])
def test_rules_that_would_stop_honest_work(rules: dict[str, Any]) -> None:
    """Protects: one call alone is never a repetition, and a slip is none of the rules."""
    with pytest.raises(ValidationError):
        TaskContract.model_validate(TASK | {"progress": rules})


@pytest.mark.shows(200)
def test_the_order_of_the_ladder() -> None:
    """Protects: the model's own means come first, and a person last."""
    assert LADDER == (Rung.REPLAN, Rung.SHRINK, Rung.SWITCH, Rung.REVIEW, Rung.PERSON)


@pytest.mark.shows(195, 196, 197)
def test_every_status_has_its_word_elsewhere_and_every_end_its_retry() -> None:
    """Protects: whoever counts by other words counts each attempt exactly once."""
    assert set(RETRY) == {status for status in AttemptStatus if status.is_terminal}
    assert all(retry.why for retry in RETRY.values())
    for table in (AGENT_LOOP, DURABLE_TASK):
        assert sorted(s for ours in table.values() for s in ours) == sorted(AttemptStatus)
    assert AttemptStatus.BUDGET_EXHAUSTED in AGENT_LOOP["STOPPED"] - AGENT_LOOP["FAILED"]
