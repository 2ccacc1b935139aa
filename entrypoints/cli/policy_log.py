"""policy log: recorded decisions, one JSON object a line, as OPA's decision log writes them."""

import json as codec
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated

import typer

from checkrein.entrypoints.cli import words
from checkrein.entrypoints.cli.console import out
from checkrein.entrypoints.cli.exits import Exit
from checkrein.entrypoints.cli.opening import opened
from checkrein.errors import InputError

if TYPE_CHECKING:
    from checkrein.compose import Parts
    from checkrein.entrypoints.cli.watch import Watch


def log(
    attempt: Annotated[
        str | None, typer.Argument(metavar="[ATTEMPT]", help="One attempt; else all.")
    ] = None,
    since: Annotated[
        str | None, typer.Option(metavar="DATE", help="From this day on, as 2026-11-30 (UTC).")
    ] = None,
) -> int:
    """Write recorded decisions with their exact inputs; what looks like a credential is masked."""
    prefix = None if attempt is None else words.identifier(attempt, "ATTEMPT")
    moment = _moment(since)

    async def work(parts: "Parts", watch: "Watch") -> int:
        from checkrein.policy_rego.authoring import log_entry

        attempt_id = None if prefix is None else await parts.records.resolve(prefix)
        count = 0
        async for recorded in parts.decisions.since(moment):
            if attempt_id is None or recorded.attempt_id == attempt_id:
                out(codec.dumps(log_entry(recorded), ensure_ascii=False, sort_keys=True))
                count += 1
        return count

    opened(work)
    return Exit.DONE


def _moment(text: str | None) -> datetime | None:
    if text is None:
        return None
    try:
        return datetime.fromisoformat(text).replace(tzinfo=UTC)
    except ValueError as error:
        raise InputError(
            f"--since {text[:40]!r} is no date; write it as 2026-11-30.",
            op="cli.policy_log",
            code="unusable_argument",
        ) from error
