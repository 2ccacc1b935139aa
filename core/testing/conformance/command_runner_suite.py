"""What every CommandRunner must do, as checks that run real commands in any backend of the port.

A backend's tests give the runner and an empty folder; each check of CHECKS is awaited with both and
raises AssertionError with what went wrong. ISOLATING holds what a sandbox must do besides.
"""

import asyncio
import contextlib
import os
import socket
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import SecretStr

from checkrein.contracts.environment import Isolation
from checkrein.errors import EnvironmentFault, InputError
from checkrein.ports.command_runner import MIB, CommandResult, CommandRunner, Confinement, Ending


@dataclass(frozen=True)
class Ground:
    """Where one check happens: the runner, and a folder that is the command's own."""

    runner: CommandRunner
    folder: Path

    async def run(self, *argv: str, stdin: bytes = b"", **held: Any) -> CommandResult:
        """Run one command; what it is held to may be said in keywords."""
        usual: dict[str, Any] = {"timeout_s": 30.0, "network": "none", "writable": self.folder}
        return await self.runner.run(
            list(argv), cwd=self.folder, confinement=Confinement(**(usual | held)), stdin=stdin
        )

    async def python(self, text: str, **held: Any) -> CommandResult:
        """Run a few lines of Python."""
        return await self.run("python", "-c", text, **held)


Check = Callable[[Ground], Awaitable[None]]


def _same(found: object, wanted: object) -> None:
    if found != wanted:
        raise AssertionError(f"found {found!r}, and not {wanted!r}")


async def exit_codes_and_signals(at: Ground) -> None:
    """Statuses and signals are told apart, and the result says who ran it."""
    done = await at.run("sh", "-c", "echo out; echo err >&2; exit 3")
    _same((done.exit_code, done.ended_by), (3, Ending.EXIT))
    _same((done.stdout, done.stderr), (b"out\n", b"err\n"))
    killed = await at.run("sh", "-c", "kill -TERM $$")
    _same((killed.exit_code, killed.ended_by), (-15, Ending.SIGNAL))
    offer = await at.runner.offer()
    _same(done.backend, offer.backend)
    if not set(done.isolated) <= set(offer.isolates):
        raise AssertionError("a result claims more isolation than the backend offers")


async def words_are_no_shell_text(at: Ground) -> None:
    """An argument is never a command."""
    done = await at.run("echo", "$(touch hacked)", "; touch hacked")
    _same(done.stdout, b"$(touch hacked) ; touch hacked\n")
    _same((at.folder / "hacked").exists(), False)


async def standard_input(at: Ground) -> None:
    """All that is given can be read, and then it is over."""
    done = await at.run("sh", "-c", "cat; cat", stdin=b"given\n" * 10_000)
    _same(done.stdout, b"given\n" * 10_000)
    _same((await at.run("cat")).stdout, b"")


async def the_environment_is_clean(at: Ground) -> None:
    """Nothing of this process's environment is handed on."""
    os.environ["CHECKREIN_SUITE_CANARY"] = "canary-of-the-suite"
    try:
        done = await at.run("env")
    finally:
        del os.environ["CHECKREIN_SUITE_CANARY"]
    _same((done.exit_code, b"canary-of-the-suite" in done.stdout), (0, False))
    wrote = await at.run("sh", "-c", 'touch "$HOME/a" "$TMPDIR/b"')
    _same((wrote.exit_code, wrote.stderr), (0, b""))


async def secrets_are_given_and_masked(at: Ground) -> None:
    """A secret is there for the command alone, and in nothing that it prints."""
    keep = at.folder.parent / f"{at.folder.name}-kept"
    keep.mkdir()
    secret = "value-of-the-suite"  # noqa: S105 - not one
    held = Confinement(
        timeout_s=30, network="none", writable=at.folder, secrets={"pay_key": SecretStr(secret)}
    )
    text = (
        "import os, sys, time\nfor c in os.environ['PAY_KEY'] * 2:\n"
        " sys.stdout.write(c); sys.stdout.flush(); time.sleep(0.005)\n"
        "print(len(os.environ['PAY_KEY']))"
    )
    done = await at.runner.run(
        ["python", "-c", text], cwd=at.folder, confinement=held, stdin=b"", keep=keep
    )
    _same(done.stdout, b"[secret pay_key][secret pay_key]%d\n" % len(secret))
    _same((keep / "stdout").read_bytes(), done.stdout)
    _same(secret in repr(held), False)
    _same((await at.run("sh", "-c", 'echo "-$PAY_KEY-"')).stdout, b"--\n")
    for name in ("ld_preload", "path", "pythonpath", "a b", ""):
        try:
            await at.run("true", secrets={name: SecretStr("value")})
        except InputError:
            continue
        raise AssertionError(f"a secret may be called {name!r}")


