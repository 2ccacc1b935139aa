"""The limits of a policy that an HTTP target enforces itself, on what it is about to post."""

from typing import Any

from checkrein.adapters.addresses import url_fact
from checkrein.contracts.action import Facts
from checkrein.errors import CapabilityError

ENFORCED = frozenset({"hosts", "methods", "max_amount_minor", "max_bytes"})
"""Names of the limits, as policies write them."""


def enforce(constraints: dict[str, Any], facts: Facts, size: int, *, op: str) -> None:
    """Hold what would be posted against the limits.

    Raises:
        CapabilityError: constraint_violated, nothing was sent; constraint_unavailable for a limit
            that this kind of target cannot enforce.
    """
    unknown = sorted(set(constraints) - ENFORCED)
    if unknown:
        raise _error(op, "constraint_unavailable", f"The limit {unknown[0]} cannot be enforced.")
    (url,) = facts.urls
    hosts = constraints.get("hosts")
    if hosts is not None and url.host not in {_plain(host, op) for host in hosts}:
        raise _error(op, "constraint_violated", f"The policy permits other hosts than {url.host}.")
    methods = constraints.get("methods")
    if methods is not None and url.method not in {str(m).upper() for m in methods}:
        raise _error(op, "constraint_violated", f"The policy does not permit {url.method}.")
    most = constraints.get("max_amount_minor")
    if most is not None and (facts.amount_minor is None or facts.amount_minor > most):
        found = (
            "no amount is known" if facts.amount_minor is None else f"it is {facts.amount_minor}"
        )
        why = f"The policy permits at most {most} of the smallest unit, and {found}."
        raise _error(op, "constraint_violated", why)
    if "max_bytes" in constraints and size > constraints["max_bytes"]:
        why = f"The policy permits {constraints['max_bytes']} bytes, and these are {size}."
        raise _error(op, "constraint_violated", why)


def _plain(host: Any, op: str) -> str:
    """A host of the policy in the form in which facts name hosts."""
    return url_fact(f"https://{host}", op=op).host


def _error(op: str, code: str, why: str) -> CapabilityError:
    return CapabilityError(f"{why} Nothing was sent.", op=op, code=code, advice=why)
