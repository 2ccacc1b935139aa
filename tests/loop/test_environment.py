"""The environment contract in whole runs: chosen, recorded, held, or refused before anything."""

import sys
from pathlib import Path
from typing import Any

import pytest
from loops import ASK_WRITES, DONE, call, contract, opened, payloads, says

from checkrein.adapters import command_backends, command_bubblewrap
from checkrein.adapters.command_bubblewrap import BubblewrapCommandRunner
from checkrein.compose import Parts
from checkrein.contracts.attempt import AttemptStatus
from checkrein.contracts.check import CommandCheck, CommandSpec, UnchangedCheck
from checkrein.contracts.environment import EnvironmentSpec, Isolation
from checkrein.contracts.event import EnvironmentChosen, Observed
from checkrein.errors import EnvironmentFault, InputError
from checkrein.settings import Settings

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="sandboxes are a part of Linux")

RUN = "workspace.run_command"
PASSES = CommandCheck(command=CommandSpec(argv=["true"], timeout_s=30))


@pytest.fixture
async def sandbox() -> None:
    """Skips where this machine has none."""
    offer = await BubblewrapCommandRunner().offer()
    if offer.lack:
        pytest.skip(offer.lack)


def without_sandbox(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    """From now on this is a machine without bubblewrap."""

    def missing() -> BubblewrapCommandRunner:
        return BubblewrapCommandRunner(path=str(folder / "nothing"))

    monkeypatch.setattr(command_backends, "BubblewrapCommandRunner", missing)


async def chosen(parts: Parts, attempt_id: str) -> list[EnvironmentChosen]:
    """Every environment that was recorded, in order."""
    found = await payloads(parts, attempt_id)
    return [p for p in found if isinstance(p, EnvironmentChosen)]


@pytest.mark.shows(254, 255, 261)
@pytest.mark.usefixtures("sandbox")
async def test_commands_run_where_the_contract_says(tmp_path: Path, settings: Settings) -> None:
    """Protects the machine: what the policy allows, the sandbox still cannot reach."""
    secret = tmp_path / "credentials"
    secret.write_text("production key")
    script = f"cat {secret}; cat {settings.home}/*; ls /workspace; id -u"
    turns = [says("", call(RUN, argv=["sh", "-c", script])), DONE]
    environment = EnvironmentSpec(memory_mb=256)
    task = contract(
        tmp_path,
        turns,
        capabilities=[RUN],
        environment=environment,
        success=[PASSES],
    )
    async with opened(settings) as (harness, parts):
        report = await harness.run(task)
        (recorded,) = await chosen(parts, report.attempt_id)
        found = await payloads(parts, report.attempt_id)
        (seen,) = [p.observation for p in found if isinstance(p, Observed)]
    assert report.status is AttemptStatus.CANDIDATE_VERIFIED
    assert recorded.environment.backend == "bubblewrap"
    assert Isolation.FILES in recorded.environment.isolates
    assert recorded.restored_differs is False
    result = seen.structured_result
    assert result["backend"] == "bubblewrap"
    assert "production key" not in result["stdout"]
    assert result["stdout"].splitlines()[0] == "a.txt"
    assert result["stdout"].splitlines()[1] != "0"
    assert "No such file" in result["stderr"]
    assert report.warnings == []


@pytest.mark.shows(255)
async def test_what_is_missing_starts_nothing(
    tmp_path: Path, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Protects: everything that lacks is named at once, and nothing was stored."""
    without_sandbox(monkeypatch, tmp_path)
    environment = EnvironmentSpec(gpu=True, backends=["bubblewrap", "local"], network=["a.example"])
    task = contract(tmp_path, [DONE], capabilities=[RUN], environment=environment)
    async with opened(settings) as (harness, parts):
        with pytest.raises(InputError) as caught:
            await harness.run(task)
        assert await parts.records.unfinished() == []
    assert caught.value.code == "environment_missing"
    for words in ("bwrap is not in", "apt-get install bubblewrap", "a GPU", "a.example"):
        assert words in str(caught.value)
    assert not list((settings.home / "workspaces").glob("*"))


@pytest.mark.shows(255)
async def test_narrowed_it_goes_on_without_commands(
    tmp_path: Path, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Protects: a smaller grant, said on record and to the model, and no command anywhere."""
    without_sandbox(monkeypatch, tmp_path)
    turns = [says("", call(RUN, argv=["true"])), DONE]
    narrow = EnvironmentSpec(on_missing="narrow")
    fields: dict[str, Any] = {
        "environment": narrow,
        "success": [UnchangedCheck(unchanged=["a.txt"])],
    }
    task = contract(tmp_path, turns, capabilities=["workspace.read", RUN], **fields)
    async with opened(settings) as (harness, parts):
        report = await harness.run(task)
        (recorded,) = await chosen(parts, report.attempt_id)
        found = await payloads(parts, report.attempt_id)
        (seen,) = [p.observation for p in found if isinstance(p, Observed)]
    assert recorded.environment.backend is None
    assert recorded.environment.withdrawn == [RUN]
    assert seen.status == "invalid"
    assert report.status is AttemptStatus.CANDIDATE_VERIFIED


async def test_checks_that_run_commands_cannot_be_narrowed(
    tmp_path: Path, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Protects verdicts: a check is never left out because nobody can run it."""
    without_sandbox(monkeypatch, tmp_path)
    task = contract(
        tmp_path, [DONE], environment=EnvironmentSpec(on_missing="narrow"), success=[PASSES]
    )
    async with opened(settings) as (harness, _):
        with pytest.raises(InputError, match="cannot be narrowed"):
            await harness.run(task)


@pytest.mark.usefixtures("sandbox")
async def test_going_on_elsewhere_is_named(
    tmp_path: Path, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Protects who reads the trace: what ran after the pause ran in a weaker place, and says so."""
    turns = [says("", call(RUN, argv=["true"])), DONE]
    either = EnvironmentSpec(backends=["bubblewrap", "local"], network="host")
    task = contract(tmp_path, turns, policy=ASK_WRITES, capabilities=[RUN], environment=either)
    async with opened(settings) as (harness, _):
        report = await harness.run(task)
        await harness.approve(report.approvals[0].approval_id, by="bob")
    without_sandbox(monkeypatch, tmp_path)
    async with opened(settings) as (harness, parts):
        report = await harness.resume(report.attempt_id)
        first, second = await chosen(parts, report.attempt_id)
    assert (first.environment.backend, first.restored_differs) == ("bubblewrap", False)
    assert (second.environment.backend, second.restored_differs) == ("local", True)
    assert "bwrap is not in" in second.environment.lacks[0]
    assert "does not isolate files" in report.warnings[-1]


async def test_without_a_contract_the_report_says_what_is_open(
    tmp_path: Path, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Protects: nobody takes a run without a sandbox for one with it."""
    without_sandbox(monkeypatch, tmp_path)
    task = contract(tmp_path, [DONE], success=[PASSES])
    async with opened(settings) as (harness, parts):
        report = await harness.run(task)
        (recorded,) = await chosen(parts, report.attempt_id)
    assert report.verified
    (warning,) = report.warnings
    assert "run by `local`, which does not isolate files" in warning
    assert recorded.environment.backend == "local"
    assert "bwrap is not in" in recorded.environment.lacks[0]


def with_sandbox(monkeypatch: pytest.MonkeyPatch, folder: Path, script: str) -> None:
    """From now on a program of ours is this machine's bubblewrap."""
    bwrap = folder / "bin" / "bwrap"
    bwrap.parent.mkdir(exist_ok=True)
    bwrap.write_text(f"#!/bin/sh\n{script}\n")
    bwrap.chmod(0o755)

    def ours() -> BubblewrapCommandRunner:
        return BubblewrapCommandRunner(path=str(bwrap.parent))

    monkeypatch.setattr(command_backends, "BubblewrapCommandRunner", ours)


@pytest.mark.parametrize(
    "said",
    [
        "Creating new namespace failed: Operation not permitted",
        "setting up uid map: Permission denied",
        "No permissions to create new namespace, likely because the kernel does not allow it",
    ],
)
async def test_a_system_that_allows_no_sandbox_has_none(
    said: str, tmp_path: Path, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Protects machines without user namespaces: what is refused for good is not there."""
    with_sandbox(monkeypatch, tmp_path, f"echo 'bwrap: {said}' >&2; exit 1")
    task = contract(tmp_path, [DONE], success=[PASSES])
    async with opened(settings) as (harness, parts):
        report = await harness.run(task)
        (recorded,) = await chosen(parts, report.attempt_id)
    assert (report.verified, recorded.environment.backend) == (True, "local")
    assert said in recorded.environment.lacks[0]


@pytest.mark.parametrize(
    ("script", "told"),
    [
        ("sleep 60", "no end within 1 s"),
        ("echo 'bwrap: Out of memory' >&2; exit 1", "Out of memory"),
        ("kill -9 $$", "could not be set up"),
    ],
)
async def test_a_sandbox_that_fails_for_once_is_not_gone(
    script: str,
    told: str,
    tmp_path: Path,
    settings: Settings,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Protects isolation: a machine under load loses no walls, and says what to do."""
    with_sandbox(monkeypatch, tmp_path, script)
    monkeypatch.setattr(command_bubblewrap, "_PROBE_S", 1.0)
    task = contract(tmp_path, [DONE], success=[PASSES])
    async with opened(settings) as (harness, parts):
        with pytest.raises(EnvironmentFault, match="Try again") as caught:
            await harness.run(task)
        assert await parts.records.unfinished() == []
    assert (caught.value.code, caught.value.retryable) == ("sandbox_unproven", True)
    assert told in str(caught.value)


async def test_hidden_tests_want_walls_around_commands(
    tmp_path: Path, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Protects hidden tests: a model's commands could read them, unless a person says: let them."""
    without_sandbox(monkeypatch, tmp_path)
    hidden = tmp_path / "hidden"
    hidden.mkdir()
    (hidden / "test_it.py").write_text("def test_it():\n    pass\n")
    checks = [{"pytest": {"hidden": str(hidden)}}]
    task = contract(tmp_path, [DONE], success=checks, capabilities=[RUN])
    aloud = {"environment": EnvironmentSpec(backends=["local"], network="host")}
    async with opened(settings) as (harness, parts):
        with pytest.raises(InputError, match="apt-get install bubblewrap") as caught:
            await harness.run(task)
        assert await parts.records.unfinished() == []
        report = await harness.run(task.model_copy(update=aloud))
        without = await harness.run(task.model_copy(update={"capabilities": []}))
    assert caught.value.code == "hidden_in_reach"
    assert (report.verified, without.verified) == (True, True)
    assert "Hidden tests lie within their reach" in report.warnings[-1]


BREAKS = """#!/bin/sh
[ -e {flag} ] && {{ echo "bwrap: setting up uid map: Permission denied" >&2; exit 1; }}
exec {bwrap} "$@"
"""


@pytest.mark.shows(268)
@pytest.mark.usefixtures("sandbox")
async def test_a_sandbox_that_breaks_is_an_environment_error(
    tmp_path: Path, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Protects verdicts: a check that could not run is neither passed nor failed."""
    flag, bwrap = tmp_path / "broken", tmp_path / "bin" / "bwrap"
    bwrap.parent.mkdir()
    bwrap.write_text(BREAKS.format(flag=flag, bwrap="/usr/bin/bwrap"))
    bwrap.chmod(0o755)

    def breaking() -> BubblewrapCommandRunner:
        return BubblewrapCommandRunner(path=str(bwrap.parent))

    monkeypatch.setattr(command_backends, "BubblewrapCommandRunner", breaking)
    check = CommandCheck(command=CommandSpec(argv=["true"], timeout_s=30))
    turns = [says("", call("workspace.read", path="a.txt")), DONE]
    task = contract(tmp_path, turns, success=[check], capabilities=["workspace.read", RUN])
    async with opened(settings) as (harness, parts):
        assert (await harness.run(task)).verified
        flag.touch()
        report = await harness.run(task)
        (recorded,) = await chosen(parts, report.attempt_id)
    assert recorded.environment.backend == "bubblewrap", "also where the contract asks for nothing"
    assert report.status is AttemptStatus.ENVIRONMENT_ERROR
    assert "Permission denied" in report.detail
    assert "checkrein retry" in report.detail


@pytest.mark.shows(255)
async def test_a_person_is_asked_before_anything_starts(
    tmp_path: Path, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Protects: never silently less; what can be agreed to is named, and nothing was stored."""
    without_sandbox(monkeypatch, tmp_path)
    asks = EnvironmentSpec(backends=["bubblewrap"], network="host", on_missing="ask")
    task = contract(tmp_path, [DONE], environment=asks, success=[PASSES])
    async with opened(settings) as (harness, parts):
        with pytest.raises(InputError, match="--environment local --as WHO") as caught:
            await harness.run(task)
        assert (caught.value.code, caught.value.context["choices"]) == (
            "environment_asks",
            ["local"],
        )
        assert await parts.records.unfinished() == []
        narrowed = task.model_copy(update={"environment": asks.agreed_to("narrow", "bob")})
        with pytest.raises(InputError, match="cannot be narrowed"):
            await harness.run(narrowed)
        agreed = task.model_copy(update={"environment": asks.agreed_to("local", "bob")})
        report = await harness.run(agreed)
        (recorded,) = await chosen(parts, report.attempt_id)
    assert report.status is AttemptStatus.CANDIDATE_VERIFIED
    found = recorded.environment
    assert (found.backend, found.agreed_by, len(found.lacks)) == ("local", "bob", 1)


async def test_nobody_can_agree_to_what_is_not_there_either(
    tmp_path: Path, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Protects: a person's word makes no GPU."""
    without_sandbox(monkeypatch, tmp_path)
    asks = EnvironmentSpec(gpu=True, on_missing="ask")
    for spec in (asks, asks.agreed_to("local", "bob")):
        task = contract(tmp_path, [DONE], environment=spec, success=[PASSES])
        async with opened(settings) as (harness, _):
            with pytest.raises(InputError) as caught:
                await harness.run(task)
        assert caught.value.code == "environment_missing"


@pytest.mark.usefixtures("sandbox")
async def test_a_word_that_is_not_needed_changes_nothing(
    tmp_path: Path, settings: Settings
) -> None:
    """Protects: where the sandbox is there, it is used, whatever somebody agreed to."""
    asks = EnvironmentSpec(on_missing="ask").agreed_to("local", "bob")
    task = contract(tmp_path, [DONE], environment=asks, success=[PASSES])
    async with opened(settings) as (harness, parts):
        report = await harness.run(task)
        (recorded,) = await chosen(parts, report.attempt_id)
    assert (recorded.environment.backend, recorded.environment.agreed_by) == ("bubblewrap", None)
