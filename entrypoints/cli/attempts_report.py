"""attempts-report: how attempts end, by status and by the error that ended them."""

from typing import TYPE_CHECKING, Annotated

import typer

from checkrein.entrypoints.cli import words
from checkrein.entrypoints.cli.console import out, out_json, out_table
from checkrein.entrypoints.cli.exits import Exit
from checkrein.entrypoints.cli.opening import opened
from checkrein.entrypoints.cli.options import Json

if TYPE_CHECKING:
    from checkrein.compose import Parts
    from checkrein.entrypoints.cli.watch import Watch
    from checkrein.ports.attempt_metrics import AttemptMetrics


def attempts_report(
    since: Annotated[
        str | None,
        typer.Option(metavar="7d|DATE", help="Begun in the last 30m, 12h or 7d; or since a date."),
    ] = None,
    tenant: Annotated[
        str | None, typer.Option(metavar="NAME", help="Of one tenant; else of all.")
    ] = None,
    json: Json = False,
) -> int:
    """Count attempts by how they stand and by what ended them; no two kinds are one."""
    moment, ago_s = words.since(since, "cli.attempts_report")
    chosen = None if tenant is None else words.person(tenant, "--tenant")

    async def work(parts: "Parts", watch: "Watch") -> "AttemptMetrics":
        return await parts.attempt_reports.metrics(since=moment, ago_s=ago_s, tenant=chosen)

    found = opened(work)
    if json:
        from checkrein.contracts.retrying import RETRY

        retry = {status.value: one.model_dump(mode="json") for status, one in RETRY.items()}
        out_json(found.model_dump(mode="json") | {"retry_by_machine": retry})
        return Exit.DONE
    _print(found)
    return Exit.DONE


def _print(found: "AttemptMetrics") -> None:
    out(f"{found.total} attempts")
    if found.classes:
        out_table(
            ("status", "error", "attempts", "turns", "tokens"),
            [
                (c.status.value, c.error_type or "-", *map(str, (c.attempts, c.turns, c.tokens)))
                for c in found.classes
            ],
        )
    if found.errors:
        out()
        out_table(
            ("capability", "error", "calls", "attempts"),
            [(e.capability, e.error_type, str(e.calls), str(e.attempts)) for e in found.errors],
        )
    for signal, times in found.no_progress.items():
        out(f"no progress, {signal}: {times}")
