"""Secrets of checks: lent to one verifier, given back however it ends, and shown by none."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from canary import CANARY
from loops import DONE, call, contract, opened, payloads, says

from checkrein import verifiers
from checkrein.compose import Parts
from checkrein.contracts.attempt import AttemptStatus
from checkrein.contracts.check import Check, HttpStateCheck
from checkrein.contracts.event import (
    Payload,
    SecretLeased,
    SecretReleased,
    VerificationFinished,
)
from checkrein.contracts.task import TaskContract
from checkrein.contracts.verification import CheckResult, CheckStatus
from checkrein.errors import EnvironmentFault
from checkrein.ports.verifier import Examination
from checkrein.settings import Settings

RUN = "workspace.run_command"
MASKED = "[secret canary]"


def commanded(folder: Path, script: str) -> TaskContract:
    """A task whose one command is lent the canary."""
    turns = [says("", call(RUN, argv=["python", "-c", script], secrets=["canary"])), DONE]
    return contract(folder, turns, capabilities=[RUN], secrets={"canary": [RUN]})


def of_secrets(told: list[Payload]) -> list[Payload]:
    """What is on record about secrets."""
    return [p for p in told if isinstance(p, SecretLeased | SecretReleased)]


class Reader:
    """A verifier of `http_state` that says what it holds, in a result or in an error."""

    version = "reader/1"
    raises: Exception | None = None

    def judges(self, check: Check) -> bool:
        return isinstance(check, HttpStateCheck)

    async def verify(self, check: Check, examination: Examination, workspace: Any) -> CheckResult:
        value = examination.secrets["canary"].get_secret_value()
        assert value == CANARY.reveal()
        CANARY.check("the examination", repr(examination), examination.model_dump_json())
        if self.raises is not None:
            raise type(self.raises)(*(f"{value} {word}" for word in self.raises.args), **FAULT)
        return CheckResult(kind="http_state", name=value, status=CheckStatus.FAIL, gap=value)


FAULT: dict[str, Any] = {}


def verified(folder: Path) -> TaskContract:
    check = {"http_state": {"url": "http://127.0.0.1:1/", "bearer": "canary"}}
    budgets = {"repairs": 0}
    return contract(folder, [DONE], success=[check], budgets=budgets)


@pytest.mark.shows(211, 262)
async def test_a_check_is_lent_what_it_names(
    tmp_path: Path, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Protects the verifier's credentials: no model is shown them in what a check says."""
    monkeypatch.setattr(verifiers, "UnchangedVerifier", Reader)
    async with opened(settings) as (harness, parts):
        report = await harness.run(verified(tmp_path))
        told = await payloads(parts, report.attempt_id)
    (finished,) = [p for p in told if isinstance(p, VerificationFinished)]
    (check,) = [one for one in finished.result.checks if one.check_id is not None]
    assert (check.name, check.gap) == (MASKED, MASKED)
    lent, back = of_secrets(told)
    assert isinstance(lent, SecretLeased)
    assert (lent.holder, lent.action_id, lent.purpose) == ("http_state", None, "check http_state")
    assert isinstance(back, SecretReleased)


@pytest.mark.shows(211, 262)
@pytest.mark.parametrize("error", [EnvironmentFault("gone", op="x"), RuntimeError("gone")])
async def test_a_verifier_that_breaks_with_it(
    error: Exception, tmp_path: Path, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Protects the end's detail, which is shown to everybody: no error carries the value."""
    monkeypatch.setattr(verifiers, "UnchangedVerifier", Reader)
    monkeypatch.setattr(Reader, "raises", error)
    if isinstance(error, EnvironmentFault):
        monkeypatch.setitem(FAULT, "op", "x")
    async with opened(settings) as (harness, parts):
        report = await harness.run(verified(tmp_path))
        told = await payloads(parts, report.attempt_id)
    assert report.status is AttemptStatus.ENVIRONMENT_ERROR
    assert MASKED in report.detail or "RuntimeError at test_secrets_of_checks.py:" in report.detail
    assert [p.type for p in of_secrets(told)] == ["secret_leased", "secret_released"]


class Hanging(Reader):
    """A verifier that holds what it was lent until it is broken off."""

    async def verify(self, check: Check, examination: Examination, workspace: Any) -> CheckResult:
        await asyncio.Event().wait()
        raise AssertionError


@pytest.mark.shows(262)
@pytest.mark.parametrize(
    ("holder", "end"), [("check", "cancel"), ("check", "task"), ("command", "task")]
)
async def test_what_was_lent_is_given_back_on_record_however_it_ends(
    holder: str,
    end: str,
    tmp_path: Path,
    settings: Settings,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Protects the record: a secret that is on it as lent is on it as given back."""
    monkeypatch.setattr(verifiers, "UnchangedVerifier", Hanging)
    sleeps = "import time; time.sleep(60)"
    task = verified(tmp_path) if holder == "check" else commanded(tmp_path, sleeps)
    async with opened(settings) as (harness, parts):
        running = asyncio.create_task(harness.run(task))
        attempt_id = await until_lent(parts)
        if end == "cancel":
            await harness.cancel(attempt_id, by="bob", reason="enough")
        else:
            running.cancel()
        await asyncio.wait({running})
        told = await payloads(parts, attempt_id)
    assert [p.type for p in of_secrets(told)] == ["secret_leased", "secret_released"]


async def until_lent(parts: Parts) -> str:
    """The one attempt, once something is lent to it."""
    while True:
        for found in await parts.records.unfinished():
            if of_secrets([e.read() for e in await parts.events.read(found.attempt_id)]):
                return found.attempt_id
        await asyncio.sleep(0.05)


async def test_a_check_whose_secret_was_revoked(
    tmp_path: Path, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Protects: a check without its secret proves nothing, and does not pass."""
    monkeypatch.setattr(verifiers, "UnchangedVerifier", Reader)
    async with opened(settings) as (harness, parts):
        await parts.events.say(
            "local", "secret", "canary", granted=False, by="carol", reason="leaked"
        )
        report = await harness.run(verified(tmp_path))
        told = await payloads(parts, report.attempt_id)
    (finished,) = [p for p in told if isinstance(p, VerificationFinished)]
    assert finished.result.checks[0].status is CheckStatus.ERROR
    assert report.status is AttemptStatus.ENVIRONMENT_ERROR
    assert of_secrets(told) == []
