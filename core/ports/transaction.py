"""A transaction of the harness's own Postgres, lent to an effect that commits with its receipt."""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol


class Transaction(Protocol):
    """Statements inside one transaction, which others begin and end.

    The role is the harness's (`checkrein_app`): grant it what the statements need, and no more.
    """

    async def rows(
        self, query: str, parameters: Sequence[Any] | Mapping[str, Any] = ()
    ) -> list[dict[str, Any]]:
        """Run one parametrised statement (%s or %(name)s) and return its rows, if it has any.

        Raises:
            StoreError: the statement failed, or the session is lost; nothing of it will stand.
        """
        ...
