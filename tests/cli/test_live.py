"""The live view: what is waited for is said in time, and every event has its line."""

import contextlib
import os
import pty
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, get_args

import pytest
from command_line import COMMAND, Ran, task_file
from loops import DONE, says

from checkrein.contracts.event import Payload
from checkrein.entrypoints.cli import lines
from checkrein.entrypoints.cli.console import short, shown
from checkrein.entrypoints.cli.live import Live
from checkrein.entrypoints.cli.watch import Watch

Cli = Callable[..., Ran]


def test_never_silent_for_two_seconds(capsys: pytest.CaptureFixture[str]) -> None:
    """Protects: who waits is told for what, though nothing happens and the process is busy."""
    spoke: list[float] = []
    write = sys.stderr.write

    def noted(text: str) -> int:
        if text.strip():
            spoke.append(time.monotonic())
        return write(text)

    sys.stderr.write = noted  # type: ignore[method-assign]
    began = time.monotonic()
    with Live("the first thing") as live:
        while time.monotonic() - began < 2:
            sum(range(1000))  # as busy as an import
        live.line("it came")
        live.waiting("the other thing")
        time.sleep(2)
    said = capsys.readouterr().err
    assert "... waiting for the first thing (" in said
    assert "it came\n" in said
    assert "... waiting for the other thing (" in said
    moments = [began, *spoke, time.monotonic()]
    assert max(b - a for a, b in zip(moments, moments[1:], strict=False)) < 2


def test_a_slow_model_is_waited_for_aloud(cli: Cli, tmp_path: Path) -> None:
    """Protects: the view says that it is the model that takes so long."""
    ran = cli("run", task_file(tmp_path, [says("Done.", delay_s=2.2)]))
    assert ran.code == 0
    assert "... waiting for the model's answer, turn 1 (" in ran.err


def test_on_a_terminal_one_line_changes_in_place() -> None:
    """Protects: a person sees at once that something is going on; stdout stays clean."""
    ours, theirs = pty.openpty()
    seen: list[bytes] = []

    def read() -> None:
        with contextlib.suppress(OSError):  # the other end was closed
            while part := os.read(ours, 4096):
                seen.append(part)

    reader = threading.Thread(target=read)
    reader.start()
    done = subprocess.run(
        [*COMMAND, "graph"],
        stdout=subprocess.PIPE,
        stderr=theirs,
        env={"PATH": os.environ["PATH"], "TERM": "xterm"},
        check=False,
    )
    os.close(theirs)
    reader.join(timeout=10)
    os.close(ours)
    told = b"".join(seen).decode()
    assert done.returncode == 0
    assert done.stdout.startswith(b"graph TD;")
    assert "waiting for Checkrein to load" in told
    assert "..." not in told
    assert told.rstrip().endswith("\x1b[2K")  # nothing of it stays on the screen


def test_every_event_has_a_line() -> None:
    """Protects: no new event goes by untold."""
    kinds: set[type[Any]] = set(get_args(get_args(Payload)[0]))
    assert set(lines.TELLERS) == kinds
    assert set(lines.QUIET) <= kinds


def test_a_fault_of_the_view_stops_no_work(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Protects: the work goes on though the view cannot."""

    def broken(*args: object) -> None:
        raise ValueError

    monkeypatch.setattr(Watch, "_told", broken)
    assert cli("run", task_file(tmp_path, [DONE])).code == 0


@pytest.mark.parametrize(
    ("text", "seen"),
    [
        ("plain ￥12.5 é 漢", "plain ￥12.5 é 漢"),
        ("\x1b[31m", "\\u001b[31m"),
        ("a\nb\tc\r\n", "a\\u000ab\\u0009c\\u000d\\u000a"),
        ("\u202egpj.exe", "\\u202egpj.exe"),
        ("\x00\x7f\x9b", "\\u0000\\u007f\\u009b"),
        ("\ud800", "\\ud800"),
        ("\U000e0041", "\\U000e0041"),
    ],
)
def test_shown(text: str, seen: str) -> None:
    """Protects: what would steer a terminal, or hide in it, is seen; what people write stays."""
    assert shown(text) == seen


def test_shown_keeps_the_lines_of_previews() -> None:
    """Protects: a diff is read line by line, and nothing else in it is obeyed."""
    assert shown("-a\r\n+b\t\x1b[K\n", lines=True) == "-a\n+b\t\\u001b[K\n"


def test_short_is_one_line_of_that_length() -> None:
    """Protects: five megabytes of text are one line."""
    assert short("a\n" * 3_000_000, 40) == "a " * 19 + "a…"
