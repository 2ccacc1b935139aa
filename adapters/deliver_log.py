"""Deliver to a file: one line of JSON for each message, on disk before it counts as delivered."""

import asyncio
import os
import stat
from pathlib import Path

from checkrein.adapters.deliverer_spec import LogSpec
from checkrein.contracts.codec import to_ascii
from checkrein.contracts.message import ApprovalMessage
from checkrein.errors import DeliveryError

_OP = "deliver.log"
_FLAGS = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


class LogDeliverer:
    """ports.deliverer.Deliverer to a file below the home, private to its owner."""

    def __init__(self, spec: LogSpec, home: Path) -> None:
        """`home`: the folder that the path starts from, and does not leave."""
        self.name, self.tenant = spec.name, spec.tenant
        self.limit_s, self.give_up_s = float(spec.timeout_s), spec.give_up_s
        self._home = home
        self._path = home / spec.path

    async def deliver(self, message: ApprovalMessage) -> str:
        """See the port."""
        try:
            await asyncio.to_thread(self._append, (to_ascii(message) + "\n").encode())
        except OSError as error:
            raise DeliveryError(
                f"The log cannot be written: {error.strerror or type(error).__name__}.", op=_OP
            ) from error
        return ""

    def _append(self, line: bytes) -> None:
        folder = self._path.parent
        folder.mkdir(parents=True, exist_ok=True)
        if not Path(os.path.realpath(folder)).is_relative_to(os.path.realpath(self._home)):
            raise DeliveryError("The log's folder leads out of the home, by a link.", op=_OP)
        file = os.open(self._path, _FLAGS, 0o600)
        try:
            status = os.fstat(file)
            if not stat.S_ISREG(status.st_mode):
                raise DeliveryError("The log is no regular file.", op=_OP)
            # Whoever died in the middle of a line must not spoil the next one.
            if status.st_size and os.pread(file, 1, status.st_size - 1) != b"\n":
                line = b"\n" + line
            if os.write(file, line) != len(line):
                raise DeliveryError("The log took a part of a line only; the disk is full.", op=_OP)
            os.fsync(file)
        finally:
            os.close(file)
