"""Where an OPA server listens, read from one line of text that may not hold more than that."""

import ipaddress
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from checkrein.errors import InputError

DEFAULT_PORT = 8181
"""Where OPA listens if nobody says otherwise."""

_OP = "policy.opa"
_FORMS = (
    "Write http://127.0.0.1:8181, https://opa.example:8181 or unix:/run/opa/opa.sock, "
    "without a path, a user or a query."
)


@dataclass(frozen=True, slots=True)
class OpaAddress:
    """One server.

    Attributes:
        host: a name or an address; an IPv6 address in brackets.
        tls: whether the server proves who it is.
        socket: path of a unix socket, in place of host and port.
    """

    host: str
    port: int
    tls: bool
    socket: str | None = None

    @property
    def text(self) -> str:
        """The address for people."""
        if self.socket is not None:
            return f"unix:{self.socket}"
        return f"{'https' if self.tls else 'http'}://{self.host}:{self.port}"

    @property
    def leaves_the_machine(self) -> bool:
        """Whether what is sent may be read on a network on its way."""
        if self.socket is not None or self.host == "localhost":
            return False
        try:
            return not ipaddress.ip_address(self.host.strip("[]")).is_loopback
        except ValueError:
            return True


def opa_address(text: str) -> OpaAddress:
    """Read an address.

    Raises:
        InputError: it is none of the forms; the message repeats nothing, since it may hold a
            password.
    """
    if text.startswith("unix:"):
        path = text.removeprefix("unix:").removeprefix("//")
        if not Path(path).is_absolute() or "\0" in path:
            raise _refused("The path of OPA's socket is not absolute.")
        return OpaAddress("localhost", DEFAULT_PORT, False, path)
    try:
        parts = urlsplit(text)
        port = parts.port or DEFAULT_PORT
    except ValueError as error:
        raise _refused("OPA's address is no URL.") from error
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise _refused("OPA's address has no host, or none of the schemes http, https, unix.")
    if parts.username is not None or parts.password is not None:
        raise _refused("OPA's address holds a user; give a token by CHECKREIN_OPA_TOKEN.")
    if parts.path not in {"", "/"} or parts.query or parts.fragment:
        raise _refused("OPA's address holds more than scheme, host and port.")
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    return OpaAddress(host, port, parts.scheme == "https")


def _refused(why: str) -> InputError:
    return InputError(f"{why} {_FORMS}", op=_OP, code="opa_address")
