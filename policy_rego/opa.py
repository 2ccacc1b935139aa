"""Policy decisions by an OPA server, for teams that run one already; the bundle is the same."""

import asyncio
import time
from collections.abc import Sequence
from collections.abc import Set as AbstractSet

import aiohttp

from checkrein.contracts.codec import digest
from checkrein.contracts.decision import DecisionInput, PolicyDecision, Reserved
from checkrein.errors import EnvironmentFault, InputError
from checkrein.policy_rego.input_document import WrittenInput, input_text
from checkrein.policy_rego.lint import trial_input
from checkrein.policy_rego.opa_address import opa_address
from checkrein.policy_rego.opa_answer import OLDEST, Served, answer, served, too_old
from checkrein.policy_rego.opa_client import GuardedOpaClient
from checkrein.policy_rego.output import Answer, Refusal, stamped
from checkrein.ports.policy import PolicyNews

DEADLINE_S = 2.0
"""Seconds that one decision may take in all: waiting, connecting, every try, the whole body."""

_OP = "policy.opa"


class OpaPolicy:
    """The bundle that one server serves; implements `checkrein.ports.policy.Policy`.

    Many decisions may be asked for at once. An instance belongs to the event loop that opened it:
    on another loop it denies.
    """

    def __init__(
        self,
        client: GuardedOpaClient,
        first: Served,
        revisions: AbstractSet[str],
        deadline_s: float,
    ) -> None:
        """Prefer `open`, which asks the server who it is."""
        self._client = client
        self._version = first.revision
        self._engine = first.version
        self._served = (first.revision, *first.others)
        self._revisions = frozenset(revisions) or frozenset({first.revision, *first.others})
        self._deadline_s = deadline_s
        self._loop = asyncio.get_running_loop()
        self._closed = False
        self._written = WrittenInput()

    @classmethod
    async def open(
        cls,
        url: str,
        *,
        token: str | None = None,
        ca: str | None = None,
        revisions: AbstractSet[str] = frozenset(),
        deadline_s: float = DEADLINE_S,
    ) -> "OpaPolicy":
        """Connect to a server and have it make one decision on trial.

        Args:
            url: http://HOST:PORT, https://HOST:PORT or unix:/PATH.
            token: sent as bearer token; only over TLS, to this machine, or through a socket.
            ca: a PEM file of the authorities that vouch for the server.
            revisions: the revisions that are accepted, those of all bundles that the server
                serves; if there are none, what is served now and nothing else.

        Raises:
            InputError: the address, the token or the file cannot be used.
            EnvironmentFault: there is no OPA, one that is too old (code opa_too_old), one that
                serves another revision, or one whose answer cannot be believed.
        """
        client = GuardedOpaClient(opa_address(url), token=token, ca=ca, timeout_s=deadline_s)
        await client.__aenter__()
        try:
            document = await _asked(client, input_text(trial_input()), deadline_s)
            first = served(document)
            _check(first, revisions)
            tried = answer(document)
            code = tried.code if isinstance(tried, Refusal) else tried.reason_code
            if code in set(Reserved):
                raise EnvironmentFault(
                    f"A decision of the OPA server on trial came out as {code}. "
                    "Check the bundle: checkrein policy check DIR.",
                    op=_OP,
                    code=code,
                )
        except BaseException:
            await client.close_connection()
            raise
        return cls(client, first, revisions, deadline_s)

    @property
    def version(self) -> str:
        """The revision of the bundle: as docs/policies-opa.md has it built, its content hash."""
        return self._version

    @property
    def server_version(self) -> str:
        """The server's own version when it was opened, for example 1.22.3."""
        return self._engine

    @property
    def served(self) -> tuple[str, ...]:
        """The revisions that the server served when it was opened, the deciding one first."""
        return self._served

    def input_text(self, document: DecisionInput) -> bytes:
        """The exact input as the engine sees it.

        Raises:
            InputError: the document cannot be written canonically, or is too large.
        """
        return self._written.text(document)

    async def decide(self, document: DecisionInput) -> PolicyDecision:
        """Judge one action; never raises for a fault of the input, the policy or the server.

        Where the input cannot be written there are no bytes to name: `input_ref` is empty.
        """
        started = time.perf_counter()
        input_ref = ""
        by = Served(self._engine, self._version)
        found: Answer
        try:
            text = self.input_text(document)
        except InputError as error:
            found = Refusal(Reserved.POLICY_INPUT_INVALID, str(error))
        else:
            input_ref = digest(text)
            found, by = await self._judged(text, by)
        return stamped(
            found,
            policy_version=by.revision,
            engine=f"opa {by.version}",
            input_ref=input_ref,
            duration_ms=round((time.perf_counter() - started) * 1_000, 3),
        )

    def news(self) -> Sequence[PolicyNews]:
        """Nothing: each decision tells which bundle the server served."""
        return ()

    def heard(self, news: Sequence[PolicyNews]) -> None:
        """There is none."""

    async def close(self) -> None:
        """Drop the connections. May be called twice."""
        self._closed = True
        await self._client.close_connection()

    async def _judged(self, text: bytes, expected: Served) -> tuple[Answer, Served]:
        """The answer and who gave it; a refusal is told of what was expected."""
        if self._closed or asyncio.get_running_loop() is not self._loop:
            why = "closed" if self._closed else "open on another event loop; open one for this loop"
            return Refusal(Reserved.POLICY_UNAVAILABLE, f"The policy is {why}."), expected
        try:
            document = await _asked(self._client, text, self._deadline_s)
            by = served(document)
            _check(by, self._revisions)
        except EnvironmentFault as fault:
            code = Reserved(fault.code) if fault.code in set(Reserved) else None
            return Refusal(code or Reserved.POLICY_UNAVAILABLE, str(fault)), expected
        return answer(document), by


