"""The project's own files, for tests that read the source instead of running it."""

import ast
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
# Example projects and programs under repair are data; what lies below is no source of ours.
DATA = ("examples", "evals/cases", "tests/fixtures")
SKIPPED = {"__pycache__", ".pytest_cache", ".mypy_cache", ".ruff_cache", ".hypothesis"}


def pyproject() -> dict[str, Any]:
    """pyproject.toml as read."""
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def package_dir() -> dict[str, str]:
    """Import name -> root folder."""
    table: dict[str, str] = pyproject()["tool"]["setuptools"]["package-dir"]
    return table


def files_in(folder: str) -> Iterator[Path]:
    """Every file below a root folder, caches left out."""
    for path in sorted((ROOT / folder).rglob("*")):
        if path.is_file() and not SKIPPED.intersection(path.relative_to(ROOT).parts):
            yield path


def is_data(path: Path) -> bool:
    """Whether a Python file is material for a run and not source."""
    name = path.relative_to(ROOT).as_posix()
    return any(name.startswith(f"{folder}/") for folder in DATA) and name != "examples/__init__.py"


def shipped_python() -> list[Path]:
    """Every Python file of the package."""
    return [
        path
        for folder in sorted(set(package_dir().values()))
        for path in files_in(folder)
        if path.suffix == ".py" and not is_data(path)
    ]


def all_python() -> list[Path]:
    """Every Python file of the project: the package, the scripts and the tests."""
    rest = [p for folder in ("scripts", "tests") for p in files_in(folder)]
    return shipped_python() + [p for p in rest if p.suffix == ".py" and not is_data(p)]


def parse(path: Path) -> ast.Module:
    """One file's syntax tree."""
    return ast.parse(path.read_text(encoding="utf-8"), filename=str(path))


def imports(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Line and full name of everything imported anywhere in the file."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            dots, module = "." * node.level, node.module or ""
            yield from ((node.lineno, f"{dots}{module}.{alias.name}") for alias in node.names)
