"""What the two row targets have in common: naming a row, its version, and making a change ready."""

import asyncio
import json
from typing import Any

from pydantic import Field

from checkrein.adapters.sql_preview import preview as shown_change
from checkrein.adapters.sql_row import ABSENT, Row, RowStatements, pinned, plan_of, read_plan
from checkrein.adapters.sql_session import OwnTransaction, connected
from checkrein.adapters.workspace_calls import closed_object
from checkrein.contracts.action import Facts, Guarantee, Lookup, SideEffect
from checkrein.contracts.approval import PreviewKind
from checkrein.contracts.codec import Frozen, canonical, digest, visible
from checkrein.contracts.context import Trust
from checkrein.contracts.effect import EffectStatus, Outcome
from checkrein.errors import CapabilityError
from checkrein.ports.capability import CapabilitySpec, Description, Prepared, ReadResult
from checkrein.ports.transaction import Transaction

ENFORCED = frozenset({"max_rows"})
"""Limits that a row target enforces: it changes one row, or none."""

MAX_CHANGES = 64 * 1024
"""Most bytes of the values that one call sets."""

MAX_KEY = 512
"""Longest key of a row, in characters."""


class RowDeclaration(Frozen):
    """A table whose rows may be changed, and what of them.

    Attributes:
        table: schema.table.
        key_column: unique in the table.
        columns: the columns that may be set, each with the JSON Schema of its value.
        version_column: a whole number that each change raises by one; with it, a row that was
            changed back has another version all the same.
    """

    name: str
    description: str
    table: str
    key_column: str
    columns: dict[str, dict[str, Any]]
    version_column: str | None = None
    version: str = "1"
    side_effect: SideEffect = SideEffect.REVERSIBLE
    independent: bool = False
    timeout_s: float = Field(default=30.0, gt=0)
    trust: Trust = Trust.TOOL


