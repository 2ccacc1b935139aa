"""Secrets: lent by name to one holder, on record, and their values nowhere.

After each test here, as after any other, the canary's value is hunted for in all that it left.
"""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from canary import CANARY
from langchain_core.callbacks import AsyncCallbackManagerForLLMRun
from langchain_core.messages import BaseMessage
from langchain_core.outputs import ChatResult
from loops import ALLOW_ALL, ASK_WRITES, DONE, Turn, call, contract, opened, payloads, says
from psycopg import AsyncConnection

from checkrein import capability
from checkrein.compose import Given, Parts, composed
from checkrein.contracts.attempt import AttemptStatus
from checkrein.contracts.effect import EffectStatus, Outcome
from checkrein.contracts.event import (
    EffectExecuting,
    EffectRetried,
    Observed,
    Payload,
    SecretLeased,
    SecretReleased,
)
from checkrein.contracts.task import TaskContract
from checkrein.errors import CapabilityError
from checkrein.graph.report import Report
from checkrein.harness import Harness
from checkrein.ports.capability import Permit, Prepared
from checkrein.settings import Settings
from checkrein.testing.scripted_model import ScriptedChatModel

RUN = "workspace.run_command"
MASKED = "[secret canary]"


def lending(folder: Path, *scripts: str, **fields: Any) -> TaskContract:
    """A task that runs Python scripts, each of which is lent the canary."""
    turns: list[Turn] = [says("", python(script)) for script in scripts]
    given: dict[str, Any] = {"capabilities": [RUN], "secrets": {"canary": [RUN]}}
    return contract(folder, [*turns, DONE], **{**given, **fields})


def python(script: str) -> dict[str, Any]:
    """A call that is lent the canary."""
    argv = ["python", "-c", f"import base64, os, sys; C = os.environ['CANARY']; {script}"]
    return call(RUN, argv=argv, secrets=["canary"])


def results(told: list[Payload]) -> list[Any]:
    """What the model was told, in order."""
    return [p.observation for p in told if isinstance(p, Observed)]


def of_secrets(told: list[Payload]) -> list[Payload]:
    """What is on record about secrets."""
    return [p for p in told if isinstance(p, SecretLeased | SecretReleased)]


@pytest.mark.shows(262)
async def test_a_command_is_lent_it_and_cannot_show_it(tmp_path: Path, settings: Settings) -> None:
    """Protects: the process has the value, the record says so, and no output holds it."""
    task = lending(
        tmp_path,
        "print(C); print(C, file=sys.stderr); print(len(C))",
        "print(base64.b64encode(b'user:' + C.encode()).decode(), C.encode().hex(), C[::-1])",
        "[print(c, flush=True, end='') for c in C]; print(C[:20] + os.linesep + C[20:])",
        "open('kept.txt', 'w').write(C); print(open('kept.txt').read())",
        "sys.exit('it failed with ' + C)",
        "raise RuntimeError(C)",
        "print([C in open(f'/proc/{p}/cmdline').read() for p in ('self', os.getppid())])",
    )
    async with opened(settings) as (harness, parts):
        report = await harness.run(task)
        told = await payloads(parts, report.attempt_id)
    assert report.status is AttemptStatus.CANDIDATE_VERIFIED
    said = [seen.structured_result for seen in results(told)]
    length = len(CANARY.reveal())
    assert said[0]["stdout"] == f"{MASKED}\n{length}\n"
    assert said[0]["stderr"] == f"{MASKED}\n"
    assert said[1]["stdout"].count(MASKED) == 3
    assert said[2]["stdout"].count(MASKED) == 2
    assert said[3]["stdout"] == f"{MASKED}\n"
    assert (said[4]["exit_code"], said[4]["stderr"]) == (1, f"it failed with {MASKED}\n")
    assert f"RuntimeError: {MASKED}" in said[5]["stderr"]
    assert said[6]["stdout"] == "[False, False]\n"
    assert not os.path.exists(f"{report.workspace}/kept.txt")  # noqa: ASYNC240 - one look
    words = [(p.type, p.holder) for p in of_secrets(told) if p.type == "secret_leased"]
    assert words == [("secret_leased", RUN)] * 7
    lent = next(p for p in told if isinstance(p, SecretLeased))
    sent = next(p for p in told if isinstance(p, EffectExecuting))
    assert told.index(lent) < told.index(sent)
    assert lent.purpose == f"{RUN} on workspace:."
    assert sum(isinstance(p, SecretReleased) for p in told) == 7


