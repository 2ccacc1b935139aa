"""`@capability` with a whole effect contract: keys, look-up, versions, preview, verification."""

from typing import Any

import pytest

from checkrein.adapters.function_capability import capability
from checkrein.adapters.function_target import FunctionCapability
from checkrein.contracts.action import Guarantee, Lookup
from checkrein.contracts.effect import Effect, EffectStatus, Outcome
from checkrein.errors import CapabilityError, EnvironmentFault
from checkrein.ports.capability import Permit, RetryPolicy, Verification, Verifies
from checkrein.ports.effect_contract import contradictions

PERMIT = Permit(effect_id="eff_1", key="order-1", operation_hash="sha256:1", fence=1)
EFFECT = Effect(
    effect_id="eff_1",
    tenant="local",
    resource="order:1",
    key="order-1",
    operation_hash="sha256:1",
    action_id="act_1",
    status=EffectStatus.EXECUTING,
)
DONE = Outcome(status=EffectStatus.COMMITTED)

Declared = FunctionCapability[..., Any]


async def ours() -> bool:
    return True


def raising(error: Exception) -> Any:
    """A function of anything that fails."""

    async def fail(*_: object) -> Any:
        raise error

    return fail


def saying(text: object) -> Any:
    """A preview that says the same of everything."""

    def say(args: dict[str, Any]) -> object:
        return text

    return say


def declared(**terms: Any) -> Declared:
    """A plain write with more terms."""

    @capability("a.write", **terms)
    async def write(text: str) -> None:
        """Write."""

    return write


def keyed(seen: list[tuple[str, str, str]], error: Exception | None = None) -> Declared:
    """A write whose target de-duplicates."""

    async def find(effect: Effect) -> Outcome | None:
        return DONE if effect.effect_id == "eff_1" else None

    @capability(
        "orders.refund",
        guarantee="atomic_key",
        lookup="authoritative",
        key_retention_s=86_400,
        max_key_length=64,
        timeout_s=5,
        independent=True,
        retry=RetryPolicy(tries=2),
        find=find,
        resource=lambda args: f"order:{args['order']}",
    )
    async def refund(order: str, *, idempotency_key: str, operation_hash: str) -> str:
        """Pay money back."""
        seen.append((order, idempotency_key, operation_hash))
        if error is not None:
            raise error
        return "refunded"

    return refund


def test_whole_contract_is_declared() -> None:
    """Protects the ledger's choice of path, which reads the spec alone."""
    spec = keyed([]).spec
    assert (spec.guarantee, spec.lookup) == (Guarantee.ATOMIC_KEY, Lookup.AUTHORITATIVE)
    assert (spec.key_retention_s, spec.max_key_length, spec.timeout_s) == (86_400, 64, 5)
    assert spec.independent
    assert spec.retry.tries == 2
    assert not spec.verifies
    assert contradictions(keyed([])) == []


async def test_key_and_hash_come_from_the_permit_and_never_from_a_model() -> None:
    """Protects the key: whoever chooses it decides whether an effect happens twice."""
    seen: list[tuple[str, str, str]] = []
    refund = keyed(seen)
    assert list(refund.spec.parameters["properties"]) == ["order"]
    prepared = await refund.prepare({"order": "1"})
    outcome = await refund.send(prepared, PERMIT, ours)
    assert outcome.status is EffectStatus.COMMITTED
    assert seen == [("1", "eff_1", "sha256:1")]
    with pytest.raises(CapabilityError) as caught:
        await refund.prepare({"order": "1", "idempotency_key": "mine"})
    assert caught.value.code == "invalid_arguments"
    assert await refund("2", idempotency_key="k", operation_hash="h") == "refunded"


@pytest.mark.shows(147)
@pytest.mark.parametrize("error", [TimeoutError(), ValueError("s3cr3t")])
async def test_keyed_send_without_an_answer_stays_unknown(error: Exception) -> None:
    """Protects the record: the ledger may repeat it under its key, but nothing is guessed."""
    refund = keyed([], error)
    outcome = await refund.send(await refund.prepare({"order": "1"}), PERMIT, ours)
    assert outcome.status is EffectStatus.UNKNOWN_EFFECT
    assert "s3cr3t" not in outcome.message


async def test_read_keeps_its_own_parameter_of_that_name() -> None:
    """Protects reads that look a key up: without an effect there is nothing to fill in."""

    @capability("keys.show", side_effect="READ")
    async def show(*, idempotency_key: str) -> str:
        """Show a key."""
        return idempotency_key

    assert (await show.read({"idempotency_key": "k"}, {})).result == {"text": "k"}


async def test_find_answers_the_lookup() -> None:
    """Protects recovery, which asks before it sends anything again."""
    refund = keyed([])
    assert await refund.lookup(EFFECT) == DONE
    assert await refund.lookup(EFFECT.model_copy(update={"effect_id": "eff_2"})) is None


