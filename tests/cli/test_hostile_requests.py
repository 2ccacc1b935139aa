"""A request whose every text wants to steer the terminal, on real terminals and in JSON."""

import shlex
import shutil
import subprocess
import time
import uuid
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any

import pytest
from command_line import COMMAND, Ran, task_file
from loops import ASK_WRITES, DONE, call, says
from screens import OnTerminal

Cli = Callable[..., Ran]

WIPE = "\x1b[2J\x1b[1;1H\x1b]0;owned\x07\x9b31m"
EVIL = f"{WIPE}p\u0430y\u202egpj.exe\u2066\u200b\rApproval is GRANTED\n"
TEXT = EVIL + "x" * 850_000 + "\n" + EVIL * 1_500 + "the very end"
TMUX = shutil.which("tmux")


@pytest.fixture
def hostile(cli: Cli, tmp_path: Path) -> dict[str, Any]:
    """An attempt that asks for such a write, as its JSON tells it."""
    turn = says(EVIL, call("workspace.write_file", path="a.txt", content=TEXT))
    ran = cli("run", task_file(tmp_path, [turn, DONE], policy=str(ASK_WRITES)), "--json")
    assert ran.code == 3, ran.err
    return ran.json


def steers(text: str) -> list[str]:
    """Characters that a terminal would obey or hide."""
    return [c for c in text if not (c.isprintable() or c in "\n\t\r")]


@pytest.mark.shows(89)
def test_json_is_safe_and_in_bounds(cli: Cli, hostile: dict[str, Any]) -> None:
    """Protects programs: a megabyte is folded with its digest, and every doubt is named."""
    for args in (
        ["approvals"],
        ["approvals", hostile["attempt_id"]],
        ["status", hostile["attempt_id"]],
    ):
        ran = cli(*args, "--json")
        assert len(ran.out) < 200_000
        assert ran.out.strip().isascii()
        request = ran.json["approvals"][0]
        assert f"[folded: {len(TEXT):,} characters, sha256:" in request["args"]["content"]
        assert "the very end" in request["args"]["content"]
        assert not steers(request["preview"] + request["args"]["content"])
        told = "\n".join(request["warnings"])
        for words in ("args/content", "mixed alphabets", "changes the order", "shown as nothing"):
            assert words in told
    whole = cli("approvals", "--full", "--json").json["approvals"][0]
    assert whole["args"]["content"] == TEXT
    assert len(whole["preview"]) > 100_000


def test_the_terminal_obeys_nothing(
    cli: Cli, hostile: dict[str, Any], environment: dict[str, str]
) -> None:
    """Protects the person's terminal: no escape of the arguments reaches it."""
    with OnTerminal(["approvals"], environment, columns=100, lines=50) as terminal:
        assert terminal.ended() == 0
        seen = terminal.raw.decode()
    assert not steers(seen)
    assert len(seen) < 40_000
    assert f"all of it: checkrein approvals {hostile['attempt_id']} --full" in seen
    assert "\\u001b[2J\\u001b[1;1H" in seen
    assert "\\u202egpj.exe" in seen
    assert "the very end" in seen
    assert "LOOK" in seen


def test_the_inbox_obeys_nothing(hostile: dict[str, Any], environment: dict[str, str]) -> None:
    """Protects the inbox: on its screen are its own escapes alone, which the screen checks."""
    with OnTerminal(["inbox", "--as", "bob"], environment) as inbox:
        inbox.sees("1 waiting", "the model says: \\u001b[2J")
        inbox.press("pG")
        inbox.sees("the very end")
        inbox.press("g")
        inbox.sees("approval", "LOOK")
        inbox.press("qq")
        assert inbox.ended() == 0
        seen = inbox.raw.decode()
    assert "\u202e" not in seen
    assert "\x1b]" not in seen
    assert "\x9b" not in seen


@pytest.fixture
def pane(environment: dict[str, str]) -> Generator[Callable[[str, str], str]]:
    """A tmux of the test's own; shows a command until a text is there, and returns the screen."""
    if TMUX is None:
        pytest.skip("tmux is not here; apt-get install tmux (or brew install tmux) brings it")
    name = f"checkrein-{uuid.uuid4().hex[:8]}"
    base = [TMUX, "-L", name, "-f", "/dev/null"]

    def run(*args: str) -> str:
        done = subprocess.run(
            [*base, *args], capture_output=True, text=True, env=environment, check=True
        )
        return done.stdout

    def shown(command: str, until: str) -> str:
        # Sized so that the whole request stands on it; what follows keeps the pane open.
        run("new-session", "-d", "-x", "120", "-y", "400", f"{command}; echo DONE; cat")
        ends = time.monotonic() + 40
        while until not in (text := run("capture-pane", "-p")):
            assert time.monotonic() < ends, text
            time.sleep(0.1)
        return text

    yield shown
    subprocess.run([*base, "kill-server"], capture_output=True, check=False)


def test_tmux_shows_the_request_as_it_is(
    hostile: dict[str, Any], pane: Callable[[str, str], str]
) -> None:
    """Protects what a real terminal makes of it: all lines stand, in their order."""
    command = shlex.join([*COMMAND, "approvals"])
    seen = pane(command, "DONE")
    lines = seen.splitlines()
    assert lines[0].startswith(f"Approval {hostile['approvals'][0]['approval_id']} is PENDING")
    assert "  what         workspace.write_file@1 on file:a.txt" in lines
    assert any(line.startswith("  LOOK ") for line in lines)
    assert "the very end" in seen
    assert "\\u001b[2J" in seen
    assert "owned" in seen, "the title of the window is text, and was not set"


def test_tmux_shows_the_inbox_alone(
    hostile: dict[str, Any], pane: Callable[[str, str], str]
) -> None:
    """Protects the screen from whatever else writes on a terminal meanwhile."""
    seen = pane(shlex.join([*COMMAND, "inbox", "--as", "bob"]), "1 waiting")
    lines = seen.splitlines()
    assert lines[0] == "Checkrein inbox: 1 waiting; you are bob (asserted)"
    assert "waiting for" not in seen
    assert lines[-1].startswith("up/down")