async def output_is_bounded_and_kept_whole(at: Ground) -> None:
    """Memory holds the two ends; the file holds all of it."""
    keep = at.folder.parent / f"{at.folder.name}-whole"
    keep.mkdir()
    held = Confinement(timeout_s=60, network="none", writable=at.folder)
    text = "import sys; sys.stdout.write('first\\n' + 'x' * 9_000_000 + '\\nlast\\n')"
    done = await at.runner.run(["python", "-c", text], cwd=at.folder, confinement=held, keep=keep)
    _same(done.passed, True)
    if len(done.stdout) > 2 * MIB or b"bytes left out" not in done.stdout:
        raise AssertionError("the output in memory is not cut")
    _same((done.stdout[:6], done.stdout[-6:]), (b"first\n", b"\nlast\n"))
    _same((keep / "stdout").stat().st_size, 9_000_012)


async def a_flood_is_ended(at: Ground) -> None:
    """Endless output is ended at its bound, long before its time."""
    done = await at.run("yes", whole_bytes=4 * MIB, timeout_s=120)
    _same((done.ended_by, done.exit_code), (Ending.OUTPUT_LIMIT, None))
    if done.duration_s > 60:
        raise AssertionError("the flood went on")


async def the_time_limit_ends_the_whole_tree(at: Ground) -> None:
    """Also what left its session and its parent."""
    marker = f"9{os.getpid()}.25"
    tree = f"setsid sh -c 'setsid sleep {marker} & sleep {marker}' & echo on; sleep {marker}"
    done = await at.run("sh", "-c", tree, timeout_s=1.5)
    _same((done.ended_by, done.exit_code, done.stdout), (Ending.TIME_LIMIT, None, b"on\n"))
    _same(_alive(marker), [])


async def a_daemon_does_not_outlive(at: Ground) -> None:
    """What forked twice and left its session is gone when the command is over."""
    marker = f"8{os.getpid()}.5"
    daemon = (
        "import os, time\n"
        "if os.fork() == 0:\n os.setsid()\n if os.fork() == 0:\n"
        f"  os.execvp('sleep', ['sleep', '{marker}'])\n os._exit(0)\n"
        "time.sleep(0.3)\n"
    )
    done = await at.python(daemon)
    _same((done.exit_code, done.stderr), (0, b""))
    _same(_alive(marker), [])


async def cancelling_ends_it(at: Ground) -> None:
    """Whoever waits may stop waiting; nothing goes on."""
    marker = f"7{os.getpid()}.75"
    for wait in (0.0, 0.05, 0.6):
        task = asyncio.create_task(at.run("sh", "-c", f"sleep {marker} & sleep {marker}"))
        await asyncio.sleep(wait)
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task
        _same(_alive(marker), [])


async def without_a_network(at: Ground) -> None:
    """This machine's own ports are out of reach, and the command can still talk to itself."""
    server = await asyncio.start_server(lambda r, w: w.close(), "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    text = (
        "import socket\n"
        "own = socket.create_server(('127.0.0.1', 0))\n"
        "socket.create_connection(own.getsockname()).close()\n"
        f"try:\n socket.create_connection(('127.0.0.1', {port}), 2); print('reached')\n"
        "except OSError: print('cut off')\n"
        "try:\n socket.create_connection(('192.0.2.1', 80), 2); print('reached')\n"
        "except OSError: print('cut off')\n"
    )
    async with server:
        done = await at.python(text)
    _same((done.stdout, done.stderr), (b"cut off\ncut off\n", b""))


