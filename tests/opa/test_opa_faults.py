"""Whatever an OPA server does instead of deciding, the action is denied, and why is said."""

import asyncio
import json
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import misbehaving_opa as opa
import pytest
from denials import MISMATCH, SHORT_S, TIMEOUT, UNAVAILABLE, denied_as
from misbehaving_opa import MisbehavingOpa, body, decision, http, provenance, says

from checkrein.contracts.decision import DecisionInput, Reserved, Verdict
from checkrein.errors import EnvironmentFault
from checkrein.evals.both_engines import OpaPolicy
from checkrein.evals.opa_server import OpaServer

BUNDLES = Path(__file__).parents[1] / "policy" / "bundles"
Make = Callable[..., DecisionInput]
ServerFor = Callable[..., OpaServer]
OpenOpa = Callable[..., Awaitable[OpaPolicy]]

INVALID = Reserved.POLICY_OUTPUT_INVALID


def raw(text: str) -> opa.Behaviour:
    """A body as it stands, sent as JSON."""
    return says(http(text.encode("utf-8", "surrogatepass")))


RIGHT = body().decode()
FAULTS: dict[str, tuple[opa.Behaviour, Reserved]] = {
    "500": (says(http(b"no", "500 Internal Server Error", "text/plain")), UNAVAILABLE),
    "500 with an allow": (says(http(body(), "500 Internal Server Error")), UNAVAILABLE),
    "502 HTML": (says(http(b"<html>", "502 Bad Gateway", "text/html")), UNAVAILABLE),
    "503": (says(http(body(), "503 Service Unavailable")), UNAVAILABLE),
    "401": (says(http(body(), "401 Unauthorized")), UNAVAILABLE),
    "404": (says(http(body(), "404 Not Found")), UNAVAILABLE),
    "201": (says(http(body(), "201 Created")), UNAVAILABLE),
    "204": (says(b"HTTP/1.1 204 No Content\r\n\r\n"), UNAVAILABLE),
    "304": (says(b"HTTP/1.1 304 Not Modified\r\n\r\n"), UNAVAILABLE),
    "HTML": (says(http(b"<html>hello</html>", media="text/html")), INVALID),
    "HTML as JSON": (raw("<html>hello</html>"), INVALID),
    "an allow as text": (says(http(body(), media="text/plain")), INVALID),
    "null": (raw("null"), INVALID),
    "a list": (raw("[]"), INVALID),
    "a word": (raw('"ALLOW"'), INVALID),
    "true": (raw("true"), INVALID),
    "nothing": (raw(""), INVALID),
    "an empty object": (raw("{}"), INVALID),
    "allow: true": (raw('{"result":{"allow":true}}'), INVALID),
    "allow: true, by the bundle": (says(http(body(result={"allow": True}))), INVALID),
    "a null result": (says(http(body(result=None))), INVALID),
    "no result": (says(http(json.dumps({"provenance": provenance()}).encode())),
                  Reserved.POLICY_UNDEFINED),
    "5 MB": (says(http(body() + b" " * 5_000_000)), INVALID),
    "5 MB in pieces": (opa.floods, INVALID),
    "NaN": (raw(RIGHT.replace('"approval": null', '"approval": NaN')), INVALID),
    "NaN beside the decision": (raw(RIGHT[:-1] + ', "decision_id": NaN}'), INVALID),
    "1e400 beside the decision": (raw(RIGHT[:-1] + ', "decision_id": 1e400}'), INVALID),
    "infinity": (raw(RIGHT.replace('"approval": null', '"approval": Infinity')), INVALID),
    "1e400": (raw(RIGHT.replace('"approval": null', '"approval": 1e400')), INVALID),
    "a name twice": (raw(RIGHT.replace('"decision":', '"decision": "DENY", "decision":')), INVALID),
    "result twice": (raw(RIGHT[:-1] + ', "result": {}}'), INVALID),
    "two documents": (raw(RIGHT + RIGHT), INVALID),
    "an unknown part": (says(http(body(warning={"code": "x"}))), INVALID),
    "an unknown word": (says(http(body(result=decision(decision="YES")))), INVALID),
    "a lone surrogate": (raw(RIGHT.replace('"fine"', '"\\ud800"')), INVALID),
    "no UTF-8": (says(http(RIGHT.encode("utf-16"))), INVALID),
    "a mark before the JSON": (says(http(RIGHT.encode("utf-8-sig"))), INVALID),
    "100,000 deep": (raw("[" * 100_000 + "]" * 100_000), INVALID),
    "compressed": (opa.compressed(), INVALID),
    "revision never loaded": (says(http(body(provenance=provenance("sha256:other")))), MISMATCH),
    "no revision": (says(http(body(provenance=provenance(None)))), MISMATCH),
    "an empty revision": (says(http(body(provenance=provenance("")))), MISMATCH),
    "no bundle": (says(http(body(provenance={"version": "1.22.3"}))), MISMATCH),
    "two bundles": (
        says(http(body(provenance={"version": "1.22.3", "bundles": {
            "a": {"revision": opa.REVISION}, "b": {"revision": opa.REVISION}}}))), MISMATCH),
    "provenance of another shape": (says(http(body(provenance=[]))), INVALID),
    "no version": (says(http(body(provenance={"bundles": {}}))), INVALID),
    "an older server": (says(http(body(provenance=provenance(version="1.20.0")))), UNAVAILABLE),
    "closes": (opa.closes, UNAVAILABLE),
    "cuts": (opa.cuts, UNAVAILABLE),
    "garbage": (says(b"\x00\x01garbage\r\n\r\n"), UNAVAILABLE),
    "headers without end": (says(b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 50_000), UNAVAILABLE),
    "hangs": (opa.hangs, TIMEOUT),
    "drips": (opa.drips, TIMEOUT),
    "drips its body": (opa.drips_body, TIMEOUT),
}  # fmt: skip


