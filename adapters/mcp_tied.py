"""Becomes a server's program, tied to its parent: where that is killed, the program is as well.

Run as a script, with nothing of ours imported: mcp_tied.py PARENT COMMAND ARGS...
"""

import ctypes
import os
import signal
import sys

_SET_DEATH_SIGNAL = 1


def main(parent: int, command: list[str]) -> None:
    """Tie this process to its parent where the system can do that, and become the program."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_SET_DEATH_SIGNAL, signal.SIGKILL)
        if os.getppid() != parent:
            sys.exit(1)  # it died before it could be tied to
    try:
        os.execvp(command[0], command)  # noqa: S606 - no shell: the words are the task's own
    except OSError:
        sys.exit(127)


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2:])
