"""compose's part for reviewing MCP servers: asking them, and writing down what they are."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from checkrein.adapters.mcp_extra import mcp_module
from checkrein.adapters.mcp_lock import LOCK, changes, write_lock
from checkrein.adapters.task_file import load_task
from checkrein.contracts.mcp import McpReviewed, McpServer, capability_name
from checkrein.errors import InputError
from checkrein.settings import Settings


@dataclass(frozen=True)
class McpLook:
    """One server as it is now.

    Attributes:
        now: what a review would pin.
        changes: what differs from the last review, in words.
        capabilities: the names of its tools as tasks grant them.
        others: tools that it lists and the task does not name.
    """

    name: str
    server: McpServer
    now: McpReviewed
    changes: list[str]
    capabilities: dict[str, str]
    others: list[str]


async def look_at_mcp(task: Path, settings: Settings) -> tuple[Path, list[McpLook]]:
    """Ask every server of a task file; returns the lock file's path besides.

    Raises:
        InputError: the task names no server, or one brings what cannot be used.
        EnvironmentFault: a server cannot be asked.
    """
    loaded = load_task(task)
    servers = loaded.contract.mcp
    if not servers:
        raise InputError(
            "The task names no MCP server. Add mcp: {NAME: {command: ..., tools: {...}}}.",
            op="mcp.look",
            code="mcp_nothing",
        )
    review = mcp_module("mcp_review")
    looks: list[McpLook] = []
    for name, server in servers.items():
        offered = await review.asked(name, server, settings.secrets)
        now: McpReviewed = review.pinned(name, server, offered)
        looks.append(
            McpLook(
                name=name,
                server=server,
                now=now,
                changes=changes(server.reviewed, now),
                capabilities={tool: capability_name(name, tool) for tool in server.tools},
                others=sorted(set(offered.tools) - set(server.tools)),
            )
        )
    return loaded.base / LOCK, looks


def pin_mcp(file: Path, looks: Sequence[McpLook]) -> None:
    """Write what was looked at; servers of other task files in the folder stay as they are."""
    write_lock(file, {look.name: look.now for look in looks})