@pytest.mark.shows(56)
@pytest.mark.parametrize("name", FAULTS)
async def test_a_wrong_answer_denies_and_the_next_right_one_counts(
    fake: MisbehavingOpa, open_opa: OpenOpa, document: Make, name: str
) -> None:
    """Each wrong answer has its reason, in time; the policy goes on when the server does."""
    policy = await open_opa(fake.url, deadline_s=SHORT_S)
    behave, code = FAULTS[name]
    fake.behave = behave
    started = time.monotonic()
    answer = await policy.decide(document())
    assert denied_as(answer) == code
    assert answer.policy_version == opa.REVISION
    assert time.monotonic() - started < SHORT_S + 1
    fake.behave = opa.RIGHT
    assert (await policy.decide(document())).decision is Verdict.ALLOW


async def test_a_redirect_is_not_followed(
    fake: MisbehavingOpa, open_opa: OpenOpa, document: Make
) -> None:
    """Wherever it leads, nobody else is asked for the decision."""
    async with opa.misbehaving() as elsewhere:
        policy = await open_opa(fake.url)
        fake.behave = opa.redirects(elsewhere.port)
        answer = await policy.decide(document())
        assert denied_as(answer) == UNAVAILABLE
        assert "302" in str(answer.message)
        assert elsewhere.connections == 0


async def test_nothing_is_asked_twice_after_an_answer(
    fake: MisbehavingOpa, open_opa: OpenOpa, document: Make
) -> None:
    """A 500 is an answer: asking again would only load a server that fails already."""
    policy = await open_opa(fake.url)
    asked = len(fake.questions)
    fake.behave = FAULTS["500"][0]
    await policy.decide(document())
    assert len(fake.questions) == asked + 1


async def test_a_lost_connection_is_made_again_within_the_deadline(
    fake: MisbehavingOpa, open_opa: OpenOpa, document: Make
) -> None:
    """A server that closes an idle connection costs no denial."""
    policy = await open_opa(fake.url)

    async def once(writer: opa.Writer) -> None:
        fake.behave = opa.RIGHT
        await opa.closes(writer)

    fake.behave = once
    assert (await policy.decide(document())).decision is Verdict.ALLOW


