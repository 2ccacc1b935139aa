"""A repair made of two releases: which tests are visible, which hidden, and what models do.

The tests that only the later release passes are split by function: the first half is visible, the
others are hidden. The models' patches are parts of the real one.
"""

import ast
import asyncio
import shutil
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import NamedTuple

from checkrein.errors import EnvironmentFault
from checkrein.evals.repair_cases import TESTS, Claimant, Edit, Repair
from checkrein.evals.repair_hunks import Hunk, edits, hunks, patched, subsets
from checkrein.evals.repair_oracle import Outcomes, run_tests

KIND = "real_package"


class Split(NamedTuple):
    """Folders: the program with its bug, the mended one, and two that are made.

    Attributes:
        trial: files of a part of the patch, while it is tried.
        hidden: the tests that judge.
    """

    program: Path
    mended: Path
    trial: Path
    hidden: Path


class Named(NamedTuple):
    """Tests by id, and the functions that are hidden from the model."""

    fail: list[str]
    passing: list[str]
    hidden: list[str]

    @property
    def visible(self) -> list[str]:
        """The failing tests that a model may see."""
        return [test for test in self.fail if function_of(test) not in self.hidden]


async def mended(name: str, goal: str, split: Split) -> tuple[Repair, str]:
    """The repair, and what could not be made of it.

    Raises:
        EnvironmentFault: no test tells the two releases apart on this machine.
    """
    await _keep_what_runs(split)
    named = _named(await run_tests(split.program), await run_tests(split.mended))
    await asyncio.to_thread(_split, split, named)
    repair = Repair(
        name=name,
        kind=KIND,
        goal=goal,
        program=split.program,
        hidden=split.hidden,
        fail_to_pass=named.visible,
        pass_to_pass=named.passing,
        edits={},
    )
    found = hunks(split.program, split.mended)
    repair.edits[Claimant.RIGHT] = edits(split.program, patched(split.program, found))
    repair.edits[Claimant.TESTS] = _without(split.program, named.visible)
    parts = await _parts(split, named, found)
    repair.edits.update({who: edits(split.program, texts) for who, texts in parts.items()})
    return repair, _told(named, found, parts)


async def _keep_what_runs(split: Split) -> None:
    """Leave out test files of which nothing passes in the mended program, for want of a package."""
    ran = (await run_tests(split.mended)).passed
    useful = {test.partition("::")[0] for test, passed in ran.items() if passed}

    def leave_out() -> None:
        for root in (split.program, split.mended):
            for path in (root / TESTS).rglob("test_*.py"):
                if path.relative_to(root).as_posix() not in useful:
                    path.unlink()

    await asyncio.to_thread(leave_out)


def _named(before: Outcomes, after: Outcomes) -> Named:
    fail = [t for t, passed in after.passed.items() if passed and not before.passed.get(t, False)]
    passing = [t for t, passed in after.passed.items() if passed and t not in fail]
    if not fail or after.failing():
        raise EnvironmentFault(
            f"{len(fail)} tests tell the releases apart here, and {len(after.failing())} fail in "
            "the later one too.",
            op="repairs.split",
        )
    functions = list(dict.fromkeys(map(function_of, fail)))
    hidden = functions[(len(functions) + 1) // 2 :]
    # A hidden function takes along what passes of its parameters.
    return Named(fail, [test for test in passing if function_of(test) not in hidden], hidden)


def _split(split: Split, named: Named) -> None:
    """Give the hidden folder every test, and take the hidden functions out of the program."""
    shutil.copytree(split.program / TESTS, split.hidden / TESTS)
    for path, text in _texts_without(split.program, named.hidden).items():
        (split.program / path).write_text(text, encoding="utf-8")


async def _parts(
    split: Split, named: Named, found: Sequence[Hunk]
) -> dict[Claimant, dict[str, str]]:
    """The largest part that fails a visible test, and the largest that fails only hidden ones."""
    parts: dict[Claimant, dict[str, str]] = {}
    wanted = {Claimant.WRONG, Claimant.OVERFIT} if named.hidden else {Claimant.WRONG}
    for part in subsets(found):
        if wanted <= parts.keys():
            break
        texts = patched(split.program, part)
        outcomes = await _with(split, texts)
        visible = [*named.visible, *named.passing]
        if not all(outcomes.passed.get(test, False) for test in visible):
            parts.setdefault(Claimant.WRONG, texts)
        elif outcomes.failing():
            parts.setdefault(Claimant.OVERFIT, texts)
    return parts


async def _with(split: Split, texts: dict[str, str]) -> Outcomes:
    """All tests, on the program with other texts in it."""
    over = split.trial
    await asyncio.to_thread(shutil.rmtree, over, ignore_errors=True)

    def lay() -> None:
        for path, text in texts.items():
            (over / path).parent.mkdir(parents=True, exist_ok=True)
            (over / path).write_text(text, encoding="utf-8")

    await asyncio.to_thread(lay)
    return await run_tests(split.program, None, split.hidden, over)


def _without(program: Path, tests: Sequence[str]) -> list[Edit]:
    """What a model does that takes the failing tests away."""
    return edits(program, _texts_without(program, [function_of(test) for test in tests]))


def _texts_without(program: Path, functions: Collection[str]) -> dict[str, str]:
    """The test files, without some functions."""
    texts: dict[str, str] = {}
    for path in dict.fromkeys(function.partition("::")[0] for function in functions):
        inner = {f.partition("::")[2] for f in functions if f.startswith(f"{path}::")}
        lines = (program / path).read_text(encoding="utf-8").splitlines(keepends=True)
        for first, last in sorted(_places("".join(lines), inner), reverse=True):
            del lines[first - 1 : last]
        texts[path] = "".join(lines)
    return texts


def _places(text: str, names: Collection[str]) -> list[tuple[int, int]]:
    """First and last lines of functions by their names, Class::function or function."""
    tree = ast.parse(text)
    known: list[tuple[str, list[ast.stmt]]] = [("", tree.body)]
    known += [(f"{n.name}::", n.body) for n in tree.body if isinstance(n, ast.ClassDef)]
    return [
        (min([node.lineno, *(d.lineno for d in node.decorator_list)]), node.end_lineno or 0)
        for prefix, body in known
        for node in body
        if isinstance(node, ast.FunctionDef) and f"{prefix}{node.name}" in names
    ]


def function_of(test: str) -> str:
    """A test's id without its parameters."""
    return test.partition("[")[0]


def _told(named: Named, found: Sequence[Hunk], parts: Collection[Claimant]) -> str:
    said = (
        f"{len(named.fail)} failing tests, {len(named.visible)} of them visible; "
        f"the real patch has {len(found)} hunks."
    )
    if Claimant.WRONG not in parts:
        said += " No part of it fails a visible test, so that no wrong patch was made."
    if not named.hidden:
        said += " One function shows the bug, so that nothing could be hidden: no overfitted patch."
    elif Claimant.OVERFIT not in parts:
        said += " No part of it passes the visible tests and fails a hidden one."
    return said
