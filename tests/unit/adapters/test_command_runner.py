"""The one door for commands: clean, bounded, and nothing is left behind."""

import ast
import asyncio
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from checkrein.adapters.command_offline import find_offline
from checkrein.adapters.command_output import HeadAndTail
from checkrein.adapters.command_runner import SEARCH_PATH, LocalCommandRunner
from checkrein.errors import EnvironmentFault, InputError
from checkrein.ports.command_runner import CommandResult, Confinement

linux = pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")


async def run(
    tmp_path: Path, *argv: str, timeout_s: float = 20, offline: bool = False
) -> CommandResult:
    runner = LocalCommandRunner(scratch=tmp_path, output_bytes=1000)
    held = Confinement(
        timeout_s=timeout_s, network="none" if offline else "host", file_bytes=100_000
    )
    return await runner.run(list(argv), cwd=tmp_path, confinement=held)


async def fault_of(tmp_path: Path, *argv: str) -> EnvironmentFault:
    with pytest.raises(EnvironmentFault) as caught:
        await run(tmp_path, *argv)
    return caught.value


def alive(marker: str) -> list[str]:
    """Processes with the marker among their arguments."""
    found: list[str] = []
    for pid in os.listdir("/proc"):
        try:
            command = Path("/proc", pid, "cmdline").read_bytes() if pid.isdigit() else b""
        except (FileNotFoundError, ProcessLookupError):
            continue
        if marker.encode() in command:
            found.append(command.decode())
    return found


def scratches(folder: Path) -> list[str]:
    """Scratch folders that a command left behind."""
    return [path.name for path in folder.iterdir() if "checkrein-run" in path.name]


async def test_result_of_an_ordinary_command(tmp_path: Path) -> None:
    """Protects the record: arguments, status, both streams and the time taken."""
    result = await run(tmp_path, "sh", "-c", "echo out; echo err >&2; pwd; exit 3")
    assert result.argv == ["sh", "-c", "echo out; echo err >&2; pwd; exit 3"]
    assert (result.exit_code, result.timed_out) == (3, False)
    assert result.stdout == f"out\n{tmp_path}\n".encode()
    assert result.stderr == b"err\n"
    assert 0 < result.duration_s < 20


async def test_arguments_are_never_shell_text(tmp_path: Path) -> None:
    """Protects against a command hidden in an argument."""
    result = await run(tmp_path, "echo", "$(touch hacked)", "; touch hacked", "-I")
    assert result.stdout == b"$(touch hacked) ; touch hacked -I\n"
    assert not (tmp_path / "hacked").exists()


