"""One row of a Postgres table as a capability: swapped from a known version to a known version.

`SqlRow` works on any Postgres by a connection of its own (compare_and_set). `SqlRowWithReceipt`
works on the harness's own, inside the transaction that holds the receipt (same_transaction).
"""

import asyncio

import psycopg
from psycopg import AsyncConnection
from psycopg.pq import TransactionStatus
from psycopg.rows import DictRow

from checkrein.adapters.sql_capability import RowCapability, RowDeclaration
from checkrein.adapters.sql_row import pinned, read_plan, restored
from checkrein.adapters.sql_session import REFUSALS, OwnTransaction, connected, said
from checkrein.contracts.action import Guarantee, Lookup
from checkrein.contracts.effect import Effect, EffectStatus, Outcome
from checkrein.errors import CapabilityError
from checkrein.ports.capability import Permit, Prepared, StillOwner
from checkrein.ports.transaction import Transaction

__all__ = ["RowDeclaration", "SqlRow", "SqlRowWithReceipt"]


class SqlRow(RowCapability):
    """compare_and_set on any Postgres."""

    _guarantee = Guarantee.COMPARE_AND_SET
    _lookup = Lookup.AUTHORITATIVE

    async def send(self, prepared: Prepared, permit: Permit, still_owner: StillOwner) -> Outcome:
        """Swap the row in one transaction, under its lock. Only a lost COMMIT is UNKNOWN_EFFECT.

        Raises:
            CapabilityError: nothing was changed: not_owner, target_unreachable, target_busy,
                values_refused, not_as_prepared, table_unusable or constraint_unavailable.
        """
        op = f"{self._spec.name}.send"
        self.unlimited(permit.constraints, op)
        async with connected(self.url, op) as connection:
            try:
                async with asyncio.timeout(self._spec.timeout_s):
                    found = await self._changed(connection, prepared, still_owner, op)
            except TimeoutError as error:
                raise self.too_slow(op) from error
            return await self._committed(connection, prepared) if found is None else found

    async def _changed(
        self,
        connection: AsyncConnection[DictRow],
        prepared: Prepared,
        still_owner: StillOwner,
        op: str,
    ) -> Outcome | None:
        """Change the row, not yet for good; an outcome where there is nothing to commit."""
        transaction = OwnTransaction(connection)
        limit = f"{int(self._spec.timeout_s * 1000)}ms"
        # An owner that is frozen in here must not keep the next one from the row for ever.
        limits = {"lock_timeout": limit, "idle_in_transaction_session_timeout": limit}
        await pinned(transaction, limits)
        key, _ = read_plan(prepared.plan)
        row = await self.table.row(transaction, key, lock=True)
        if not await still_owner():
            raise CapabilityError(
                "Another process owns this attempt now; nothing was changed.",
                op=op,
                code="not_owner",
                advice="Nothing is to be done here: the owner goes on.",
            )
        if row is not None and row.version == prepared.to_version:
            return self.committed(prepared, already=True)
        return await self.swapped(transaction, prepared)

    async def _committed(self, connection: AsyncConnection[DictRow], prepared: Prepared) -> Outcome:
        """Ask for COMMIT. From here on, silence says nothing."""
        try:
            async with asyncio.timeout(self._spec.timeout_s):
                answer = await connection.execute("COMMIT")
        except TimeoutError:
            return _unknown("timed_out", "the database did not answer to COMMIT")
        except psycopg.Error as error:
            ended = connection.info.transaction_status is TransactionStatus.IDLE
            if ended and isinstance(error, REFUSALS):
                return Outcome(
                    status=EffectStatus.REFUSED,
                    error_type="values_refused",
                    message=f"The database does not take these values: {said(error)}.",
                )
            return _unknown("commit_lost", f"the answer to COMMIT was lost ({said(error)})")
        if answer.statusmessage != "COMMIT":
            return _unknown("commit_unclear", f"COMMIT was answered by {answer.statusmessage}")
        return self.committed(prepared)

    async def lookup(self, effect: Effect) -> Outcome | None:
        """COMMITTED where the row is at the effect's to-version; else nothing is proven.

        Raises:
            CapabilityError: the table cannot be read now.
        """
        if not effect.to_version or await self.version(effect.resource) != effect.to_version:
            return None
        return Outcome(
            status=EffectStatus.COMMITTED,
            version=effect.to_version,
            result={"row": effect.resource},
        )


class SqlRowWithReceipt(RowCapability):
    """same_transaction in the harness's own Postgres: row and receipt stand or fall together."""

    _guarantee = Guarantee.SAME_TRANSACTION
    _lookup = Lookup.NONE

    async def send(self, prepared: Prepared, permit: Permit, still_owner: StillOwner) -> Outcome:
        """Not on offer: it has an effect only together with its receipt, by `apply`."""
        raise self.not_supported("send")

    async def apply(self, prepared: Prepared, permit: Permit, transaction: Transaction) -> Outcome:
        """Change the row inside the receipt's transaction.

        Raises:
            CapabilityError: constraint_unavailable or not_as_prepared.
            StoreError: a statement failed; nothing of the transaction will stand.
        """
        self.unlimited(permit.constraints, f"{self._spec.name}.apply")
        before = await pinned(transaction)
        found = await self.swapped(transaction, prepared)
        # The receipt's own statements run under the settings that they expect.
        await restored(transaction, before)
        return self.committed(prepared) if found is None else found

    async def lookup(self, effect: Effect) -> Outcome | None:
        """Always None: the ledger itself says whether it happened."""
        return None


def _unknown(error_type: str, why: str) -> Outcome:
    return Outcome(
        status=EffectStatus.UNKNOWN_EFFECT,
        error_type=error_type,
        message=f"Whether it happened is not known: {why}.",
    )
