"""A process that owns an attempt, for tests that freeze it or kill it.

`python lease_child.py URL ATTEMPT TTL_S`. It prints one JSON line when it owns the attempt, then
does what it is told line by line on standard input: `write` appends under its fence on its own
session, `write_elsewhere` does so on another one, `own` asks whether it is still the owner, `end`
gives the attempt back. Each answer is one JSON line.
"""

import asyncio
import json
import os
import sys
from collections.abc import Awaitable

from checkrein.checkpointer import server
from checkrein.checkpointer.leases import PostgresLeases
from checkrein.checkpointer.pool import opened
from checkrein.checkpointer.store import PostgresEventStore
from checkrein.errors import CheckreinError
from checkrein.ports.leases import Lease
from checkrein.testing.conformance.story import asked


def say(**facts: object) -> None:
    """One line for the parent."""
    sys.stdout.write(json.dumps(facts) + "\n")
    sys.stdout.flush()


async def tried(call: Awaitable[object]) -> None:
    """Do it and say how it went."""
    try:
        found = await call
    except CheckreinError as error:
        say(error=type(error).__name__, code=error.code)
    else:
        say(found=found)


async def obey(lease: Lease, url: str) -> None:
    """Do what each line says, until there is no more."""
    loop = asyncio.get_running_loop()
    async with opened(server.by_url(url).app, size=1, op="child.pool") as pool:
        elsewhere = PostgresEventStore(pool)
        while True:
            match (await loop.run_in_executor(None, sys.stdin.readline)).strip():
                case "write":
                    await tried(lease.events.append(lease.attempt_id, asked(), fence=lease.fence))
                case "write_elsewhere":
                    await tried(elsewhere.append(lease.attempt_id, asked(), fence=lease.fence))
                case "own":
                    await tried(lease.still_owner())
                case _:
                    return


async def main(url: str, attempt_id: str, ttl_s: float) -> None:
    """Own the attempt until told to end."""
    async with PostgresLeases(server.by_url(url), ttl_s).hold(attempt_id) as lease:
        say(pid=os.getpid(), fence=lease.fence)
        await obey(lease, url)
    say(ended=True)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], sys.argv[2], float(sys.argv[3])))
