"""Rules for the source of the nodes: who interrupts, who sends, who may know whom."""

import ast
from pathlib import Path

import pytest
from node_outcomes import FOLDER, calls_of, functions, reachable, tree
from project_files import ROOT, imports, parse, shipped_python

from checkrein.graph.build import NODES

DOORBELLS = ("approval", "suspend")
FILES = sorted(path for path in FOLDER.glob("*.py") if path.stem != "__init__")

# What may change the world or the record. A doorbell calls none of them, however far one follows.
WRITES = {
    "append", "append_and_look", "record", "reach", "broken", "send", "put", "respond", "decide",
    "start", "write", "write_bytes", "write_text", "unlink", "mkdir", "rename", "execute", "run",
}  # fmt: skip

WORLDLY = {"os", "shutil", "socket", "subprocess", "urllib", "http", "httpx", "requests", "ctypes"}
"""Modules through which something outside can be changed."""


def lines(module: str, kind: type[ast.AST] | tuple[type[ast.AST], ...]) -> list[int]:
    return [node.lineno for node in ast.walk(tree(module)) if isinstance(node, kind)]  # type: ignore[attr-defined]


@pytest.mark.shows(144)
@pytest.mark.parametrize("module", DOORBELLS)
def test_a_doorbell_rings_once_and_does_nothing_else(module: str) -> None:
    """LangGraph runs a node again from its start after an interrupt: it must change nothing."""
    assert len(calls_of(FOLDER / f"{module}.py", "interrupt")) == 1
    assert lines(module, (ast.Try, ast.For, ast.While, ast.AsyncFor, ast.AsyncWith)) == []
    called = {
        node.func.attr
        for function in reachable(module, module).values()
        for node in ast.walk(function)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
    }
    assert called & WRITES == set()


@pytest.mark.shows(144)
def test_nobody_else_interrupts() -> None:
    ringing = {
        path.relative_to(ROOT).as_posix()
        for path in shipped_python()
        if any(name.endswith(".interrupt") for _, name in imports(parse(path)))
    }
    # An agent's own loop is not our graph: there its middleware is the doorbell.
    ours = {f"nodes/{module}.py" for module in DOORBELLS}
    assert ringing == ours | {"core/middleware.py"}


@pytest.mark.shows(31)
def test_effects_are_sent_from_one_place() -> None:
    """Capabilities can be called anywhere only to look; what changes anything stands in one place.

    `send` is called by sending.py, which executing.py calls; `apply` by executing.py.
    """
    senders = {path.name for path in FILES if calls_of(path, "send")}
    assert senders == {"sending.py", "executing.py"}
    assert len(calls_of(FOLDER / "sending.py", "send")) == 1
    assert {path.name for path in FILES if calls_of(path, "apply")} == {"executing.py"}
    graph = {path.name for path in (ROOT / "graph").glob("*.py") if calls_of(path, "send")}
    assert graph == set()


@pytest.mark.shows(31)
def test_only_commit_effect_leads_to_the_send() -> None:
    for node in NODES:
        leads = ("ledger", "perform_write") in reachable(node, node)
        assert leads == (node == "commit_effect"), node


def test_capabilities_are_read_in_one_place() -> None:
    readers = {
        path.name
        for path in FILES
        for node in ast.walk(parse(path))
        if isinstance(node, ast.Attribute)
        and node.attr == "read"
        and isinstance(node.value, ast.Name)
        and node.value.id == "capability"
    }
    assert readers == {"perform.py"}


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_node_knows_ports_and_no_adapter(path: Path) -> None:
    wrong = [
        f"{line}: {name}"
        for line, name in imports(parse(path))
        if name.startswith(
            (
                "checkrein.adapters",
                "checkrein.checkpointer",
                "checkrein.policy_rego",
                "checkrein.testing",
                "checkrein.graph",
                "langchain",
                "psycopg",
            )
        )
        or name.split(".")[0] in WORLDLY
    ]
    assert wrong == []


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_only_doorbells_know_langgraph(path: Path) -> None:
    known = {name for _, name in imports(parse(path)) if name.startswith("langgraph")}
    assert known == ({"langgraph.types.interrupt"} if path.stem in DOORBELLS else set())


@pytest.mark.parametrize("node", sorted(NODES))
def test_every_node_is_one_function_of_its_file(node: str) -> None:
    found = functions(node)[node]
    assert isinstance(found, ast.AsyncFunctionDef)
    assert [argument.arg for argument in found.args.args] == ["run"]
    assert found.returns is not None and ast.unparse(found.returns) == "Step"
    assert NODES[node].__module__ == f"checkrein.nodes.{node}"


def test_no_node_swallows_what_it_does_not_know() -> None:
    """A bare except, or one for everything, would swallow the interrupt too. Three are argued for.

    What settles something and raises again swallows nothing.
    """
    wide: list[str] = []
    for path in [*FILES, ROOT / "graph" / "build.py", ROOT / "graph" / "lifecycle.py"]:
        for node in ast.walk(parse(path)):
            again = isinstance(node, ast.ExceptHandler) and ast.unparse(node.body[-1]) == "raise"
            if isinstance(node, ast.ExceptHandler) and not again:
                name = "" if node.type is None else ast.unparse(node.type)
                if name in {"", "Exception", "BaseException"}:
                    wide.append(path.relative_to(ROOT).as_posix())
    # What a target's client raises must end in a word, and so must what a verifier raises, which
    # may hold a secret besides. What one attempt's recovery raises, with its graph left behind,
    # must not keep all others from theirs; its report tells it.
    assert wide == ["nodes/calling.py", "nodes/lending.py", "graph/lifecycle.py"]
