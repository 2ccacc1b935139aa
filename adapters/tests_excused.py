"""Hidden tests that their own author lets fail or pass over: read from their source, never run.

What a run says of a skip proves nothing, since the code under test can raise one. A decorator in
the file that the harness laid there is the author's word, and no candidate writes it.
"""

import ast
from collections.abc import Iterable, Iterator
from pathlib import Path

_EXCUSES = frozenset({"xfail", "skip", "expectedFailure"})
"""Unconditional ones; `skipif` may ask the code under test, so that its tests must have run."""

_Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


def excused(folder: Path, files: Iterable[str]) -> frozenset[str]:
    """The tests that may be reported as skipped, as reports name them. Blocking.

    Args:
        folder: where the files lie, before any code of the candidate has run.
        files: relative paths.
    """
    found: set[str] = set()
    for file in files:
        if not file.endswith(".py"):
            continue
        try:
            tree = ast.parse((folder / file).read_bytes())
        except (SyntaxError, ValueError):
            continue  # it excuses nothing; running it says what is wrong with it
        found.update(_of(tree.body, file.removesuffix(".py").replace("/", "."), by_class=False))
    return frozenset(found)


def _of(body: list[ast.stmt], prefix: str, *, by_class: bool) -> Iterator[str]:
    for node in body:
        if not isinstance(node, _Definition):
            continue
        mine = by_class or any(map(_excuses, node.decorator_list))
        if isinstance(node, ast.ClassDef):
            yield from _of(node.body, f"{prefix}.{node.name}", by_class=mine)
        elif mine:
            yield f"{prefix}.{node.name}"


def _excuses(decorator: ast.expr) -> bool:
    named = decorator.func if isinstance(decorator, ast.Call) else decorator
    return isinstance(named, ast.Attribute | ast.Name) and _name(named) in _EXCUSES


def _name(node: ast.Attribute | ast.Name) -> str:
    return node.attr if isinstance(node, ast.Attribute) else node.id
