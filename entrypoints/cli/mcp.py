"""mcp: review the servers that a task names, and pin what they are."""

import asyncio
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from checkrein.entrypoints.cli.console import out, out_json, short, shown
from checkrein.entrypoints.cli.exits import Exit
from checkrein.entrypoints.cli.live import Live
from checkrein.entrypoints.cli.opening import be_quiet
from checkrein.entrypoints.cli.options import Json
from checkrein.errors import InputError

if TYPE_CHECKING:
    from checkrein.compose import McpLook

app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode=None,
    help="Review the MCP servers of a task and pin what they are.",
)

TaskFile = Annotated[Path, typer.Argument(metavar="TASK", help="The task file.")]
Yes = Annotated[bool, typer.Option("--yes", help="Pin without asking.")]


@app.command()
def pin(task: TaskFile, yes: Yes = False, json: Json = False) -> int:
    """Show what each server says of itself and its tools, and pin that in mcp.lock.json."""
    from checkrein.compose import pin_mcp

    file, looks = _looked(task)
    if not json:
        for look in looks:
            _print(look)
    changed = [look for look in looks if look.changes]
    if changed and not yes and not _agreed():
        raise InputError(
            "Nothing was pinned. Answer y to the question, or give --yes.",
            op="cli.mcp_pin",
            code="not_confirmed",
        )
    pin_mcp(file, looks)
    if json:
        out_json({"file": str(file), "servers": [_json(look) for look in looks]})
    else:
        out(f"Pinned in {file}." if changed else "Nothing has changed since the last review.")
    return Exit.DONE


@app.command("list")
def list_servers(task: TaskFile, json: Json = False) -> int:
    """Show the servers with their tools, and what differs from the review; exit code 1 if so."""
    _, looks = _looked(task)
    if json:
        out_json({"servers": [_json(look) for look in looks]})
    else:
        for look in looks:
            _print(look)
    return Exit.WRONG if any(look.changes for look in looks) else Exit.DONE


def _looked(task: Path) -> "tuple[Path, list[McpLook]]":
    be_quiet()
    with Live("the MCP servers"):
        from checkrein.compose import look_at_mcp
        from checkrein.settings import Settings

        return asyncio.run(look_at_mcp(task, Settings.from_env()))


def _agreed() -> bool:
    """Whether a person says yes; without a terminal nobody does."""
    if not sys.stdin.isatty():
        return False
    try:
        return typer.confirm("Pin this? What it says is read by models.", err=True)
    except typer.Abort:
        return False


def _print(look: "McpLook") -> None:
    """One server for people; every text of its own is shown, never obeyed."""
    now = look.now
    out(f"{look.name}: {short(now.name)} {short(now.version)}")
    for change in look.changes:
        out(f"  changed: {change}")
    for tool, pinned in now.tools.items():
        declared = look.server.tools[tool]
        claims = ", ".join(f"{k}={str(v).lower()}" for k, v in sorted(pinned.hints.items()))
        out(f"  {look.capabilities[tool]}  declared: {declared.effect}")
        out(f"    {shown(pinned.description)}")
        if claims:
            out(f"    the server claims, and nothing follows from it: {shown(claims)}")
    if look.others:
        out(f"  not among the task's tools: {short(', '.join(look.others), 500)}")


def _json(look: "McpLook") -> dict[str, Any]:
    return {
        "name": look.name,
        "changes": look.changes,
        "reviewed": look.now.model_dump(mode="json"),
        "declared": {name: one.model_dump(mode="json") for name, one in look.server.tools.items()},
        "others": look.others,
    }
