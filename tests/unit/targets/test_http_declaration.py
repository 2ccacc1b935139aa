"""What an HTTP target declares, and what it does without asking anybody."""

from dataclasses import replace
from typing import Any

import pytest

from checkrein.adapters.http_declaration import HttpDeclaration
from checkrein.adapters.http_target import HttpTarget, VerifiedHttpTarget
from checkrein.contracts.action import Guarantee, Lookup
from checkrein.errors import InputError

GOOD = HttpDeclaration(
    name="orders.place",
    description="Place an order.",
    base_url="https://orders.example",
    path="/orders",
    parameters={"type": "object", "properties": {"n": {"type": "integer"}}},
    resource=lambda args: f"order:{args['n']}",
)


@pytest.mark.parametrize(
    "change",
    [
        {"name": "Orders!"},
        {"base_url": "ftp://orders.example"},
        {"base_url": "https://user:password@orders.example"},
        {"path": "orders"},
        {"guarantee": Guarantee.ATOMIC_KEY},
        {"guarantee": Guarantee.COMPARE_AND_SET},
        {"lookup": Lookup.AUTHORITATIVE},
        {"lookup": Lookup.AUTHORITATIVE, "lookup_path": "/orders"},
        {"parameters": {"properties": {"operation_hash": {}}}},
        {"key_header": "Host"},
        {"without_effect": frozenset({503})},
        {"timeout_s": 0},
        {"verify_fields": ("n",)},
    ],
)
def test_declarations_that_contradict_themselves_are_refused(change: dict[str, Any]) -> None:
    """Protects the ledger, which picks its path by the declaration."""
    with pytest.raises(InputError, match="cannot be declared"):
        replace(GOOD, **change)


def test_what_is_declared_is_what_the_harness_sees() -> None:
    """Protects the worst case as the default, and the type that a verify needs."""
    spec = HttpTarget(GOOD).spec
    assert (spec.guarantee, spec.lookup, spec.verifies) == (Guarantee.NONE, Lookup.NONE, False)
    verified = replace(GOOD, verify_path="/orders/{id}")
    assert VerifiedHttpTarget(verified).spec.verifies
    with pytest.raises(InputError, match="VerifiedHttpTarget"):
        HttpTarget(verified)