async def _asked(client: GuardedOpaClient, text: bytes, deadline_s: float) -> dict[str, object]:
    """The server's answer.

    Raises:
        EnvironmentFault: with a reserved reason code; there is none that could be believed.
    """
    try:
        async with asyncio.timeout(deadline_s):
            return await client.decision(text)
    except EnvironmentFault:
        raise
    except TimeoutError as error:
        raise EnvironmentFault(
            f"The OPA server did not answer within {deadline_s:.3g} s.",
            op=_OP,
            code=Reserved.POLICY_TIMEOUT,
        ) from error
    except Exception as error:
        # Of two libraries that are not ours; whatever it is, nobody has decided. Its text may hold
        # what was sent, so that only its kind is told.
        raise EnvironmentFault(
            f"The OPA server cannot be asked: {_kind(error)}.",
            op=_OP,
            code=Reserved.POLICY_UNAVAILABLE,
        ) from error


def _check(found: Served, revisions: AbstractSet[str]) -> None:
    if too_old(found.version):
        oldest = ".".join(map(str, OLDEST))
        raise EnvironmentFault(
            f"The OPA server is of version {found.version}; {oldest} or newer is needed, since "
            "a bundle's signature could be got around before it. Upgrade it.",
            op=_OP,
            code="opa_too_old",
        )
    unknown = {found.revision, *found.others} - revisions
    if revisions and unknown:
        raise EnvironmentFault(
            f"The OPA server serves {', '.join(sorted(unknown))}, which is not accepted. "
            f"Accepted: {', '.join(sorted(revisions))}.",
            op=_OP,
            code=Reserved.POLICY_REVISION_MISMATCH,
        )


def _kind(error: Exception) -> str:
    match error:
        case aiohttp.ClientSSLError():
            return "its certificate is not trusted"
        case aiohttp.ServerDisconnectedError() | aiohttp.ClientPayloadError():
            return "it closed the connection before its answer was whole"
        case aiohttp.ClientConnectionError() | OSError():
            return "it cannot be reached"
        case aiohttp.ClientResponseError():
            return "it does not speak HTTP as it should"
        case _:
            return type(error).__name__
