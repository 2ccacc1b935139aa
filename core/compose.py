"""The one place that chooses adapters and puts the parts together."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass

from checkrein.adapters import throw_away
from checkrein.adapters.artifact_files import FolderArtifactStore
from checkrein.adapters.command_backends import CommandBackends
from checkrein.adapters.task_file import LoadedTask, load_task
from checkrein.attempt_ports import Given, Opener
from checkrein.checkpointer import embedded_server, migrate, pool, server
from checkrein.checkpointer.approval_metrics import PostgresApprovalReports
from checkrein.checkpointer.attempt_metrics import PostgresAttemptReports
from checkrein.checkpointer.decisions import PostgresDecisions
from checkrein.checkpointer.leases import TTL_S, PostgresLeases
from checkrein.checkpointer.outbox import PostgresOutbox
from checkrein.checkpointer.records import PostgresRecords
from checkrein.checkpointer.store import Observer, PostgresEventStore
from checkrein.checkpointer.tokens import PostgresTokens, opened_tokens
from checkrein.contracts.environment import Offer
from checkrein.graph.lifecycle import FrontDoor
from checkrein.mcp_reviews import McpLook, look_at_mcp, pin_mcp
from checkrein.policy_opening import Standing, policy_standing
from checkrein.policy_rego.idle import IdlePolicies
from checkrein.ports.decisions import RecordedChange
from checkrein.settings import Settings
from checkrein.testing.failpoints import from_text

__all__ = [
    "Given",
    "LoadedTask",
    "McpLook",
    "Parts",
    "Standing",
    "command_offers",
    "composed",
    "database_of",
    "embedded_server",
    "last_policy_change",
    "load_task",
    "look_at_mcp",
    "migrate",
    "pin_mcp",
    "policy_standing",
    "server",
    "token_store",
]


@dataclass(frozen=True)
class Parts:
    """Everything that is open while a harness is."""

    settings: Settings
    database: server.Database
    front_door: FrontDoor
    events: PostgresEventStore
    records: PostgresRecords
    decisions: PostgresDecisions
    artifacts: FolderArtifactStore
    tokens: PostgresTokens
    approval_reports: PostgresApprovalReports
    attempt_reports: PostgresAttemptReports
    outbox: PostgresOutbox


async def database_of(settings: Settings) -> server.Database:
    """The database that the settings name; starts the embedded one where it does not run."""
    if settings.database_url:
        return server.by_url(settings.database_url)
    return await embedded_server.started(settings.home)


async def last_policy_change(settings: Settings) -> RecordedChange | None:
    """The change of a policy's folder that any attempt recorded last, in a migrated database.

    Raises:
        StoreError: the database cannot be used.
    """
    database = await database_of(settings)
    async with pool.opened(database.app, size=1, op="compose.last_change") as connections:
        return await PostgresDecisions(connections).last_change()


async def command_offers() -> list[Offer]:
    """What each backend that runs commands is on this machine."""
    return await CommandBackends().offers()


@asynccontextmanager
async def token_store(settings: Settings) -> AsyncGenerator[PostgresTokens]:
    """The tokens alone, for a door that opens many times a minute.

    Raises:
        StoreError: the database cannot be reached.
        EnvironmentFault: the embedded server cannot start.
    """
    async with opened_tokens(await database_of(settings)) as tokens:
        yield tokens


@asynccontextmanager
async def composed(
    settings: Settings,
    given: Given | None = None,
    observer: Observer | None = None,
    lease_ttl_s: float = TTL_S,
) -> AsyncGenerator[Parts]:
    """Open the database and everything on it.

    Raises:
        StoreError: the database cannot be used, or its schema is not of this version.
        EnvironmentFault: the embedded server cannot start.
    """
    # Importing code of others blocks, and a server's loop must not.
    given = await asyncio.to_thread((given or Given()).with_named, settings)
    await asyncio.to_thread(throw_away.sweep)
    database = await database_of(settings)
    await migrate.ensure(database)
    async with (
        pool.opened(database.app, size=8, op="compose.pool") as connections,
        pool.saver(database) as saver,
        aclosing(IdlePolicies()) as policies,
    ):
        events = PostgresEventStore(connections, observer)
        records = PostgresRecords(connections)
        artifacts = FolderArtifactStore(settings.home)
        opener = Opener(
            settings,
            given,
            artifacts,
            policies,
            failpoints=from_text(settings.failpoint),
        )
        leases = PostgresLeases(database, lease_ttl_s, observer)
        door = FrontDoor(events, records, leases, opener, saver, settings.durability)
        decisions = PostgresDecisions(connections)
        yield Parts(
            settings,
            database,
            door,
            events,
            records,
            decisions,
            artifacts,
            tokens=PostgresTokens(connections),
            approval_reports=PostgresApprovalReports(connections),
            attempt_reports=PostgresAttemptReports(connections),
            outbox=PostgresOutbox(connections),
        )
