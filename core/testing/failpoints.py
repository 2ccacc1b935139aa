"""Failpoints: nothing in production; in tests, the end of the process at a named place."""

import os
import signal
from dataclasses import dataclass

from checkrein.errors import InputError

PLACES = (
    "after_raw_output",
    "before_decisions",
    "after_decisions",
    "after_checkpoint",
    "after_publishing",
    "before_executing",
    "after_executing",
    "after_file_write",
    "before_receipt",
    "after_receipt",
    "between_actions",
    "in_verifier",
    "before_verification",
    "after_verification",
    "in_cancel",
    "in_recover",
)
"""Every place, in the order in which a run passes them."""


class NoFailpoints:
    """Goes on at every place."""

    async def reach(self, place: str) -> None:
        """Do nothing."""


@dataclass
class KillAt:
    """Ends this process with SIGKILL when a place is reached for the `left`-th time."""

    place: str
    left: int = 1

    async def reach(self, place: str) -> None:
        """See the port."""
        if place == self.place:
            self.left -= 1
            if self.left == 0:
                os.kill(os.getpid(), signal.SIGKILL)


def from_text(text: str | None) -> NoFailpoints | KillAt:
    """Read `PLACE` or `PLACE:N`; None is no failpoint.

    Raises:
        InputError: no such place, or N is no positive number.
    """
    if not text:
        return NoFailpoints()
    place, _, count = text.partition(":")
    if place not in PLACES or not (count or "1").isdigit() or count == "0":
        raise InputError(
            f"CHECKREIN_FAILPOINT={text} names no place. It is PLACE or PLACE:N, with PLACE one of "
            f"{', '.join(PLACES)}.",
            op="failpoints.from_text",
        )
    return KillAt(place, int(count or "1"))
