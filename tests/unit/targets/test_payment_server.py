"""The payment service keeps the promises that the tests of targets rest on."""

import asyncio
import uuid
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from checkrein.errors import EnvironmentFault
from checkrein.testing.payment_server.process import running, started
from checkrein.testing.payment_server.wire import MAX_BODY, MAX_HEADERS

BODY = {"amount": 500, "currency": "EUR", "to": "alice", "operation_hash": "sha256:one"}
NOTHING_HAPPENS = ["drop_before", "500_before", "503_before", "429", "redirect:http://other/"]
IT_HAPPENS = [
    "commit_then_drop",
    "late:0.1",
    "delayed_commit:0.1",
    "500_after_commit",
    "duplicate_answer",
    "lie_hash",
    "nan",
    "huge",
    "wrong_type",
]


@pytest.fixture
async def client(service: str) -> AsyncIterator[httpx.AsyncClient]:
    """A client whose paths lie below a fresh namespace."""
    base = f"{service}/{uuid.uuid4().hex}"
    limits = httpx.Limits(max_keepalive_connections=0)
    async with httpx.AsyncClient(base_url=base, trust_env=False, limits=limits) as opened:
        yield opened


async def pay(client: httpx.AsyncClient, key: str | None = "k1", **fields: Any) -> httpx.Response:
    headers = {} if key is None else {"Idempotency-Key": key}
    return await client.post("/payments", json={**BODY, **fields}, headers=headers)


async def count(client: httpx.AsyncClient) -> int:
    return int((await client.get("/count")).json()["payments"])


async def test_one_key_pays_once_and_answers_the_same(client: httpx.AsyncClient) -> None:
    """Protects what atomic_key means: a repeat gets the first answer and changes nothing."""
    first, again = await pay(client), await pay(client)
    assert (first.status_code, again.status_code) == (201, 200)
    assert first.json()["payment"] == again.json()["payment"]
    assert (first.json()["replayed"], again.json()["replayed"]) == (False, True)
    assert await count(client) == 1
    assert (await client.get("/calls")).json()["calls"] == 2


@pytest.mark.parametrize("fields", [{"amount": 501}, {"operation_hash": "sha256:two"}])
async def test_a_key_is_bound_to_its_arguments(
    fields: dict[str, Any], client: httpx.AsyncClient
) -> None:
    """Protects the ledger's rule that a key never changes its meaning."""
    await pay(client)
    other = await pay(client, **fields)
    assert (other.status_code, other.json()["error"]) == (422, "key_reused_with_other_args")
    assert await count(client) == 1


async def test_without_a_key_each_request_pays(client: httpx.AsyncClient) -> None:
    """Protects the target without a guarantee from being kinder than it says."""
    await pay(client, None)
    await pay(client, None)
    assert await count(client) == 2


async def test_a_key_of_one_namespace_means_nothing_in_another(service: str) -> None:
    """Protects tests that share the service from each other."""
    async with httpx.AsyncClient(base_url=service, trust_env=False) as client:
        for namespace in (uuid.uuid4().hex, uuid.uuid4().hex):
            headers = {"Idempotency-Key": "k1"}
            sent = await client.post(f"/{namespace}/payments", json=BODY, headers=headers)
            assert sent.status_code == 201


async def test_two_processes_on_one_file_pay_a_key_once(tmp_path: Path) -> None:
    """Protects the promise where it is hardest: the database decides, not a process's memory."""
    async with (
        running(tmp_path) as one,
        running(tmp_path) as other,
        httpx.AsyncClient(trust_env=False, timeout=60) as client,
    ):

        async def send(n: int) -> int:
            url = f"{(one, other)[n % 2]}/shared/payments"
            answer = await client.post(url, json=BODY, headers={"Idempotency-Key": f"k{n // 20}"})
            return answer.status_code

        said = sorted(await asyncio.gather(*(send(n) for n in range(40))))
        assert said == [200] * 38 + [201] * 2
        counted = (await client.get(f"{other}/shared/count")).json()
        assert counted["per_key"] == {"k0": 1, "k1": 1}


async def test_what_was_answered_survives_a_kill(tmp_path: Path) -> None:
    """Protects crash tests: a payment that was answered is on disk."""
    async with started(tmp_path) as server, httpx.AsyncClient(base_url=server.url) as client:
        headers = {"Idempotency-Key": "k1"}
        paid = await client.post("/n/payments", json=BODY, headers=headers)
        payment = paid.json()["payment"]
        killed = await asyncio.create_subprocess_exec("kill", "-9", str(server.pid))
        await killed.wait()
    async with running(tmp_path) as url, httpx.AsyncClient(base_url=url) as client:
        assert (await client.get("/n/payments?key=k1")).json()["payment"] == payment


