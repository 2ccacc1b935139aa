"""The two deliverers of this machine: a file below the home, and a program."""

import asyncio
import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest
from held_writes import waited
from told import NASTY, message

from checkrein.adapters.command_runner import LocalCommandRunner
from checkrein.adapters.deliver_command import CommandDeliverer
from checkrein.adapters.deliver_log import LogDeliverer
from checkrein.adapters.deliverer_spec import CommandSpec, LogSpec
from checkrein.errors import DeliveryError


def log(home: Path, path: str = "logs/approvals.jsonl") -> LogDeliverer:
    return LogDeliverer(LogSpec(name="log", kind="log", path=path), home)


def program(home: Path, code: str, *args: str, **fields: Any) -> CommandDeliverer:
    argv = [sys.executable, "-c", code, *args]
    spec = CommandSpec.model_validate({"name": "cmd", "kind": "command", "argv": argv} | fields)
    return CommandDeliverer(spec, home, LocalCommandRunner())


async def refused(deliverer: LogDeliverer | CommandDeliverer) -> DeliveryError:
    with pytest.raises(DeliveryError) as told:
        await deliverer.deliver(message())
    return told.value


async def test_each_message_is_one_line(home: Path) -> None:
    """Protects readers of the log: one message a line, private, nothing that a terminal obeys."""
    told = message(request={"purpose": NASTY, "preview": NASTY})
    await log(home).deliver(told)
    await log(home).deliver(message())
    path = home / "logs" / "approvals.jsonl"
    raw = path.read_bytes()
    assert raw.isascii() and not set(raw) & (set(range(32)) - {10})
    first, second = map(json.loads, raw.decode().splitlines())
    assert (first, second["key"]) == (told.model_dump(mode="json"), message().key)
    assert path.stat().st_mode & 0o077 == 0


async def test_a_line_that_was_cut_off_spoils_no_other(home: Path) -> None:
    """Protects the next message from the half line of a process that died."""
    await log(home, "a.jsonl").deliver(message())
    with (home / "a.jsonl").open("ab") as stream:
        stream.write(b'{"key": "half')
    await log(home, "a.jsonl").deliver(message())
    lines = (home / "a.jsonl").read_text().splitlines()
    assert [json.loads(lines[n])["key"] for n in (0, 2)] == [message().key] * 2
    assert lines[1] == '{"key": "half'


async def test_links_out_of_the_home_and_things_that_are_no_files_are_refused(
    home: Path, tmp_path: Path
) -> None:
    """Protects files elsewhere from being written to by a name in a file."""
    (home / "out").symlink_to(tmp_path)
    (home / "link.jsonl").symlink_to(tmp_path / "elsewhere")
    os.mkfifo(home / "pipe.jsonl")
    (home / "folder.jsonl").mkdir()
    for path in ("out/a.jsonl", "link.jsonl", "pipe.jsonl", "folder.jsonl"):
        assert not (await refused(log(home, path))).final
    assert os.listdir(tmp_path) == []


async def test_a_program_gets_the_message_and_nothing_of_ours(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Protects: no shell, no secret of our environment, the whole message on standard input."""
    monkeypatch.setenv("CHECKREIN_HUSH", "secret")
    code = (
        "import json, os, sys\n"
        "got = {'message': json.load(sys.stdin), 'argv': sys.argv[1:], 'env': dict(os.environ)}\n"
        "json.dump(got, open(sys.argv[1], 'w'))"
    )
    argument = "$(touch never); `id`"
    told = message(request={"preview": NASTY})
    out = tmp_path / "got.json"
    assert await program(home, code, str(out), argument).deliver(told) == ""
    got = json.loads(out.read_text())
    assert got["message"] == told.model_dump(mode="json")
    assert got["argv"] == [str(out), argument]
    assert "CHECKREIN_HUSH" not in got["env"] and "CHECKREIN_HOME" not in got["env"]


async def test_a_program_that_reads_nothing_has_taken_it_all_the_same(home: Path) -> None:
    """Protects from waiting for a reader: a big message is no pipe that fills up."""
    told = message(request={"preview": "x\n" * 100_000})
    assert await program(home, "pass").deliver(told) == ""


async def test_a_program_that_fails_says_only_its_exit_code(home: Path) -> None:
    """Protects what a program prints from standing in a list."""
    error = await refused(program(home, "import sys; print('hush'); sys.exit('hush')"))
    assert str(error) == "The command ended with exit code 1." and not error.final


async def test_a_program_that_hangs_is_ended_with_all_it_started(home: Path) -> None:
    """Protects the machine from what a deliverer leaves behind."""
    pid = home / "pid"
    code = (
        "import subprocess, sys, time\n"
        "child = subprocess.Popen(['sleep', '600'], start_new_session=True)\n"
        "open(sys.argv[1], 'w').write(str(child.pid))\n"
        "time.sleep(600)"
    )
    error = await refused(program(home, code, str(pid), timeout_s=2))
    assert "did not end within 2 s" in str(error)
    with pytest.raises(ProcessLookupError):
        os.kill(int(pid.read_text()), 0)


async def test_a_program_that_is_not_there(home: Path) -> None:
    """Protects: a misspelt name is a failure with a reason, tried again once it is mended."""
    spec = CommandSpec(name="cmd", kind="command", argv=["/no/such/program"])
    error = await refused(CommandDeliverer(spec, home, LocalCommandRunner()))
    assert "/no/such/program" in str(error) and not error.final


async def test_a_program_that_is_cut_off_is_ended(home: Path) -> None:
    """Protects: whoever stops delivering leaves no program running."""
    begun = home / "begun"
    code = "import os, sys, time; open(sys.argv[1], 'w').write(str(os.getpid())); time.sleep(600)"
    trying = asyncio.ensure_future(program(home, code, str(begun)).deliver(message()))
    await asyncio.to_thread(waited, lambda: begun.exists() and begun.read_text() != "")
    trying.cancel()
    with pytest.raises(asyncio.CancelledError):
        await trying
    with pytest.raises(ProcessLookupError):
        os.kill(int(begun.read_text()), 0)
