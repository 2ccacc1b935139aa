"""Exit codes: what a program learns from a command without reading a word of it."""

from enum import IntEnum
from typing import TYPE_CHECKING

from checkrein.errors import (
    BusyError,
    CheckreinError,
    ConflictError,
    EnvironmentFault,
    InputError,
    IntegrityError,
    LeaseLostError,
    StoreError,
)

if TYPE_CHECKING:
    from checkrein.graph.report import Report


class Exit(IntEnum):
    """What a command ended with. One that records a person's word is DONE once it is stored."""

    DONE = 0
    WRONG = 1
    UNUSABLE = 2
    SUSPENDED = 3
    NOT_VERIFIED = 4
    CANCELLED = 5
    BUSY = 6
    FAULT = 70
    INTERRUPTED = 130


MEANINGS = """\
Exit codes: 0 verified or done; 1 a check found something wrong; 2 unusable input or usage;
3 suspended, `next` says what goes on; 4 finished, not verified; 5 cancelled;
6 busy, another process holds the attempt; 70 a fault of Checkrein; 130 interrupted;
143 ended by a second SIGTERM (the first one lets go at the next safe point)."""
"""As shown by `checkrein --help`."""

_UNUSABLE = (InputError, ConflictError, StoreError, EnvironmentFault)


def of_error(error: CheckreinError) -> Exit:
    """The exit code of an error that ended a command."""
    if isinstance(error, BusyError | LeaseLostError):
        return Exit.BUSY
    if isinstance(error, IntegrityError):
        return Exit.WRONG
    return Exit.UNUSABLE if isinstance(error, _UNUSABLE) else Exit.FAULT


def of_report(report: "Report") -> Exit:
    """The exit code of an attempt as it stands. One whose owner died waits for `recover`."""
    status = report.status
    if report.verified:
        return Exit.DONE
    if status.is_terminal:
        return Exit.CANCELLED if status == "CANCELLED" else Exit.NOT_VERIFIED
    if status.is_suspended or not report.lease_alive:
        return Exit.SUSPENDED
    return Exit.BUSY


def of_reports(codes: list[Exit]) -> Exit:
    """The exit code of several attempts: the highest of theirs."""
    return max(codes, default=Exit.DONE)