@pytest.mark.shows(121)
async def test_the_environment_is_clean(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Protects secrets of ours, and verdicts from depending on who runs them."""
    monkeypatch.setenv("SECRET_TOKEN", "canary")
    monkeypatch.setenv("PYTHONPATH", "/somewhere")
    show = "import os, sys; print(sorted(os.environ.items())); print(sys.stdin.read())"
    result = await run(tmp_path, "python", "-c", show)
    shown, rest = result.stdout.decode().split("\n", 1)
    environment = dict(ast.literal_eval(shown))
    assert sorted(environment) == [
        "HOME",
        "LANG",
        "PATH",
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD",
        "PYTHONDONTWRITEBYTECODE",
        "TMPDIR",
    ]
    assert "canary" not in shown
    assert rest == "\n", "standard input is empty"
    python = await run(tmp_path, "python", "-c", "import sys; print(sys.executable)")
    assert Path(python.stdout.decode().strip()).parent == Path(sys.executable).parent
    assert (await run(tmp_path, "sh", "-c", 'touch "$HOME/a" "$TMPDIR/b"')).exit_code == 0
    assert scratches(tmp_path) == []


async def test_signals_are_told_apart(tmp_path: Path) -> None:
    """Protects the record: killed is not the same as failed."""
    assert (await run(tmp_path, "sh", "-c", "kill -TERM $$")).exit_code == -15
    piped = await run(tmp_path, "sh", "-c", "yes | head -1")
    assert (piped.exit_code, piped.stderr) == (0, b"")


async def test_output_is_bounded_with_head_and_tail(tmp_path: Path) -> None:
    """Protects memory, and the first and last lines, which say most."""
    show = "import sys; sys.stdout.write('first\\n' + 'x' * 5_000_000 + '\\nlast\\n')"
    result = await run(tmp_path, "python", "-c", show)
    assert result.stdout.startswith(b"first\n")
    assert result.stdout.endswith(b"\nlast\n")
    assert len(result.stdout) < 1100
    assert b"[... 4999012 bytes left out ...]" in result.stdout


@pytest.mark.parametrize("size", [0, 1, 99, 100, 101, 250])
def test_head_and_tail_count_rightly(size: int) -> None:
    """Protects the marker: nothing is called missing that is there, and the other way round."""
    data = bytes(n % 251 for n in range(size))
    for step in (1, 7, 1000):
        kept = HeadAndTail(100)
        for at in range(0, size, step):
            kept.add(data[at : at + step])
        if size <= 100:
            assert kept.kept() == data
        else:
            marker = b"\n[... %d bytes left out ...]\n" % (size - 100)
            assert kept.kept() == data[:50] + marker + data[-50:]


async def test_files_are_bounded(tmp_path: Path) -> None:
    """Protects the disk."""
    result = await run(tmp_path, "sh", "-c", "head -c 200000 /dev/zero > big; wc -c < big")
    assert result.stdout.strip() == b"100000"


@linux
@pytest.mark.shows(121)
async def test_the_time_limit_ends_the_whole_tree(tmp_path: Path) -> None:
    """Protects the machine: children, and those that left session and parent, die as well."""
    marker = f"9{os.getpid()}.25"
    tree = f"setsid sh -c 'setsid sleep {marker} & sleep {marker}' & sleep {marker} & echo on; wait"
    result = await run(tmp_path, "sh", "-c", tree, timeout_s=1)
    assert (result.exit_code, result.timed_out, result.stdout) == (None, True, b"on\n")
    assert result.duration_s < 8
    assert alive(marker) == []


@linux
async def test_what_a_command_leaves_behind_is_ended_too(tmp_path: Path) -> None:
    """Protects verdicts: a daemon of one check must not live on into the next."""
    marker = f"9{os.getpid()}.5"
    started = time.monotonic()
    result = await run(tmp_path, "sh", "-c", f"setsid setsid sleep {marker} & echo done")
    assert (result.exit_code, result.stdout) == (0, b"done\n")
    assert time.monotonic() - started < 10
    assert alive(marker) == []


@linux
async def test_a_tree_that_keeps_growing_is_ended(tmp_path: Path) -> None:
    """Protects against processes that outrun being killed one by one."""
    marker = f"grow{os.getpid()}"
    grow = f"import os, time  # {marker}\nfor _ in range(8): os.fork(); time.sleep(0.15)\n"
    result = await run(tmp_path, "python", "-c", grow + "time.sleep(60)", timeout_s=1)
    assert result.timed_out
    assert alive(marker) == []


@linux
async def test_cancelling_ends_the_tree(tmp_path: Path) -> None:
    """Protects a cancelled attempt: nothing of it goes on in the background."""
    marker = f"9{os.getpid()}.75"
    for wait in (0.0, 0.01, 0.02, 0.5):
        task = asyncio.create_task(run(tmp_path, "sh", "-c", f"sleep {marker} & sleep {marker}"))
        await asyncio.sleep(wait)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert alive(marker) == []
    assert scratches(tmp_path) == []


HARNESS = """
import asyncio, sys
from pathlib import Path
from checkrein.adapters.command_runner import LocalCommandRunner
from checkrein.ports.command_runner import Confinement

asyncio.run(
    LocalCommandRunner(scratch=Path(sys.argv[2]).parent).run(
        ["sh", "-c", f"echo on > {sys.argv[2]}; setsid sleep {sys.argv[1]} & sleep {sys.argv[1]}"],
        cwd=Path(sys.argv[2]).parent, confinement=Confinement(timeout_s=60),
    )
)
"""


@linux
def test_the_death_of_the_harness_ends_the_tree(tmp_path: Path) -> None:
    """Protects recovery: a verifier of a killed process does not go on beside the new one."""
    marker, flag = f"9{os.getpid()}.125", tmp_path / "flag"
    harness = subprocess.Popen([sys.executable, "-c", HARNESS, marker, str(flag)])
    deadline = time.monotonic() + 20
    while not flag.exists() and time.monotonic() < deadline:
        time.sleep(0.01)
    harness.kill()
    harness.wait()
    while alive(marker) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert alive(marker) == []


@linux
async def test_a_killed_supervisor_proves_nothing(tmp_path: Path) -> None:
    """Protects verdicts: a command that ends its watcher has not passed."""
    marker = f"9{os.getpid()}.375"
    fault = await fault_of(tmp_path, "sh", "-c", f"kill -9 $PPID; sleep {marker}")
    assert fault.code == "supervisor_lost"
    assert alive(marker) == []


async def test_what_cannot_be_run_is_named(tmp_path: Path) -> None:
    """Protects people: the missing program and where it was looked for are named."""
    missing = await fault_of(tmp_path, "no-such-program")
    assert missing.code == "program_missing"
    assert "'no-such-program' cannot be run" in str(missing)
    (tmp_path / "plain").write_text("x")
    assert (await fault_of(tmp_path, "./plain")).code == "program_missing"
    with pytest.raises(EnvironmentFault, match="No process can be started in"):
        await LocalCommandRunner().run(
            ["true"], cwd=tmp_path / "gone", confinement=Confinement(timeout_s=5)
        )
    for argv in ([], ["a\0b"]):
        with pytest.raises(InputError):
            await LocalCommandRunner().run(argv, cwd=tmp_path, confinement=Confinement(timeout_s=5))
    with pytest.raises(EnvironmentFault, match="no temporary folder"):
        await LocalCommandRunner(scratch=tmp_path / "gone").run(
            ["true"], cwd=tmp_path, confinement=Confinement(timeout_s=5)
        )


CONNECT = """
import os, socket
inner = socket.create_server(("127.0.0.1", 0))
socket.create_connection(inner.getsockname()).close()
print("itself ok")
try:
    socket.create_connection(("127.0.0.1", {port}), 2)
    print("reached the machine")
except OSError as error:
    print("cut off")
"""


async def test_offline_means_offline(tmp_path: Path) -> None:
    """Protects `network: none`: the machine's own ports are out of reach as well."""
    try:
        await find_offline(SEARCH_PATH)
    except EnvironmentFault as fault:
        pytest.skip(str(fault))
    server = await asyncio.start_server(lambda r, w: w.close(), "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    async with server:
        online = await run(tmp_path, "python", "-c", CONNECT.format(port=port))
        offline = await run(tmp_path, "python", "-c", CONNECT.format(port=port), offline=True)
    assert online.stdout == b"itself ok\nreached the machine\n"
    assert offline.stdout == b"itself ok\ncut off\n", offline.stderr


async def test_offline_that_cannot_be_had_is_a_fault(tmp_path: Path) -> None:
    """Protects against running with a network where the task forbids one."""
    with pytest.raises(EnvironmentFault) as caught:
        await find_offline(str(tmp_path))
    assert caught.value.code == "offline_unavailable"
    fake = tmp_path / "unshare"
    fake.write_text("#!/bin/sh\nshift; while [ $1 != -- ]; do shift; done; shift; exec $@\n")
    fake.chmod(0o755)
    with pytest.raises(EnvironmentFault) as pretended:
        await find_offline(f"{tmp_path}:{SEARCH_PATH}")
    assert pretended.value.code == "offline_unavailable"
