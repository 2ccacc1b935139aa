"""db: the database's state and migrations, and the embedded server's end."""

from typing import TYPE_CHECKING, Any

import typer

from checkrein.entrypoints.cli.console import out, out_json
from checkrein.entrypoints.cli.exits import Exit
from checkrein.entrypoints.cli.live import Live
from checkrein.entrypoints.cli.opening import be_quiet
from checkrein.entrypoints.cli.options import Json
from checkrein.errors import InputError

if TYPE_CHECKING:
    from checkrein.settings import Settings

app = typer.Typer(
    no_args_is_help=True, rich_markup_mode=None, help="The database: its state, its migrations."
)


@app.command()
def status(json: Json = False) -> int:
    """Say which database is used, and how far migrated."""
    return _told(_state(migrating=False), json=json)


@app.command()
def migrate(json: Json = False) -> int:
    """Bring the database to this version; safe to repeat."""
    return _told(_state(migrating=True), json=json)


@app.command()
def stop(json: Json = False) -> int:
    """Stop the embedded server; the next command starts it."""
    import asyncio

    settings = _settings()
    if settings.database_url:
        raise InputError(
            "CHECKREIN_DATABASE_URL names a server of yours; Checkrein stops only its own.",
            op="cli.db_stop",
            code="not_embedded",
        )
    with Live("the embedded server to stop"):
        from checkrein import compose

        ran = asyncio.run(compose.embedded_server.stopped(settings.home))
    if json:
        out_json({"home": str(settings.home), "stopped": ran})
    else:
        out(f"stopped the server in {settings.home}" if ran else "no server runs; nothing to stop")
    return Exit.DONE


def _settings() -> "Settings":
    be_quiet()
    from checkrein.settings import Settings

    return Settings.from_env()


def _state(*, migrating: bool) -> dict[str, Any]:
    import asyncio

    settings = _settings()
    with Live("the database"):
        return asyncio.run(database_state(settings, migrating=migrating))


async def database_state(settings: "Settings", *, migrating: bool = False) -> dict[str, Any]:
    """Where the database is and how far its schema, after migrating it where that is asked.

    Raises:
        StoreError: the database cannot be used.
        EnvironmentFault: the embedded server cannot start.
    """
    from checkrein import compose

    database = await compose.database_of(settings)
    version = await compose.server.server_version(database)
    migrations = compose.migrate
    schema = await (migrations.migrate if migrating else migrations.state)(database)
    return {
        "embedded": database.embedded,
        "where": str(settings.home / "postgres") if database.embedded else None,
        **_login(database.login),
        "postgres": f"{version // 10000}.{version % 10000}",
        "applied": schema.applied,
        "pending": schema.pending,
    }


def _login(conninfo: str) -> dict[str, Any]:
    """How the database is reached, without the password."""
    from psycopg.conninfo import conninfo_to_dict

    parts = conninfo_to_dict(conninfo)
    return {name: parts.get(name) for name in ("host", "port", "dbname", "user")}


def _told(state: dict[str, Any], *, json: bool) -> int:
    if json:
        out_json(state)
        return Exit.DONE
    whose = f"embedded, in {state['where']}" if state["embedded"] else "yours"
    out(f"Postgres {state['postgres']}, {whose}")
    out(f"  host {state['host']}, database {state['dbname']}, user {state['user']}")
    out(f"  migrations applied: {', '.join(map(str, state['applied'])) or 'none'}")
    if state["pending"]:
        out(f"  still to apply: {', '.join(map(str, state['pending']))}")
        out("next: checkrein db migrate")
    return Exit.DONE
