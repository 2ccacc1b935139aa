"""Opening the harness for one command: live view, database, and its end on Ctrl-C or SIGTERM."""

import asyncio
import logging
import os
import sys
import warnings
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, NoReturn, TypeVar

from checkrein.entrypoints.cli.live import Live
from checkrein.entrypoints.cli.stopping import Stopping
from checkrein.errors import CheckreinError, ConflictError

if TYPE_CHECKING:
    from checkrein.compose import Parts
    from checkrein.entrypoints.cli.watch import Watch
    from checkrein.settings import Settings

T = TypeVar("T")
Work = Callable[["Parts", "Watch"], Awaitable[T]]
"""What a command does once everything is open."""


class InterruptedWork(Exception):  # noqa: N818 - a control signal, no error
    """Ctrl-C was pressed. Whatever was stored stands; `command`, if any, goes on from there."""

    def __init__(self, command: str | None = None) -> None:
        super().__init__("interrupted")
        self.command = command


class OurFaultError(CheckreinError):
    """The store refused what the harness itself wanted to write: never the person's doing."""


def opened(work: Work[T], stopping: Stopping | None = None) -> T:
    """Open the database, do the work, and close everything; `stopping` hears SIGTERM meanwhile.

    Raises:
        InterruptedWork: Ctrl-C was pressed; what was stored stands.
        CheckreinError: whatever opening or the work raises.
    """
    be_quiet()
    from checkrein.settings import Settings

    settings = Settings.from_env()
    # Whoever speaks is known by now, and no process that is started from here inherits the proof.
    os.environ.pop("CHECKREIN_TOKEN", None)
    with Live("Checkrein to load") as live:
        from checkrein.compose import composed
        from checkrein.entrypoints.cli.watch import Watch

        watch = Watch(live)
        watch.waiting(_place(settings))

        async def whole() -> T:
            if stopping is not None:
                stopping.listen(live)
            async with composed(settings, None, watch) as parts:
                watch.waiting("the next step")
                return await work(parts, watch)

        try:
            return asyncio.run(whole())
        except KeyboardInterrupt:
            raise InterruptedWork from None


def _place(settings: "Settings") -> str:
    return "the database" if settings.database_url else f"the database in {settings.home}"


def driving(work: Work[T], stopping: Stopping | None = None) -> T:
    """As `opened`, for work that goes on with attempts: tells how to go on where it broke off.

    A write that the store refuses is no person's conflict here, but a fault of ours.

    Raises:
        StoppedEarly: SIGTERM came before the work began.
    """
    seen: list[Watch] = []

    async def watched(parts: "Parts", watch: "Watch") -> T:
        seen.append(watch)
        parts.front_door.notice = watch.waiting
        if stopping is not None:
            stopping.begin(parts.front_door.drain, watch)
        return await work(parts, watch)

    try:
        return opened(watched, stopping)
    except InterruptedWork:
        known = seen[0].attempt_id if seen else None
        raise InterruptedWork(f"checkrein recover {known or '--all'}") from None
    except CheckreinError as error:
        if seen and seen[0].attempt_id is not None:
            error.context.setdefault("attempt_id", seen[0].attempt_id)
        if isinstance(error, ConflictError) and error.op == "store.append":
            _ours(error)
        raise


def _ours(error: ConflictError) -> NoReturn:
    raise OurFaultError(str(error), op=error.op, code=error.code, context=error.context) from error


def debugging() -> bool:
    """Whether CHECKREIN_DEBUG asks for tracebacks and for what libraries have to say."""
    return os.environ.get("CHECKREIN_DEBUG", "") not in {"", "0"}


def be_quiet() -> None:
    """Keep libraries' logs and warnings off the terminal, unless they were asked for."""
    if debugging():
        return
    logging.getLogger().addHandler(logging.NullHandler())
    if not sys.warnoptions:
        warnings.simplefilter("ignore")
