"""The command line, called in this process or run in one of its own."""

from collections.abc import Callable
from pathlib import Path

import pytest
from command_line import CommandLine, Ran

from checkrein.entrypoints.cli.app import run_command_line

Cli = Callable[..., Ran]


@pytest.fixture
def child(environment: dict[str, str]) -> CommandLine:
    """Commands in processes of their own."""
    return CommandLine(environment)


@pytest.fixture
def plain_cli(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], home: Path
) -> Cli:
    """Commands in this process, with a home of their own and no database yet."""
    monkeypatch.setenv("CHECKREIN_HOME", str(home))
    monkeypatch.delenv("CHECKREIN_DATABASE_URL", raising=False)

    def run(*args: object) -> Ran:
        capsys.readouterr()
        code = run_command_line([str(arg) for arg in args])
        said = capsys.readouterr()
        return Ran(code, said.out, said.err)

    return run


@pytest.fixture
def cli(plain_cli: Cli, monkeypatch: pytest.MonkeyPatch, database_url: str) -> Cli:
    """Commands in this process, on a fresh database."""
    monkeypatch.setenv("CHECKREIN_DATABASE_URL", database_url)
    return plain_cli
