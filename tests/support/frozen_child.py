"""A process that resumes an attempt under a short lease: `python frozen_child.py ATTEMPT TTL_S`.

It prints one JSON line: the report, or the code of the error that ended it. A failpoint of the
environment may freeze it on the way.
"""

import asyncio
import json
import sys

from checkrein.compose import composed
from checkrein.errors import CheckreinError
from checkrein.settings import Settings


async def main(attempt_id: str, ttl_s: float) -> int:
    """Resume, and say how it went."""
    async with composed(Settings.from_env(), lease_ttl_s=ttl_s) as parts:
        try:
            report = await parts.front_door.resume(attempt_id)
        except CheckreinError as error:
            sys.stdout.write(json.dumps({"error": error.code}) + "\n")
            return 1
    sys.stdout.write(json.dumps({"status": str(report.status)}) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(asyncio.run(main(sys.argv[1], float(sys.argv[2]))))
