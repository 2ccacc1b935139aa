"""The layout keeps its promises: what is listed is there, what is there ships, nothing grows huge.

The package lies in root folders that pyproject.toml maps to import names, so a folder that is
forgotten there still imports in place and is missing from the wheel. These tests find that.
"""

import ast
import importlib.util
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import import_tree
import pytest
from project_files import (
    ROOT,
    SKIPPED,
    all_python,
    files_in,
    imports,
    is_data,
    package_dir,
    parse,
    pyproject,
    shipped_python,
)

MAX_FILE_LINES = 400
MAX_FUNCTION_LINES = 60
# Name -> length when it was let in. Both lists only ever shrink: an entry goes as soon as it can.
LONG_FILES: dict[str, int] = {}
LONG_FUNCTIONS: dict[str, int] = {}


def import_name(folder: Path) -> str:
    """The import name of a folder, by the package-dir table."""
    parts = folder.relative_to(ROOT).parts
    names = {mapped: name for name, mapped in package_dir().items()}
    return ".".join([names[parts[0]], *parts[1:]])


def test_package_list_equals_the_folders() -> None:
    listed = pyproject()["tool"]["setuptools"]["packages"]
    found = {import_name(path.parent) for path in shipped_python() if path.name == "__init__.py"}
    assert sorted(listed) == sorted(found)


def test_every_folder_with_python_is_a_package() -> None:
    bare = {
        path.parent.relative_to(ROOT).as_posix()
        for path in shipped_python()
        if not (path.parent / "__init__.py").exists()
    }
    assert bare == set()


def test_every_root_package_is_mapped() -> None:
    roots = {path.parent.name for path in ROOT.glob("*/__init__.py")}
    assert roots == set(package_dir().values())


def test_nothing_is_imported_under_its_bare_folder_name() -> None:
    bare = set(package_dir().values())
    wrong = [
        f"{path.relative_to(ROOT)}:{line}: {name}"
        for path in all_python()
        for line, name in imports(parse(path))
        if name.split(".")[0] in bare or name.startswith(".")
    ]
    assert wrong == []


def test_no_folder_can_be_imported_under_its_bare_name() -> None:
    folders = set(package_dir().values())
    found = {name: importlib.util.find_spec(name) for name in folders}
    ours = [n for n, spec in found.items() if spec and str(spec.origin).startswith(f"{ROOT}/")]
    assert ours == []


def test_import_tree_holds_every_file() -> None:
    import_tree.main()
    for path in shipped_python():
        parts = [*import_name(path.parent).split("."), path.name]
        linked = ROOT.joinpath(".import_tree", *parts)
        assert linked.resolve() == path


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> set[str]:
    """The names in a wheel built from a copy, so that no build folder is left behind."""
    copy = tmp_path_factory.mktemp("copy")
    for folder in sorted(set(package_dir().values())):
        shutil.copytree(ROOT / folder, copy / folder, ignore=shutil.ignore_patterns(*SKIPPED))
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, copy / name)
    # A cache in an example must not ship, even where one lies about.
    for place in ("__pycache__", "one/two/__pycache__", "one/.pytest_cache/v"):
        cache = copy / "examples" / place
        cache.mkdir(parents=True)
        (cache / "stale").write_bytes(b"")
    subprocess.run(
        [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", "dist", "."],
        cwd=copy,
        env={**os.environ, "PYTHONWARNINGS": "ignore"},
        check=True,
        capture_output=True,
    )
    (built,) = (copy / "dist").glob("*.whl")
    with zipfile.ZipFile(built) as archive:
        return set(archive.namelist())


def test_wheel_holds_every_file_and_no_other(wheel: set[str]) -> None:
    expected: set[str] = set()
    for name, folder in package_dir().items():
        for path in files_in(folder):
            expected.add(f"{name.replace('.', '/')}/{path.relative_to(ROOT / folder).as_posix()}")
    shipped = {name for name in wheel if not name.startswith("checkrein-")}
    assert sorted(expected - shipped) == [], "not in the wheel: see package-data in pyproject.toml"
    assert sorted(shipped - expected) == [], "in the wheel by mistake"


def test_wheel_names_its_command_and_licence(wheel: set[str]) -> None:
    (info,) = {name.split("/")[0] for name in wheel if name.startswith("checkrein-")}
    assert f"{info}/entry_points.txt" in wheel
    assert f"{info}/licenses/LICENSE" in wheel


def function_lengths(path: Path) -> dict[str, int]:
    """Lines of each function of a file, its docstring and decorators left out."""
    lengths: dict[str, int] = {}
    for node in ast.walk(parse(path)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            body = node.body
            documented = ast.get_docstring(node, clean=False) is not None
            text = (body[0].end_lineno or 0) - body[0].lineno + 1 if documented else 0
            name = f"{path.relative_to(ROOT).as_posix()}::{node.name}"
            lines = (node.end_lineno or 0) - node.lineno + 1 - text
            lengths[name] = max(lines, lengths.get(name, 0))
    return lengths


def check_lengths(lengths: dict[str, int], limit: int, allowed: dict[str, int]) -> None:
    too_long = {n: size for n, size in lengths.items() if size > max(limit, allowed.get(n, 0))}
    assert too_long == {}, f"over {limit} lines: split by what it is about"
    needless = {n for n in allowed if lengths.get(n, 0) <= limit}
    assert needless == set(), "no longer too long: take it off the list"


def test_no_file_is_too_long() -> None:
    lengths = {
        path.relative_to(ROOT).as_posix(): len(path.read_text(encoding="utf-8").splitlines())
        for path in all_python()
    }
    check_lengths(lengths, MAX_FILE_LINES, LONG_FILES)


def test_no_function_is_too_long() -> None:
    lengths: dict[str, int] = {}
    for path in all_python():
        lengths |= function_lengths(path)
    check_lengths(lengths, MAX_FUNCTION_LINES, LONG_FUNCTIONS)


def test_every_module_says_what_it_is() -> None:
    silent = [
        path.relative_to(ROOT).as_posix()
        for path in all_python()
        if not is_data(path) and ast.get_docstring(parse(path)) is None
    ]
    assert silent == []
