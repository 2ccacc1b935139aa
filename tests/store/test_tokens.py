"""Tokens that prove who somebody is: shown once, kept as a hash, and good only while they are."""

from typing import Any, LiteralString

import psycopg
import pytest
from open_store import OpenStore
from psycopg import sql
from pydantic import ValidationError

from checkrein.checkpointer.tokens import PostgresTokens
from checkrein.contracts.token import TokenOrder, TokenScope, hash_of, is_token, new_secret
from checkrein.errors import InputError, StoreError
from checkrein.ports.tokens import IssuedToken

Refused = tuple[str, TokenScope | None, str, str]
"""A token, what it is asked for, the code, and a part of the message."""

EVERY_TABLE: LiteralString = (
    "SELECT n.nspname AS schema, c.relname AS name FROM pg_class c"
    " JOIN pg_namespace n ON n.oid = c.relnamespace"
    " WHERE c.relkind = 'r' AND n.nspname IN ('checkrein', 'langgraph')"
)


def order(**fields: Any) -> TokenOrder:
    given = {"person": "carol", "tenant": "local", "scopes": ["approve"], "days": 30}
    return TokenOrder.model_validate({**given, "issued_by": "root", **fields})


async def issued(store: OpenStore, **fields: Any) -> tuple[PostgresTokens, IssuedToken]:
    tokens = PostgresTokens(store.pool)
    return tokens, await tokens.issue(order(**fields))


async def later(store: OpenStore, days: int) -> None:
    """Let the database's clock go ahead."""
    body = f"SELECT clock_timestamp() + interval '{days} days'"
    await store.by_owner(
        sql.SQL(
            "CREATE OR REPLACE FUNCTION checkrein.now() RETURNS timestamptz LANGUAGE sql VOLATILE"
            " AS {}"
        ).format(sql.Literal(body))
    )


async def test_a_token_proves_its_owner(store: OpenStore) -> None:
    """Protects: who holds it is that person, of that tenant, for that and nothing else."""
    tokens, new = await issued(store, scopes=["approve", "read"])
    assert is_token(new.secret)
    assert new.token.last_used_at is None
    known = await tokens.use(new.secret, TokenScope.APPROVE)
    assert (known.person, known.tenant, known.token_id) == ("carol", "local", new.token.token_id)
    assert known.scopes == {TokenScope.APPROVE, TokenScope.READ}
    assert (await tokens.use(new.secret, None)).person == "carol"
    (seen,) = [t for t in await tokens.listed("local") if t.token_id == known.token_id]
    assert seen.last_used_at is not None
    assert seen.status == "good"
    assert round((seen.expires_at - seen.issued_at).total_seconds()) == 30 * 86_400


async def test_no_two_are_alike(store: OpenStore) -> None:
    """Protects: a token cannot be guessed from others, nor its id from it."""
    made = [await issued(store) for _ in range(20)]
    assert len({new.secret for _, new in made} | {new.token.token_id for _, new in made}) == 40


async def test_the_token_itself_is_nowhere(own_store: OpenStore) -> None:
    """Protects: whoever reads the whole database can sign in as nobody."""
    tokens, new = await issued(own_store)
    await tokens.use(new.secret, TokenScope.APPROVE)
    await tokens.revoke(new.token.token_id, by="root", reason="over")
    body = new.secret.removeprefix("ckr_")
    found = {"hash": 0, "secret": 0}
    for table in await own_store.rows(EVERY_TABLE):
        name = sql.Identifier(table["schema"], table["name"])
        if table["name"] == "migrations":
            continue
        for row in await own_store.rows(sql.SQL("SELECT t::text AS whole FROM {} t").format(name)):
            found["secret"] += body in row["whole"]
            found["hash"] += hash_of(new.secret).hex() in row["whole"]
            assert body.encode().hex() not in row["whole"]
    assert found == {"hash": 1, "secret": 0}
    assert body not in repr(new)
    assert new.token.token_id in repr(new)


async def test_refusals_say_why_and_never_what(own_store: OpenStore) -> None:
    """Protects: unknown, out of scope, revoked and expired are told apart, without the token."""
    tokens, new = await issued(own_store, days=2)
    _, other = await issued(own_store, days=2)
    await tokens.revoke(other.token.token_id, by="root", reason="lost")
    refused: list[Refused] = [
        (new_secret(), TokenScope.APPROVE, "token_unknown", "none that was issued"),
        (new.secret[:-1], TokenScope.APPROVE, "token_unknown", "none that was issued"),
        (hash_of(new.secret).hex(), None, "token_unknown", "none that was issued"),
        ("\udc80", None, "token_unknown", "none that was issued"),
        (new.secret, TokenScope.AUTHORITY, "token_scope", "not for authority"),
        (other.secret, None, "token_revoked", "was revoked"),
    ]
    await _all_refused(tokens, refused)
    await later(own_store, 3)
    await _all_refused(tokens, [(new.secret, None, "token_expired", "expired at")])
    states = {token.token_id: token.status for token in await tokens.listed()}
    assert states == {new.token.token_id: "expired", other.token.token_id: "revoked"}


async def _all_refused(tokens: PostgresTokens, cases: list[Refused]) -> None:
    for secret, scope, code, told in cases:
        with pytest.raises(InputError) as caught:
            await tokens.use(secret, scope)
        assert (caught.value.code, told in str(caught.value)) == (code, True)
        assert secret not in str(caught.value)
        assert caught.value.context == {}


async def test_the_first_revocation_stays(store: OpenStore) -> None:
    """Protects: repeating it is no fault, and does not blur who took it back, and why."""
    tokens, new = await issued(store)
    await tokens.revoke(new.token.token_id, by="erin", reason="left the team")
    again = await tokens.revoke(new.token.token_id, by="mallory", reason="other")
    assert (again.revoked_by, again.revoked_because) == ("erin", "left the team")
    with pytest.raises(InputError, match="no token tok_none") as caught:
        await tokens.revoke("tok_none", by="erin", reason="x")
    assert caught.value.code == "unknown_id"


@pytest.mark.parametrize(
    "fields",
    [
        {"scopes": []},
        {"scopes": ["everything"]},
        {"days": 0},
        {"days": 367},
        {"person": "two words"},
        {"tenant": ""},
    ],
)
def test_no_token_without_bounds(fields: dict[str, Any]) -> None:
    """Protects: nobody orders one for ever, for everything, or for nobody."""
    with pytest.raises(ValidationError):
        order(**fields)


async def test_the_database_bounds_them_too(store: OpenStore) -> None:
    """Protects: whoever calls the function past the code gets no token without an end."""
    for scopes, days in ((["approve"], 400), (["all"], 3), ([], 3), (["approve"], 0)):
        with pytest.raises(psycopg.errors.CheckViolation):
            await store.rows(
                "SELECT checkrein.issue_token('tok_0123456789abcdef0123', 'local', 'carol',"
                " %s, %s, %s, 'root')",
                hash_of("x"),
                scopes,
                days,
            )


async def test_a_database_that_is_gone_is_no_refusal(store: OpenStore) -> None:
    """Protects: not being able to ask is told apart from a token that is not good."""
    tokens, new = await issued(store)

    class Gone:
        def connection(self) -> Any:
            raise psycopg.OperationalError("the server is gone")

    with pytest.raises(StoreError):
        await PostgresTokens(Gone()).use(new.secret, None)
    assert (await tokens.use(new.secret, None)).person == "carol"
