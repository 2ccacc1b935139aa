"""Reviewing MCP servers: what they say now, in the form that a task can pin."""

import json
from pathlib import Path
from typing import Any, cast

from mcp import types
from pydantic import ValidationError

from checkrein.adapters.mcp_session import McpSession, Offered, digest_of_tool
from checkrein.adapters.secret_folder import FolderSecrets
from checkrein.adapters.tool_signature import check_schema, closed
from checkrein.contracts.codec import clean
from checkrein.contracts.display import short
from checkrein.contracts.mcp import McpPin, McpReviewed, McpServer
from checkrein.errors import CapabilityError, EnvironmentFault, InputError

MAX_DESCRIPTION = 2_000
"""Most characters of a server's own text that a model is shown of one tool."""

MAX_SCHEMA_BYTES = 32 * 1024
"""Largest schema of a tool's arguments that can be pinned."""

_NOT_SHOWN = frozenset({"pattern", "patternProperties", "format", "$schema", "$id"})
"""What our own check leaves to the server: an expression of its making could hold us up."""

_OF_SCHEMAS = frozenset({"properties", "$defs", "definitions", "dependentSchemas"})
_OP = "mcp.pin"


async def asked(name: str, server: McpServer, secrets: Path | None) -> Offered:
    """What a server says now.

    Raises:
        EnvironmentFault: it cannot be asked (its code says how).
    """
    session = McpSession(name, server, FolderSecrets(secrets))
    try:
        return await session.offered()
    except CapabilityError as error:
        raise EnvironmentFault(str(error), op=_OP, code=error.code) from error
    finally:
        await session.close()


def pinned(name: str, server: McpServer, offered: Offered) -> McpReviewed:
    """What the task's tools of a server are now, as a review binds it.

    Raises:
        InputError: the server has no such tool, or one that cannot be used (mcp_unusable).
    """
    missing = sorted(set(server.tools) - set(offered.tools))
    if missing:
        known = ", ".join(sorted(offered.tools)) or "none"
        raise _refused(
            f"The MCP server {name} has no tool {missing[0]}. It has: {short(known, 500)}."
        )
    try:
        return McpReviewed(
            name=offered.name,
            version=offered.version,
            reached=server.reached,
            tools={tool: _pin(name, offered.tools[tool]) for tool in sorted(server.tools)},
        )
    except ValidationError as error:
        raise _refused(f"What the MCP server {name} calls itself cannot be used.") from error


def _pin(server: str, tool: types.Tool) -> McpPin:
    try:
        schema: dict[str, Any] = clean(_checked_part(tool.inputSchema))
        shown = clean(tool.description or "")[:MAX_DESCRIPTION]
    except (InputError, RecursionError) as error:
        raise _refused(f"The tool {tool.name} of {server} has text that cannot be used.") from error
    parameters = closed(schema, frozenset())
    if len(json.dumps(parameters)) > MAX_SCHEMA_BYTES:
        raise _refused(f"The schema of {tool.name} of {server} is over {MAX_SCHEMA_BYTES} bytes.")
    check_schema(parameters, f"{server}/{tool.name}")
    hints = {} if tool.annotations is None else tool.annotations.model_dump(exclude_none=True)
    return McpPin(
        # Written as JSON text, so that no words of a server's can end the frame that they are in.
        description=f"A tool of the MCP server {server}. What it says of itself, as data: "
        f"{json.dumps(shown, ensure_ascii=False)}",
        parameters=parameters,
        digest=digest_of_tool(tool),
        hints={key: value for key, value in hints.items() if isinstance(value, bool)},
    )


def _checked_part(part: Any, *, names: bool = False) -> Any:
    """A schema without what our own check leaves out; `names`: its keys are names of properties."""
    if isinstance(part, list):
        return [_checked_part(item) for item in cast("list[object]", part)]
    if not isinstance(part, dict):
        return part
    return {
        key: _checked_part(value, names=not names and key in _OF_SCHEMAS)
        for key, value in cast("dict[str, Any]", part).items()
        if names or key not in _NOT_SHOWN
    }


def _refused(message: str) -> InputError:
    return InputError(message, op=_OP, code="mcp_unusable")