async def limits_of_files_and_time_on_the_processor(at: Ground) -> None:
    """Both are held by the kernel, and named."""
    big = await at.python("open('big', 'wb').write(b'x' * 300_000)", file_bytes=100_000)
    if big.passed or (at.folder / "big").stat().st_size > 100_000:
        raise AssertionError("a file grew beyond its bound")
    busy = await at.run("sh", "-c", "while :; do :; done", cpu_s=1)
    _same((busy.ended_by, busy.limits_met), (Ending.CPU_LIMIT, [Ending.CPU_LIMIT]))


async def the_disk_is_bounded(at: Ground) -> None:
    """A command that fills its own folder is ended."""
    fill = "i=0; while :; do i=$((i+1)); head -c 5000000 /dev/zero > f$i; done"
    done = await at.run("sh", "-c", fill, storage_bytes=40 * MIB, timeout_s=60)
    _same((done.ended_by, done.exit_code), (Ending.STORAGE_LIMIT, None))


async def memory_and_processes_where_they_are_offered(at: Ground) -> None:
    """What the offer says is held, is; a fork bomb leaves nothing."""
    offer = await at.runner.offer()
    if Isolation.MEMORY in offer.isolates:
        done = await at.python("x = bytearray(400 << 20); print(len(x))", memory_bytes=128 * MIB)
        if done.passed or b"419430400" in done.stdout:
            raise AssertionError("400 MiB were had of 128")
    if Isolation.PROCESS_COUNT in offer.isolates:
        marker = f"bomb{os.getpid()}"
        bomb = f"import os  # {marker}\nwhile True:\n try: os.fork()\n except OSError: pass\n"
        done = await at.python(bomb, processes=40, timeout_s=2)
        _same(done.exit_code is None and done.ended_by is Ending.TIME_LIMIT, True)
        _same(_alive(marker), [])
        few = await at.python("import os\nfor _ in range(60): os.fork() or os._exit(0)")
        _same(few.passed, True)


async def what_is_missing_is_named(at: Ground) -> None:
    """The program by its name, and an empty list of words."""
    try:
        await at.run("no-such-program")
    except EnvironmentFault as fault:
        _same((fault.code, "no-such-program" in str(fault)), ("program_missing", True))
    else:
        raise AssertionError("a program that is not there ran")
    for argv in ([], ["a\0b"]):
        try:
            await at.run(*argv)
        except InputError:
            continue
        raise AssertionError(f"{argv!r} ran")


async def nothing_else_is_in_sight(at: Ground) -> None:
    """No folder of people, no other task's files, no host's /tmp, /var or devices."""
    other = at.folder.parent / "another-task"
    other.mkdir()
    (other / "secret.txt").write_text("of another task")
    home = str(Path.home())
    places = [str(other / "secret.txt"), "/var", "/run", "/sys", "/etc/shadow", "/dev/mem"]
    text = (
        "import os\n"
        f"print([p for p in {places!r} if os.path.exists(p)])\n"
        f"print(sorted(set(os.listdir({home!r})) - {{'.pyenv', '.local'}}) "
        f"if os.path.isdir({home!r}) else [])\n"
        "print([d for d in os.listdir('/dev') if d.startswith(('sd', 'vd', 'nvme', 'kmsg'))])\n"
    )
    done = await at.python(text)
    _same((done.stdout, done.stderr), (b"[]\n[]\n[]\n", b""))


async def nothing_else_can_be_written(at: Ground) -> None:
    """Its own folder, its home and its /tmp; nothing beside."""
    places = ["/x", "/usr/x", "/etc/x", "/dev/x", "/mnt/x", "/proc/sys/kernel/hostname"]
    text = (
        "import os\nwrote = []\n"
        f"for p in {places!r}:\n"
        # Nothing is written: where a sandbox fails, the machine stays as it is.
        " try: open(p, 'a').close(); wrote.append(p)\n"
        " except OSError: continue\n"
        " if not p.startswith('/proc'): os.unlink(p)\n"
        "open('own', 'w').write('x')\nprint(wrote, os.getcwd())\n"
    )
    done = await at.python(text)
    _same((done.stdout, done.stderr), (b"[] /workspace\n", b""))
    _same((at.folder / "own").read_text(), "x")


