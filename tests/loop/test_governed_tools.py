"""LangChain's tools in whole runs: the same gate as for everything else."""

from pathlib import Path
from typing import Any

import pytest
from langchain_core.tools import StructuredTool, ToolException, tool
from loops import ASK_WRITES, DONE, call, contract, opened, payloads, says

from checkrein import govern
from checkrein.compose import Given
from checkrein.contracts.attempt import AttemptStatus
from checkrein.contracts.event import Observed
from checkrein.contracts.observation import Observation
from checkrein.errors import InputError
from checkrein.settings import Settings


async def results(parts: Any, attempt_id: str) -> list[Observation]:
    """What the model was told, in order."""
    return [p.observation for p in await payloads(parts, attempt_id) if isinstance(p, Observed)]


def mailer(sent: list[str]) -> StructuredTool:
    """A tool that does something for good, as LangChain's users write it."""

    def send_mail(to: str) -> str:
        sent.append(to)
        return f"sent to {to}"

    return StructuredTool.from_function(send_mail, description="Send a mail.")


async def test_an_undeclared_tool_is_asked_about(tmp_path: Path, settings: Settings) -> None:
    """Nobody said that it is harmless: a person decides, and only then it is called, once."""
    sent: list[str] = []
    task = contract(
        tmp_path,
        [says("", call("send_mail", to="x")), DONE],
        policy=ASK_WRITES,
        capabilities=["send_mail"],
    )
    async with opened(settings, govern(mailer(sent))) as (harness, _):
        report = await harness.run(task)
        assert report.status is AttemptStatus.WAITING_FOR_APPROVAL
        assert sent == []
        await harness.approve(report.approvals[0].approval_id, by="bob")
        report = await harness.resume(report.attempt_id)
    assert report.effects == {"COMMITTED": 1}
    assert sent == ["x"]


async def test_the_shipped_policy_denies_what_it_has_no_rule_for(
    tmp_path: Path, settings: Settings
) -> None:
    """Being registered and granted authorises nothing."""
    sent: list[str] = []
    turns = [says("", call("send_mail", to="x")), DONE]
    task = contract(tmp_path, turns, policy=None, capabilities=["send_mail"])
    async with opened(settings, govern(mailer(sent))) as (harness, parts):
        report = await harness.run(task)
        (told,) = await results(parts, report.attempt_id)
    assert (told.status, sent, report.effects) == ("denied", [], {})
    assert told.diagnostics is not None
    assert told.diagnostics.error_type == "unknown_capability"


@pytest.mark.parametrize("handled", [True, False])
async def test_a_tool_that_fails_leaves_its_write_in_doubt(
    handled: bool, tmp_path: Path, settings: Settings
) -> None:
    """Whatever its own error handler says, it is not a success and is not sent again."""
    calls: list[int] = []

    def charge() -> str:
        calls.append(1)
        raise ToolException("the line went dead")

    made = StructuredTool.from_function(charge, description="Charge.", handle_tool_error=handled)
    turns = [says("", call("charge")), DONE]
    task = contract(tmp_path, turns, capabilities=["charge"])
    async with opened(settings, govern(made)) as (harness, _):
        report = await harness.run(task)
        report = await harness.resume(report.attempt_id)
    assert report.status is AttemptStatus.RECONCILE_REQUIRED
    assert calls == [1]


async def test_the_schema_is_held_against_every_call(tmp_path: Path, settings: Settings) -> None:
    """A call that does not fit is told to the model, and the tool never sees it."""
    sent: list[str] = []
    turns = [says("", call("send_mail", to="x", bcc="y")), says("", call("send_mail", to=7)), DONE]
    task = contract(tmp_path, turns, capabilities=["send_mail"])
    async with opened(settings, govern(mailer(sent))) as (harness, parts):
        report = await harness.run(task)
        told = await results(parts, report.attempt_id)
    assert [one.status for one in told] == ["invalid", "invalid"]
    assert sent == []


async def test_two_tools_of_one_name_are_refused(tmp_path: Path, settings: Settings) -> None:
    """A model must not be able to mean two things by one word; nor may ours be replaced."""
    mine = govern(mailer([]), name="workspace_read")
    async with opened(settings, mine) as (harness, _):
        with pytest.raises(InputError) as caught:
            await harness.run(contract(tmp_path, [DONE]))
    assert caught.value.code == "capability_twice"


def test_a_tool_that_is_not_governed_is_refused() -> None:
    """Forgetting `govern` is told at once, and does not fail somewhere inside."""

    @tool
    def look() -> str:
        """Look."""
        return ""

    with pytest.raises(InputError) as caught:
        Given(capabilities=(look,))  # type: ignore[arg-type] # the mistake that is meant
    assert "checkrein.govern" in str(caught.value)


def test_governed_tools_are_named_in_the_environment(
    tmp_path: Path, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """CHECKREIN_CAPABILITIES takes them like every other capability, lists among them."""
    (tmp_path / "my_tools.py").write_text(
        "from langchain_core.tools import tool\nfrom checkrein import govern\n"
        '@tool\ndef look() -> str:\n    """Look."""\n    return ""\n'
        "tools = [govern(look, effect='read')]\n"
    )
    monkeypatch.chdir(tmp_path)
    named = Given().with_named(Settings(home=settings.home, capabilities="my_tools:tools"))
    assert [one.spec.name for one in named.capabilities] == ["look"]