class RowCapability:
    """A row target without its way of changing the row."""

    _guarantee: Guarantee
    _lookup: Lookup

    def __init__(self, declared: RowDeclaration, url: str) -> None:
        """Reach the table by a Postgres URL, whose role needs SELECT, and UPDATE for `SqlRow`.

        Raises:
            InputError: a name is malformed.
        """
        self.declared = declared
        self.url = url
        self.table = RowStatements(
            declared.table, declared.key_column, tuple(declared.columns), declared.version_column
        )
        self._spec = CapabilitySpec(
            name=declared.name,
            version=declared.version,
            description=declared.description,
            parameters=closed_object(
                ["key", "set"],
                key={"type": "string", "minLength": 1, "maxLength": MAX_KEY},
                set={**closed_object([], **declared.columns), "minProperties": 1},
            ),
            side_effect=declared.side_effect,
            guarantee=self._guarantee,
            lookup=self._lookup,
            independent=declared.independent,
            enforces=ENFORCED,
            timeout_s=declared.timeout_s,
            trust=declared.trust,
        )

    @property
    def spec(self) -> CapabilitySpec:
        """The declared contract; constant."""
        return self._spec

    def idempotency_key(self, action_id: str, args: dict[str, Any]) -> str:
        """The action's own id: the same action is the same change."""
        return action_id

    async def describe(self, args: dict[str, Any]) -> Description:
        """Name the row as Postgres writes its key, and read its version.

        Raises:
            CapabilityError: the table cannot be read.
        """
        row = await self.look(str(args["key"]), {})
        if row is None:
            return Description(
                resource=self._named(str(args["key"])),
                resource_version=ABSENT,
                facts=self._facts(args),
            )
        return Description(
            resource=self._named(row.key), resource_version=row.version, facts=self._facts(args)
        )

    def _facts(self, args: dict[str, Any]) -> Facts:
        return Facts(rows=1, tables=[self.declared.table], bytes=len(canonical(args)))

    async def version(self, resource: str) -> str:
        """The row's version while no swap is on its way; `absent` where there is none.

        Raises:
            CapabilityError: the table cannot be read, or somebody holds the row.
        """
        row = await self.look(resource.removeprefix(self._named("")), {}, lock=True)
        return ABSENT if row is None else row.version

    async def read(self, args: dict[str, Any], constraints: dict[str, Any]) -> ReadResult:
        """Not on offer."""
        raise self.not_supported("read")

    async def prepare(self, args: dict[str, Any], *, preview: bool = True) -> Prepared:
        """Compute what the change leads to, and show it; nothing changes.

        Raises:
            CapabilityError: no such row, values that the columns do not take, or too many bytes.
        """
        op, key, changes = f"{self._spec.name}.prepare", str(args["key"]), dict(args["set"])
        if len(canonical(changes)) > MAX_CHANGES:
            message = f"The values have more than {MAX_CHANGES} bytes."
            raise CapabilityError(message, op=op, code="too_large", advice="Send less.")
        if unknown := sorted(changes.keys() - self.declared.columns.keys()):
            message = f"The column {visible(unknown[0][:80])} may not be set."
            raise CapabilityError(message, op=op, code="column_refused")
        row = await self.look(key, changes)
        if row is None:
            message = f"There is no row {visible(key[:80])} in {self.declared.table}."
            raise CapabilityError(
                message, op=op, code="not_found", advice="Name one that is there."
            )
        if missing := sorted(changes.keys() - json.loads(row.text).keys()):
            message = f"{self.declared.table} has no column {missing[0]}."
            raise CapabilityError(message, op=op, code="table_unusable")
        same = row.wanted == row.text
        return Prepared(
            resource=self._named(row.key),
            from_version=row.version,
            to_version=row.version if same else digest(row.after.encode()),
            preview=shown_change(self.declared.table, self.declared.key_column, row, same=same)
            if preview
            else "",
            preview_kind=PreviewKind.SQL,
            plan=plan_of(row.key, self.table.raised(row, changes)),
            no_change=same,
        )

    async def look(self, key: str, changes: dict[str, Any], *, lock: bool = False) -> Row | None:
        op = f"{self._spec.name}.read"
        if not 0 < len(key) <= MAX_KEY or "\x00" in key:
            message = f"The key is no text of 1 to {MAX_KEY} characters."
            raise CapabilityError(message, op=op, code="key_refused")
        try:
            async with (
                asyncio.timeout(self._spec.timeout_s),
                connected(self.url, op) as connection,
            ):
                transaction = OwnTransaction(connection)
                await pinned(transaction)
                return await self.table.row(transaction, key, changes, lock=lock)
        except TimeoutError as error:
            raise self.too_slow(op) from error

    def too_slow(self, op: str) -> CapabilityError:
        return CapabilityError(
            f"The row could not be had within {self._spec.timeout_s:g} s. Nothing was changed.",
            op=op,
            code="target_busy",
            advice="Try the same call again later.",
            retryable=True,
        )

    def _named(self, key: str) -> str:
        return f"row:{self.declared.table}:{key}"

    def not_supported(self, verb: str) -> CapabilityError:
        op = f"{self._spec.name}.{verb}"
        return CapabilityError(f"{self._spec.name} does not {verb}.", op=op, code="not_supported")

    def unlimited(self, constraints: dict[str, Any], op: str) -> None:
        unknown = sorted(set(constraints) - ENFORCED)
        if unknown:
            raise CapabilityError(
                f"The limit {unknown[0]} cannot be enforced on {self._spec.name}.",
                op=op,
                code="constraint_unavailable",
            )
        if constraints.get("max_rows", 1) < 1:
            raise CapabilityError(
                f"The policy permits no row of {self.declared.table} to change.",
                op=op,
                code="constraint_violated",
            )

    async def swapped(self, transaction: Transaction, prepared: Prepared) -> Outcome | None:
        """Lock, compare and change the row; None where it is changed now, not yet for good.

        Raises:
            CapabilityError: the table made something else of it (code not_as_prepared).
        """
        key, changes = read_plan(prepared.plan)
        row = await self.table.row(transaction, key, lock=True)
        found = ABSENT if row is None else row.version
        if found == prepared.from_version != prepared.to_version:
            await self.table.update(transaction, key, changes)
            changed = await self.table.row(transaction, key)
            if changed is not None and changed.version == prepared.to_version:
                return None
            raise CapabilityError(
                f"The database made something else of {prepared.resource} than was prepared, so "
                "it was taken back. Perhaps a trigger changes more columns.",
                op=f"{self._spec.name}.send",
                code="not_as_prepared",
            )
        return Outcome(
            status=EffectStatus.REFUSED,
            version=found,
            error_type="version_changed",
            message=f"{prepared.resource} changed meanwhile, so it was left: read it again.",
        )

    def committed(self, prepared: Prepared, *, already: bool = False) -> Outcome:
        """The receipt."""
        return Outcome(
            status=EffectStatus.COMMITTED,
            version=prepared.to_version,
            result={"row": prepared.resource, "already": already},
        )
