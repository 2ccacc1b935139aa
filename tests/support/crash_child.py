"""A process that runs a task, says yes to what is asked, and goes on, until a failpoint ends it."""

import asyncio
import sys
from pathlib import Path

from checkrein.contracts.task import TaskContract
from checkrein.harness import Harness
from checkrein.settings import Settings


async def main(task: TaskContract, parent: str | None = None) -> None:
    """Run to the end, perhaps as a child, with an approver who always says yes."""
    async with Harness.open(settings=Settings.from_env()) as harness:
        report = await harness.run(task, parent=parent)
        while report.approvals:
            for request in report.approvals:
                await harness.approve(request.approval_id, by="bob")
            report = await harness.resume(report.attempt_id)


if __name__ == "__main__":
    given = TaskContract.model_validate_json(Path(sys.argv[1]).read_bytes())
    asyncio.run(main(given, *sys.argv[2:]))
