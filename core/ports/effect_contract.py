"""What a capability declares, held against itself: a promise that cannot be meant is refused."""

from collections.abc import Iterator

from checkrein.contracts import ids
from checkrein.contracts.action import Guarantee, Lookup, SideEffect
from checkrein.ports.capability import Applies, Capability, CapabilitySpec, Verifies

EFFECT_ID = "effect_id"
"""The argument by which a compensation names the effect that it undoes."""

_KEY_LENGTH = len(ids.effect_id("", "", ""))


def contradictions(capability: Capability) -> list[str]:
    """Everything in a declaration that contradicts itself, each one sentence for a person.

    Reads the spec and which optional methods are there; calls none of them. Empty: nothing found.
    """
    spec = capability.spec
    found = [*_of_keys(spec), *_of_profiles(spec)]
    if spec.side_effect is SideEffect.READ:
        found += _of_a_read(spec)
    else:
        found += _of_guarantee(spec, applies=isinstance(capability, Applies))
        found += _of_compensation(spec)
    if spec.verifies and not isinstance(capability, Verifies):
        found.append(f"{spec.name} declares verifies, but has no method `verify`.")
    return found


def _of_a_read(spec: CapabilitySpec) -> Iterator[str]:
    promised = {
        f"the guarantee {spec.guarantee}": spec.guarantee is not Guarantee.NONE,
        f"lookup {spec.lookup}": spec.lookup is not Lookup.NONE,
        "verifies": spec.verifies,
        "compensates": spec.compensates is not None,
    }
    for what, is_promised in promised.items():
        if is_promised:
            yield f"{spec.name} is a READ and promises {what}; a READ has no effect. Remove that."


def _of_profiles(spec: CapabilitySpec) -> Iterator[str]:
    if ("sandbox_profile" in spec.enforces) != bool(spec.sandbox_profiles):
        yield (
            f"{spec.name} must declare both or neither: sandbox_profile among `enforces`, and the "
            "profiles that it can honour in `sandbox_profiles`."
        )


def _of_keys(spec: CapabilitySpec) -> Iterator[str]:
    keeps = spec.key_retention_s
    if spec.guarantee is not Guarantee.ATOMIC_KEY:
        if keeps is not None:
            yield f"{spec.name} declares key_retention_s, but not the guarantee atomic_key."
        return
    if keeps is None:
        yield (
            f"{spec.name} promises atomic_key without key_retention_s: "
            "say for how many seconds its target keeps its keys."
        )
    elif keeps < spec.retry.window_s:
        yield (
            f"{spec.name}: its target keeps keys for {keeps:g} s, but sends are repeated for "
            f"{spec.retry.window_s:g} s; a repeat that comes later is a second effect. "
            "Shorten retry.window_s."
        )
    if spec.max_key_length < _KEY_LENGTH:
        yield (
            f"{spec.name}: its target takes keys of at most {spec.max_key_length} characters, "
            f"but ours have {_KEY_LENGTH}."
        )


def _of_guarantee(spec: CapabilitySpec, *, applies: bool) -> Iterator[str]:
    swaps = spec.guarantee is Guarantee.COMPARE_AND_SET
    if swaps and spec.lookup is not Lookup.AUTHORITATIVE:
        yield (
            f"{spec.name} promises compare_and_set with lookup {spec.lookup}: reading its version "
            "answers whether it happened, so that its lookup is authoritative."
        )
    if spec.guarantee is not Guarantee.SAME_TRANSACTION:
        return
    if not applies:
        yield f"{spec.name} promises same_transaction, but has no method `apply`."
    if spec.lookup is not Lookup.NONE:
        yield (
            f"{spec.name} promises same_transaction with lookup {spec.lookup}: it commits together "
            "with its receipt, so that there is nothing to look up."
        )


def _of_compensation(spec: CapabilitySpec) -> Iterator[str]:
    if spec.compensates is None:
        return
    if spec.compensates == spec.name:
        yield f"{spec.name} compensates itself; name the capability whose effects it undoes."
    if EFFECT_ID not in spec.parameters.get("properties", {}):
        yield (
            f"{spec.name} compensates {spec.compensates}, but has no parameter `{EFFECT_ID}`, "
            "which names the effect that it undoes."
        )
