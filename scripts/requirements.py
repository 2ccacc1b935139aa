"""Which tests show which checklist item: reads docs/requirements.yaml, writes docs/requirements.md.

    requirements.py           write and print the table
    requirements.py --sync    first turn items that have a test to `shown` (never back)
    requirements.py --check   write nothing; fail where the table or a status is not true

A mark counts when it stands on a test function, a test class or in `pytestmark`. Tests that are
skipped or expected to fail show nothing. The tests are read, never imported.
"""

import argparse
import ast
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parent.parent
SOURCE = Path("docs/requirements.yaml")
TABLE = Path("docs/requirements.md")
MEND = "run `make requirements`"
STATUSES = ("open", "shown")
ITEM_LINE = re.compile(r"^(\s*- \{id: )(\d+)(, status: )open(,.*)$")

Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


@dataclass(frozen=True)
class Item:
    """One line of the checklist."""

    number: int
    group: str
    line: str
    status: str


@dataclass(frozen=True)
class Mark:
    """One number in one `shows` mark; `test` is what pytest would call the test."""

    number: int
    test: str


def read_items(text: str) -> tuple[list[Item], list[str]]:
    """The items in file order, and what is wrong with the file."""
    items: list[Item] = []
    faults: list[str] = []
    seen: set[int] = set()
    document: Any = yaml.safe_load(text)
    for group in document["groups"]:
        title = f"{group['number']}. {group['name']}"
        for row in group["items"]:
            item = Item(row["id"], title, row["line"], row["status"])
            if item.number in seen:
                faults.append(f"{SOURCE}: item {item.number} is listed twice")
            if item.status not in STATUSES:
                faults.append(f"{SOURCE}: item {item.number} has the unknown status {item.status}")
            seen.add(item.number)
            items.append(item)
    return items, faults


def is_mark(node: ast.AST, *names: str) -> bool:
    """Whether the node is `pytest.mark.NAME` or `mark.NAME`, called or not."""
    target = node.func if isinstance(node, ast.Call) else node
    if not isinstance(target, ast.Attribute) or target.attr not in names:
        return False
    owner = target.value
    return (isinstance(owner, ast.Attribute) and owner.attr == "mark") or (
        isinstance(owner, ast.Name) and owner.id == "mark"
    )


def numbers(nodes: list[ast.expr], where: str, faults: list[str]) -> Iterator[int]:
    """The numbers of every `shows` mark below these expressions."""
    for node in (inner for outer in nodes for inner in ast.walk(outer)):
        if not (isinstance(node, ast.Call) and is_mark(node, "shows")):
            continue
        if not node.args or node.keywords:
            faults.append(f"{where}: shows(...) takes item numbers and nothing else")
        for argument in node.args:
            if isinstance(argument, ast.Constant) and type(argument.value) is int:
                yield argument.value
            else:
                faults.append(f"{where}: shows(...) takes plain numbers, so that they can be read")


def pytestmark(body: list[ast.stmt]) -> list[ast.expr]:
    """What `pytestmark = ...` assigns in a module or class."""
    return [
        statement.value
        for statement in body
        if isinstance(statement, ast.Assign)
        and any(isinstance(t, ast.Name) and t.id == "pytestmark" for t in statement.targets)
    ]


def is_test(node: Definition) -> bool:
    """Whether pytest would collect this definition."""
    return node.name.startswith("Test" if isinstance(node, ast.ClassDef) else "test")


def marks_of(node: Definition, owner: str, faults: list[str]) -> Iterator[Mark]:
    """The marks of one definition and of what it holds."""
    name = f"{owner}::{node.name}"
    found = list(node.decorator_list)
    if isinstance(node, ast.ClassDef):
        found += pytestmark(node.body)
    shown = set(numbers(found, name, faults))
    if shown and not is_test(node):
        faults.append(f"{name}: carries shows(...) but is no test")
        return
    if any(is_mark(mark, "skip", "xfail") for mark in node.decorator_list):
        return
    for number in sorted(shown):
        yield Mark(number, name)
    if isinstance(node, ast.ClassDef):
        yield from marks_in(node.body, name, faults)


