"""The http_state verifier against a real server over a real socket."""

import asyncio
import json
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import pytest
from judging import judged
from receivers import served

from checkrein.adapters.http_client import HttpClient
from checkrein.adapters.http_state_verifier import MAX_BODY, HttpStateVerifier
from checkrein.adapters.workspace import FolderWorkspace

TICKET = {"id": 7, "state": "closed", "paid": True, "a/b": {"~": [None, "x"]}}
PASS, FAIL, ERROR = "PASS", "FAIL", "ERROR"


class Service:
    """A ticket desk that remembers what it was asked."""

    def __init__(self) -> None:
        self.requests: list[str] = []
        self.port = 0

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        self.requests.append(head)
        path = head.split()[1]
        more, body = "", json.dumps(TICKET).encode()
        status = path[1:4] if path[1:4].isdigit() else "200"
        if path == "/moved":
            status, more = "302", "Location: /tickets/7\r\n"
        if path == "/large":
            body = b"x" * (MAX_BODY + 1)
        if path == "/text":
            body = b"no json"
        if path.startswith("/secret") and "Bearer s3cret-token" not in head:
            status = "401"
        if path == "/hang":
            await asyncio.sleep(60)
        writer.write(
            f"HTTP/1.1 {status} X\r\n{more}Content-Length: {len(body)}\r\n\r\n".encode() + body
        )
        await writer.drain()


@pytest.fixture
async def desk() -> AsyncGenerator[Service]:
    service = Service()
    async with served(service.answer) as port:
        service.port = port
        yield service


@pytest.mark.parametrize(
    ("spec", "status", "told"),
    [
        ({"url": "/tickets/7"}, PASS, ""),
        ({"url": "/tickets/7", "fields": {"/state": "closed", "/id": 7}}, PASS, ""),
        ({"url": "/tickets/7", "fields": {"/a~1b/~0/0": None, "/a~1b/~0/1": "x"}}, PASS, ""),
        ({"url": "/404", "status": 404}, PASS, ""),
        ({"url": "/moved", "status": 302}, PASS, ""),
        ({"url": "/tickets/7", "fields": {"/state": "open"}}, FAIL, "'closed', not 'open'"),
        ({"url": "/tickets/7", "fields": {"/paid": 1}}, FAIL, "True, not 1"),
        ({"url": "/tickets/7", "fields": {"/id": "7"}}, FAIL, "7, not '7'"),
        ({"url": "/tickets/7", "fields": {"/none": None}}, FAIL, "missing, not None"),
        ({"url": "/tickets/7", "fields": {"/a~1b/~0/01": "x"}}, FAIL, "missing"),
        ({"url": "/404"}, FAIL, "answers 404, not 200"),
        ({"url": "/moved"}, FAIL, "answers 302, not 200"),
        ({"url": "/text", "fields": {"/a": 1}}, FAIL, "no JSON"),
        ({"url": "/503"}, ERROR, "503"),
        ({"url": "/large"}, ERROR, "larger than"),
        ({"url": "/hang", "timeout_s": 1}, ERROR, "within 1 s"),
    ],
)
async def test_what_a_service_says(
    spec: dict[str, Any],
    status: str,
    told: str,
    desk: Service,
    candidate: Path,
    workspace: FolderWorkspace,
) -> None:
    """Protects: only the state that must be there passes; what cannot be asked is no FAIL."""
    url = f"http://127.0.0.1:{desk.port}{spec['url']}"
    async with HttpClient() as client:
        check = {"http_state": {**spec, "url": url}}
        result = await judged(HttpStateVerifier(client), candidate, workspace, check)
    assert (result.status, told in result.gap) == (status, True), result.gap
    assert [line.split()[0] for line in desk.requests] == ["GET"]


async def test_a_service_that_is_down_proves_nothing(
    candidate: Path, workspace: FolderWorkspace
) -> None:
    """Protects the model from being blamed for a machine that is off."""
    async with served(Service().answer) as port:
        pass
    async with HttpClient() as client:
        check = {"http_state": {"url": f"http://127.0.0.1:{port}/tickets/7"}}
        result = await judged(HttpStateVerifier(client), candidate, workspace, check)
    assert (result.status, result.repairable) == (ERROR, False)


async def test_a_bearer_is_sent_and_never_told(
    desk: Service, candidate: Path, workspace: FolderWorkspace
) -> None:
    """Protects the verifier's credential: the service gets it, no result repeats it."""
    url = f"http://127.0.0.1:{desk.port}/secret?key=q-secret"
    check = {"http_state": {"url": url, "bearer": "desk", "fields": {"/id": 8}}}
    async with HttpClient() as client:
        verifier = HttpStateVerifier(client)
        good = await judged(verifier, candidate, workspace, check, desk="s3cret-token\n")
        bad = await judged(verifier, candidate, workspace, check, desk="wrong-token")
        broken = await judged(verifier, candidate, workspace, check, desk="two\r\nX-Evil: 1")
        none = await judged(verifier, candidate, workspace, check)
    assert "Bearer s3cret-token" in desk.requests[0]
    assert (good.status, bad.status, broken.status, none.status) == (FAIL, ERROR, ERROR, ERROR)
    assert len(desk.requests) == 2
    for result in (good, bad, broken, none):
        for secret in ("s3cret", "wrong-token", "Evil", "q-secret"):
            assert secret not in str(result)


@pytest.mark.parametrize(
    ("url", "bearer", "told"),
    [
        ("http://user:hunter2@127.0.0.1/", None, "a user or a password"),
        ("http://169.254.169.254/latest", None, "clouds keep keys"),
        ("http://[::ffff:169.254.169.254]/latest", None, "clouds keep keys"),
        ("http://example.com/", "desk", "only sent by https"),
        ("http://exa mple.com/", None, "refused"),
    ],
)
async def test_a_url_that_is_not_asked(
    url: str, bearer: str | None, told: str, candidate: Path, workspace: FolderWorkspace
) -> None:
    """Protects credentials: none stands in a URL, none goes out unencrypted."""
    check = {"http_state": {"url": url, "bearer": bearer}}
    async with HttpClient() as client:
        result = await judged(HttpStateVerifier(client), candidate, workspace, check, desk="t")
    assert (result.status, told in result.gap) == (ERROR, True), result.gap
    assert "hunter2" not in str(result)
