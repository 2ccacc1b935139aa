"""The queries of checkpointer/queries: SQL files, in which each follows a line `-- name: NAME`."""

import re
from collections.abc import Mapping
from functools import cache
from importlib import resources

_NAME = re.compile(r"^-- name: (\w+)$", re.MULTILINE)


@cache
def queries(file: str) -> Mapping[str, bytes]:
    """The queries of one file, by name. As bytes, since they are no literals of Python's."""
    text = (resources.files("checkrein.checkpointer") / "queries" / file).read_text("utf-8")
    parts = _NAME.split(text)[1:]
    return {name: query.encode() for name, query in zip(parts[::2], parts[1::2], strict=True)}