async def test_a_forgotten_key_pays_again(client: httpx.AsyncClient) -> None:
    """Protects the retry window: past the target's retention its promise is gone."""
    await client.put("/settings", json={"key_retention_s": 0.2})
    await pay(client)
    await asyncio.sleep(0.3)
    assert (await client.get("/payments?key=k1")).status_code == 404
    assert (await pay(client)).status_code == 201
    assert (await client.get("/count?key=k1")).json()["per_key"] == {"k1": 2}
    await client.put("/settings", json={"key_retention_s": None, "forget_keys": True})
    assert (await pay(client)).status_code == 201


async def test_lookups_are_as_the_settings_say(client: httpx.AsyncClient) -> None:
    """Protects tests of eventual and of missing lookups."""
    await client.put("/settings", json={"lookup": "eventual", "eventual_after_s": 0.3})
    paid = (await pay(client)).json()["payment"]
    assert (await client.get("/payments?key=k1")).status_code == 404
    assert (await client.get(f"/payments/{paid['id']}")).json()["payment"] == paid
    await asyncio.sleep(0.4)
    assert (await client.get("/payments?key=k1")).json()["payment"] == paid
    await client.put("/settings", json={"lookup": "none"})
    assert (await client.get("/payments?key=k1")).status_code == 405


@pytest.mark.parametrize("fault", [*NOTHING_HAPPENS, *IT_HAPPENS])
async def test_each_fault_does_what_it_says(fault: str, client: httpx.AsyncClient) -> None:
    """Protects every test that injects a fault and then counts."""
    await client.put("/faults", json={"next": [fault]})
    try:
        await pay(client)
    except httpx.TransportError:
        assert fault in {"drop_before", "commit_then_drop"}
    else:
        assert fault not in {"drop_before", "commit_then_drop"}
    assert await count(client) == (1 if fault in IT_HAPPENS else 0)
    assert (await client.get("/calls")).json()["calls"] == 1
    assert (await pay(client)).status_code in {200, 201}, "a fault is met once"


async def test_refunds_are_acts_of_their_own(client: httpx.AsyncClient) -> None:
    """Protects compensation: the payment stays, and it is given back once."""
    await pay(client)
    given = {"effect_id": "k1", "operation_hash": "sha256:r"}

    async def refund(key: str) -> httpx.Response:
        return await client.post("/refunds", json=given, headers={"Idempotency-Key": key})

    assert [(await refund(key)).status_code for key in ("r1", "r1", "r2")] == [201, 200, 402]
    counted = (await client.get("/count")).json()
    assert (counted["payments"], counted["refunds"]) == (1, 1)
    assert (await client.get("/refunds?key=r1")).json()["refund"]["amount"] == 500


@pytest.mark.parametrize(
    ("body", "key", "status"),
    [
        (b"{", "k", 400),
        (b"[]", "k", 400),
        (b'{"amount": NaN, "currency": "EUR", "to": "a"}', "k", 400),
        (b'{"amount": true, "currency": "EUR", "to": "a"}', "k", 400),
        (b'{"amount": 5, "currency": "EUR", "to": "a", "id": "mine"}', "k", 400),
        (b'{"amount": 5, "currency": "EUR", "to": "a"}', "k" * 65, 400),
        (b'{"amount": 1000001, "currency": "EUR", "to": "a"}', "k", 402),
        (b" " * (MAX_BODY + 1), "k", 413),
    ],
)
async def test_bad_requests_are_refused_and_change_nothing(
    body: bytes, key: str, status: int, client: httpx.AsyncClient
) -> None:
    """Protects the meaning of a definite no."""
    sent = await client.post("/payments", content=body, headers={"Idempotency-Key": key})
    assert sent.status_code == status
    assert await count(client) == 0


async def test_oversized_and_malformed_heads_are_refused(service: str) -> None:
    """Protects the service from a client that never stops."""
    for head in (b"GET / HTTP/1.1\r\nX: " + b"x" * MAX_HEADERS, b"nonsense\r\n\r\n"):
        host, _, port = service.removeprefix("http://").partition(":")
        reader, writer = await asyncio.open_connection(host, int(port))
        writer.write(head)
        await writer.drain()
        assert (await reader.readline()).split()[1] in {b"400", b"431"}
        writer.close()
        await writer.wait_closed()


async def test_a_service_that_cannot_start_says_so(tmp_path: Path) -> None:
    """Protects a reader of the failure from a time-out without a word."""
    (tmp_path / "file").write_text("")
    with pytest.raises(EnvironmentFault, match="did not start"):
        async with running(tmp_path / "file"):
            pass


async def test_it_ends_with_its_parents_end_of_the_pipe(tmp_path: Path) -> None:
    """Protects the machine: a test that dies leaves no service behind."""
    async with running(tmp_path) as url:
        pass
    async with httpx.AsyncClient(trust_env=False) as client:
        with pytest.raises(httpx.ConnectError):
            await client.get(f"{url}/n/count")
