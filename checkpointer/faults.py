"""What Postgres says, in our words. The CRxxx codes are raised by migrations/0003_append.sql."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import psycopg
from psycopg_pool import PoolTimeout

from checkrein.errors import (
    BudgetExceededError,
    CheckreinError,
    ConflictError,
    InputError,
    LeaseLostError,
    StoreError,
)

_KINDS: dict[str, tuple[type[CheckreinError], str]] = {
    "CR001": (LeaseLostError, "lease_lost"),
    "CR002": (ConflictError, "illegal_transition"),
    "CR003": (ConflictError, "cancelled"),
    "CR004": (InputError, "unknown_id"),
    "CR005": (BudgetExceededError, "budget_exhausted"),
    "CR006": (ConflictError, "approval_does_not_bind"),
    "CR007": (ConflictError, "key_bound"),
    "CR008": (ConflictError, "attempt_ended"),
    "CR009": (ConflictError, "not_permitted"),
    "CR010": (ConflictError, "revoked"),
}


def translated(error: psycopg.Error, op: str) -> CheckreinError:
    """Return our error for one of the driver's."""
    kind = _KINDS.get(error.sqlstate or "")
    if kind is not None:
        cls, code = kind
        message = error.diag.message_primary or str(error)
        return cls(
            message[0].upper() + message[1:] + ".",
            op=op,
            code=code,
            context={"detail": error.diag.message_detail or ""},
        )
    if isinstance(error, psycopg.errors.UniqueViolation):
        return ConflictError(
            f"It is there already: {error.diag.message_detail or error}.", op=op, code="exists"
        )
    if isinstance(error, psycopg.errors.InsufficientPrivilege):
        return StoreError(
            f"The database refuses: {error.diag.message_primary}. Run `checkrein db migrate` "
            "with a role that may, or grant checkrein_app to this one.",
            op=op,
            code="store_refuses",
        )
    if isinstance(error, psycopg.OperationalError):
        return StoreError(
            f"The database cannot be used: {_first_line(error)}. Check that it runs, and "
            "CHECKREIN_DATABASE_URL; `checkrein doctor` tells more.",
            op=op,
            retryable=True,
        )
    return StoreError(f"The database reports {error.sqlstate}: {_first_line(error)}.", op=op)


@asynccontextmanager
async def translating(op: str) -> AsyncGenerator[None]:
    """Raise our errors for the driver's, with the driver's as the cause."""
    try:
        yield
    except PoolTimeout as error:
        raise StoreError(
            "No connection to the database within the time limit. Check that it runs and how many "
            "connections it allows.",
            op=op,
            retryable=True,
        ) from error
    except psycopg.Error as error:
        raise translated(error, op) from error


def _first_line(error: psycopg.Error) -> str:
    lines = str(error).strip().splitlines()
    return lines[0].rstrip(".") if lines else type(error).__name__
