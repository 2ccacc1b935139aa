"""A process that works on tasks all at once: `python run_child.py TTL_S TASK.json...`.

It prints one JSON line with the report of each, as they end.
"""

import asyncio
import sys
from pathlib import Path

from checkrein.compose import composed
from checkrein.contracts.task import TaskContract
from checkrein.graph.lifecycle import FrontDoor
from checkrein.settings import Settings


async def one(door: FrontDoor, task: Path) -> None:
    """Work on one task to its end or first pause."""
    contract = TaskContract.model_validate_json(await asyncio.to_thread(task.read_bytes))
    report = await door.start(contract)
    sys.stdout.write(report.model_dump_json() + "\n")
    sys.stdout.flush()


async def main(ttl_s: float, tasks: list[Path]) -> None:
    """Work on all of them."""
    async with composed(Settings.from_env(), lease_ttl_s=ttl_s) as parts:
        await asyncio.gather(*(one(parts.front_door, task) for task in tasks))


if __name__ == "__main__":
    asyncio.run(main(float(sys.argv[1]), [Path(arg) for arg in sys.argv[2:]]))
