"""Where people are told of approvals: a log, a command, a webhook, a mailbox."""

from typing import Protocol

from checkrein.contracts.message import ApprovalMessage


class Deliverer(Protocol):
    """Delivers one message at a time of each attempt, in order, at least once.

    Obligations: it is called again with the same message where it raised, was cancelled, or the
    process died; the receiver tells by `key` what it has already. It ends within `limit_s` seconds
    or lets itself be cancelled then, leaving nothing running. It puts no secret into an error.

    Attributes:
        name: whose deliveries are recorded; stable over restarts.
        tenant: the tenant whose messages it gets; None for every tenant.
        limit_s: most seconds of one delivery.
        give_up_s: how long after the first try a message is given up.
    """

    @property
    def name(self) -> str:
        """See above."""
        ...

    @property
    def tenant(self) -> str | None:
        """See above."""
        ...

    @property
    def limit_s(self) -> float:
        """See above."""
        ...

    @property
    def give_up_s(self) -> float:
        """See above."""
        ...

    async def deliver(self, message: ApprovalMessage) -> str:
        """Return once the receiver has taken it: a note for the record, or nothing.

        Raises:
            DeliveryError: it has not, or nobody knows; `final` where no later try can help.
        """
        ...
