"""A process that delivers and dies on the way: `python delivery_child.py URL HOOK WHERE`.

WHERE is `before` (claimed, nothing sent) or `after` (the receiver has it, nothing is recorded).
"""

import asyncio
import os
import signal
import ssl
import sys

from checkrein.adapters.deliver_webhook import WebhookDeliverer
from checkrein.adapters.deliverer_spec import WebhookSpec
from checkrein.adapters.system_clock import SystemClock
from checkrein.checkpointer import server
from checkrein.checkpointer.outbox import PostgresOutbox
from checkrein.checkpointer.pool import opened
from checkrein.contracts.message import ApprovalMessage
from checkrein.graph.delivery import Courier

SECRET = b"0123456789abcdef"


def webhook(url: str) -> WebhookDeliverer:
    """The deliverer that every process of these tests has."""
    spec = WebhookSpec(
        name="hook",
        kind="webhook",
        url=url,
        secret_env="KEY",
        allow_http=True,
        allow_private=True,
        timeout_s=5,
    )
    return WebhookDeliverer(spec, SECRET, ssl.create_default_context(), SystemClock())


class Dying(WebhookDeliverer):
    """Ends the process around its first delivery."""

    where = "before"

    async def deliver(self, message: ApprovalMessage) -> str:
        """See the port; it never returns."""
        if self.where == "after":
            await super().deliver(message)
        os.kill(os.getpid(), signal.SIGKILL)
        return ""


async def main(url: str, hook: str, where: str) -> None:
    """Deliver what is due, and die."""
    deliverer = webhook(hook)
    deliverer.__class__ = Dying
    Dying.where = where
    async with opened(server.by_url(url).app, size=2, op="child.pool") as pool:
        await Courier(PostgresOutbox(pool), [deliverer]).once()


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
