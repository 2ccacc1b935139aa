"""Tokens in Postgres. The functions of migrations/0008_tokens.sql alone write and judge them."""

import hmac
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from psycopg import AsyncConnection
from psycopg.rows import DictRow, dict_row

from checkrein.checkpointer.faults import translating
from checkrein.checkpointer.pool import Connections, Session
from checkrein.checkpointer.query_files import queries
from checkrein.checkpointer.server import Database
from checkrein.contracts.token import (
    Token,
    TokenOrder,
    TokenScope,
    hash_of,
    is_token,
    new_secret,
    new_token_id,
)
from checkrein.errors import InputError
from checkrein.ports.tokens import IssuedToken

_ISSUE = "SELECT checkrein.issue_token(%s, %s, %s, %s, %s, %s, %s)"
_USE = "SELECT checkrein.use_token(%s, %s) AS verdict"
_REVOKE = "SELECT checkrein.revoke_token(%s, %s, %s)"
_UNKNOWN = "This token is none that was issued for this database."


class PostgresTokens:
    """ports.tokens.Tokens over a pool, or over one session."""

    def __init__(self, connections: Connections) -> None:
        self._pool = connections

    async def issue(self, order: TokenOrder) -> IssuedToken:
        """See the port."""
        secret, token_id = new_secret(), new_token_id()
        given = (
            token_id,
            order.tenant,
            order.person,
            hash_of(secret),
            sorted(order.scopes),
            order.days,
            order.issued_by,
        )
        async with translating("tokens.issue"), self._pool.connection() as connection:
            await connection.execute(_ISSUE, given)
        return IssuedToken(await self._one(token_id), secret)

    async def use(self, secret: str, scope: TokenScope | None) -> Token:
        """See the port."""
        if not is_token(secret):
            raise _refused(_UNKNOWN, "unknown")
        wanted = hash_of(secret)
        found = await self._rows("by_hash", hash=wanted)
        # The index has compared them already, in a time that tells of a hash at the most; nobody
        # can choose a token by its hash.
        known = [row for row in found if hmac.compare_digest(bytes(row.pop("hash")), wanted)]
        if not known:
            raise _refused(_UNKNOWN, "unknown")
        token = Token.model_validate(known[0])
        async with translating("tokens.use"), self._pool.connection() as connection:
            row = await (await connection.execute(_USE, (wanted, scope))).fetchone()
        verdict = "unknown" if row is None else str(row["verdict"])
        if verdict != "ok":
            raise _refused(_why(token, verdict, scope), verdict)
        return token

    async def revoke(self, token_id: str, *, by: str, reason: str) -> Token:
        """See the port."""
        async with translating("tokens.revoke"), self._pool.connection() as connection:
            await connection.execute(_REVOKE, (token_id, by, reason))
        return await self._one(token_id)

    async def listed(self, tenant: str | None = None) -> list[Token]:
        """See the port."""
        return [Token.model_validate(row) for row in await self._rows("listed", tenant=tenant)]

    async def _one(self, token_id: str) -> Token:
        (row,) = await self._rows("one", token=token_id)
        return Token.model_validate(row)

    async def _rows(self, query: str, **values: object) -> list[DictRow]:
        async with translating(f"tokens.{query}"), self._pool.connection() as connection:
            return await (await connection.execute(queries("tokens.sql")[query], values)).fetchall()


@asynccontextmanager
async def opened_tokens(database: Database) -> AsyncGenerator[PostgresTokens]:
    """The tokens over one connection of their own, for whoever needs nothing else.

    Raises:
        StoreError: the database cannot be reached.
    """
    async with translating("tokens.open"):
        connection = await AsyncConnection[DictRow].connect(
            database.app, autocommit=True, row_factory=dict_row
        )
    async with connection:
        yield PostgresTokens(Session(connection))


def _why(token: Token, verdict: str, scope: TokenScope | None) -> str:
    named = f"Token {token.token_id} of {token.person}"
    again = f"checkrein token issue --person {token.person} --tenant {token.tenant}"
    match verdict:
        case "revoked":
            return f"{named} was revoked. Another one: `{again}`."
        case "expired":
            ended = f"{token.expires_at:%Y-%m-%d %H:%M} UTC"
            return f"{named} expired at {ended}. Another one: `{again}`."
        case "scope":
            has = ", ".join(sorted(token.scopes))
            another = f"One that is: `{again} --scope {scope}`."
            return f"{named} is good for {has}, not for {scope}. {another}"
        case _:
            return f"{named} is not there any more."


def _refused(message: str, verdict: str) -> InputError:
    return InputError(message, op="tokens.use", code=f"token_{verdict}")
