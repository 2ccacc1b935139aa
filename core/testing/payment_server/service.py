"""The interface of the payment service: what each request means.

POST /{namespace}/payments      {"amount", "currency", "to", ..., "operation_hash"}
POST /{namespace}/refunds       {"effect_id": key or reference of the payment, ...}
GET  /{namespace}/payments?key= and /{namespace}/payments/{id}; the same for refunds
GET  /{namespace}/count?key=    what really happened;  GET /{namespace}/calls: what arrived
PUT  /{namespace}/settings      {"key_retention_s", "lookup", "eventual_after_s", "limit",
                                "forget_keys"}
PUT  /{namespace}/faults        {"next": [...], "lookup": [...]}; names in faults.py
PUT  /{namespace}/payments/{id} somebody on the other side changes a payment
"""

import asyncio
import re
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import parse_qs, urlsplit

from checkrein.contracts.codec import clean, digest_of, json_object
from checkrein.errors import InputError
from checkrein.testing.payment_server.faults import Fault, Reply, bent, json_reply, parsed
from checkrein.testing.payment_server.ledger import Order, PaymentLedger, Settled
from checkrein.testing.payment_server.wire import Received

MAX_KEY = 64
"""Longest idempotency key, in characters."""

LIMIT = 1_000_000
"""Highest amount that is not refused, unless the settings say otherwise."""

T = TypeVar("T")

_KINDS = {"payments": "payment", "refunds": "refund"}
_NAMESPACE = re.compile(r"[A-Za-z0-9_-]{1,64}")
_CURRENCY = re.compile(r"[A-Z]{3}")
_SETTINGS = {"key_retention_s", "lookup", "eventual_after_s", "limit"}
_REFUSALS = {
    "key_reused_with_other_args": 422,
    "payment_not_found": 404,
    "already_refunded": 402,
}