@pytest.mark.shows(262)
async def test_people_and_policies_see_the_name_alone(tmp_path: Path, settings: Settings) -> None:
    """Protects the approver, who must know what is lent, and the policy, which judges the name."""
    task = lending(tmp_path, "print(C)", policy=ASK_WRITES)
    async with opened(settings) as (harness, parts):
        report = await harness.run(task)
        (asked,) = report.approvals
        await harness.approve(asked.approval_id, by="bob")
        report = await harness.resume(report.attempt_id)
        told = await payloads(parts, report.attempt_id)
        inputs = await decision_inputs(settings)
    assert "It is lent these secrets in its environment: canary as CANARY." in asked.preview
    assert [i["action"]["facts"]["secret_names"] for i in inputs] == [["canary"]] * len(inputs)
    assert results(told)[0].structured_result["stdout"] == f"{MASKED}\n"
    # Nothing was lent before somebody had said yes.
    types = [p.type for p in told]
    assert types.index("approval_granted") < types.index("secret_leased")


async def decision_inputs(settings: Settings) -> list[dict[str, Any]]:
    """The documents that the policy was asked with."""
    assert settings.database_url is not None
    async with await AsyncConnection.connect(settings.database_url) as connection:
        found = await connection.execute(
            "SELECT data FROM checkrein.blobs JOIN checkrein.decisions ON ref = input_ref"
        )
        return [json.loads(row[0]) for row in await found.fetchall()]


class Echo(ScriptedChatModel):
    """A model that repeats whatever it was shown last."""

    async def _agenerate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        SHOWN.extend(str(message.content) for message in messages)
        result = await super()._agenerate(messages, stop, run_manager, **kwargs)
        message = result.generations[0].message
        message.content = f"{message.content} {messages[-1].content}"
        return result


SHOWN: list[str] = []
"""What Echo was shown; LangChain copies its models, so that it cannot stand in one."""


@pytest.mark.shows(262)
async def test_a_model_that_repeats_what_it_saw(tmp_path: Path, settings: Settings) -> None:
    """Protects: what a model never sees it cannot repeat, nor send anywhere."""
    SHOWN.clear()
    task = lending(tmp_path, "print(C)")
    model = Echo.load(tmp_path / "decisions.yaml")
    async with composed(settings, Given(model=model)) as parts:
        report = await Harness(parts).run(task)
    assert report.status is AttemptStatus.CANDIDATE_VERIFIED
    assert any(MASKED in text for text in SHOWN)
    CANARY.check("what the model was shown", *SHOWN)


@pytest.mark.shows(262)
async def test_what_the_task_does_not_lend_is_not_lent(tmp_path: Path, settings: Settings) -> None:
    """Protects secrets from a model that guesses their names."""
    task = lending(tmp_path, "print(C)", secrets={"other_key": [RUN]})
    async with opened(settings) as (harness, parts):
        told = await payloads(parts, (await harness.run(task)).attempt_id)
    (seen,) = results(told)
    assert seen.status == "invalid"
    assert of_secrets(told) == []


async def test_a_secret_that_is_not_there(tmp_path: Path, settings: Settings) -> None:
    """Protects: what cannot be had is a plain refusal; nothing runs and nothing is bound."""
    turns = [says("", call(RUN, argv=["touch", "ran"], secrets=["pay_key"])), DONE]
    task = contract(tmp_path, turns, capabilities=[RUN], secrets={"pay_key": [RUN]})
    async with opened(settings) as (harness, parts):
        report = await harness.run(task)
        told = await payloads(parts, report.attempt_id)
    (seen,) = results(told)
    assert (seen.status, seen.diagnostics.error_type) == ("failed", "secret_unavailable")
    assert (report.effects, of_secrets(told)) == ({}, [])


async def test_a_secret_named_like_a_variable_that_steers(
    tmp_path: Path, settings: Settings
) -> None:
    """Protects processes: a secret called ld_preload would be loaded as a library."""
    task = lending(tmp_path, "print(C)", secrets={"ld_preload": [RUN]})
    async with opened(settings) as (harness, _):
        with pytest.raises(Exception, match="LD_PRELOAD, which steers programs"):
            await harness.run(task)


