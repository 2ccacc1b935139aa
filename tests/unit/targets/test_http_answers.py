"""What an HTTP target believes, and what it tells to whom: nothing that is not proven."""

import json
import socket
from collections.abc import Mapping

import pytest
from payment_account import (
    ARGS,
    COMMITTED,
    HASH,
    REFUSED,
    SECRET,
    UNKNOWN,
    Account,
    answered,
    effect_of,
    new_permit,
    recording,
    secret_headers,
    sent,
)

from checkrein.adapters.payment_target import payments
from checkrein.errors import CapabilityError

FAULTS = {
    "commit_then_drop": "connection_lost",
    "drop_before": "connection_lost",
    "late:5": "timed_out",
    "slow_drip": "timed_out",
    "delayed_commit:5": "timed_out",
    "500_after_commit": "http_500",
    "500_before": "http_500",
    "lie_hash": "bound_to_other_args",
    "nan": "bad_answer",
    "huge": "answer_too_large",
    "wrong_type": "wrong_content_type",
}


@pytest.mark.shows(119)
@pytest.mark.parametrize("fault", FAULTS)
async def test_every_doubt_is_unknown_and_never_a_failure(fault: str, account: Account) -> None:
    """Protects the ledger from "did not happen" said of what may have happened."""
    await account.faults(next=[fault])
    async with account.charge(timeout_s=0.6) as target:
        outcome = await sent(target)
    assert (outcome.status, outcome.error_type) == (UNKNOWN, FAULTS[fault])
    assert "not known" in outcome.message
    assert (await account.calls())["calls"] == 1, "it was sent again"


@pytest.mark.parametrize(("fault", "status"), [("429", 429), ("503_before", 503)])
async def test_a_statement_of_no_effect_may_be_repeated(
    fault: str, status: int, account: Account
) -> None:
    """Protects retries: only where the target itself says that nothing happened."""
    await account.faults(next=[fault])
    async with account.charge() as target:
        with pytest.raises(CapabilityError) as told:
            await sent(target)
        assert (told.value.code, told.value.retryable) == ("target_busy", True)
        assert not told.value.effect_possible
        assert told.value.context == {"status": status, "retry_after_s": 1.0}
        assert await account.paid() == 0
        assert (await sent(target)).status is COMMITTED


async def test_an_answer_that_comes_twice_serves_one_request_only(account: Account) -> None:
    """Protects the next exchange from taking a leftover answer for its own."""
    await account.faults(next=["duplicate_answer"])
    async with account.charge() as target:
        first, second = new_permit(), new_permit()
        assert (await sent(target, first)).status is COMMITTED
        assert await target.lookup(effect_of(second)) is None
        other = await sent(target, second, {**ARGS, "amount": 7})
    assert (other.status, other.result["amount"]) == (COMMITTED, 7)


@pytest.mark.parametrize("kind", ["redirect", "redirect302"])
async def test_redirects_are_not_followed_and_leak_nothing(kind: str, account: Account) -> None:
    """Protects secrets and payments from going where the target points."""
    async with recording(answered("{}")) as elsewhere:
        await account.faults(next=[f"{kind}:{elsewhere.url}/x"], lookup=[f"{kind}:{elsewhere.url}"])
        async with account.charge(headers=secret_headers) as target:
            permit = new_permit()
            outcome = await sent(target, permit)
            with pytest.raises(CapabilityError) as told:
                await target.lookup(effect_of(permit))
    assert (outcome.status, outcome.error_type) == (UNKNOWN, "redirected")
    assert told.value.code == "target_unreachable"
    assert elsewhere.heads == []


