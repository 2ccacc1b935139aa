"""What each node can answer, read from its source: every outcome that it writes down anywhere."""

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from project_files import ROOT, parse

FOLDER = ROOT / "nodes"

Function = ast.FunctionDef | ast.AsyncFunctionDef
Place = tuple[str, str]
"""Module and function name, both without the package."""

GOES_ON = "done"
"""What the parts of commit_effect say to each other where the next action may run."""


@cache
def tree(module: str) -> ast.Module:
    """The syntax tree of one file of nodes/."""
    return parse(FOLDER / f"{module}.py")


@cache
def functions(module: str) -> dict[str, Function]:
    """Every function and method of a module by its name."""
    return {node.name: node for node in ast.walk(tree(module)) if isinstance(node, Function)}


@cache
def imported(module: str) -> dict[str, Place]:
    """Names that a module takes from other modules of nodes/; a whole module has no function."""
    found: dict[str, Place] = {}
    for node in tree(module).body:
        if isinstance(node, ast.ImportFrom) and node.module is not None:
            inside = node.module.removeprefix("checkrein.nodes").removeprefix(".")
            if node.module.startswith("checkrein.nodes"):
                for name in node.names:
                    place = (inside, name.name) if inside else (name.name, "")
                    found[name.asname or name.name] = place
    return found


def called(module: str, function: Function) -> Iterator[Place]:
    """The functions of nodes/ that a function calls."""
    for node in ast.walk(function):
        if not isinstance(node, ast.Call):
            continue
        target = node.func
        if isinstance(target, ast.Name):
            if target.id in functions(module):
                yield module, target.id
            elif target.id in imported(module):
                yield imported(module)[target.id]
        elif isinstance(target, ast.Attribute) and isinstance(target.value, ast.Name):
            owner = target.value.id
            if owner == "run":
                yield "run", target.attr
            elif owner in imported(module) and not imported(module)[owner][1]:
                yield imported(module)[owner][0], target.attr


def reachable(module: str, name: str) -> dict[Place, Function]:
    """A function and all that it calls, directly or not."""
    found: dict[Place, Function] = {}
    open_places = [(module, name)]
    while open_places:
        place = open_places.pop()
        if place in found or not (FOLDER / f"{place[0]}.py").exists():
            continue
        function = functions(place[0]).get(place[1])
        if function is not None:
            found[place] = function
            open_places += called(place[0], function)
    return found


def outcomes(node: str) -> set[str]:
    """Every outcome that a node can give."""
    found: set[str] = set()
    passed_on = False
    for function in reachable(node, node).values():
        for step in steps(function):
            if isinstance(step, ast.Constant):
                found.add(str(step.value))
            else:
                passed_on = True
    if passed_on:
        found |= {word for f in reachable(node, node).values() for word in words(f)} - {GOES_ON}
    return found


def steps(function: Function) -> Iterator[ast.expr]:
    """The first argument of each Step that a function makes."""
    for node in ast.walk(function):
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "Step":
            yield node.args[0]


def words(function: Function) -> Iterator[str]:
    """What a function returns word for word, where it returns text."""
    if function.returns is None or not ast.unparse(function.returns).startswith("str"):
        return
    for node in ast.walk(function):
        said = node.value if isinstance(node, ast.Return) else None
        if isinstance(said, ast.Constant) and isinstance(said.value, str):
            yield said.value


def calls_of(path: Path, *names: str) -> list[int]:
    """The lines on which a file calls something of one of these names."""
    found: list[int] = []
    for node in ast.walk(parse(path)):
        if isinstance(node, ast.Call):
            target = node.func
            name = target.attr if isinstance(target, ast.Attribute) else getattr(target, "id", "")
            if name in names:
                found.append(node.lineno)
    return found
