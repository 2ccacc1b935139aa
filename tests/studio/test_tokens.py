"""Signing in to the server by a token of ours, from the database."""

import json
import logging
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from langgraph_sdk import Auth
from studio_server import StudioServer

from checkrein.compose import token_store
from checkrein.contracts.token import TokenOrder, TokenScope
from checkrein.ports.tokens import IssuedToken, Tokens
from checkrein.settings import Settings
from checkrein.studio_auth import authenticate
from checkrein.studio_people import TOKENS, Person, as_user, of_user, read_people, signed_in

TASK = "price_repair/task.yaml"
APPROVE = {"decisions": [{"type": "approve"}]}

Issue = Callable[..., Awaitable[IssuedToken]]


@asynccontextmanager
async def issuing(settings: Settings) -> AsyncGenerator[tuple[Issue, Tokens]]:
    """A way to issue tokens, and the tokens themselves."""
    async with token_store(settings) as tokens:

        async def issue(person: str, *scopes: str, tenant: str = "local") -> IssuedToken:
            named = frozenset(TokenScope(scope) for scope in scopes)
            return await tokens.issue(
                TokenOrder(person=person, tenant=tenant, scopes=named, days=1, issued_by="root")
            )

        yield issue, tokens


def environ(settings: Settings) -> dict[str, str]:
    """Of a server without a file of tokens."""
    url = settings.database_url
    assert url is not None
    return {"CHECKREIN_HOME": str(settings.home), "CHECKREIN_DATABASE_URL": url}


async def test_the_file_may_be_left_out(
    settings: Settings, caplog: pytest.LogCaptureFixture
) -> None:
    """Protects: a token of ours signs in alone; why one does not is told in the log alone."""
    async with issuing(settings) as (issue, tokens):
        new = await issue("carol", "approve")
        header = f"Bearer {new.secret}"
        found = await signed_in(header, environ(settings))
        assert found == Person(
            person="carol", tenant="local", scopes=frozenset({TokenScope.APPROVE})
        )
        broken = environ(settings) | {TOKENS: "/no/such/file"}
        assert await signed_in(header, broken) == found
        assert await signed_in("Bearer ckr_" + "A" * 43, environ(settings)) is None
        await tokens.revoke(new.token.token_id, by="root", reason="over")
    with caplog.at_level(logging.WARNING):
        assert await signed_in(header, environ(settings)) is None
    assert f"{new.token.token_id} of carol was revoked" in caplog.text
    assert new.secret not in caplog.text


async def test_a_database_that_cannot_be_asked_lets_nobody_in(
    settings: Settings, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Protects: a fault is no yes, and a stranger learns nothing of where the database is."""
    async with issuing(settings) as (issue, _):
        new = await issue("carol", "approve")
    monkeypatch.setenv("CHECKREIN_HOME", str(settings.home))
    monkeypatch.setenv("CHECKREIN_DATABASE_URL", "postgresql://nobody@127.0.0.1:1/none")
    monkeypatch.delenv(TOKENS, raising=False)
    with pytest.raises(Auth.exceptions.HTTPException) as caught:
        await authenticate(f"Bearer {new.secret}")
    assert caught.value.status_code == 503
    assert "127.0.0.1" not in caught.value.detail
    assert new.secret not in caplog.text + caught.value.detail
    with pytest.raises(Auth.exceptions.HTTPException) as caught:
        await authenticate("Bearer of-another-kind")
    assert caught.value.status_code == 401


def test_a_file_may_limit_its_people(tmp_path: Path) -> None:
    """Protects: scopes in the file count, are closed, and travel with the server's user."""
    file = tmp_path / "tokens.json"
    key = "0" * 64
    person = {"person": "bob", "tenant": "local", "scopes": ["read"]}
    file.write_text(json.dumps({key: person}))
    bob = read_people(file)[key]
    assert bob.may(TokenScope.READ)
    assert not bob.may(TokenScope.APPROVE)
    assert not bob.may(TokenScope.RUN)

    class User(dict[str, Any]):
        def __getattr__(self, name: str) -> Any:
            return self[name]

    user: Any = User(as_user(bob))  # as the server's own proxy
    other: Any = User(user | {"permissions": ["authenticated"]})
    assert of_user(user) == bob
    assert of_user(other) is None


async def test_a_token_answers_what_it_is_good_for(
    studio: StudioServer, studio_settings: Settings
) -> None:
    """Protects: approve answers, read looks, and neither does what the other is for."""
    thread = await studio.begin("alice", TASK)
    async with issuing(studio_settings) as (issue, tokens):
        reader = await issue("carol", "read")
        approver = await issue("carol", "approve")
        runner = await issue("carol", "run")
        foreign = await issue("carol", "approve", "read", tenant="other")
        nowhere = await issue("carol", "reconcile")
        assert await _status(studio, reader, "GET", thread) == 200
        assert await _status(studio, approver, "GET", thread) == 200
        assert await _status(studio, nowhere, "GET", thread) == 403
        assert await _status(studio, foreign, "GET", thread) == 404
        for token in (reader, runner, nowhere):
            sent = await _send(studio, token, "POST", f"{thread}/runs/wait", _answer())
            assert (sent.status_code, "carol is good for" in sent.text) == (403, True), sent.text
            assert token.secret not in sent.text
        assert (
            await _send(studio, foreign, "POST", f"{thread}/runs/wait", _answer())
        ).status_code == 404
        assert await _status(studio, reader, "POST", "") == 403
        assert await _status(studio, approver, "POST", "") == 403
        sent = await _send(studio, approver, "POST", f"{thread}/runs/wait", _answer())
        assert sent.status_code == 200, sent.text
        await tokens.revoke(approver.token.token_id, by="root", reason="over")
        gone = await _send(studio, approver, "GET", thread)
        unknown = await studio.send(
            None, "GET", f"/threads/{thread}", Authorization="Bearer ckr_" + "A" * 43
        )
        assert (gone.status_code, gone.text) == (401, unknown.text)
    log = (studio.folder / "server.log").read_text(errors="replace")
    assert f"{approver.token.token_id} of carol was revoked" in log
    assert not any(token.secret in log for token in (reader, approver, runner, foreign, nowhere))


def _answer() -> dict[str, Any]:
    return {"assistant_id": "checkrein", "command": {"resume": APPROVE}}


async def _send(
    studio: StudioServer, token: IssuedToken, method: str, path: str, body: Any = None
) -> httpx.Response:
    if method == "POST" and body is None:
        body = {}
    return await studio.send(
        None,
        method,
        f"/threads/{path}".rstrip("/"),
        body,
        Authorization=f"Bearer {token.secret}",
    )


async def _status(studio: StudioServer, token: IssuedToken, method: str, path: str) -> int:
    return (await _send(studio, token, method, path)).status_code