@pytest.mark.shows(112)
async def test_a_revoked_secret_is_not_lent(tmp_path: Path, settings: Settings) -> None:
    """Protects: what a person took back after the yes is not lent."""
    task = lending(tmp_path, "print(C)", policy=ASK_WRITES)
    async with opened(settings) as (harness, parts):
        report = await harness.run(task)
        await harness.approve(report.approvals[0].approval_id, by="bob")
        await revoke(parts)
        told = await payloads(parts, (await harness.resume(report.attempt_id)).attempt_id)
    (seen,) = results(told)
    assert (seen.status, seen.diagnostics.error_type) == ("denied", "revoked")
    assert of_secrets(told) == []


async def revoke(parts: Parts) -> None:
    await parts.events.say("local", "secret", "canary", granted=False, by="carol", reason="leaked")


Send = Callable[[str], Outcome]


async def one_holder(
    folder: Path, settings: Settings, send: Send, before: Any = None
) -> tuple[Report, list[Payload]]:
    """A run of one capability of somebody's own that is lent the canary and does as `send` does."""

    @capability("till.pay", resource=lambda a: "order:o1")
    async def pay(order: str) -> None:
        """Pay an order."""

    given: Any = pay
    describe, prepare = given.describe, given.prepare

    async def described(args: dict[str, Any]) -> Any:
        found = await describe(args)
        facts = found.facts.model_copy(update={"secret_names": ["canary"]})
        return found.model_copy(update={"facts": facts})

    async def prepared(args: dict[str, Any], *, preview: bool = True) -> Prepared:
        if before is not None:
            await before()
        made = await prepare(args, preview=preview)
        return Prepared.model_validate(made.model_dump() | {"secrets": ["canary"]})

    async def sent(prepared: Prepared, permit: Permit, still_owner: Any) -> Outcome:
        return send(permit.secrets["canary"].get_secret_value())

    given.describe, given.prepare, given.send = described, prepared, sent
    turns = [says("", call("till.pay", order="o1")), DONE]
    task = contract(
        folder, turns, capabilities=["till.pay"], secrets={"canary": ["till.pay"]}, policy=ALLOW_ALL
    )
    async with opened(settings, given) as (harness, parts):
        report = await harness.run(task)
        return report, await payloads(parts, report.attempt_id)


def says_it(value: str) -> Outcome:
    result = {"token": value, value: [f"Bearer {value}"]}
    return Outcome(status=EffectStatus.COMMITTED, result=result, version=value)


def refuses_with_it(value: str) -> Outcome:
    raise CapabilityError(f"no: {value}", op="till.pay", code="no", advice=f"not with {value}")


def breaks_with_it(value: str) -> Outcome:
    raise RuntimeError(f"https://user:{value}@till.example/ is gone")


def tries_again_with_it(value: str) -> Outcome:
    raise CapabilityError(f"busy: {value}", op="till.pay", code="busy", retryable=True)


@pytest.mark.shows(262)
@pytest.mark.parametrize("send", [says_it, refuses_with_it, breaks_with_it, tries_again_with_it])
async def test_a_holder_that_says_it(
    send: Send, tmp_path: Path, settings: Settings, caplog: pytest.LogCaptureFixture
) -> None:
    """Protects the record and the logs: results, refusals, crashes and repeats are masked."""
    caplog.set_level("DEBUG")
    report, told = await one_holder(tmp_path, settings, send)
    CANARY.check("the report", report.model_dump_json())
    CANARY.check("what was recorded", *(p.model_dump_json() for p in told))
    lent, *more = of_secrets(told)
    assert (lent.type, [p.type for p in more]) == ("secret_leased", ["secret_released"])
    if send is says_it:
        (seen,) = results(told)
        assert seen.structured_result == {"token": MASKED, MASKED: [f"Bearer {MASKED}"]}
    if send is tries_again_with_it:
        again = [p for p in told if isinstance(p, EffectRetried)]
        assert again
        assert all(p.message == f"busy: {MASKED}" for p in again)


async def test_a_secret_that_is_revoked_in_the_last_moment(
    tmp_path: Path, settings: Settings
) -> None:
    """Protects: the database looks once more in the very transaction that puts it on record."""
    used: list[str] = []

    async def taken_back() -> None:
        async with composed(settings) as parts:
            await revoke(parts)

    def send(value: str) -> Outcome:
        used.append(value)
        return says_it(value)

    _, told = await one_holder(tmp_path, settings, send, taken_back)
    assert (used, of_secrets(told)) == ([], [])
    (seen,) = results(told)
    assert (seen.status, seen.diagnostics.error_type) == ("denied", "revoked")