async def test_find_that_fails_means_that_the_target_cannot_be_asked_now() -> None:
    """Protects recovery: not having been able to ask is no answer."""
    one = declared(lookup="eventual", find=raising(ValueError("s3cr3t")))
    with pytest.raises(CapabilityError) as caught:
        await one.lookup(EFFECT)
    assert (caught.value.code, caught.value.retryable) == ("target_unreachable", True)
    assert "s3cr3t" not in repr((str(caught.value), caught.value.context))
    own = CapabilityError("No.", op="a", code="gone")
    with pytest.raises(CapabilityError) as passed:
        await declared(lookup="eventual", find=raising(own)).lookup(EFFECT)
    assert passed.value is own


async def test_find_that_returns_something_else_is_told() -> None:
    """Protects recovery from a truthy answer that is taken for proof."""

    async def find(effect: Effect) -> Any:
        return True

    with pytest.raises(CapabilityError) as caught:
        await declared(lookup="authoritative", find=find).lookup(EFFECT)
    assert caught.value.code == "find_failed"


async def test_version_is_read_for_the_grant_and_for_the_policy() -> None:
    """Protects approvals: a yes goes stale when the object changes."""
    now = ["v1"]

    async def read_version(args: dict[str, Any]) -> str:
        return f"{args['text']} {now[0]}"

    one = declared(read_version=read_version)
    assert (await one.describe({"text": "a"})).resource_version == "a v1"
    now[0] = "v2"
    assert (await one.prepare({"text": "a"})).from_version == "a v2"


@pytest.mark.parametrize(
    ("error", "retryable"), [(ConnectionError("s3cr3t"), True), (ValueError("s3cr3t"), False)]
)
async def test_version_that_cannot_be_read_is_an_error_of_the_capability(
    error: Exception, retryable: bool
) -> None:
    """Protects the model's turn: it is told, and nothing crashes."""
    one = declared(read_version=raising(error))
    with pytest.raises(CapabilityError) as caught:
        await one.prepare({"text": "a"})
    assert (caught.value.code, caught.value.retryable) == ("version_failed", retryable)
    assert "s3cr3t" not in str(caught.value)


async def test_preview_is_the_authors_own_words() -> None:
    """Protects the person who approves: what is shown is what the author means."""

    async def later(args: dict[str, Any]) -> str:
        return f"Later: {args['text']}"

    def at_once(args: dict[str, Any]) -> str:
        return f"Write {args['text']}\x00"

    now = declared(preview=at_once)
    assert (await now.prepare({"text": "a"})).preview == "Write a\\u0000"
    assert (await declared(preview=later).prepare({"text": "a"})).preview == "Later: a"


@pytest.mark.parametrize(
    "preview",
    [
        raising(ValueError("s3cr3t")),
        raising(CapabilityError("s3cr3t", op="a")),
        saying(" "),
        saying(7),
    ],
)
async def test_preview_that_fails_is_no_error_that_a_model_could_mend(preview: Any) -> None:
    """Protects approvals: what cannot be shown is denied, not tried in another way."""
    with pytest.raises(EnvironmentFault) as caught:
        await declared(preview=preview).prepare({"text": "a"})
    assert caught.value.code == "preview_unavailable"
    assert "s3cr3t" not in str(caught.value)


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        (True, Verification(holds=True)),
        (False, Verification(holds=False)),
        (Verification(holds=True, detail="read"), Verification(holds=True, detail="read")),
        (None, Verification(holds=False, detail="verify returned a NoneType")),
    ],
)
async def test_verify_reads_the_real_system_back(said: Any, expected: Verification) -> None:
    """Protects success: only an explicit yes holds."""

    async def verify(effect: Effect) -> Any:
        return said

    one = declared(verify=verify)
    assert one.spec.verifies
    assert isinstance(one, Verifies)
    assert await one.verify(EFFECT) == expected


async def test_verify_that_fails_or_is_not_declared_raises() -> None:
    """Protects success: raising means that it does not hold."""
    with pytest.raises(CapabilityError) as failed:
        await declared(verify=raising(ValueError("s3cr3t"))).verify(EFFECT)
    assert failed.value.code == "verify_failed"
    assert "s3cr3t" not in str(failed.value)
    with pytest.raises(CapabilityError) as absent:
        await declared().verify(EFFECT)
    assert absent.value.code == "not_supported"


async def test_compensation_names_the_effect_that_it_undoes() -> None:
    """Protects the record of what is compensated, which stays."""

    @capability("orders.charge_again", compensates="orders.refund")
    async def charge_again(effect_id: str) -> None:
        """Take a refund back."""

    assert charge_again.spec.compensates == "orders.refund"
