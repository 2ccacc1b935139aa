"""The event store: one SQL function call, which is one transaction, for each append."""

import hashlib
from collections.abc import Callable, Sequence
from typing import Any

from checkrein.checkpointer.faults import translating
from checkrein.checkpointer.pool import Connections
from checkrein.checkpointer.records import position_from
from checkrein.contracts.codec import to_text
from checkrein.contracts.event import AttemptStarted, Event, Payload
from checkrein.contracts.task import TaskContract
from checkrein.errors import InputError, IntegrityError
from checkrein.ports.records import Position

# Arrays in binary: their text form would escape every quote of every payload.
_APPEND = "SELECT checkrein.append(%s, %s, %b, %b, %b::bytea[], %s) AS p"
_SAY = "SELECT checkrein.say(%s, %s, %s, %s, %s, %s)"
_START = "SELECT checkrein.start(%s, %s)"
_READ = """
SELECT attempt_id, seq, cause_seq, type, at, payload,
       encode(prev_hash, 'hex') AS prev_hash, encode(hash, 'hex') AS hash
FROM checkrein.events WHERE attempt_id = %s AND seq > %s ORDER BY seq LIMIT %s
"""
_BLOB = "SELECT data FROM checkrein.blobs WHERE ref = %s LIMIT 1"
_CONTRACT = "SELECT contract FROM checkrein.attempts WHERE attempt_id = %s"

KINDS = ("user", "agent", "capability", "resource", "grant", "secret")
"""What a person can take back: who acts, as whom, by what, on what, an approval, and a secret."""

MAX_VALUE = 1024

Observer = Callable[[str, Payload], None]
"""Told of each payload after it is durable: for live views. It must not block or raise."""


class PostgresEventStore:
    """ports.event_store.EventStore over a pool, or over an owner's session."""

    def __init__(self, connections: Connections, observer: Observer | None = None) -> None:
        self._pool = connections
        self.observer = observer

    async def start(self, payloads: Sequence[Payload]) -> None:
        """See the port."""
        kinds, texts = _split(payloads)
        async with translating("store.start"), self._pool.connection() as connection:
            await connection.execute(_START, (kinds, texts))
        for started in payloads:
            if isinstance(started, AttemptStarted):
                self._tell(started.attempt.attempt_id, payloads)

    async def append(
        self,
        attempt_id: str,
        payloads: Sequence[Payload],
        *,
        fence: int | None,
        blobs: Sequence[bytes] = (),
    ) -> None:
        """See the port."""
        if payloads:
            await self._append(attempt_id, payloads, fence, blobs, look=False)

    async def append_and_look(
        self,
        attempt_id: str,
        payloads: Sequence[Payload],
        *,
        fence: int,
        blobs: Sequence[bytes] = (),
    ) -> Position:
        """See the port."""
        return position_from(await self._append(attempt_id, payloads, fence, blobs, look=True))

    async def _append(
        self,
        attempt_id: str,
        payloads: Sequence[Payload],
        fence: int | None,
        blobs: Sequence[bytes],
        *,
        look: bool,
    ) -> Any:
        kinds, texts = _split(payloads)
        given = (attempt_id, fence, kinds, texts, list(blobs), look)
        async with translating("store.append"), self._pool.connection() as connection:
            row = await (await connection.execute(_APPEND, given)).fetchone()
        self._tell(attempt_id, payloads)
        return None if row is None else row["p"]

    def _tell(self, attempt_id: str, payloads: Sequence[Payload]) -> None:
        if self.observer is not None:
            for payload in payloads:
                self.observer(attempt_id, payload)

    async def say(
        self, tenant: str, kind: str, value: str, *, granted: bool, by: str, reason: str
    ) -> None:
        """See the port."""
        if kind not in KINDS or not 0 < len(value) <= MAX_VALUE:
            raise InputError(
                f"{kind}:{value[:80]} cannot be revoked or granted. Write KIND:VALUE with KIND one "
                f"of {', '.join(KINDS)}.",
                op="store.say",
                code="unusable_word",
            )
        async with translating("store.say"), self._pool.connection() as connection:
            await connection.execute(_SAY, (tenant, kind, value, granted, by, reason))

    async def read(self, attempt_id: str, *, after: int = 0, limit: int = 10_000) -> list[Event]:
        """See the port."""
        async with translating("store.read"), self._pool.connection() as connection:
            rows = await (await connection.execute(_READ, (attempt_id, after, limit))).fetchall()
        return [
            Event(
                attempt_id=row["attempt_id"],
                seq=row["seq"],
                event_id=f"{row['attempt_id']}/{row['seq']}",
                cause_id=None if row["cause_seq"] is None else f"{attempt_id}/{row['cause_seq']}",
                type=row["type"],
                at=row["at"],
                payload=row["payload"],
                prev_hash="sha256:" + row["prev_hash"],
                hash="sha256:" + row["hash"],
            )
            for row in rows
        ]

    async def blob(self, ref: str) -> bytes:
        """See the port."""
        async with translating("store.blob"), self._pool.connection() as connection:
            row = await (await connection.execute(_BLOB, (ref,))).fetchone()
        if row is None:
            raise IntegrityError(f"There are no bytes stored as {ref}.", op="store.blob")
        data = bytes(row["data"])
        if "sha256:" + hashlib.sha256(data).hexdigest() != ref:
            raise IntegrityError(f"The bytes stored as {ref} have changed.", op="store.blob")
        return data

    async def contract(self, attempt_id: str) -> TaskContract:
        """See the port."""
        async with translating("store.contract"), self._pool.connection() as connection:
            row = await (await connection.execute(_CONTRACT, (attempt_id,))).fetchone()
        if row is None:
            raise InputError(
                f"There is no attempt {attempt_id}. `checkrein status` lists them.",
                op="store.contract",
                code="unknown_attempt",
            )
        return TaskContract.model_validate(row["contract"])


def _split(payloads: Sequence[Payload]) -> tuple[list[str], list[str]]:
    return [payload.type for payload in payloads], [to_text(payload) for payload in payloads]
