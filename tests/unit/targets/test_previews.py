"""What people are shown of a payment, a request and a row."""

import json
from collections.abc import Mapping

import pytest

from checkrein.adapters.http_declaration import HttpDeclaration
from checkrein.adapters.http_target import HttpTarget
from checkrein.adapters.money import written_out
from checkrein.adapters.payment_target import refunds
from checkrein.adapters.sql_preview import preview
from checkrein.adapters.sql_row import Row
from checkrein.contracts.approval import PreviewKind


@pytest.mark.parametrize(
    ("amount", "currency", "words"),
    [
        (1234, "EUR", "12.34 EUR (1,234 in the smallest unit)"),
        (5, "USD", "0.05 USD (5 in the smallest unit)"),
        (1234567, "JPY", "1,234,567 JPY (1,234,567 in the smallest unit)"),
        (1234, "KWD", "1.234 KWD (1,234 in the smallest unit)"),
        (-100, "EUR", "-1.00 EUR (-100 in the smallest unit)"),
        (0, "XYZ", "0.00 XYZ (0 in the smallest unit)"),
    ],
)
def test_money_is_written_out(amount: int, currency: str, words: str) -> None:
    """Protects from reading cents as euros: yen have none, dinars a thousand."""
    assert written_out(amount, currency) == words


async def test_a_request_is_shown_without_its_secrets() -> None:
    """Protects credentials of the service and of the call; the headers are not even asked for."""

    async def headers() -> Mapping[str, str]:
        raise AssertionError("a preview asks nobody")

    target = HttpTarget(
        HttpDeclaration(
            name="orders.place",
            description="Place an order.",
            base_url="https://shop.example",
            path="/orders",
            parameters={"type": "object"},
            resource=lambda args: "order",
            reference="reference",
            headers=headers,
            money=lambda args: (int(args["cents"]), "EUR"),
        )
    )
    prepared = await target.prepare({"cents": 250, "token": "abcdef", "note": "n" * 40_000})
    assert prepared.preview_kind is PreviewKind.HTTP
    lines = prepared.preview.splitlines()
    assert lines[:5] == [
        "amount: 2.50 EUR (250 in the smallest unit)",
        "POST https://shop.example/orders",
        "Content-Type: application/json",
        "further headers: [masked], asked for at the send and shown to nobody",
        "",
    ]
    assert "abcdef" not in prepared.preview
    assert '"token": "[masked]"' in prepared.preview
    assert "characters left out" in prepared.preview
    assert lines[-1] == "The harness adds to the body: operation_hash, reference"
    await target.aclose()


async def test_a_refund_says_what_it_gives_back() -> None:
    """Protects the approver of a refund, who sees no amount in its arguments."""
    target = refunds("http://127.0.0.1:1", "n")
    prepared = await target.prepare({"effect_id": "eff_1"})
    assert prepared.preview.startswith("Give back the whole payment that effect eff_1 made.")
    await target.aclose()


def test_a_row_shows_statement_values_and_count() -> None:
    """Protects from a change in disguise: values are data, and secrets are masked on both sides."""
    before = {"id": "7", "name": "a", "password": "old", "big": 1}
    after = {**before, "name": "x'; DROP TABLE t\x1b--", "password": "new"}
    row = Row("7", json.dumps(before), json.dumps(after), json.dumps(after), None)
    assert preview("shop.users", "id", row, same=False).splitlines() == [
        "UPDATE shop.users SET name = $1, password = $2 WHERE id = $3",
        '  $1 name: "a" -> "x\'; DROP TABLE t\\u001b--"',
        '  $2 password: "[masked]" -> "[masked]"',
        '  $3 id: "7"',
        "rows: 1, counted now under this key; it changes only while it is as shown here",
    ]
    assert "no row changes" in preview("shop.users", "id", row, same=True)
