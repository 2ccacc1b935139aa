"""The process that crash_suite kills: it loads a target by name and sends one act.

It says on stdout how far it has come, one word a line: `asked` right before the request, and
`answered` with the status after it. Then it waits to be killed, or for its parent to end.
"""

import asyncio
import json
import os
import pkgutil
import sys
from typing import Any

from checkrein.ports.capability import Permit
from checkrein.testing.conformance.target import made

ASKED, ANSWERED = "asked", "answered"


def _say(*words: str) -> None:
    print(*words, flush=True)


async def _owner() -> bool:
    _say(ASKED)
    return True


async def _send(job: dict[str, Any]) -> None:
    # The parent has loaded the same name before, and told what was wrong with it.
    source = pkgutil.resolve_name(job["object"])
    async with made(source) as target:
        prepared = await target.capability.prepare(job["args"])
        permit = Permit.model_validate(job["permit"])
        outcome = await target.capability.send(prepared, permit, _owner)
        _say(ANSWERED, outcome.status)
        await asyncio.to_thread(sys.stdin.read)


def main() -> None:
    """Send the act that the first line of stdin describes."""
    sys.path.insert(0, os.getcwd())
    asyncio.run(_send(json.loads(sys.stdin.readline())))


if __name__ == "__main__":
    main()
