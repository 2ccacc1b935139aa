"""approvals-report: how often people are asked, how fast they answer, and whether a yes held."""

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
    from checkrein.ports.approval_metrics import ApprovalMetrics, RuleMetrics

_HEAD = (
    *("rule", "asked", "approved", "rejected", "edited", "responded", "expired", "withdrawn"),
    *("open", "median s", "p90 s", "under 2 s", "overturned"),
)


def approvals_report(
    since: Annotated[
        str | None,
        typer.Option(metavar="7d|DATE", help="The last 30m, 12h or 7d; or from 2026-11-30 on."),
    ] = None,
    tenant: Annotated[
        str | None, typer.Option(metavar="NAME", help="Of one tenant; else of all.")
    ] = None,
    json: Json = False,
) -> int:
    """Tell how approvals go: how often, how fast, how blindly, and what did not hold."""
    moment, ago_s = words.since(since, "cli.approvals_report")
    chosen = None if tenant is None else words.person(tenant, "--tenant")

    async def work(parts: "Parts", watch: "Watch") -> "ApprovalMetrics":
        return await parts.approval_reports.metrics(since=moment, ago_s=ago_s, tenant=chosen)

    found = opened(work)
    if json:
        out_json(found.model_dump(mode="json"))
        return Exit.DONE
    share = "-" if found.share_asked is None else f"{100 * found.share_asked:.0f} %"
    out(
        f"{found.actions} actions: {found.allowed} allowed, {found.covered} under an earlier yes, "
        f"{found.asked} asked ({share}), {found.denied} denied"
    )
    if found.rules:
        lines = [*found.rules.items(), ("all", found.total)]
        out_table(_HEAD, [_row(name, line) for name, line in lines])
    return Exit.DONE


def _row(name: str, line: "RuleMetrics") -> tuple[str, ...]:
    blind = _known(line.blind)
    if line.blind_share is not None:
        blind += f" ({100 * line.blind_share:.0f} %)"
    return (
        name,
        *map(str, (line.asked, line.approved, line.rejected, line.edited, line.responded)),
        *map(str, (line.expired, line.withdrawn, line.open)),
        _known(line.median_s),
        _known(line.p90_s),
        blind,
        _known(line.overturned),
    )


def _known(value: int | float | None) -> str:
    """A number; a dash where nothing was measured, which is no zero."""
    if value is None:
        return "-"
    return f"{value:.1f}" if isinstance(value, float) else str(value)
