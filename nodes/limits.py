"""Limits that the harness itself enforces for every capability; the others are the capability's.

A limit that neither can enforce is a denial (constraint_unavailable): it is never ignored.
"""

from collections.abc import Mapping, Sequence
from typing import Any, cast

from checkrein.contracts.action import SideEffect
from checkrein.errors import CapabilityError
from checkrein.ports.capability import CapabilitySpec

TIMEOUT = "timeout_ms"
READ_ONLY = "read_only"
DRY_RUN = "dry_run"
REDACT = "redact"
SANDBOX = "sandbox_profile"

EVERYWHERE = frozenset({TIMEOUT, READ_ONLY, DRY_RUN, REDACT})
"""Enforced here, whatever the capability."""

HIDDEN = "[redacted]"


def unavailable(spec: CapabilitySpec, constraints: Mapping[str, Any]) -> list[str]:
    """The limits that nobody can enforce for a capability, sorted; an unknown profile is one."""
    missing = set(constraints) - spec.enforces - EVERYWHERE
    profile = constraints.get(SANDBOX)
    if profile is not None and profile not in spec.sandbox_profiles:
        missing = missing - {SANDBOX} | {f"{SANDBOX} {profile!r}"}
    return sorted(missing)


def for_capability(constraints: Mapping[str, Any]) -> dict[str, Any]:
    """The limits that a capability is handed, to enforce by itself."""
    return {name: value for name, value in constraints.items() if name not in EVERYWHERE}


def time_limit_s(spec: CapabilitySpec, constraints: Mapping[str, Any] | None = None) -> float:
    """When one call is cut off, in seconds: the declared time and a moment, or the policy's limit.

    The moment is for capabilities that keep the time themselves: cut off at the very same time,
    they could not even close their connections.
    """
    declared = spec.timeout_s + min(1.0, spec.timeout_s / 4)
    limit = (constraints or {}).get(TIMEOUT)
    return declared if limit is None else min(declared, float(limit) / 1000)


def check_writes(spec: CapabilitySpec, constraints: Mapping[str, Any]) -> None:
    """Refuse a write that was only permitted to read.

    Raises:
        CapabilityError: read_only; nothing was sent.
    """
    if constraints.get(READ_ONLY) and spec.side_effect is not SideEffect.READ:
        raise CapabilityError(
            f"{spec.name} changes something, and the policy permits reading alone.",
            op="limits.check",
            code=READ_ONLY,
            advice="The policy lets this run only where nothing changes. Use a reading tool.",
        )


def redacted(value: Any, constraints: Mapping[str, Any]) -> Any:
    """A result without the fields that the policy hides, at any depth, by their names."""
    hidden = constraints.get(REDACT)
    if not hidden:
        return value
    return _without(value, {str(name).casefold() for name in hidden})


def _without(value: Any, hidden: set[str]) -> Any:
    if isinstance(value, Mapping):
        return {
            key: HIDDEN if str(key).casefold() in hidden else _without(item, hidden)
            for key, item in cast(Mapping[str, Any], value).items()
        }
    if isinstance(value, list | tuple):
        return [_without(item, hidden) for item in cast("Sequence[object]", value)]
    return value
