"""doctor's look at what runs commands: each backend, what it isolates here, and what not."""

import asyncio
from typing import TYPE_CHECKING

from checkrein.entrypoints.cli.doctor_part import Part

if TYPE_CHECKING:
    from checkrein.contracts.environment import Offer

_HOW = {
    "bubblewrap": "on Linux install bubblewrap (`apt-get install bubblewrap`) and allow user "
    "namespaces, or run as root",
    "docker": "install Docker and start its engine; a task names its image by digest",
    "local": "it is always there",
}
_USE = {
    "bubblewrap": "running commands in a sandbox",
    "docker": "running commands in containers",
    "local": "running commands without a sandbox, where there is none or a task says so",
}


def sandbox_parts() -> list[Part]:
    """A part for each backend; none of them is needed."""
    from checkrein import compose

    return [_part(offer) for offer in asyncio.run(compose.command_offers())]


def _part(offer: "Offer") -> Part:
    return Part(
        f"commands: {offer.backend}",
        needed=False,
        found=not offer.lack,
        version=offer.version or None,
        use=_USE[offer.backend],
        how=_HOW[offer.backend],
        detail=offer.lack or _told(offer),
    )


def _told(offer: "Offer") -> str:
    isolates = ", ".join(offer.isolates) or "nothing"
    does_not = f"; does not isolate {', '.join(offer.does_not)}" if offer.does_not else ""
    untested = "" if offer.tested else "; untested on this machine by Checkrein's own suite"
    return f"isolates {isolates}{does_not}{untested}"
