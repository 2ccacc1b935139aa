"""A real OPA server of one's own on a free port of this machine, to be asked and ill-treated."""

import http.client
import os
import signal
import socket
import ssl
import subprocess
import tempfile
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from checkrein.errors import EnvironmentFault

START_S = 20.0
"""Seconds that a server may take to be ready."""


class OpaServer:
    """One server. Blocking: from a coroutine, call it in a thread where that matters."""

    def __init__(self, binary: Path, folder: Path, more: tuple[str, ...] = ()) -> None:
        """Nothing starts yet. `folder` is a bundle; it is read again at each start."""
        self.port = _free_port()
        self._binary = binary
        self._bundle = folder
        self._more = more
        self._tls: ssl.SSLContext | None = None
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        """Where it listens."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def running(self) -> bool:
        """Whether its process is there, frozen or not."""
        return self._process is not None and self._process.poll() is None

    def start(self) -> None:
        """Start it and wait until its bundle is active.

        Raises:
            EnvironmentFault: it ends at once, or is not ready within START_S.
        """
        # Into a file, since nobody reads while it runs, and a full pipe would stop it.
        self._said = tempfile.TemporaryFile()  # noqa: SIM115 - closed with the process
        self._process = subprocess.Popen(  # noqa: S603 - a fixed line
            self._line(), stdin=subprocess.DEVNULL, stdout=self._said, stderr=subprocess.STDOUT
        )
        end = time.monotonic() + START_S
        while not self._ready():
            if not self.running or time.monotonic() > end:
                self._said.seek(0)
                words = self._said.read(2_000).decode(errors="replace")
                self.kill()
                raise EnvironmentFault(
                    f"The OPA server does not start: {words}", op="opa.start", code="opa_start"
                )
            time.sleep(0.02)

    def kill(self) -> None:
        """End it by SIGKILL, and wait until it is gone. May be called twice."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._said.close()
            self._process = None

    def freeze(self) -> None:
        """Stop it where it stands: it keeps its connections, and answers nothing."""
        self._send(signal.SIGSTOP)
        assert self._process is not None
        # Each of its threads stops in its own time; one that still runs would answer.
        os.waitid(os.P_PID, self._process.pid, os.WSTOPPED)

    def thaw(self) -> None:
        """Let it go on."""
        self._send(signal.SIGCONT)

    def restart(self) -> None:
        """End it and start it again on the same port."""
        self.kill()
        self.start()

    def move(self, port: int) -> None:
        """End it and start it again on another port, which must be free."""
        self.kill()
        self.port = port
        self.start()

    def serve(self, bundle: Path, more: tuple[str, ...] = ()) -> None:
        """Restart it with another bundle, a folder or an archive, and with more options."""
        self._bundle = bundle
        self._more = (*self._more, *more)
        self.restart()

    def secure(self, key: Path, certificate: Path) -> str:
        """Restart it with TLS, and return where it listens then."""
        files = ("--tls-private-key-file", str(key), "--tls-cert-file", str(certificate))
        self._more = (*self._more, *files)
        self._tls = ssl.create_default_context(cafile=certificate)
        self.restart()
        return f"https://127.0.0.1:{self.port}"

    def _line(self) -> list[str]:
        return [
            *(str(self._binary), "run", "--server", "--addr", f"127.0.0.1:{self.port}"),
            *("--log-level", "error", "--skip-version-check"),
            *("--bundle", str(self._bundle), *self._more),
        ]

    def _send(self, number: signal.Signals) -> None:
        assert self._process is not None
        self._process.send_signal(number)

    def _ready(self) -> bool:
        connection = (
            http.client.HTTPConnection("127.0.0.1", self.port, timeout=1)
            if self._tls is None
            else http.client.HTTPSConnection("127.0.0.1", self.port, timeout=1, context=self._tls)
        )
        try:
            connection.request("GET", "/health?bundles=true")
            return connection.getresponse().status == 200
        except OSError:
            return False
        finally:
            connection.close()


@contextmanager
def serving(binary: Path, folder: Path, more: tuple[str, ...] = ()) -> Generator[OpaServer]:
    """A server for a bundle, gone afterwards.

    Raises:
        EnvironmentFault: it does not start, for example since the bundle does not compile.
    """
    server = OpaServer(binary, folder, more)
    server.start()
    try:
        yield server
    finally:
        server.kill()


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
