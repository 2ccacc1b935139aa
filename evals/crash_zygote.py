"""A process that has imported everything and forks a fresh child for each order.

    python -m checkrein.evals.crash_zygote

Orders come as JSON lines on stdin; on stdout it says of each child, by the order's id, that it
was begun, that it has stopped, and how it ended. No event loop and no thread run here: a fork of a
process that has them is in no known state.
"""

import asyncio
import gc
import json
import os
import select
import signal
import sys
import threading
import traceback
from typing import NoReturn

from checkrein.evals.crash_process import Order, main


class Zygote:
    """The children by process id."""

    def __init__(self) -> None:
        self._orders: dict[int, int] = {}
        self._rest = b""

    def serve(self) -> None:
        """Serve until stdin ends; children that are left then are killed."""
        awake, wake = os.pipe()
        os.set_blocking(wake, False)
        signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda number, frame: None)
        gc.collect()
        gc.freeze()  # so that a child's collector copies none of these pages
        _say(ready=True)
        while True:
            ready, _, _ = select.select([0, awake], [], [])
            if awake in ready:
                os.read(awake, 4096)
                self._reap()
            if 0 in ready and not self._read():
                break
        for pid in self._orders:
            os.kill(pid, signal.SIGKILL)

    def _read(self) -> bool:
        data = os.read(0, 1 << 16)
        *lines, self._rest = (self._rest + data).split(b"\n")
        for line in lines:
            self._begin(Order.model_validate_json(line))
        return bool(data)

    def _begin(self, order: Order) -> None:
        assert threading.active_count() == 1, "a fork would leave the other threads' locks held"
        pid = os.fork()
        if pid == 0:
            _child(order)
        self._orders[pid] = order.id
        _say(id=order.id, pid=pid)

    def _reap(self) -> None:
        while self._orders:
            pid, status = os.waitpid(-1, os.WNOHANG | os.WUNTRACED)
            if pid == 0:
                return
            if os.WIFSTOPPED(status):
                _say(id=self._orders[pid], stopped=True)
                continue
            _say(id=self._orders.pop(pid), ended=os.waitstatus_to_exitcode(status))


def _child(order: Order) -> NoReturn:
    """Become a process of its own, do the order, and end."""
    code = 1
    try:
        os.setsid()
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        said = os.open(f"{order.result}.err", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        nothing = os.open(os.devnull, os.O_RDONLY)
        for here, there in ((nothing, 0), (said, 1), (said, 2)):
            os.dup2(here, there)
        asyncio.run(main(order))
        code = 0
    except BaseException:
        traceback.print_exc()
        sys.stderr.flush()
    finally:
        os._exit(code)  # the zygote's own end is not to be run a second time


def _say(**what: object) -> None:
    sys.stdout.write(json.dumps(what) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    Zygote().serve()
