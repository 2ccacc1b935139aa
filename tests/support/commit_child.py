"""A process that commits a task as bob, until a failpoint ends it: `commit_child.py TASK`."""

import asyncio
import sys

from checkrein.compose import composed
from checkrein.contracts.approval import Approver
from checkrein.settings import Settings


async def main(task_id: str) -> None:
    """Commit it, and print the id of the attempt that did."""
    async with composed(Settings.from_env()) as parts:
        report = await parts.front_door.commit(task_id, Approver(name="bob"))
    sys.stdout.write(f"{report.attempt_id} {report.status}\n")


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
