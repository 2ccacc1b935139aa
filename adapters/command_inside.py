"""The first process inside a sandbox: starts the command as its user, and waits for it.

A program of its own, run as `python -I -S command_inside.py PIPE ORDER` with nothing but the
standard library. It is process 1 of the sandbox: nothing inside can kill it, and when it ends, the
kernel ends all that is left. It tells the command's end on the report pipe, which the command
itself never gets.
"""

import ctypes
import errno
import json
import os
import resource
import signal
import sys
from typing import Any

PR_SET_DUMPABLE = 4


def main(report: int, order: dict[str, Any]) -> None:
    """Start the command, reap all that ends, and tell how the command itself did.

    `order`: argv, cwd, user (or null), and limits by the names of the resource module.
    """
    os.set_inheritable(report, False)
    # Else a command of the same user could open our descriptors, and speak in our name.
    ctypes.CDLL(None, use_errno=True).prctl(PR_SET_DUMPABLE, 0, 0, 0, 0)
    tell(report, "begun 0")
    failed, failing = os.pipe()
    child = os.fork()
    if child == 0:
        become(order, failing)
    os.close(failing)
    fault = os.read(failed, 16)
    if fault:
        tell(report, f"failed {int(fault)}")
        return
    status = awaited(child)
    if os.WIFSIGNALED(status):
        tell(report, f"signal {os.WTERMSIG(status)}")
    else:
        tell(report, f"exit {os.WEXITSTATUS(status)}")


def tell(report: int, line: str) -> None:
    """Write one line to the runner; it may be gone, and then nobody needs it."""
    try:
        os.write(report, f"{line}\n".encode())
    except BrokenPipeError:
        return


def awaited(child: int) -> int:
    """Collect everything that ends, until the command does."""
    while True:
        pid, status = os.wait()
        if pid == child:
            return status


def become(order: dict[str, Any], failing: int) -> None:
    """Turn the forked child into the command; never returns."""
    argv: list[str] = order["argv"]
    try:
        os.setsid()
        for name, value in order["limits"].items():
            limit(getattr(resource, name), value)
        user = order["user"]
        if user is not None:
            os.setgroups([])
            os.setresgid(user, user, user)
            os.setresuid(user, user, user)
        os.chdir(order["cwd"])
        # Python ignores these two, and a program that inherits that misbehaves.
        for number in (signal.SIGPIPE, signal.SIGXFSZ):
            signal.signal(number, signal.SIG_DFL)
        os.execvp(argv[0], argv)  # noqa: S606 - a list of arguments is the whole point
    except OSError as error:
        os.write(failing, str(error.errno or errno.EINVAL).encode())
    finally:
        os._exit(127)


def limit(kind: int, wanted: int) -> None:
    """Set a resource limit, within what we may have ourselves."""
    _, hard = resource.getrlimit(kind)
    most = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
    resource.setrlimit(kind, (most, most))


if __name__ == "__main__":
    with open(sys.argv[2], encoding="utf-8", errors="surrogateescape") as given:
        wanted = json.load(given)
    main(int(sys.argv[1]), wanted)