async def test_proxies_of_the_environment_are_not_used(
    account: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Protects secrets from a proxy that somebody's shell names."""
    async with recording(answered("{}")) as proxy:
        for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
            monkeypatch.setenv(name, proxy.url)
        monkeypatch.delenv("NO_PROXY", raising=False)
        async with account.charge() as target:
            assert (await sent(target)).status is COMMITTED
    assert proxy.heads == []


async def test_secrets_are_fresh_for_each_request_and_shown_to_nobody() -> None:
    """Protects credentials: asked anew, and taken out of whatever the target echoes."""
    asked: list[int] = []

    async def headers() -> Mapping[str, str]:
        asked.append(1)
        return {"Authorization": f"{SECRET}-{len(asked)}"}

    record = json.dumps({"status": "committed", "operation_hash": HASH, "echo": f"{SECRET}-1"})
    no = json.dumps({"error": "denied", "message": "no such token open-sesame-123-2"})
    async with recording(answered('{"payment": %s}' % record)) as server:  # noqa: UP031 - braces
        target = payments(server.url, "n", headers=headers)
        assert SECRET not in (await target.prepare(ARGS)).preview
        outcome = await sent(target)
        server.answer = answered(no, "403 Forbidden")
        refused = await sent(target)
        await target.aclose()
    assert outcome.result["echo"] == "[secret]"
    assert refused.message == "The target refused it with 403: denied: no such token [secret]"
    assert [f"{SECRET}-{n}\r\n" in head for n, head in enumerate(server.heads, 1)] == [True, True]


@pytest.mark.parametrize(
    "given",
    [{"X": "a\r\nHost: evil"}, {"Host": "evil"}, {"Idempotency-Key": "mine"}, {"X y": "a"}],
)
async def test_headers_that_cannot_be_sent_stop_the_request(
    given: dict[str, str], account: Account
) -> None:
    """Protects the request's own frame and key from what a provider hands in."""

    async def headers() -> Mapping[str, str]:
        return given

    async def failing() -> Mapping[str, str]:
        raise ValueError("open-sesame")

    for provider, code in ((headers, "cannot be used"), (failing, "ValueError")):
        async with account.charge(headers=provider) as target:
            with pytest.raises(CapabilityError, match=code) as told:
                await sent(target)
        assert (told.value.code, told.value.effect_possible) == ("headers_unusable", False)
        assert "sesame" not in str(told.value)
    assert (await account.calls())["calls"] == 0


JUDGED = {
    "no record": (answered("{}"), UNKNOWN, "bad_answer"),
    "no object": (answered("[]"), UNKNOWN, "bad_answer"),
    "no JSON": (answered("yes"), UNKNOWN, "bad_answer"),
    "twice": (answered('{"payment": {"status": "no", "status": "x"}}'), UNKNOWN, "bad_answer"),
    "infinite": (answered('{"payment": {"fee": 1e999}}'), UNKNOWN, "bad_answer"),
    "deep": (answered('{"a":' * 5000 + "1" + "}" * 5000), UNKNOWN, "bad_answer"),
    "pending": (answered('{"payment": {"status": "pending"}}', "202 A"), UNKNOWN, "not_settled"),
    "unbound": (answered('{"payment": {"status": "committed"}}'), UNKNOWN, "unbound_answer"),
    "packed": (answered("{}", "200 OK", "Content-Encoding: gzip"), UNKNOWN, "bad_answer"),
    "cut short": (answered("{}")[:-1], UNKNOWN, "bad_answer"),
    "no HTTP": (b"SSH-2.0-OpenSSH\r\n\r\n", UNKNOWN, "bad_answer"),
    "nothing": (b"", UNKNOWN, "bad_answer"),
    "408": (answered("{}", "408 Slow"), UNKNOWN, "http_408"),
    "409": (answered("{}", "409 Conflict"), UNKNOWN, "http_409"),
    "503 silent": (answered("{}", "503 Busy"), UNKNOWN, "http_503"),
    "503 claims": (answered('{"effect": true}', "503 Busy"), UNKNOWN, "http_503"),
    "404 page": (answered("<html>", "404 Gone"), REFUSED, "http_404"),
}


@pytest.mark.parametrize("case", JUDGED)
async def test_what_an_answer_proves(case: str) -> None:
    """Protects the one judgement on which every receipt of an HTTP target rests."""
    answer, status, error_type = JUDGED[case]
    async with recording(answer) as server, payments(server.url, "n") as target:
        outcome = await sent(target)
    assert (outcome.status, outcome.error_type) == (status, error_type)
    assert len(server.heads) == 1


async def test_a_target_that_is_gone_was_sent_nothing() -> None:
    """Protects a retry that is certain to be harmless, and recovery's PENDING."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # bound and not listening: connections are refused
        async with payments(f"http://127.0.0.1:{taken.getsockname()[1]}", "n") as target:
            for ask in (sent(target), target.lookup(effect_of(new_permit()))):
                with pytest.raises(CapabilityError) as told:
                    await ask
                assert (told.value.code, told.value.retryable) == ("target_unreachable", True)
                assert not told.value.effect_possible
