"""Secrets: lent by name for one action or one check, for minutes, and given back.

To keep secrets elsewhere than in files (a Vault, a cloud's secret manager), write a class with the
three methods of SecretBroker. `lease` asks the store for a credential, best one that the store
makes for this lease and ends itself at `expires_at` (Vault's dynamic secrets, a cloud's session
tokens), and gives a SecretLease whose `on_release` revokes it there. Keep nothing between leases:
after a crash a new owner takes a lease of its own, and the lost one ends by its own time.
"""

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any, NoReturn, Protocol

from pydantic import SecretStr

from checkrein.errors import EnvironmentFault

MAX_TTL_S = 900.0
"""Longest time that a secret is lent for, in seconds."""

MIN_VALUE = 8
"""Fewest characters of a value: a shorter one stands in many texts, and could not be masked."""

MAX_VALUE = 32 * 1024
"""Most characters of a value; an environment variable must hold it."""


def _nothing() -> None:
    """What is to be done at a release where nothing is kept."""


class SecretLease:
    """One secret, lent until a time. No text of it shows the value, and it cannot be pickled."""

    __slots__ = ("_on_release", "_value", "action_id", "expires_at", "name", "purpose")

    def __init__(
        self,
        name: str,
        value: SecretStr,
        *,
        purpose: str,
        action_id: str,
        expires_at: datetime,
        on_release: Callable[[], None] = _nothing,
    ) -> None:
        """`expires_at`: with a time zone. `on_release`: ends it where the secret comes from."""
        self.name = name
        self.purpose = purpose
        self.action_id = action_id
        self.expires_at = expires_at
        self._value: SecretStr | None = value
        self._on_release = on_release

    @property
    def value(self) -> SecretStr:
        """The value, while it is lent.

        Raises:
            EnvironmentFault: secret_lease_over, after its time or its release.
        """
        if self._value is None or datetime.now(UTC) >= self.expires_at:
            raise EnvironmentFault(
                f"The lease of the secret {self.name} is over. Take a new one.",
                op="secrets.value",
                code="secret_lease_over",
            )
        return self._value

    def release(self) -> None:
        """Give it back; may be called again."""
        if self._value is not None:
            self._value = None
            self._on_release()

    def __repr__(self) -> str:
        return f"SecretLease({self.name!r}, until {self.expires_at.isoformat()})"

    def __reduce__(self) -> NoReturn:
        raise TypeError("a lent secret is never stored")


class Masks(Protocol):
    """Takes the values of some secrets, and their usual other forms, out of what is said."""

    def text(self, text: str) -> str:
        """Text without the values."""
        ...

    def value(self, value: Any) -> Any:
        """A JSON value without the values, the names of its fields included."""
        ...


class SecretBroker(Protocol):
    """Where the values are. Who may have which is judged before it is asked."""

    async def lease(self, name: str, *, purpose: str, action_id: str, ttl_s: float) -> SecretLease:
        """Lend one secret for one purpose of one action or check, for at most MAX_TTL_S.

        Raises:
            EnvironmentFault: secret_unavailable; the message says why and what to do, and holds
                nothing of any value.
        """
        ...

    def masks(self, values: Mapping[str, SecretStr]) -> Masks:
        """What takes these values out of whatever their holder says."""
        ...


def unavailable(name: str, why: str) -> EnvironmentFault:
    """A secret that is not lent, with the reason for people."""
    return EnvironmentFault(
        f"The secret {name} cannot be lent: {why}",
        op="secrets.lease",
        code="secret_unavailable",
        context={"secret": name},
    )
