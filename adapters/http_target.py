"""A JSON service reached by HTTP, as a capability: posted once under its key, then asked.

    target = HttpTarget(HttpDeclaration(name="orders.place", base_url="https://...", ...))

A service that promises atomic_key is sent the effect's id as its Idempotency-Key; one without a
promise is sent no key at all. What it answers is judged by http_answers.
"""

from collections.abc import Mapping
from types import TracebackType
from typing import Any, Self
from urllib.parse import quote, urlencode

import httpx

from checkrein.adapters import http_answers
from checkrein.adapters.addresses import url_fact
from checkrein.adapters.http_answers import record_of
from checkrein.adapters.http_client import Answer, HttpClient, Lost
from checkrein.adapters.http_declaration import (
    OPERATION_HASH,
    HttpDeclaration,
    OfArgs,
)
from checkrein.adapters.http_headers import fresh_headers
from checkrein.adapters.http_limits import enforce
from checkrein.adapters.http_preview import request_preview
from checkrein.contracts.action import Facts, Guarantee, Lookup
from checkrein.contracts.approval import PreviewKind
from checkrein.contracts.codec import canonical, json_object, visible
from checkrein.contracts.effect import Effect, Outcome
from checkrein.errors import CapabilityError, InputError
from checkrein.ports.capability import (
    CapabilitySpec,
    Description,
    Permit,
    Prepared,
    ReadResult,
    StillOwner,
    Verification,
)

MAX_BODY = 64 * 1024
"""Most bytes of arguments that are posted."""

_MAX_NAME = 1024


