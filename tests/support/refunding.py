"""orders.refund, whose arguments are not all text, for a server's process.

CHECKREIN_CAPABILITIES=refunding:refund, with this folder on PYTHONPATH.
"""

import asyncio
import json
import os
from pathlib import Path
from typing import Any

from checkrein import capability

BOOK = "REFUNDS_BOOK"
"""Names the file that gets a line for each refund."""


def _write(line: str) -> None:
    with Path(os.environ[BOOK]).open("a", encoding="utf-8") as book:
        book.write(line + "\n")


@capability("orders.refund", resource=lambda args: f"order:{args['order']}")
async def refund(order: str, cents: int, lines: list[int]) -> dict[str, Any]:
    """Give money back for some lines of an order."""
    await asyncio.to_thread(_write, json.dumps([order, cents, lines]))
    return {"refunded": cents}
