"""Every check that a target must pass for what it declares, run one after the other."""

import asyncio
from collections.abc import AsyncGenerator, Iterable, Iterator, Mapping
from dataclasses import dataclass

from checkrein.contracts.action import Guarantee, Lookup, SideEffect
from checkrein.errors import InputError
from checkrein.ports.capability import CapabilitySpec
from checkrein.testing.conformance import (
    at_most_once_suite,
    atomic_key_suite,
    common_suite,
    compare_and_set_suite,
    lookup_suite,
    same_transaction_suite,
)
from checkrein.testing.conformance.crash_suite import (
    crash_between,
    crash_within_a_swap,
    truth_after_crash,
)
from checkrein.testing.conformance.target import UNUSABLE, Check, NotChecked, Target, made

LONGEST_S = 120.0
"""Seconds after which a check that has not ended has failed."""

_SWAP_ABOUT = {
    "it_declares_what_is_checked": "declaration",
    "preparing_changes_nothing": "preview",
    "the_target_knows_whether_it_happened": "lookup authoritative",
    "a_former_owner_changes_nothing": "ownership",
}
"""What a check of compare_and_set_suite is about, where it is not the swap itself."""


@dataclass(frozen=True)
class Planned:
    """A check that will be made.

    Attributes:
        guarantee: what the target promises, for example atomic_key or lookup authoritative.
        check: the check's name, in words.
    """

    guarantee: str
    check: str
    run: Check


@dataclass(frozen=True)
class Verdict:
    """What one check found.

    Attributes:
        ok: whether it holds; None where it could not be checked.
        problem: what went wrong, or why it could not be checked; else empty.
    """

    guarantee: str
    check: str
    ok: bool | None
    problem: str = ""


async def plan_of(source: object, name: str | None = None) -> tuple[CapabilitySpec, list[Planned]]:
    """What a target declares, and the checks that this asks for.

    Args:
        source: what `target.made` takes.
        name: its MODULE:OBJECT, by which a child process can load it; without it no crash is made.

    Raises:
        InputError: `source` gives no Target, or one that cannot be checked (code target_unusable).
    """
    async with made(source) as target:
        spec = target.capability.spec
    if spec.side_effect is SideEffect.READ:
        raise _unusable(f"{spec.name} is a READ: it has no effect to check.")
    if spec.guarantee is Guarantee.COMPARE_AND_SET and isinstance(source, Target):
        raise _unusable(
            f"{spec.name} promises compare_and_set, whose checks each need a resource that nobody "
            "has changed. Give a function that makes a fresh Target instead of a Target."
        )
    return spec, _planned(spec, name)


def _unusable(message: str) -> InputError:
    return InputError(message, op="conformance.plan", code=UNUSABLE)


def _planned(spec: CapabilitySpec, name: str | None) -> list[Planned]:
    # A check that must count is another one than that which compares answers, so that what a
    # target without `count` keeps is still seen.
    found = [*_of(common_suite.CHECKS)]
    if spec.guarantee is Guarantee.COMPARE_AND_SET:
        found += [*_swap(), *_about(Guarantee.COMPARE_AND_SET, [crash_within_a_swap(name)])]
        return [*found, *_verification(spec)]
    if spec.guarantee is Guarantee.SAME_TRANSACTION:
        return [*found, *_of(same_transaction_suite.CHECKS), *_verification(spec)]
    found += _about("ownership", common_suite.OWNERSHIP)
    if spec.guarantee is Guarantee.ATOMIC_KEY:
        found += _of(atomic_key_suite.CHECKS)
        found += _about(Guarantee.ATOMIC_KEY, [crash_between(name)])
    else:
        found += _of(at_most_once_suite.CHECKS)
    checks = lookup_suite.NONE
    if spec.lookup is not Lookup.NONE:
        checks = [*lookup_suite.CHECKS, truth_after_crash(name)]
    return [*found, *_about(f"lookup {spec.lookup}", checks), *_verification(spec)]


async def verdicts(source: object, plan: Iterable[Planned]) -> AsyncGenerator[Verdict]:
    """Make every check of a plan on a target of its own where `source` makes them.

    Raises:
        InputError: `source` gives no Target.
    """
    for one in plan:
        yield await verdict(source, one)


async def verdict(source: object, one: Planned) -> Verdict:
    """Make one check.

    Raises:
        InputError: `source` gives no Target (code target_unusable).
    """
    ok, problem = None, ""
    limit = asyncio.timeout(LONGEST_S)
    try:
        async with limit, made(source) as target:
            await one.run(target)
        ok = True
    except NotChecked as reason:
        problem = str(reason)
    except AssertionError as error:
        ok, problem = False, str(error) or "an assertion of the target's own failed"
    except Exception as error:  # whatever a target raises where it must not, it has failed
        if isinstance(error, InputError) and error.code == UNUSABLE:
            raise
        late = f"it did not end within {LONGEST_S:g} s"
        ok, problem = False, late if limit.expired() else f"{type(error).__name__}: {error}"
    return Verdict(one.guarantee, one.check, ok, problem)


def _swap() -> Iterator[Planned]:
    for name, check in compare_and_set_suite.CHECKS.items():
        yield _plan(_SWAP_ABOUT.get(name, Guarantee.COMPARE_AND_SET), check)


def _verification(spec: CapabilitySpec) -> Iterator[Planned]:
    if not spec.verifies:
        return
    ours = spec.guarantee is Guarantee.SAME_TRANSACTION
    made_in = same_transaction_suite if ours else common_suite
    yield from _about("verification", made_in.VERIFICATION)


def _of(checks: Mapping[str, Iterable[Check]]) -> Iterator[Planned]:
    for guarantee, some in checks.items():
        yield from _about(guarantee, some)


def _about(guarantee: str, checks: Iterable[Check]) -> Iterator[Planned]:
    for check in checks:
        yield _plan(guarantee, check)


def _plan(guarantee: str, check: Check) -> Planned:
    name = getattr(check, "__name__", type(check).__name__)
    return Planned(guarantee, name.replace("_", " "), check)