def marks_in(body: list[ast.stmt], owner: str, faults: list[str]) -> Iterator[Mark]:
    """The marks of all definitions in a module or class."""
    for node in body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield from marks_of(node, owner, faults)


def collect(root: Path) -> tuple[list[Mark], list[str]]:
    """All marks below tests/, and what is wrong with some of them."""
    marks: list[Mark] = []
    faults: list[str] = []
    for path in sorted((root / "tests").rglob("test_*.py")):
        name = path.relative_to(root).as_posix()
        if name.startswith("tests/fixtures/"):
            continue
        body = ast.parse(path.read_text(encoding="utf-8"), filename=name).body
        marks += [Mark(number, name) for number in numbers(pytestmark(body), name, faults)]
        marks += marks_in(body, name, faults)
    return marks, faults


def by_item(marks: list[Mark]) -> dict[int, list[str]]:
    """Item number -> the tests that show it, in order and without repeats."""
    tests: dict[int, list[str]] = {}
    for mark in marks:
        known = tests.setdefault(mark.number, [])
        if mark.test not in known:
            known.append(mark.test)
    return tests


def sync(text: str, tests: dict[int, list[str]]) -> str:
    """The source with every item that has a test turned to `shown`; nothing is turned back."""
    lines: list[str] = []
    for line in text.splitlines(keepends=True):
        match = ITEM_LINE.match(line)
        if match and int(match[2]) in tests:
            line = line.replace("status: open", "status: shown", 1)
        lines.append(line)
    return "".join(lines)


def render(items: list[Item], tests: dict[int, list[str]]) -> str:
    """The table, as Markdown."""
    shown = sum(item.status == "shown" for item in items)
    lines = [
        "# Requirements and the tests that show them",
        "",
        "Written by `make requirements` from docs/requirements.yaml and the marks of the tests.",
        "",
        f"{shown} of {len(items)} items are shown.",
    ]
    group = ""
    for item in items:
        if item.group != group:
            group = item.group
            lines += ["", f"## {group}", "", "| # | Item | Status | Tests |", "|---|---|---|---|"]
        names = "<br>".join(f"`{name}`" for name in tests.get(item.number, []))
        line = item.line.replace("|", "&#124;")
        lines.append(f"| {item.number} | {line} | {item.status} | {names} |")
    return "\n".join(lines) + "\n"


def judge(items: list[Item], tests: dict[int, list[str]]) -> list[str]:
    """Every way in which statuses and tests do not agree."""
    known = {item.number for item in items}
    faults = [
        f"{name}: shows item {number}, which {SOURCE} does not list"
        for number, names in sorted(tests.items())
        if number not in known
        for name in names
    ]
    for item in items:
        if item.status == "shown" and item.number not in tests:
            faults.append(f"item {item.number} has lost its test: {item.line}")
        if item.status == "open" and item.number in tests:
            faults.append(
                f"item {item.number} has a test but is still open: run `make requirements`"
            )
    return faults


def options_of(arguments: list[str] | None) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    mode = parser.add_mutually_exclusive_group()
    mode.add_argument("--sync", action="store_true", help="turn items that have a test to `shown`")
    mode.add_argument("--check", action="store_true", help="write nothing; fail if anything is off")
    parser.add_argument("--root", type=Path, default=ROOT, help="the project's folder")
    return parser.parse_args(arguments)


def main(arguments: list[str] | None = None) -> int:
    """0 when statuses, tests and table agree, else 1."""
    options = options_of(arguments)
    source_file, table_file = options.root / SOURCE, options.root / TABLE
    marks, faults = collect(options.root)
    tests = by_item(marks)
    source = source_file.read_text(encoding="utf-8")
    if options.sync:
        source = sync(source, tests)
        source_file.write_text(source, encoding="utf-8")
    items, wrong = read_items(source)
    faults += wrong + judge(items, tests)
    table = render(items, tests)
    if not options.check:
        table_file.write_text(table, encoding="utf-8")
        print(table)
    elif not table_file.exists() or table_file.read_text(encoding="utf-8") != table:
        faults.append(f"{TABLE} is stale: {MEND}")
    for fault in faults:
        print(fault, file=sys.stderr)
    if not faults:
        print(f"requirements: {sum(i.status == 'shown' for i in items)} of {len(items)} shown")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
