"""What is declared of a JSON service that a capability posts to, checked as it is declared."""

import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from pydantic import TypeAdapter, ValidationError

from checkrein.adapters.http_limits import ENFORCED
from checkrein.contracts.action import Guarantee, Lookup, SideEffect
from checkrein.contracts.context import Trust
from checkrein.contracts.task import CapabilityName
from checkrein.errors import InputError
from checkrein.ports.capability import CapabilitySpec, RetryPolicy

OfArgs = Callable[[dict[str, Any]], str]
"""Derives a text from the arguments: deterministic, without touching the world."""

OfMoney = Callable[[dict[str, Any]], tuple[int, str]]
"""The amount in the currency's smallest unit, and the currency, of the arguments."""

Headers = Callable[[], Awaitable[Mapping[str, str]]]
"""Gives the headers of one request, secrets included: asked anew each time, never kept."""

OPERATION_HASH = "operation_hash"
"""The field of a body and of a record that says what was bound under the key."""

RESERVED = frozenset(
    {
        "accept",
        "accept-encoding",
        "connection",
        "content-length",
        "content-type",
        "host",
        "transfer-encoding",
    }
)
"""Headers that only the target itself sets."""

TOKEN = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,128}")
"""A header's name."""

_PATH = re.compile(r"/[A-Za-z0-9._~!$&'()*+,;=:@/{}-]*")
_NAMES: TypeAdapter[str] = TypeAdapter(CapabilityName)


@dataclass(frozen=True, kw_only=True)
class HttpDeclaration:
    """One service: where it is, what it is sent, and what it promises.

    The service is sent the arguments and `operation_hash` as one JSON object. It answers a JSON
    object that holds the record of what happened, with `status` and the same `operation_hash`.

    Attributes:
        base_url, path: where the request is posted.
        lookup_path: where it is asked by key, as ?key=; needed unless lookup is none.
        verify_path: where the record is read back, with {id} for the record's `id`.
        parameters: JSON Schema of the arguments.
        resource: names the object of a call.
        key: the business key of a call; by default every action is an act of its own.
        record: the field of an answer that holds the record; None: the answer itself is it.
        committed: what the record's `status` says where it has happened.
        key_header: the header that carries the key, for a service that promises atomic_key.
        reference: without such a promise: the field of the body, and of the lookup's query, that
            carries the effect's id, so that it can be found; it protects from nothing.
        max_answer_bytes: a larger answer is not believed.
        without_effect: statuses by which the service states that nothing happened.
        headers: further headers of each request, as `Authorization`.
        preview: a sentence for people, shown above the request.
        money: the amount in the currency's smallest unit, and the currency, of a call.
        egress: whether it sends what it is given to somebody outside.
        environment: where the service stands, for example production.
        verify_fields: what must read the same as in the receipt.
    """

    name: str
    description: str
    base_url: str
    path: str
    parameters: dict[str, Any]
    resource: OfArgs
    version: str = "1"
    lookup_path: str | None = None
    verify_path: str | None = None
    key: OfArgs | None = None
    record: str | None = None
    committed: frozenset[str] = frozenset({"committed"})
    side_effect: SideEffect = SideEffect.IRREVERSIBLE
    guarantee: Guarantee = Guarantee.NONE
    lookup: Lookup = Lookup.NONE
    key_header: str = "Idempotency-Key"
    key_retention_s: float | None = None
    max_key_length: int = 255
    reference: str | None = None
    timeout_s: float = 30.0
    max_answer_bytes: int = 1 << 20
    without_effect: frozenset[int] = frozenset({429})
    headers: Headers | None = None
    preview: OfArgs | None = None
    verify_fields: tuple[str, ...] = ()
    money: OfMoney | None = None
    egress: bool = True
    environment: str | None = None
    compensates: str | None = None
    independent: bool = False
    retry: RetryPolicy = RetryPolicy()
    trust: Trust = Trust.TOOL

    def __post_init__(self) -> None:
        """Refuse what contradicts itself.

        Raises:
            InputError: says what, and how to mend it.
        """
        try:
            _NAMES.validate_python(self.name)
        except ValidationError as error:
            raise self._refused("its name is no lower-case words joined by dots") from error
        self._check_addresses()
        self._check_promises()
        if OPERATION_HASH in self.parameters.get("properties", {}):
            raise self._refused("the parameter operation_hash is taken by the harness")
        if not TOKEN.fullmatch(self.key_header) or self.key_header.lower() in RESERVED:
            raise self._refused("key_header is no header that it may set")
        if any(not 400 <= status < 500 for status in self.without_effect):
            raise self._refused("without_effect may hold statuses from 400 to 499 only")
        if self.timeout_s <= 0 or self.max_answer_bytes < 1:
            raise self._refused("timeout_s and max_answer_bytes must be above 0")

    def _check_addresses(self) -> None:
        base = urlsplit(self.base_url)
        if base.scheme not in {"http", "https"} or not base.hostname:
            raise self._refused("base_url is no http or https URL")
        if base.username is not None or base.query or base.fragment:
            raise self._refused("base_url holds more than a place; give secrets by `headers`")
        for path in (self.path, self.lookup_path, self.verify_path):
            if path is not None and not _PATH.fullmatch(path):
                raise self._refused("a path does not begin with / or holds other characters")

    def _check_promises(self) -> None:
        if self.side_effect is SideEffect.READ:
            raise self._refused("a READ posts nothing")
        if self.guarantee not in {Guarantee.ATOMIC_KEY, Guarantee.NONE}:
            raise self._refused("an HTTP service promises atomic_key or none")
        keyed = self.guarantee is Guarantee.ATOMIC_KEY
        if keyed and self.key_retention_s is None:
            raise self._refused("atomic_key needs key_retention_s: how long it keeps its keys")
        if keyed and self.reference is not None:
            raise self._refused("with atomic_key it is found by its key; remove `reference`")
        if (self.lookup is Lookup.NONE) != (self.lookup_path is None):
            raise self._refused("lookup and lookup_path belong together")
        if self.lookup is not Lookup.NONE and not keyed and self.reference is None:
            raise self._refused("without a key it is looked up by `reference`, which is missing")
        if self.verify_fields and self.verify_path is None:
            raise self._refused("verify_fields need a verify_path")

    def _refused(self, why: str) -> InputError:
        return InputError(
            f"The HTTP target {self.name[:80]!r} cannot be declared like this: {why}.",
            op="http_target.declare",
            code="declaration_refused",
        )

    def url(self, path: str) -> str:
        """The address of a path."""
        return self.base_url.rstrip("/") + path

    @property
    def spec(self) -> CapabilitySpec:
        """The same as a contract of the harness."""
        return CapabilitySpec(
            name=self.name,
            version=self.version,
            description=self.description,
            parameters=self.parameters,
            side_effect=self.side_effect,
            guarantee=self.guarantee,
            lookup=self.lookup,
            key_retention_s=self.key_retention_s,
            max_key_length=self.max_key_length,
            verifies=self.verify_path is not None,
            independent=self.independent,
            egress=self.egress,
            environment=self.environment,
            compensates=self.compensates,
            enforces=ENFORCED,
            timeout_s=self.timeout_s,
            retry=self.retry,
            trust=self.trust,
        )
