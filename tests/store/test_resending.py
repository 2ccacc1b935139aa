"""What the ledger says decides whether anything is sent: through the whole loop, with a till."""

from pathlib import Path
from typing import Any

import pytest
from loops import DONE, call, contract, opened, payloads, says

from checkrein.contracts.action import Guarantee, Lookup, SideEffect
from checkrein.contracts.attempt import AttemptStatus
from checkrein.contracts.effect import Effect, EffectStatus, Outcome
from checkrein.contracts.event import Observed
from checkrein.errors import CapabilityError
from checkrein.ports.capability import (
    CapabilitySpec,
    Description,
    Permit,
    Prepared,
    ReadResult,
    StillOwner,
)
from checkrein.settings import Settings


class Till:
    """Takes payments: one for each order, whatever the model calls it. It promises nothing."""

    spec = CapabilitySpec(
        name="orders.pay",
        description="Pay an order.",
        parameters={"type": "object", "properties": {"order": {"type": "string"}}},
        side_effect=SideEffect.IRREVERSIBLE,
        guarantee=Guarantee.NONE,
        lookup=Lookup.NONE,
    )

    def __init__(self, *, loses_the_answer: bool = False) -> None:
        self.loses_the_answer = loses_the_answer
        self.taken: list[str] = []

    def idempotency_key(self, action_id: str, args: dict[str, Any]) -> str:
        """The business act: this order's payment."""
        return f"pay-{args['order']}"

    async def describe(self, args: dict[str, Any]) -> Description:
        """The order is the object."""
        return Description(resource=f"order:{args['order']}", resource_version="1")

    async def read(self, args: dict[str, Any], constraints: dict[str, Any]) -> ReadResult:
        """Nothing can be read here."""
        raise CapabilityError("no", op="till.read")

    async def prepare(self, args: dict[str, Any], *, preview: bool = True) -> Prepared:
        """There is not much to make ready."""
        resource = f"order:{args['order']}"
        return Prepared(resource=resource, from_version="1", to_version="2", preview="pay")

    async def send(self, prepared: Prepared, permit: Permit, still_owner: StillOwner) -> Outcome:
        """Take the money, and say so, or not."""
        self.taken.append(permit.key)
        if self.loses_the_answer:
            raise TimeoutError
        paid = {"receipt": f"r-{len(self.taken)}"}
        return Outcome(status=EffectStatus.COMMITTED, version="2", result=paid)

    async def version(self, resource: str) -> str:
        """Nobody can tell."""
        return "1"

    async def lookup(self, effect: Effect) -> Outcome | None:
        """Nobody can tell."""
        return None


PAY = says("I pay.", call("orders.pay", order="o1"))


@pytest.mark.shows(109)
async def test_a_settled_act_answers_from_the_ledger(tmp_path: Path, settings: Settings) -> None:
    """The model asks twice; the target is asked once, and both calls get its one receipt."""
    till = Till()
    async with opened(settings, till) as (harness, parts):
        task = contract(tmp_path, [PAY, PAY, DONE], capabilities=["orders.pay"])
        report = await harness.run(task)
        told = await payloads(parts, report.attempt_id)
    assert report.status is AttemptStatus.CANDIDATE_VERIFIED
    assert till.taken == ["pay-o1"]
    assert report.effects == {"COMMITTED": 1}
    results = [p.observation.structured_result for p in told if isinstance(p, Observed)]
    assert results == [{"receipt": "r-1"}] * 2
    assert [p.type for p in told].count("action_deduplicated") == 1


@pytest.mark.shows(114, 116, 147)
async def test_a_lost_answer_is_never_sent_again_by_itself(
    tmp_path: Path, settings: Settings
) -> None:
    """Without a promise of the target it stays unknown, however often the run is taken up."""
    till = Till(loses_the_answer=True)
    async with opened(settings, till) as (harness, parts):
        task = contract(tmp_path, [PAY, PAY, DONE], capabilities=["orders.pay"])
        report = await harness.run(task)
        for _ in range(2):
            assert report.status is AttemptStatus.RECONCILE_REQUIRED
            assert report.effects == {"UNKNOWN_EFFECT": 1}
            report = await harness.resume(report.attempt_id)
            report = await harness.recover(report.attempt_id)
        (effect,) = await parts.records.effects(report.attempt_id)
    assert till.taken == ["pay-o1"]
    assert effect.outcome is not None
    assert (effect.outcome.error_type, effect.source) == ("TimeoutError", None)
