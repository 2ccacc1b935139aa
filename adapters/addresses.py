"""URLs as facts: what a policy matches instead of a string that can be written in many ways."""

import ipaddress
import re
import socket
from urllib.parse import urlsplit

import idna

from checkrein.contracts.action import AddressClass, UrlFact
from checkrein.errors import CapabilityError

MAX_URL = 8_192
"""Longest URL that is taken apart, in characters."""

_PORTS = {"http": 80, "https": 443, "ws": 80, "wss": 443, "ftp": 21}
_NUMERIC = re.compile(r"(.*\.)?(0x[0-9a-f]*|[0-9]+)")
"""Hosts that end in a number: to a URL's reader each of them is an address or nothing."""

_INSIDE = tuple(
    map(
        ipaddress.ip_network,
        # Not of the open Internet, whatever a Python says: clouds keep keys in the first.
        ("192.0.0.0/24", "192.88.99.0/24", "64:ff9b::/96", "64:ff9b:1::/48", "2001::/23")
        + ("3fff::/20", "5f00::/16", "fec0::/10"),
    )
)


def url_fact(url: str, *, param: str = "", method: str = "", op: str = "url") -> UrlFact:
    """Take a URL apart: its parts in their one canonical form, and what kind of address it names.

    Raises:
        CapabilityError: it is no absolute URL with a host, or cannot be read in one way only.
    """
    if len(url) > MAX_URL or any(ord(c) <= 0x20 or ord(c) == 0x7F for c in url) or "\\" in url:
        raise _refused(op, "it is too long, or holds spaces, controls or backslashes")
    try:
        parts = urlsplit(url)
        port = parts.port
        host = parts.hostname
    except ValueError as error:
        raise _refused(op, "its host or port cannot be read") from error
    scheme = parts.scheme.lower()
    if not scheme or not host:
        raise _refused(op, "it names no scheme or no host")
    name, kind = _host(host, op)
    return UrlFact(
        param=param,
        scheme=scheme,
        host=name,
        port=port if port is not None else _PORTS.get(scheme, 0),
        has_userinfo="@" in parts.netloc,
        address=kind,
        method=method.upper(),
    )


def _host(host: str, op: str) -> tuple[str, AddressClass]:
    plain = host.rstrip(".").lower()
    if ":" in plain:
        try:
            return _of_address(ipaddress.ip_address(plain))
        except ValueError as error:
            raise _refused(op, "its address cannot be read") from error
    if _NUMERIC.fullmatch(plain):
        # 2130706433, 127.1 and 0x7f.1 are addresses to every resolver, whatever they look like.
        try:
            return _of_address(ipaddress.IPv4Address(socket.inet_aton(plain)))
        except (OSError, ValueError) as error:
            raise _refused(op, "its address cannot be read") from error
    try:
        return idna.encode(plain, uts46=True).decode().lower(), AddressClass.NAME
    except idna.IDNAError as error:
        raise _refused(op, "its host is no name") from error


def _of_address(
    address: ipaddress.IPv4Address | ipaddress.IPv6Address,
) -> tuple[str, AddressClass]:
    if isinstance(address, ipaddress.IPv6Address):
        inside = address.ipv4_mapped or address.sixtofour
        if inside is not None:
            address = inside
    if address.is_loopback or address.is_unspecified:
        kind = AddressClass.LOOPBACK
    elif address.is_link_local:
        kind = AddressClass.LINK_LOCAL
    elif address.is_multicast or address.is_reserved:
        kind = AddressClass.RESERVED
    elif not address.is_global or any(address in inside for inside in _INSIDE):
        kind = AddressClass.PRIVATE
    else:
        kind = AddressClass.PUBLIC
    return str(address), kind


def is_public(address: str) -> bool:
    """Whether an IP address, as a resolver gives it, is one of the open Internet."""
    try:
        found = ipaddress.ip_address(address)
    except ValueError:
        return False  # with a zone, which only addresses of this link have
    return _of_address(found)[1] is AddressClass.PUBLIC


def _refused(op: str, why: str) -> CapabilityError:
    return CapabilityError(
        f"The URL is refused: {why}.",
        op=op,
        code="url_refused",
        advice=f"Give one plain absolute URL; {why}.",
    )
