"""The door to MCP servers, whose client is an extra of its own."""

import importlib
from typing import Any

from checkrein.errors import InputError


def mcp_module(name: str) -> Any:
    """One of checkrein.adapters' modules that need the client.

    Raises:
        InputError: the extra `checkrein[mcp]` is not installed (code mcp_missing).
    """
    try:
        # Named by text, since the client is an extra.
        return importlib.import_module(f"checkrein.adapters.{name}")
    except ImportError as error:
        raise InputError(
            "MCP servers need their client, which is not installed. "
            "Run: pip install 'checkrein[mcp]'",
            op="mcp.open",
            code="mcp_missing",
        ) from error
