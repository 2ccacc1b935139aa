"""Payments, refunds and the keys under which they were made.

Which of many sends of one key counts is decided by the primary key of the table of keys, inside the
transaction that writes the payment. Everything here blocks; the server calls it in a thread.
"""

import json
import time
import uuid
from dataclasses import dataclass
from typing import Any

from checkrein.testing.payment_server.service_file import ServiceFile

_MOST_KEYS = 10_000


@dataclass(frozen=True)
class Order:
    """One valid request for something to happen.

    Attributes:
        kind: payment or refund.
        key: the idempotency key; None makes a new one each time.
        reference: the sender's own name for it, by which it can be found; binds nothing.
        args_hash: digest of the whole body, operation_hash included.
        record: what is kept and answered, without id and status.
        refunds: for a refund, the key or reference of the payment.
    """

    namespace: str
    kind: str
    key: str | None
    reference: str | None
    args_hash: str
    record: dict[str, Any]
    refunds: str | None = None


@dataclass(frozen=True)
class Settled:
    """What became of an order: the record, or the name of the refusal."""

    record: dict[str, Any] | None = None
    replayed: bool = False
    refusal: str = ""


class PaymentLedger(ServiceFile):
    """Payments and refunds; only ever used by one thread."""

    def settle(self, order: Order) -> Settled:
        """Make it happen once for its key, durably, or say why not."""
        with self.transaction():
            self._expire(order.namespace)
            known = self._bound(order)
            if known is not None:
                return known
            more: dict[str, Any] = {}
            if order.refunds is not None:
                refunded = self._refundable(order.namespace, order.refunds)
                if isinstance(refunded, str):
                    if order.key is not None:
                        self.rows(
                            "DELETE FROM keys WHERE namespace = ? AND key = ?",
                            order.namespace,
                            order.key,
                        )
                    return Settled(refusal=refunded)
                more = refunded
            return Settled(record=self._add(order, more))

    def _bound(self, order: Order) -> Settled | None:
        """Bind the key; None where it is new, or where there is none."""
        if order.key is None:
            return None
        bound = self.rows(
            "INSERT INTO keys VALUES (?, ?, ?, ?, '', ?) ON CONFLICT DO NOTHING RETURNING key",
            order.namespace,
            order.key,
            order.kind,
            order.args_hash,
            time.time(),
        )
        if bound:
            return None
        ((kind, args_hash, found),) = self.rows(
            "SELECT kind, args_hash, id FROM keys WHERE namespace = ? AND key = ?",
            order.namespace,
            order.key,
        )
        if (kind, args_hash) != (order.kind, order.args_hash):
            return Settled(refusal="key_reused_with_other_args")
        return Settled(record=self.by_id(order.namespace, order.kind, found), replayed=True)

    def _refundable(self, namespace: str, sought: str) -> dict[str, Any] | str:
        """What a refund takes over from its payment, or why there is nothing to refund."""
        payment = self.find(namespace, "payment", sought)
        if payment is None:
            return "payment_not_found"
        refunds = "SELECT record FROM done WHERE namespace = ? AND kind = 'refund'"
        if any(
            json.loads(row[0])["payment"] == payment["id"] for row in self.rows(refunds, namespace)
        ):
            return "already_refunded"
        return {name: payment[name] for name in ("amount", "currency", "to")} | {
            "payment": payment["id"]
        }

    def _add(self, order: Order, more: dict[str, Any]) -> dict[str, Any]:
        name = f"{order.kind[:3]}_{uuid.uuid4().hex[:20]}"
        record = {**order.record, **more, "id": name, "status": "committed"}
        self.rows(
            "INSERT INTO done (id, namespace, kind, key, reference, record, made) "
            "VALUES (?, ?, ?, ?, ?, ?, ?)",
            name,
            order.namespace,
            order.kind,
            order.key,
            order.reference,
            json.dumps(record),
            time.time(),
        )
        self.rows(
            "UPDATE keys SET id = ? WHERE namespace = ? AND key = ?",
            name,
            order.namespace,
            order.key,
        )
        return record

    def _expire(self, namespace: str) -> None:
        retention = self.settings(namespace).get("key_retention_s")
        if retention is not None:
            self.rows(
                "DELETE FROM keys WHERE namespace = ? AND made <= ?",
                namespace,
                time.time() - retention,
            )

    def look_up(self, namespace: str, kind: str, sought: str) -> dict[str, Any] | None:
        """What a lookup shows: a forgotten key, or one too fresh for it, is absent."""
        with self.transaction():
            self._expire(namespace)
            settings = self.settings(namespace)
            fresh = settings.get("eventual_after_s", 0.0)
            until = time.time() - (fresh if settings.get("lookup") == "eventual" else 0.0)
            found = self.rows(
                "SELECT record FROM done WHERE namespace = ? AND kind = ? AND made <= ? AND "
                "(reference = ? OR id IN (SELECT id FROM keys WHERE namespace = ? AND key = ?)) "
                "ORDER BY seq LIMIT 1",
                namespace,
                kind,
                until,
                sought,
                namespace,
                sought,
            )
        return json.loads(found[0][0]) if found else None

    def find(self, namespace: str, kind: str, sought: str) -> dict[str, Any] | None:
        """What really happened first under a key or reference, remembered or not."""
        found = self.rows(
            "SELECT record FROM done WHERE namespace = ? AND kind = ? "
            "AND (key = ? OR reference = ?) ORDER BY seq LIMIT 1",
            namespace,
            kind,
            sought,
            sought,
        )
        return json.loads(found[0][0]) if found else None

    def by_id(self, namespace: str, kind: str, name: str) -> dict[str, Any] | None:
        """The real record."""
        found = self.rows(
            "SELECT record FROM done WHERE namespace = ? AND kind = ? AND id = ?",
            namespace,
            kind,
            name,
        )
        return json.loads(found[0][0]) if found else None

    def change(self, namespace: str, name: str, fields: dict[str, Any]) -> bool:
        """Change a record behind everybody's back; returns whether there is one."""
        changed = self.rows(
            "UPDATE done SET record = json_patch(record, ?) WHERE namespace = ? AND id = ? "
            "RETURNING id",
            json.dumps(fields),
            namespace,
            name,
        )
        return bool(changed)

    def count(self, namespace: str, key: str | None) -> dict[str, Any]:
        """What really happened: payments and refunds, and how many under each key."""
        rows = self.rows(
            "SELECT kind, coalesce(key, reference), count(*) FROM done WHERE namespace = ? "
            "AND (? IS NULL OR key = ? OR reference = ?) GROUP BY 1, 2 ORDER BY 1, 2 LIMIT ?",
            namespace,
            key,
            key,
            key,
            _MOST_KEYS,
        )
        total = {kind: sum(n for k, _, n in rows if k == kind) for kind in ("payment", "refund")}
        return {
            "payments": total["payment"],
            "refunds": total["refund"],
            "per_key": {name: n for _, name, n in rows if name is not None},
        }