class PaymentService:
    """Answers requests out of the ledger, which lives in one thread of its own."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="payments")
        self._ledger: PaymentLedger | None = None

    async def open(self) -> None:
        """Open the file."""
        loop = asyncio.get_running_loop()
        self._ledger = await loop.run_in_executor(self._thread, PaymentLedger, self._folder)

    async def close(self) -> None:
        """Close the file, once what was begun is done."""
        await self._do(lambda ledger: ledger.close())
        self._thread.shutdown()

    async def _do(self, work: Callable[[PaymentLedger], T]) -> T:
        assert self._ledger is not None, "open it first"
        return await asyncio.get_running_loop().run_in_executor(self._thread, work, self._ledger)

    async def answer(self, request: Received) -> Reply:
        """The answer to one request."""
        url = urlsplit(request.target)
        namespace, *rest = url.path.strip("/").split("/")
        query = {name: values[-1] for name, values in parse_qs(url.query).items()}
        if not _NAMESPACE.fullmatch(namespace):
            return _refused(404, "not_found")
        match request.method, rest:
            case "POST", [("payments" | "refunds") as things]:
                return await self._post(namespace, _KINDS[things], request)
            case "GET", [("payments" | "refunds") as things]:
                return await self._look_up(namespace, _KINDS[things], query)
            case "GET", [("payments" | "refunds") as things, name]:
                kind = _KINDS[things]
                return _found(kind, await self._do(lambda all: all.by_id(namespace, kind, name)))
            case "GET", ["count"]:
                return json_reply(
                    200, await self._do(lambda all: all.count(namespace, query.get("key")))
                )
            case "GET", ["calls"]:
                return json_reply(200, await self._do(lambda all: all.calls(namespace)))
            case "PUT", [*what]:
                return await self._put(namespace, what, request)
            case _:
                return _refused(404, "not_found")

    async def _post(self, namespace: str, kind: str, request: Received) -> Reply:
        key = request.headers.get("idempotency-key")
        what = ["calls"] if key is None else ["calls", "with_key"]
        text = await self._do(lambda all: all.arrive(namespace, what, "next"))
        fault = None if text is None else parsed(text)
        if fault is not None and not fault.commits:
            return bent(fault, None)
        if fault is not None and fault.name == "delayed_commit":
            await asyncio.sleep(fault.seconds)
        reply = await self._settled(namespace, kind, key, request.body)
        return reply if fault is None else bent(fault, reply)

    async def _settled(self, namespace: str, kind: str, key: str | None, body: bytes) -> Reply:
        settings = await self._do(lambda all: all.settings(namespace))
        if key is not None and not 0 < len(key) <= MAX_KEY:
            return _refused(400, "key_too_long" if key else "key_empty")
        try:
            given: dict[str, Any] = clean(json_object(body, op="payments.post"))
            order = _order(namespace, kind, key, given)
        except InputError as error:
            return json_reply(400, {"error": "invalid_body", "message": str(error)})
        if kind == "payment" and given["amount"] > settings.get("limit", LIMIT):
            return _refused(402, "over_limit")
        settled: Settled = await self._do(lambda all: all.settle(order))
        if settled.refusal:
            return _refused(_REFUSALS[settled.refusal], settled.refusal)
        status = 200 if settled.replayed else 201
        return json_reply(status, {kind: settled.record, "replayed": settled.replayed})

    async def _look_up(self, namespace: str, kind: str, query: dict[str, str]) -> Reply:
        text = await self._do(lambda all: all.arrive(namespace, ["lookups"], "lookup"))
        settings = await self._do(lambda all: all.settings(namespace))
        sought = query.get("key", query.get("reference"))
        if settings.get("lookup") == "none":
            reply = json_reply(405, {"error": "no_lookup"}, Allow="POST")
        elif not sought:
            reply = _refused(400, "key_missing")
        else:
            reply = _found(kind, await self._do(lambda all: all.look_up(namespace, kind, sought)))
        fault = None if text is None else parsed(text)
        return reply if fault is None else bent(fault, reply)

    async def _put(self, namespace: str, what: list[str], request: Received) -> Reply:
        try:
            given = json_object(request.body, op="payments.put")
            match what:
                case ["settings"]:
                    forget = given.pop("forget_keys", False) is True
                    settings = _settings(given)
                    return json_reply(
                        200,
                        await self._do(
                            lambda all: all.set(namespace, settings, forget_keys=forget)
                        ),
                    )
                case ["faults"]:
                    queues = _queues(given)
                    await self._do(lambda all: all.queue(namespace, queues))
                    return json_reply(200, given)
                case ["payments", name]:
                    found = await self._do(lambda all: all.change(namespace, name, given))
                    return json_reply(200, given) if found else _refused(404, "not_found")
                case _:
                    return _refused(404, "not_found")
        except InputError as error:
            return json_reply(400, {"error": "invalid_body", "message": str(error)})


def _order(namespace: str, kind: str, key: str | None, given: dict[str, Any]) -> Order:
    """The order that a body asks for."""
    refunds: str | None = None
    if kind == "payment":
        amount = given.get("amount")
        whole = isinstance(amount, int) and not isinstance(amount, bool)
        _must(whole and isinstance(amount, int) and amount > 0, "amount is no whole number above 0")
        _must(_CURRENCY.fullmatch(str(given.get("currency"))) is not None, "currency is no code")
        _must(isinstance(given.get("to"), str) and bool(given["to"]), "to is no text")
    else:
        _must(isinstance(given.get("effect_id"), str), "effect_id is no text")
        refunds = str(given["effect_id"])
    reference = given.get("reference")
    _must(reference is None or isinstance(reference, str), "reference is no text")
    bound = given.get("operation_hash")
    _must(bound is None or isinstance(bound, str), "operation_hash is no text")
    _must(not given.keys() & {"id", "status"}, "id and status are given by the service")
    return Order(namespace, kind, key, reference, digest_of(given), given, refunds)


def _settings(given: dict[str, Any]) -> dict[str, Any]:
    unknown = given.keys() - _SETTINGS
    _must(not unknown, f"no such setting: {sorted(unknown)}")
    kinds = {"authoritative", "eventual", "none"}
    _must(given.get("lookup", "none") in kinds, "lookup is authoritative, eventual or none")
    for name in ("key_retention_s", "eventual_after_s", "limit"):
        value = given.get(name)
        _must(value is None or isinstance(value, int | float), f"{name} is no number")
    return given


def _queues(given: dict[str, Any]) -> dict[str, list[str]]:
    _must(not given.keys() - {"next", "lookup"}, "there are only the queues next and lookup")
    for names in given.values():
        _must(isinstance(names, list), "a queue is a list")
        faults: list[Fault | None] = [parsed(str(name)) for name in names]
        _must(None not in faults, f"an unknown fault: {names}")
    return given


def _must(holds: bool, problem: str) -> None:
    if not holds:
        raise InputError(problem, op="payments.read", code="invalid_body")


def _found(kind: str, record: dict[str, Any] | None) -> Reply:
    return _refused(404, "not_found") if record is None else json_reply(200, {kind: record})


def _refused(status: int, error: str) -> Reply:
    return json_reply(status, {"error": error})
