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
    "after_grant",
    "before_executing",
    "after_executing",
    "before_resend",
    "after_file_write",
    "in_publish",
    "after_target",
    "before_receipt",
    "after_receipt",
    "between_actions",
    "in_verifier",
    "before_verification",
    "after_verification",
    "in_cancel",
    "in_recover",
)
"""Every place, in the order in which a run passes them.

`after_grant` and `after_target` are passed only by the processes of the crash table: whoever
approves is no part of a run, and a target is not ours.
"""

BUDGET_PLACES = ("before_model", "after_model", "before_read", "after_read")
"""Places between a reservation and its settlement, at which a call may have been paid for nothing.

The crash table kills nobody there, since all its kills come after a stored output.
"""

FREEZE = "freeze"
"""The word that stops the process (SIGSTOP) in place of ending it."""


class NoFailpoints:
    """Goes on at every place."""

    async def reach(self, place: str) -> None:
        """Do nothing."""


@dataclass
class KillAt:
    """Ends this process with SIGKILL when a place is reached for the `left`-th time.

    Attributes:
        sent: SIGSTOP freezes it instead, for whoever wakes it.
    """

    place: str
    left: int = 1
    sent: signal.Signals = signal.SIGKILL

    async def reach(self, place: str) -> None:
        """See the port."""
        if place == self.place:
            self.left -= 1
            if self.left == 0:
                os.kill(os.getpid(), self.sent)


def from_text(text: str | None) -> NoFailpoints | KillAt:
    """Read `PLACE`, `PLACE:N` or `PLACE:N:freeze`; None is no failpoint.

    Raises:
        InputError: no such place, or N is no positive number.
    """
    if not text:
        return NoFailpoints()
    place, _, rest = text.partition(":")
    count, colon, word = rest.partition(":")
    counted = (count or "1").isdigit() and count != "0"
    if place not in (*PLACES, *BUDGET_PLACES) or not counted or word != (FREEZE if colon else ""):
        raise InputError(
            f"CHECKREIN_FAILPOINT={text} names no place. It is PLACE or PLACE:N, with PLACE one of "
            f"{', '.join((*PLACES, *BUDGET_PLACES))}.",
            op="failpoints.from_text",
        )
    return KillAt(place, int(count or "1"), signal.SIGSTOP if word else signal.SIGKILL)
