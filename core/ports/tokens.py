"""Tokens that prove who somebody is: issued once, looked up by hash, taken back."""

from dataclasses import dataclass, field
from typing import Protocol

from checkrein.contracts.token import Token, TokenOrder, TokenScope

REFUSED = frozenset({"token_unknown", "token_expired", "token_revoked", "token_scope"})
"""Codes of a token that is not good. Strangers are told none of them."""


@dataclass(frozen=True)
class IssuedToken:
    """A new token. `secret` is the token itself: given to its owner once, and then forgotten."""

    token: Token
    secret: str = field(repr=False)


class Tokens(Protocol):
    """The tokens of one database, whose clock says when one is over.

    No token is stored, logged, or repeated in an error; only its hash is compared, in a time that
    does not depend on where it differs.
    """

    async def issue(self, order: TokenOrder) -> IssuedToken:
        """Make a new token and keep its hash."""
        ...

    async def use(self, secret: str, scope: TokenScope | None) -> Token:
        """Whose token this is, once it is certain that it is good for `scope` at this moment.

        Without a scope it only tells who its owner is; the scopes are then the caller's to check.

        Raises:
            InputError: nobody was given it, its time is over, it was taken back, or it is not
                good for that (codes of REFUSED). The message is for whoever runs this; a stranger
                gets one and the same answer to all of them.
        """
        ...

    async def revoke(self, token_id: str, *, by: str, reason: str) -> Token:
        """Take a token back, from this moment on. Repeating it changes nothing.

        Raises:
            InputError: no such token (code unknown_id).
        """
        ...

    async def listed(self, tenant: str | None = None) -> list[Token]:
        """Tokens of a tenant or of all, newest first, at most 1000."""
        ...
