"""mcp.lock.json: what MCP servers said of themselves when a person reviewed them."""

import json
from collections.abc import Mapping
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from checkrein.contracts.display import short
from checkrein.contracts.mcp import McpName, McpReviewed
from checkrein.errors import InputError

LOCK = "mcp.lock.json"
"""The file's name, beside the task file."""

_LOCK: TypeAdapter[dict[str, McpReviewed]] = TypeAdapter(dict[McpName, McpReviewed])


def read_lock(file: Path) -> dict[str, McpReviewed]:
    """What was reviewed; nothing where there is no file.

    Raises:
        InputError: the file is not what `checkrein mcp pin` writes (mcp_lock_unusable).
    """
    try:
        return _LOCK.validate_json(file.read_bytes())
    except FileNotFoundError:
        return {}
    except (OSError, ValidationError) as error:
        raise InputError(
            f"{file} cannot be read as what `checkrein mcp pin` writes. Remove it and pin anew.",
            op="mcp.lock",
            code="mcp_lock_unusable",
        ) from error


def write_lock(file: Path, reviewed: Mapping[str, McpReviewed]) -> None:
    """Write what was reviewed, for people to read and to commit; other servers stay in it."""
    whole = sorted((read_lock(file) | dict(reviewed)).items())
    held = {name: one.model_dump(mode="json") for name, one in whole}
    file.write_text(json.dumps(held, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def changes(old: McpReviewed | None, new: McpReviewed) -> list[str]:
    """What differs from the last review, in words; nothing where nothing does."""
    if old is None:
        return ["it was never reviewed"]
    said: list[str] = []
    if old.reached != new.reached:
        said.append("it is reached by another command or address")
    if (old.name, old.version) != (new.name, new.version):
        said.append(
            f"it was {short(old.name)} {short(old.version)} and is {short(new.name)} "
            f"{short(new.version)}"
        )
    for tool in sorted(old.tools.keys() | new.tools.keys()):
        before, after = old.tools.get(tool), new.tools.get(tool)
        if before is None or after is None:
            said.append(f"{tool} is {'new' if before is None else 'gone'}")
        elif before.digest != after.digest:
            said.append(f"{tool} is described otherwise")
    return said
