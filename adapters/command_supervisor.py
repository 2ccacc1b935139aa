"""Runs one command as the parent of all that it starts, and leaves none of it behind.

A program of its own, started by command_run as `python -I -S command_supervisor.py PIPE ORDER` with
nothing but the standard library. Its standard input is a pipe that the runner holds open: when it
closes, or the runner dies, everything is ended. What happened is written to the report pipe, one
word and one number a line: started PID, then exit CODE, signal NUMBER, failed ERRNO or stopped 0,
then killed_for_memory N and forks_refused N of its control groups, left N where something resisted,
and done 0. Where the command is a sandbox, what runs inside tells its own end on the same pipe, and
how the sandbox itself ended is told as sandbox STATUS.

On Linux it is the reaper of all its descendants, so that one which left its session or lost its
parent is still found. Elsewhere the command's process group is ended, and what left it is not.
A command of the same user that kills this very process on purpose escapes it where it can see it:
it keeps order, and is no sandbox.
"""

import ctypes
import errno
import fcntl
import json
import os
import resource
import select
import signal
import socket
import struct
import sys
import time
from typing import Any

PR_SET_CHILD_SUBREAPER = 36
SIOCGIFFLAGS, SIOCSIFFLAGS, IFF_UP = 0x8913, 0x8914, 0x1
ENDING_S = 8.0
"""Seconds that ending the tree may take."""

REPORT = "@report"
"""Stands for the number of the report pipe among a sandbox's words."""

COUNTS = {
    # file of a control group, its line, and the word for it
    ("memory.oom_control", "oom_kill"): "killed_for_memory",
    ("memory.events", "oom_kill"): "killed_for_memory",
    ("pids.events", "max"): "forks_refused",
}


def main(report: int, order: dict[str, Any]) -> None:
    """Run the command to its end, or until standard input closes; then end what is left.

    `order`: argv; stdin, the file that the command reads; cpu_s and file_bytes; loopback, whether
    to bring one up; sandbox, whether argv is one; groups, by folder what to write into which file.
    """
    os.set_inheritable(report, False)
    if order["loopback"]:
        raise_loopback()
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    limit(resource.RLIMIT_CORE, 0)
    # A second more, after the signal that says why.
    limit(resource.RLIMIT_CPU, order["cpu_s"], 1)
    limit(resource.RLIMIT_FSIZE, order["file_bytes"])
    woken, waking = os.pipe()
    os.set_blocking(woken, False)
    os.set_blocking(waking, False)
    signal.signal(signal.SIGCHLD, lambda number, frame: None)
    signal.set_wakeup_fd(waking)
    groups: dict[str, dict[str, str]] = order["groups"]
    made: list[str] = []
    try:
        child, fault = started(report, order, groups, made)
        if fault:
            tell(report, f"failed {fault}")
        else:
            tell(report, worded(watch(child, woken), sandbox=order["sandbox"]))
        left = end_tree(child)
        count(report, made)
    finally:
        dissolve(made)
    if left:
        tell(report, f"left {left}")
    tell(report, "done 0")


def worded(ending: str, *, sandbox: bool) -> str:
    """What is told of an ending: that of a sandbox is not that of the command in it."""
    word, _, number = ending.partition(" ")
    if not sandbox or word == "stopped":
        return ending
    return f"sandbox {number if word == 'exit' else 128 + int(number)}"


def started(
    report: int, order: dict[str, Any], groups: dict[str, dict[str, str]], made: list[str]
) -> tuple[int, int]:
    """Make the control groups and start the command in them; its pid and an errno."""
    try:
        for folder, limits in groups.items():
            os.mkdir(folder)
            made.append(folder)
            for name, value in limits.items():
                write(os.path.join(folder, name), value)
    except OSError as error:
        return 0, error.errno or errno.EINVAL
    return start(order, report, made)


def write(path: str, value: str) -> None:
    """Write one value into a file of a control group."""
    with open(path, "w", encoding="ascii") as stream:
        stream.write(value)


def count(report: int, groups: list[str]) -> None:
    """Tell how often the limits of the groups were met."""
    for folder in groups:
        for (name, line), word in COUNTS.items():
            number = counted(os.path.join(folder, name), line)
            if number:
                tell(report, f"{word} {number}")


def counted(path: str, line: str) -> int:
    """One number of a file of `name number` lines; 0 where there is none."""
    try:
        with open(path, encoding="ascii") as stream:
            found = dict(row.split() for row in stream if len(row.split()) == 2)
    except FileNotFoundError:
        return 0
    return int(found.get(line, "0"))


def dissolve(groups: list[str]) -> None:
    """Remove the groups; one that something is still dying in is tried again for a while."""
    deadline = time.monotonic() + 2.0
    for folder in groups:
        while True:
            try:
                os.rmdir(folder)
                break
            except OSError:
                if time.monotonic() > deadline:
                    break  # it holds what could not be ended, which is told as left
                time.sleep(0.01)


def tell(report: int, line: str) -> None:
    """Write one line to the runner; it may be gone, and then nobody needs it."""
    try:
        os.write(report, f"{line}\n".encode())
    except BrokenPipeError:
        return


