"""Limits of a policy bite at the executor, each by name; what nobody can enforce is a denial."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from loops import DONE, call, contract, opened, payloads, says
from payment_account import Account

from checkrein import capability
from checkrein.contracts.event import Observed
from checkrein.contracts.observation import Observation
from checkrein.ports.capability import Capability
from checkrein.settings import Settings

RULES = """package checkrein.rules.limited

allow contains {{"reason_code": "limited"}}

limit contains {limit}
"""

PAY = call("payments.charge", amount=1250, currency="EUR", to="acme")


def limited(folder: Path, limit: str) -> Path:
    """A bundle that allows everything within one limit."""
    bundle = folder / "policy" / "checkrein" / "rules"
    bundle.mkdir(parents=True)
    (bundle / "limited.rego").write_text(RULES.format(limit=limit), encoding="utf-8")
    return folder / "policy"


async def told(
    folder: Path,
    settings: Settings,
    limit: str,
    wanted: dict[str, Any],
    *capabilities: Capability,
    **fields: Any,
) -> Observation:
    """What the model is told of one call under one limit."""
    task = contract(
        folder,
        [says("", wanted), DONE],
        policy=limited(folder, limit),
        capabilities=[wanted["name"]],
        **fields,
    )
    async with opened(settings, *capabilities) as (harness, parts):
        report = await harness.run(task)
        (seen,) = [
            p.observation
            for p in await payloads(parts, report.attempt_id)
            if isinstance(p, Observed)
        ]
    return seen


def code(seen: Observation) -> str:
    """Why a call was not done."""
    assert seen.diagnostics is not None
    return seen.diagnostics.error_type


@pytest.mark.parametrize(
    ("limit", "paid"),
    [
        ('{"max_amount_minor": 1249}', 0),
        ('{"max_amount_minor": 1250}', 1),
        ('{"hosts": ["api.bank.example"]}', 0),
        ('{"hosts": ["127.0.0.1"]}', 1),
        ('{"methods": ["GET"]}', 0),
        ('{"methods": ["POST"]}', 1),
        ('{"max_bytes": 10}', 0),
        ('{"max_bytes": 10000}', 1),
    ],
)
async def test_a_payment_within_its_limits_and_beyond(
    limit: str, paid: int, bank: Account, tmp_path: Path, settings: Settings
) -> None:
    """Protects money: the policy only names the limit; what holds it is the code that sends."""
    seen = await told(tmp_path, settings, limit, PAY, bank.charge())
    assert await bank.paid() == paid
    assert seen.status == ("ok" if paid else "failed")
    assert paid or code(seen) == "constraint_violated"


async def test_a_read_only_permission_changes_nothing(
    bank: Account, tmp_path: Path, settings: Settings
) -> None:
    """Protects: a write that is allowed to read is not sent."""
    limit = '{"read_only": true}'
    seen = await told(tmp_path, settings, limit, PAY, bank.charge())
    assert (seen.status, code(seen)) == ("failed", "read_only")
    assert await bank.paid() == 0


async def test_a_dry_run_shows_and_sends_nothing(
    bank: Account, tmp_path: Path, settings: Settings
) -> None:
    """Protects: a rehearsal says what would happen, and no effect comes of it."""
    limit = '{"dry_run": true}'
    seen = await told(tmp_path, settings, limit, PAY, bank.charge())
    assert seen.status == "no_change"
    assert "1250" in seen.structured_result["would_do"]
    assert await bank.paid() == 0


async def test_hidden_fields_reach_neither_model_nor_store(
    tmp_path: Path, settings: Settings
) -> None:
    """Protects: what the policy redacts is gone before anything is stored, at any depth."""

    @capability("crm.read", side_effect="READ")
    async def read() -> dict[str, Any]:
        """Read a customer."""
        return {"name": "Ann", "card": {"IBAN": "DE02secret"}, "notes": [{"iban": "DE03secret"}]}

    limit = '{"redact": ["iban"]}'
    seen = await told(tmp_path, settings, limit, call("crm.read"), read)
    assert seen.status == "ok"
    assert seen.structured_result["name"] == "Ann"
    assert "secret" not in seen.model_dump_json()


async def test_a_shorter_time_is_kept(tmp_path: Path, settings: Settings) -> None:
    """Protects: the policy may give a call less time than its author did."""

    @capability("slow.write")
    async def write() -> None:
        """Write slowly."""
        await asyncio.sleep(30)

    task = contract(
        tmp_path,
        [says("", call("slow.write")), DONE],
        policy=limited(tmp_path, '{"timeout_ms": 50}'),
        capabilities=["slow.write"],
    )
    async with opened(settings, write) as (harness, _):
        assert (await harness.run(task)).status == "RECONCILE_REQUIRED"


@pytest.mark.shows(58)
@pytest.mark.parametrize(
    "limit",
    [
        '{"sandbox_profile": "strict"}',
        '{"path_roots": ["src"]}',
        '{"max_rows": 1}',
    ],
)
async def test_what_nobody_can_enforce_is_a_denial(
    limit: str, bank: Account, tmp_path: Path, settings: Settings
) -> None:
    """Protects: a limit is never ignored."""
    seen = await told(tmp_path, settings, limit, PAY, bank.charge())
    assert (seen.status, code(seen)) == ("denied", "constraint_unavailable")
    assert await bank.paid() == 0


@pytest.mark.parametrize(("roots", "status"), [('["src"]', "failed"), ('["a.txt"]', "ok")])
async def test_a_write_stays_below_its_roots(
    roots: str, status: str, tmp_path: Path, settings: Settings
) -> None:
    """Protects files: the workspace itself refuses what lies elsewhere."""
    wanted = call("workspace.write_file", path="a.txt", content="two\n")
    limit = f'{{"path_roots": {roots}}}'
    seen = await told(tmp_path, settings, limit, wanted)
    assert seen.status == status
