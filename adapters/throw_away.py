"""A folder for one piece of work, gone afterwards whatever was put into it."""

import asyncio
import tempfile
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

from checkrein.errors import EnvironmentFault


@asynccontextmanager
async def throw_away_folder(prefix: str) -> AsyncGenerator[Path]:
    """Make a folder that only this user can enter; made and removed off the event loop.

    Raises:
        EnvironmentFault: the machine has no room for one (code no_temporary_folder).
    """
    making = asyncio.ensure_future(asyncio.to_thread(_made, prefix))
    try:
        made = await asyncio.shield(making)
    except asyncio.CancelledError:
        # The thread cannot be stopped: what it makes is removed once it is there.
        await asyncio.to_thread((await making).cleanup)
        raise
    try:
        yield Path(made.name)
    finally:
        await asyncio.to_thread(made.cleanup)


def _made(prefix: str) -> "tempfile.TemporaryDirectory[str]":
    try:
        return tempfile.TemporaryDirectory(prefix=prefix, ignore_cleanup_errors=True)
    except OSError as error:
        raise EnvironmentFault(
            f"There is no temporary folder in {tempfile.gettempdir()}: {error.strerror}. "
            "Make room there, or set TMPDIR.",
            op="throw_away.make",
            code="no_temporary_folder",
        ) from error