async def temporary_storage_is_bounded(at: Ground) -> None:
    """Its /tmp, home and shared memory are of a size."""
    text = (
        "for p in ('/tmp/f', '/dev/shm/f'):\n"
        " try: open(p, 'wb').write(b'x' * 9_000_000); print('wrote')\n"
        " except OSError as error: print(error.errno)\n"
    )
    done = await at.python(text, tmp_bytes=4 * MIB)
    _same((done.stdout, done.stderr), (b"28\n28\n", b""))


async def other_processes_are_out_of_reach(at: Ground) -> None:
    """They are not seen, not traced, and the first process of the sandbox cannot be ended."""
    text = (
        "import ctypes, os, signal\n"
        f"print({os.getpid()} in [int(n) for n in os.listdir('/proc') if n.isdigit()])\n"
        "libc = ctypes.CDLL(None, use_errno=True)\n"
        "print(libc.ptrace(16, 1, 0, 0), libc.ptrace(0, 0, 0, 0))\n"
        "try: os.kill(1, signal.SIGKILL)\nexcept OSError: pass\n"
        "try: os.listdir('/proc/1/fd'); print('saw')\nexcept OSError: print('closed')\n"
        "print('lived')\n"
    )
    done = await at.python(text)
    _same((done.stdout, done.stderr), (b"False\n-1 -1\nclosed\nlived\n", b""))


async def abstract_sockets_are_out_of_reach(at: Ground) -> None:
    """A socket without a file belongs to the network, and so is another one inside."""
    name = f"\0checkrein-suite-{os.getpid()}-{time.monotonic_ns()}"
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(name)
        listening.listen()
        text = (
            "import socket\n"
            f"try: socket.socket(socket.AF_UNIX).connect({name!r}); print('reached')\n"
            "except OSError: print('cut off')\n"
        )
        done = await at.python(text)
    _same((done.stdout, done.stderr), (b"cut off\n", b""))


async def no_more_rights_can_be_had(at: Ground) -> None:
    """It is no root, gains nothing by set-user-id programs, and opens no new namespaces."""
    text = (
        "import ctypes, os, socket\n"
        "status = dict(l.split(':', 1) for l in open('/proc/self/status'))\n"
        "print(os.getuid() != 0, status['CapEff'].strip().strip('0') == '', "
        "status['NoNewPrivs'].strip())\n"
        "libc = ctypes.CDLL(None, use_errno=True)\n"
        "print([libc.unshare(flag) for flag in (0x10000000, 0x20000, 0x40000000)])\n"
        "print(libc.mount(b'none', os.getcwd().encode(), b'tmpfs', 0, 0))\n"
        "try: os.setuid(0); print('root')\nexcept OSError: print('no')\n"
        "try: socket.socket(40, 1); print('vsock')\nexcept OSError: print('no')\n"
    )
    done = await at.python(text)
    wanted = b"True True 1\n[-1, -1, -1]\n-1\nno\nno\n"
    _same((done.stdout, done.stderr), (wanted, b""))


CHECKS: tuple[Check, ...] = (
    exit_codes_and_signals,
    words_are_no_shell_text,
    standard_input,
    the_environment_is_clean,
    secrets_are_given_and_masked,
    output_is_bounded_and_kept_whole,
    a_flood_is_ended,
    the_time_limit_ends_the_whole_tree,
    a_daemon_does_not_outlive,
    cancelling_ends_it,
    without_a_network,
    limits_of_files_and_time_on_the_processor,
    the_disk_is_bounded,
    memory_and_processes_where_they_are_offered,
    what_is_missing_is_named,
)
"""What every backend does, without a sandbox too."""

ISOLATING: tuple[Check, ...] = (
    nothing_else_is_in_sight,
    nothing_else_can_be_written,
    temporary_storage_is_bounded,
    other_processes_are_out_of_reach,
    abstract_sockets_are_out_of_reach,
    no_more_rights_can_be_had,
)
"""What a sandbox does besides."""


def _alive(marker: str) -> list[str]:
    """Processes of this machine with the marker among their arguments; zombies left out."""
    found: list[str] = []
    for folder in Path("/proc").iterdir():
        try:
            words = (folder / "cmdline").read_bytes() if folder.name.isdigit() else b""
        except (FileNotFoundError, ProcessLookupError, NotADirectoryError):
            continue
        if marker.encode() in words:
            found.append(words.decode("utf-8", "replace"))
    return found
