"""payments.charge and payments.refund, for services of the kind of the testing payment server."""

from typing import Any

import httpx

from checkrein.adapters.http_declaration import Headers, HttpDeclaration
from checkrein.adapters.http_target import HttpTarget, VerifiedHttpTarget
from checkrein.adapters.money import written_out
from checkrein.adapters.workspace_calls import closed_object
from checkrein.contracts.action import Guarantee, Lookup
from checkrein.contracts.display import shown
from checkrein.ports.capability import RetryPolicy

CHARGE = "payments.charge"
REFUND = "payments.refund"

DAY_S = 24 * 3600.0

_CHARGE = closed_object(
    ["amount", "currency", "to"],
    amount={
        "type": "integer",
        "minimum": 1,
        "maximum": 10**9,
        "description": "In the currency's smallest unit, for example cents.",
    },
    currency={"type": "string", "pattern": "^[A-Z]{3}$", "description": "For example EUR."},
    to={"type": "string", "minLength": 1, "maxLength": 128, "description": "Who is paid."},
    memo={"type": "string", "maxLength": 500},
)
_REFUND = closed_object(
    ["effect_id"],
    effect_id={
        "type": "string",
        "pattern": "^eff_[0-9a-f]{24}$",
        "description": "The effect of the payment that is given back, as its result names it.",
    },
    reason={"type": "string", "maxLength": 500},
)


def payments(
    url: str,
    namespace: str,
    *,
    guarantee: Guarantee = Guarantee.ATOMIC_KEY,
    lookup: Lookup = Lookup.AUTHORITATIVE,
    key_retention_s: float = DAY_S,
    timeout_s: float = 10.0,
    verified: bool = True,
    headers: Headers | None = None,
    retry: RetryPolicy | None = None,
    client: httpx.AsyncClient | None = None,
) -> HttpTarget:
    """payments.charge: pay an amount once.

    Args:
        url: the service's base URL.
        namespace: the account at the service; the first part of its paths.
        guarantee: atomic_key or none, as the service promises.
        key_retention_s: for atomic_key, how long it keeps keys, in seconds.
        verified: whether the payment is read back after its receipt.
        headers: gives secrets for each request anew.
    """
    return _target(
        HttpDeclaration(
            name=CHARGE,
            description="Pay an amount to somebody. It cannot be taken back, only refunded.",
            base_url=url,
            path=f"/{namespace}/payments",
            parameters=_CHARGE,
            resource=lambda args: f"account:{args['to']}",
            preview=_charge_preview,
            money=lambda args: (int(args["amount"]), str(args["currency"])),
            record="payment",
            verify_path=f"/{namespace}/payments/{{id}}" if verified else None,
            verify_fields=("amount", "currency", "to") if verified else (),
            **_terms(f"/{namespace}/payments", guarantee, lookup, key_retention_s),
            timeout_s=timeout_s,
            headers=headers,
            retry=retry or RetryPolicy(),
        ),
        client,
    )


def refunds(
    url: str,
    namespace: str,
    *,
    guarantee: Guarantee = Guarantee.ATOMIC_KEY,
    lookup: Lookup = Lookup.AUTHORITATIVE,
    key_retention_s: float = DAY_S,
    timeout_s: float = 10.0,
    headers: Headers | None = None,
    client: httpx.AsyncClient | None = None,
) -> HttpTarget:
    """payments.refund: give one payment back, as an act of its own. Arguments as for payments."""
    return _target(
        HttpDeclaration(
            name=REFUND,
            description="Give a whole payment back, named by the effect that made it.",
            base_url=url,
            path=f"/{namespace}/refunds",
            parameters=_REFUND,
            resource=lambda args: f"payment:{args['effect_id']}",
            preview=_refund_preview,
            record="refund",
            compensates=CHARGE,
            **_terms(f"/{namespace}/refunds", guarantee, lookup, key_retention_s),
            timeout_s=timeout_s,
            headers=headers,
        ),
        client,
    )


def _terms(
    path: str, guarantee: Guarantee, lookup: Lookup, key_retention_s: float
) -> dict[str, Any]:
    """The declaration's fields about keys: with none, a reference serves the lookup."""
    keyed = guarantee is Guarantee.ATOMIC_KEY
    asked = lookup is not Lookup.NONE
    return {
        "guarantee": guarantee,
        "lookup": lookup,
        "lookup_path": path if asked else None,
        "key_retention_s": key_retention_s if keyed else None,
        "reference": "reference" if asked and not keyed else None,
        "max_key_length": 64,
    }


def _target(declared: HttpDeclaration, client: httpx.AsyncClient | None) -> HttpTarget:
    kind = HttpTarget if declared.verify_path is None else VerifiedHttpTarget
    return kind(declared, client)


def _charge_preview(args: dict[str, Any]) -> str:
    amount = written_out(int(args["amount"]), str(args["currency"]))
    return f"Pay {amount} to {shown(args['to'])}. It cannot be taken back, only refunded."


def _refund_preview(args: dict[str, Any]) -> str:
    return f"Give back the whole payment that effect {shown(args['effect_id'])} made."
