"""Targets that each break one promise, in the way in which real ones do."""

import asyncio
import uuid

from targets_honest import KEYS, find, find_later, on_account
from targets_store import charged, rows

from checkrein.adapters.function_capability import capability
from checkrein.contracts.effect import Effect, EffectStatus, Outcome
from checkrein.errors import CapabilityError
from checkrein.testing.conformance.target import Target


async def find_any(effect: Effect) -> Outcome | None:
    """The first charge of those under a key, if it is the one that we bound."""
    query = "SELECT hash FROM charges WHERE key LIKE ? ORDER BY n"
    held = await rows(query, f"{effect.effect_id}%")
    ours = bool(held) and held[0][0] == effect.operation_hash
    return Outcome(status=EffectStatus.COMMITTED) if ours else None


@capability("store.racing", lookup="authoritative", find=find_any, **KEYS)
async def racing(
    account: str, cents: int, *, idempotency_key: str, operation_hash: str
) -> dict[str, int]:
    """Charge, after looking whether the key is there; between both there is time for another."""
    query = "SELECT hash, n FROM charges WHERE key LIKE ? ORDER BY n"
    held = await rows(query, f"{idempotency_key}%")
    if held and held[0][0] != operation_hash:
        raise CapabilityError("The key is taken.", op="racing", code="key_reused")
    if held:
        return {"number": held[0][1]}
    await asyncio.sleep(0.05)
    # The store's own constraint is got around, as a store without one would do.
    return await charged(account, cents, f"{idempotency_key}+{uuid.uuid4().hex}", operation_hash)


@capability("store.unbound", lookup="authoritative", find=find, **KEYS)
async def unbound(
    account: str, cents: int, *, idempotency_key: str, operation_hash: str
) -> dict[str, int]:
    """Charge once for each key, and answer other arguments as if they were the first ones."""
    held = await rows("SELECT hash FROM charges WHERE key = ?", idempotency_key)
    return await charged(account, cents, idempotency_key, held[0][0] if held else operation_hash)


async def claimed(effect: Effect) -> Outcome | None:
    """Whatever it is, it happened."""
    return Outcome(status=EffectStatus.COMMITTED)


@capability("store.claiming", lookup="authoritative", find=claimed, **KEYS)
async def claiming(
    account: str, cents: int, *, idempotency_key: str, operation_hash: str
) -> dict[str, int]:
    """Charge rightly; its look-up claims what never happened."""
    return await charged(account, cents, idempotency_key, operation_hash)


@capability("store.lagging", lookup="authoritative", find=find_later, **KEYS)
async def lagging(
    account: str, cents: int, *, idempotency_key: str, operation_hash: str
) -> dict[str, int]:
    """Charge rightly; its look-up lags although it is declared authoritative."""
    return await charged(account, cents, idempotency_key, operation_hash)


def races() -> Target:
    """Breaks atomic_key: it checks, then inserts."""
    return on_account(racing)


def binds_nothing() -> Target:
    """Breaks the binding of arguments to the key."""
    return on_account(unbound)


def claims() -> Target:
    """Breaks the look-up: it claims what never happened."""
    return on_account(claiming)


def lags() -> Target:
    """Breaks the look-up: authoritative is not soon."""
    return on_account(lagging)
