"""Where cells run: a Postgres, a payment service and a zygote of their own, gone afterwards."""

import asyncio
import os
import shutil
import tempfile
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import psycopg
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict

from checkrein.compose import embedded_server, migrate, server
from checkrein.crash_targets import ROWS
from checkrein.errors import IntegrityError
from checkrein.evals.crash_children import Children, zygote
from checkrein.testing.payment_server.process import running

TEMPLATE = "template_crash"

_ASK = """package checkrein.rules.crash

allow contains {"reason_code": "crash_read"} if input.action.side_effect_class == "READ"

ask contains {"reason_code": "crash_write"} if input.action.side_effect_class != "READ"
"""
# Without the claim, a repeated act must not be held up by its approval, which was spent.
_ALLOW = """package checkrein.rules.crash

allow contains {"reason_code": "crash_all"}
"""

_WITHOUT_CLAIM = {
    "checkrein.actions_json(text,integer)": (
        "WHEN e.effect_id IS NOT NULL THEN",
        "WHEN false THEN",
    ),
    "checkrein.bind_intent(checkrein.attempts,json,bigint)": (
        "ON CONFLICT DO NOTHING",
        "ON CONFLICT (tenant, resource, key) DO UPDATE SET status = 'INTENT'",
    ),
}
"""In a throw-away database: the ledger forgets what it holds, and binds each intent anew."""


@dataclass(frozen=True)
class Arena:
    """What the cells share.

    Attributes:
        url: a Postgres URL with {name} for the database.
        claims: whether the ledger's claim is in force.
    """

    folder: Path
    url: str
    payments: str
    children: Children
    policy: Path
    claims: bool

    @property
    def home(self) -> Path:
        """The folder of the Postgres server."""
        return self.folder / "server"

    @asynccontextmanager
    async def database(self, name: str) -> AsyncGenerator[str]:
        """The URL of a fresh database, gone after the block."""
        await self.execute(
            sql.SQL("CREATE DATABASE {} TEMPLATE {} STRATEGY file_copy").format(
                sql.Identifier(name), sql.Identifier(TEMPLATE)
            )
        )
        try:
            yield self.url.format(name=name)
        finally:
            await self.execute(
                sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name))
            )

    async def execute(self, statement: sql.Composed | sql.SQL, name: str = "postgres") -> None:
        """Run one statement as the server's owner."""
        async with await psycopg.AsyncConnection.connect(
            self.url.format(name=name), autocommit=True
        ) as connection:
            await connection.execute(statement)


@asynccontextmanager
async def arena(
    *, claims: bool = True, environment: Mapping[str, str] | None = None
) -> AsyncGenerator[Arena]:
    """Start everything in a temporary folder; stop and remove it at the end.

    `claims` false: a throw-away database whose ledger claims nothing, to show that the table can
    fail. `environment` is added to that of the cells' processes.
    """
    folder = await asyncio.to_thread(_folder, _ASK if claims else _ALLOW)
    home = folder / "server"
    try:
        url = await _prepared(home, claims=claims)
        async with (
            running(folder) as payments,
            zygote({**os.environ, **(environment or {})}) as children,
        ):
            yield Arena(folder, url, payments, children, folder / "policy", claims)
    finally:
        await embedded_server.stopped(home)
        await asyncio.to_thread(shutil.rmtree, folder, ignore_errors=True)


def _folder(rules: str) -> Path:
    # Outside of anybody's private folder: under root the server runs as another user.
    folder = Path(tempfile.mkdtemp(prefix="checkrein-crash-"))
    folder.chmod(0o755)
    (folder / "policy").mkdir()
    (folder / "policy" / "crash.rego").write_text(rules, encoding="utf-8")
    return folder


async def _prepared(home: Path, *, claims: bool) -> str:
    login = conninfo_to_dict((await embedded_server.started(home)).login)
    url = f"postgresql://postgres@/{{name}}?host={login['host']}"
    async with await psycopg.AsyncConnection.connect(
        url.format(name="postgres"), autocommit=True
    ) as connection:
        # Processes of ours are to crash here, not the machine's power supply.
        await connection.execute("ALTER SYSTEM SET fsync = off")
        await connection.execute("SELECT pg_reload_conf()")
        await connection.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(TEMPLATE)))
    await migrate.migrate(server.by_url(url.format(name=TEMPLATE)))
    async with await psycopg.AsyncConnection.connect(url.format(name=TEMPLATE)) as connection:
        await connection.execute(ROWS.encode())
        if not claims:
            await _without_claim(connection)
    return url


async def _without_claim(connection: psycopg.AsyncConnection) -> None:
    for name, (given, instead) in _WITHOUT_CLAIM.items():
        row = await (
            await connection.execute("SELECT pg_get_functiondef(%s::regprocedure)", (name,))
        ).fetchone()
        text = str(row[0]) if row else ""
        if given not in text:
            raise IntegrityError(
                f"{name} is not what the crash table takes it for, so that its claim cannot be "
                "disabled.",
                op="crash_arena.without_claim",
            )
        await connection.execute(text.replace(given, instead).encode())
