"""Reviewed MCP servers for tests."""

import json
import sys
from pathlib import Path
from typing import Any

from checkrein.adapters import mcp_review
from checkrein.contracts.mcp import McpServer

SERVER = Path(__file__).with_name("mcp_server.py")


def mood(folder: Path, **now: Any) -> None:
    """Say how the server in a folder is from now on."""
    folder.mkdir(exist_ok=True)
    (folder / "mood.json").write_text(json.dumps(now))


def done(folder: Path) -> list[str]:
    """What the server in a folder did."""
    log = folder / "done.log"
    return log.read_text().splitlines() if log.exists() else []


def declared(folder: Path, **fields: Any) -> McpServer:
    """A server as a task declares it, not yet reviewed: a program over stdio."""
    folder.mkdir(exist_ok=True)
    given: dict[str, Any] = {
        "command": sys.executable,
        "args": [str(SERVER), str(folder)],
        "tools": {"look": {"effect": "read"}, "removeAll": {}},
    }
    return McpServer.model_validate(given | fields)


async def reviewed(
    folder: Path, server: McpServer | None = None, secrets: Path | None = None
) -> McpServer:
    """The same, pinned as it is now."""
    server = server or declared(folder)
    offered = await mcp_review.asked("shelf", server, secrets)
    pin = mcp_review.pinned("shelf", server, offered)
    return server.model_copy(update={"reviewed": pin})
