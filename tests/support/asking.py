"""What tests of approvals share: policies that ask in some way, and the database's clock."""

from datetime import datetime, timedelta
from pathlib import Path

import psycopg
from psycopg import sql

from checkrein.settings import Settings


def asking(folder: Path, terms: str = '"roles": ["approver"]') -> Path:
    """A bundle that lets every read pass and asks for every write, on the terms given as Rego."""
    bundle = folder / "policy"
    bundle.mkdir(parents=True, exist_ok=True)
    (bundle / "asking.rego").write_text(
        "package checkrein.rules.asking\n\n"
        'allow contains {"reason_code": "reads"} if input.action.side_effect_class == "READ"\n\n'
        f'ask contains {{"reason_code": "asked", {terms}}} if '
        'input.action.side_effect_class != "READ"\n',
        encoding="utf-8",
    )
    return bundle


def move_clock(settings: Settings, by: timedelta) -> None:
    """Let the database's clock go ahead. Only a test database's owner may."""
    _set_clock(settings, f"SELECT clock_timestamp() + interval '{by.total_seconds()} s'")


def stop_clock(settings: Settings, at: datetime) -> None:
    """Let the database's clock stand still, so that times can be told to the second."""
    _set_clock(settings, f"SELECT timestamptz '{at.isoformat()}'")


def _set_clock(settings: Settings, body: str) -> None:
    assert settings.database_url is not None
    with psycopg.connect(settings.database_url, autocommit=True) as connection:
        connection.execute(
            sql.SQL(
                "CREATE OR REPLACE FUNCTION checkrein.now() RETURNS timestamptz LANGUAGE sql "
                "VOLATILE AS {}"
            ).format(sql.Literal(body))
        )