class HttpTarget:
    """One service. It has no versions, so that nothing can go stale."""

    def __init__(self, declared: HttpDeclaration, client: httpx.AsyncClient | None = None) -> None:
        """Reach the service, by a client of yours (closed by you) or by one of its own.

        Raises:
            InputError: it declares a verify_path; use VerifiedHttpTarget.
        """
        if declared.verify_path is not None and not isinstance(self, VerifiedHttpTarget):
            raise InputError(
                f"{declared.name} declares a verify_path. Make it a VerifiedHttpTarget.",
                op="http_target.declare",
                code="declaration_refused",
            )
        self._declared = declared
        self._spec = declared.spec
        self._client = HttpClient(client)

    @property
    def spec(self) -> CapabilitySpec:
        """The declared contract; constant."""
        return self._spec

    def idempotency_key(self, action_id: str, args: dict[str, Any]) -> str:
        """The declared `key` of the arguments, else the action's own id.

        Raises:
            CapabilityError: the declared function failed (code key_failed).
        """
        key = self._declared.key
        return action_id if key is None else self._derived("key", key, args)

    async def describe(self, args: dict[str, Any]) -> Description:
        """Name the object by the declared `resource`, and say where what would go. Asks nobody.

        Raises:
            CapabilityError: a declared function failed (code resource_failed, money_failed).
        """
        return Description(resource=self._named(args), resource_version="", facts=self._facts(args))

    async def read(self, args: dict[str, Any], constraints: dict[str, Any]) -> ReadResult:
        """Not on offer."""
        op = f"{self._spec.name}.read"
        raise CapabilityError(f"{self._spec.name} is no READ.", op=op, code="not_supported")

    async def prepare(self, args: dict[str, Any], *, preview: bool = True) -> Prepared:
        """Write down what would be posted, and show it. Asks nobody.

        Raises:
            CapabilityError: the arguments are too large (code too_large).
        """
        plan = canonical(args)
        if len(plan) > MAX_BODY:
            raise CapabilityError(
                f"{len(plan)} bytes of arguments are more than the {MAX_BODY} that are posted.",
                op=f"{self._spec.name}.prepare",
                code="too_large",
                advice="Send less.",
            )
        return Prepared(
            resource=self._named(args),
            from_version="",
            to_version="",
            preview=self._preview(args) if preview else "",
            preview_kind=PreviewKind.HTTP,
            plan=plan,
        )

    async def send(self, prepared: Prepared, permit: Permit, still_owner: StillOwner) -> Outcome:
        """Post it once. Whatever is no definite answer about our operation is UNKNOWN_EFFECT.

        Raises:
            CapabilityError: nothing was changed: constraint_unavailable, key_too_long,
                headers_unusable, not_owner, target_unreachable or target_busy; the last two may
                succeed later.
        """
        op = f"{self._spec.name}.send"
        self._check(permit, op)
        args = json_object(prepared.plan, op=op)
        enforce(permit.constraints, self._facts(args), len(prepared.plan), op=op)
        body = args | {OPERATION_HASH: permit.operation_hash}
        if self._declared.reference is not None:
            body[self._declared.reference] = permit.effect_id
        headers, secrets = await fresh_headers(self._declared, op)
        headers["Content-Type"] = "application/json"
        if self._spec.guarantee is Guarantee.ATOMIC_KEY:
            headers[self._declared.key_header] = permit.effect_id
        if not await still_owner():
            raise CapabilityError(
                "Another process owns this attempt now; nothing was sent.", op=op, code="not_owner"
            )
        got = await self._exchange("POST", self._declared.path, headers, canonical(body))
        return http_answers.of_send(got, self._declared, permit.operation_hash, secrets)

    async def version(self, resource: str) -> str:
        """Always empty: such an object has no version."""
        return ""

    async def lookup(self, effect: Effect) -> Outcome | None:
        """Ask by the key: COMMITTED under our hash, None where it is not found or not settled.

        UNKNOWN_EFFECT (bound_to_other_args) where something else stands under the key.

        Raises:
            CapabilityError: it cannot be asked now, or its answer is not believed.
        """
        declared = self._declared
        if declared.lookup is Lookup.NONE or declared.lookup_path is None:
            return None
        headers, secrets = await fresh_headers(declared, f"{declared.name}.lookup")
        name = declared.reference or "key"
        path = f"{declared.lookup_path}?{urlencode({name: effect.effect_id})}"
        record = self._found(await self._exchange("GET", path, headers), "lookup")
        if record is None or record.get("status") not in declared.committed:
            return None
        return http_answers.bound(record, effect.operation_hash, secrets)

    def _found(self, got: Answer | Lost, verb: str) -> dict[str, Any] | None:
        """The record that an answer to a question holds; None for a 404."""
        name = self._spec.name
        if isinstance(got, Answer):
            if got.status == 404:
                return None
            if got.status != 200:
                raise http_answers.unreachable(name, verb, f"it answered {got.status}")
            got_record = record_of(got, self._declared)
            if not isinstance(got_record, Lost):
                return got_record
            got = got_record
        raise http_answers.unreachable(name, verb, got.message)

    async def _exchange(
        self, method: str, path: str, headers: Mapping[str, str], body: bytes | None = None
    ) -> Answer | Lost:
        return await self._client.exchange(
            method,
            self._declared.url(path),
            headers={"Accept": "application/json", **headers},
            body=body,
            timeout_s=self._declared.timeout_s,
            max_bytes=self._declared.max_answer_bytes,
        )

    def _check(self, permit: Permit, op: str) -> None:
        if len(permit.effect_id) > self._spec.max_key_length:
            raise CapabilityError(
                f"The key has {len(permit.effect_id)} characters; the target takes "
                f"{self._spec.max_key_length}. Nothing was sent.",
                op=op,
                code="key_too_long",
            )

    def _facts(self, args: dict[str, Any]) -> Facts:
        op = f"{self._spec.name}.facts"
        declared = self._declared
        url = url_fact(declared.url(declared.path), method="POST", op=op)
        amount, currency = None, None
        if declared.money is not None:
            try:
                amount, currency = declared.money(dict(args))
            except Exception as error:
                message = f"The money of {self._spec.name} failed: {type(error).__name__}."
                raise CapabilityError(message, op=op, code="money_failed") from error
        return Facts(urls=[url], amount_minor=amount, currency=currency, bytes=len(canonical(args)))

    def _named(self, args: dict[str, Any]) -> str:
        return self._derived("resource", self._declared.resource, args)

    def _derived(self, what: str, function: OfArgs, args: dict[str, Any]) -> str:
        op = f"{self._spec.name}.{what}"
        try:
            text: Any = function(dict(args))
        except Exception as error:
            message = f"The {what} of {self._spec.name} failed: {type(error).__name__}."
            raise CapabilityError(message, op=op, code=f"{what}_failed") from error
        if not isinstance(text, str) or not 0 < len(text) <= _MAX_NAME:
            message = f"The {what} of {self._spec.name} is no text of 1 to {_MAX_NAME} characters."
            raise CapabilityError(message, op=op, code=f"{what}_failed")
        return visible(text)

    def _preview(self, args: dict[str, Any]) -> str:
        sentence = self._declared.preview
        said = "" if sentence is None else self._derived("preview", sentence, args)
        return request_preview(self._declared, args, self._facts(args), said)

    async def aclose(self) -> None:
        """Close the target's own client. It may be used again afterwards."""
        await self._client.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.aclose()


class VerifiedHttpTarget(HttpTarget):
    """A service whose record is read back after its receipt, from the declared verify_path."""

    async def verify(self, effect: Effect) -> Verification:
        """Read the record by its id: bound to our operation, settled, and as the receipt says.

        Raises:
            CapabilityError: it cannot be read now.
        """
        declared = self._declared
        receipt = {} if effect.outcome is None else effect.outcome.result
        name = receipt.get("id")
        if declared.verify_path is None or not isinstance(name, str):
            return Verification(holds=False, detail="The receipt names no id to read back.")
        headers, _ = await fresh_headers(declared, f"{declared.name}.verify")
        path = declared.verify_path.replace("{id}", quote(name, safe=""))
        record = self._found(await self._exchange("GET", path, headers), "verify")
        if record is None:
            return Verification(holds=False, detail=f"The target has no {visible(name)}.")
        if record.get(OPERATION_HASH) != effect.operation_hash:
            return Verification(holds=False, detail="It is bound to another operation.")
        if record.get("status") not in declared.committed:
            return Verification(holds=False, detail="It is no longer settled.")
        for field in declared.verify_fields:
            if record.get(field) != receipt.get(field):
                return Verification(
                    holds=False, detail=f"Its {field} is not what the receipt says."
                )
        return Verification(holds=True, detail=f"{visible(name)} is there as the receipt says.")
