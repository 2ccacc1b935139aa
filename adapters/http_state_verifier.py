"""The `http_state` check: what a GET of a service answers, asked by the harness itself."""

import json
from typing import Any, cast

from checkrein.adapters.addresses import url_fact
from checkrein.adapters.http_client import Answer, HttpClient, Lost
from checkrein.adapters.verdicts import About, about, not_mine, same, shown
from checkrein.contracts.action import AddressClass
from checkrein.contracts.check import Check, HttpStateCheck, HttpStateSpec
from checkrein.contracts.verification import CheckResult
from checkrein.errors import CapabilityError
from checkrein.ports.verifier import Examination
from checkrein.ports.workspace import Workspace

MAX_BODY = 1024 * 1024
"""Most bytes of an answer that are read."""

_VERSION = "http_state/1"
_NOTHING = object()
_REFUSED = frozenset({401, 403, 407, 429})


class HttpStateVerifier:
    """Implements checkrein.ports.verifier.Verifier for `http_state` checks.

    GET alone, no redirect, no proxy of the environment, a connection of its own. A service that is
    down, or does not let the harness in, proves nothing: ERROR.
    """

    def __init__(self, client: HttpClient) -> None:
        """`client` bounds each exchange in time and size."""
        self._client = client

    @property
    def version(self) -> str:
        """Name and version, recorded with each result."""
        return _VERSION

    def judges(self, check: Check) -> bool:
        """Whether this is an `http_state` check."""
        return isinstance(check, HttpStateCheck)

    async def verify(
        self, check: Check, examination: Examination, workspace: Workspace
    ) -> CheckResult:
        """Ask the service; PASS if status and fields are as they must be.

        Raises:
            InputError: the check is of another kind.
        """
        if not isinstance(check, HttpStateCheck):
            not_mine(_VERSION, check)
        spec = check.http_state
        subject = about(check, f"GET {_told(spec.url)}")
        problem = _unusable(spec)
        if problem:
            return subject.error(problem)
        headers = {"Accept": "application/json"}
        if spec.bearer is not None:
            if spec.bearer not in examination.secrets:
                return subject.error(f"The secret {spec.bearer} was not lent to this check.")
            token = examination.secrets[spec.bearer].get_secret_value().strip()
            if not token.isascii() or not token.isprintable():
                return subject.error(f"The secret {spec.bearer} cannot stand in a header.")
            headers["Authorization"] = f"Bearer {token}"
        answer = await self._client.exchange(
            "GET", spec.url, headers=headers, timeout_s=spec.timeout_s, max_bytes=MAX_BODY
        )
        if isinstance(answer, Lost):
            return subject.error(f"The service cannot be asked: {answer.message}.")
        return _verdict(subject, spec, answer)


def _told(url: str) -> str:
    """A URL without what may hold a credential: userinfo, query and fragment."""
    scheme, _, rest = url.partition("://")
    host, slash, path = rest.partition("/")
    plain = f"{host.rpartition('@')[2]}{slash}{path}"
    return f"{scheme}://{plain.partition('?')[0].partition('#')[0]}"


def _unusable(spec: HttpStateSpec) -> str:
    """Why this URL is not asked; nothing, where it may be."""
    try:
        fact = url_fact(spec.url, op="http_state.verify")
    except CapabilityError as error:
        return str(error)
    if fact.has_userinfo:
        return "The URL holds a user or a password. Name a secret as `bearer` instead."
    if fact.address in {AddressClass.LINK_LOCAL, AddressClass.RESERVED}:
        return "The URL names an address at which clouds keep keys, or nothing at all."
    near = fact.address is AddressClass.LOOPBACK or fact.host == "localhost"
    if spec.bearer is not None and fact.scheme != "https" and not near:
        return "A bearer token is only sent by https, or to this machine."
    return ""


def _verdict(subject: About, spec: HttpStateSpec, answer: Answer) -> CheckResult:
    status = answer.status
    if status != spec.status:
        if status >= 500 or status in _REFUSED:
            return subject.error(f"The service answers {status}, which says nothing of its state.")
        gap = f"The service answers {status}, not {spec.status}."
        return subject.failed(gap, status=status)
    if not spec.fields:
        return subject.passed(status=status)
    try:
        document: Any = json.loads(answer.body)
    except (ValueError, RecursionError):
        return subject.failed("The service's answer is no JSON.", status=status)
    wrong = [
        f"- {pointer or '(the whole)'} is {_said(found)}, not {shown(wanted)}"
        for pointer, wanted in spec.fields.items()
        if not same(found := _at(document, pointer), wanted)
    ]
    if wrong:
        return subject.failed("The service says something else:\n" + "\n".join(wrong))
    return subject.passed(status=status, fields=len(spec.fields))


def _said(found: Any) -> str:
    return "missing" if found is _NOTHING else shown(found)


def _at(document: Any, pointer: str) -> object:
    """What stands at a JSON Pointer (RFC 6901); _NOTHING where there is none."""
    if pointer and not pointer.startswith("/"):
        return _NOTHING
    value: object = document
    for part in pointer.split("/")[1:]:
        name = part.replace("~1", "/").replace("~0", "~")
        if isinstance(value, dict):
            value = cast("dict[str, object]", value).get(name, _NOTHING)
        elif isinstance(value, list) and _is_index(name):
            items = cast("list[object]", value)
            value = items[int(name)] if int(name) < len(items) else _NOTHING
        else:
            return _NOTHING
    return value


def _is_index(name: str) -> bool:
    plain = name.isascii() and name.isdigit() and len(name) < 10
    return plain and (name == "0" or not name.startswith("0"))