def limit(kind: int, wanted: int, grace: int = 0) -> None:
    """Set a resource limit, within what we may have ourselves."""
    _, hard = resource.getrlimit(kind)
    soft, most = (
        value if hard == resource.RLIM_INFINITY else min(value, hard)
        for value in (wanted, wanted + grace)
    )
    resource.setrlimit(kind, (soft, most))


def raise_loopback() -> None:
    """Bring up `lo` of a fresh network namespace, so that programs can talk to themselves."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
        request = fcntl.ioctl(control, SIOCGIFFLAGS, struct.pack("16sH14x", b"lo", 0))
        (flags,) = struct.unpack_from("H", request, 16)
        fcntl.ioctl(control, SIOCSIFFLAGS, struct.pack("16sH14x", b"lo", flags | IFF_UP))


def start(order: dict[str, Any], report: int, groups: list[str]) -> tuple[int, int]:
    """Start the command in a session of its own; its pid, and the errno if it could not be."""
    failed, failing = os.pipe()  # closes by itself where the command starts
    child = os.fork()
    if child == 0:
        become(order, failing, report, groups)
    os.close(failing)
    told = os.read(failed, 16)
    os.close(failed)
    return child, int(told or b"0")


def become(order: dict[str, Any], failing: int, report: int, groups: list[str]) -> None:
    """Turn the forked child into the command; never returns."""
    argv: list[str] = order["argv"]
    try:
        if order["sandbox"]:
            argv = [str(report) if word == REPORT else word for word in argv]
        for folder in groups:
            write(os.path.join(folder, "cgroup.procs"), "0")
        # A sandbox hands the pipe on to what runs inside, which keeps it from the command.
        os.set_inheritable(report, bool(order["sandbox"]))
        os.setsid()
        # Told before the command can do anything, so that its group is known whatever it does.
        tell(report, f"started {os.getpid()}")
        os.dup2(os.open(order["stdin"], os.O_RDONLY), 0)
        signal.set_wakeup_fd(-1)
        # Python ignores these two, and a program that inherits that misbehaves.
        for number in (signal.SIGPIPE, signal.SIGXFSZ, signal.SIGCHLD):
            signal.signal(number, signal.SIG_DFL)
        os.execvp(argv[0], argv)  # noqa: S606 - a list of arguments is the whole point
    except OSError as error:
        os.write(failing, str(error.errno or errno.EINVAL).encode())
    finally:
        os._exit(127)


def watch(child: int, woken: int) -> str:
    """Wait for the command or for the end of standard input, whichever comes first."""
    while True:
        status = reap(child)
        if status is not None:
            if os.WIFSIGNALED(status):
                return f"signal {os.WTERMSIG(status)}"
            return f"exit {os.WEXITSTATUS(status)}"
        ready, _, _ = select.select([0, woken], [], [])
        if 0 in ready and not os.read(0, 64):
            return "stopped 0"
        if woken in ready:
            os.read(woken, 4096)


def reap(child: int) -> int | None:
    """Collect everything that has ended; the command's own status, if it is among it."""
    found = None
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return found
        if pid == 0:
            return found
        if pid == child:
            found = status


def end_tree(child: int) -> int:
    """End everything that is still there; how many resisted."""
    deadline = time.monotonic() + ENDING_S
    if child == 0:
        return 0  # nothing was started
    while time.monotonic() < deadline:
        send(signal.SIGKILL, group=child)
        kill_all()
        reap(child)
        if not has_children():
            return 0
        time.sleep(0.002)
    return len(descendants()) or 1


def has_children() -> bool:
    """Whether any child is left; orphans below us have become ours, so that none means nobody."""
    try:
        os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:
        return False
    return True


def kill_all() -> None:
    """Freeze every descendant, so that none can start another, then kill them all."""
    seen: set[int] = set()
    for _ in range(50):
        fresh = descendants() - seen
        if not fresh:
            break
        for pid in fresh:
            send(signal.SIGSTOP, pid=pid)
        seen |= fresh
    for pid in seen:
        send(signal.SIGKILL, pid=pid)


def send(number: int, *, pid: int | None = None, group: int | None = None) -> None:
    """Send a signal; what is gone, or is not ours to signal, shows in what is left."""
    try:
        if group is not None:
            os.killpg(group, number)
        elif pid is not None:
            os.kill(pid, number)
    except (ProcessLookupError, PermissionError):
        return


def descendants() -> set[int]:
    """All processes below this one, by /proc; none where there is no /proc."""
    children: dict[int, list[int]] = {}
    for name in os.listdir("/proc") if sys.platform == "linux" else []:
        if name.isdigit():
            children.setdefault(parent_of(name), []).append(int(name))
    found: set[int] = set()
    pending = [os.getpid()]
    while pending:
        below = set(children.get(pending.pop(), [])) - found
        found |= below
        pending += below
    return found


def parent_of(pid: str) -> int:
    """The parent's pid; 0 where the process is gone."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as stream:
            # The name in brackets may hold anything, brackets and blanks too.
            return int(stream.read().rpartition(b")")[2].split()[1])
    except (FileNotFoundError, ProcessLookupError):
        return 0


if __name__ == "__main__":
    with open(sys.argv[2], encoding="utf-8", errors="surrogateescape") as given:
        wanted = json.load(given)
    main(int(sys.argv[1]), wanted)