async def test_the_deadline_counts_every_attempt(
    fake: MisbehavingOpa, open_opa: OpenOpa, document: Make
) -> None:
    """A server that breaks off late, again and again, cannot stretch the decision."""

    async def breaks_off_late(writer: opa.Writer) -> None:
        await asyncio.sleep(SHORT_S * 0.7)
        await opa.closes(writer)

    policy = await open_opa(fake.url, deadline_s=SHORT_S)
    fake.behave = breaks_off_late
    started = time.monotonic()
    assert denied_as(await policy.decide(document())) == TIMEOUT
    assert time.monotonic() - started < SHORT_S * 1.5


async def test_what_was_not_asked_for_is_no_answer(
    fake: MisbehavingOpa, open_opa: OpenOpa, document: Make
) -> None:
    """An answer that comes by itself on a kept connection is not taken for the next question's."""
    policy = await open_opa(fake.url)
    fake.behave = opa.speaks_twice
    for _ in range(3):
        assert (await policy.decide(document())).reason_code == "the_answer"
        await asyncio.sleep(0.15)


async def test_connections_are_kept_and_the_bytes_are_those_that_are_stored(
    fake: MisbehavingOpa, open_opa: OpenOpa, document: Make
) -> None:
    """Twenty questions, one connection; the server is sent exactly what is hashed."""
    policy = await open_opa(fake.url)
    asked = document(action__args={"text": "é\u2028", "n": 1.0})
    for _ in range(20):
        await policy.decide(asked)
    assert fake.connections == 1
    head, sent = fake.questions[-1]
    assert sent == b'{"input":' + policy.input_text(asked) + b"}"
    assert head.startswith(
        "POST /v1/data/checkrein/decision?provenance=true&strict-builtin-errors=true HTTP/1.1"
    )


async def test_no_proxy_no_netrc_no_cookie(
    fake: MisbehavingOpa,
    open_opa: OpenOpa,
    document: Make,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What the environment says about other connections changes nothing about this one."""
    netrc = tmp_path / ".netrc"
    netrc.write_text("machine 127.0.0.1 login eve password stolen\n", encoding="utf-8")
    netrc.chmod(0o600)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("NETRC", str(netrc))
    async with opa.misbehaving() as proxy:
        for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
            monkeypatch.setenv(name, proxy.url)
        policy = await open_opa(fake.url, token="right-token")
        fake.behave = says(http(body(), more="Set-Cookie: a=b\r\n"))
        for _ in range(2):
            assert (await policy.decide(document())).decision is Verdict.ALLOW
        assert proxy.connections == 0
    for head, _ in fake.questions:
        assert "Authorization: Bearer right-token\r\n" in head
        assert "cookie" not in head.lower()


@pytest.mark.parametrize("name", ["500", "closes", "garbage", "401", "hangs", "null"])
async def test_a_token_is_never_told(
    fake: MisbehavingOpa, open_opa: OpenOpa, document: Make, name: str
) -> None:
    """No message of a denial or an error holds the token or what was asked."""
    policy = await open_opa(fake.url, token="t0p-secret", deadline_s=SHORT_S)
    fake.behave = FAULTS[name][0]
    answer = await policy.decide(document(action__args={"key": "pr1vate"}))
    assert (
        "t0p-secret" not in answer.model_dump_json() and "pr1vate" not in answer.model_dump_json()
    )
    with pytest.raises(EnvironmentFault) as error:
        await open_opa(fake.url, token="t0p-secret", deadline_s=SHORT_S)
    assert "t0p-secret" not in str(error.value)


def test_every_fault_has_a_reserved_code() -> None:
    """The table names no code that a rule could give."""
    codes: set[Any] = {code for _, code in FAULTS.values()}
    assert codes <= set(Reserved)
