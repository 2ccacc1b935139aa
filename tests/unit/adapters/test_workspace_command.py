"""workspace.run_command by itself: what it declares, and what it refuses whatever anybody said."""

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

import jsonschema
import pytest
from pydantic import SecretStr

from checkrein.adapters.workspace import FolderWorkspace
from checkrein.adapters.workspace_command import NAME, RunCommand
from checkrein.contracts.action import Guarantee, Lookup, SideEffect
from checkrein.contracts.context import Trust
from checkrein.contracts.effect import EffectStatus, Outcome
from checkrein.errors import CapabilityError, EnvironmentFault
from checkrein.nodes.limits import unavailable
from checkrein.ports.capability import Permit, Prepared
from checkrein.ports.command_runner import CommandResult
from checkrein.ports.effect_contract import contradictions


class Recorder:
    """A runner that runs nothing: it notes what it was asked for, and answers or fails."""

    def __init__(self, fault: EnvironmentFault | None = None) -> None:
        self.asked: list[tuple[list[str], str, float, bool]] = []
        self._fault = fault

    async def run(
        self,
        argv: list[str],
        *,
        cwd: Path,
        timeout_s: float,
        offline: bool = False,
        stdin: bytes = b"",
        secrets: Mapping[str, SecretStr] = MappingProxyType({}),
    ) -> CommandResult:
        self.asked.append((argv, cwd.name, timeout_s, offline))
        if self._fault is not None:
            raise self._fault
        return CommandResult(
            argv=argv,
            exit_code=0,
            stdout=f"{cwd}/a.py:1 \xff".encode("latin-1"),
            stderr=b"\0",
            timed_out=False,
            duration_s=0.5,
        )


async def ours() -> bool:
    return True


async def lost() -> bool:
    return False


async def sent(
    command: RunCommand, args: dict[str, Any], owner: Any = ours, **constraints: Any
) -> Outcome:
    """Prepare and send one call."""
    prepared = await command.prepare(args)
    return await command.send(prepared, permit(constraints), owner)


def permit(constraints: dict[str, Any]) -> Permit:
    return Permit(effect_id="eff_1", key="k", operation_hash="h", fence=1, constraints=constraints)


@pytest.fixture
def runner() -> Recorder:
    return Recorder()


@pytest.fixture
def command(workspace: FolderWorkspace, runner: Recorder) -> RunCommand:
    return RunCommand(workspace, runner)


def test_it_is_declared_at_its_worst(command: RunCommand) -> None:
    """Protects policies and the ledger: it may reach the network, and nothing knows it twice."""
    spec = command.spec
    assert (spec.name, spec.side_effect, spec.egress) == (NAME, SideEffect.IRREVERSIBLE, True)
    assert (spec.guarantee, spec.lookup, spec.trust) == (
        Guarantee.NONE,
        Lookup.NONE,
        Trust.EXTERNAL,
    )
    assert contradictions(command) == []
    jsonschema.Draft202012Validator.check_schema(spec.parameters)
    assert spec.parameters["additionalProperties"] is False


@pytest.mark.parametrize(
    ("constraints", "missing"),
    [
        ({"sandbox_profile": "offline", "timeout_ms": 5, "redact": ["a"]}, []),
        ({"sandbox_profile": "strict"}, ["sandbox_profile 'strict'"]),
        ({"sandbox_profile": "", "hosts": ["a"]}, ["hosts", "sandbox_profile ''"]),
    ],
)
def test_limits_that_cannot_be_had_are_named(
    constraints: dict[str, Any], missing: list[str], command: RunCommand
) -> None:
    """Protects against a profile that would be ignored: its name alone is no promise."""
    assert unavailable(command.spec, constraints) == missing


async def test_it_is_described_by_its_words_and_its_tree(
    command: RunCommand, workspace: FolderWorkspace
) -> None:
    """Protects policies and approvals: what is judged and bound is what would run."""
    found = await command.describe({"argv": ["ls", "-l"], "folder": "src"})
    assert (found.resource, found.resource_version) == ("workspace:.", await workspace.digest())
    assert found.facts.argv == ["ls", "-l"]
    (where,) = found.facts.paths
    assert (where.param, where.segments, where.inside) == ("folder", ["src"], True)
    outside = await command.describe({"argv": ["ls"], "folder": "../x"})
    assert outside.facts.paths[0].inside is False
    assert await command.version(found.resource) == found.resource_version


async def test_it_runs_once_in_the_copy(command: RunCommand, runner: Recorder) -> None:
    """Protects the workspace; and what is told names no place of this machine."""
    outcome = await sent(command, {"argv": ["x"], "folder": "src", "timeout_s": 7})
    assert runner.asked == [(["x"], "src", 7.0, False)]
    assert outcome.status is EffectStatus.COMMITTED
    assert outcome.result["stdout"] == "src/a.py:1 \ufffd"
    assert outcome.result["stderr"] == "\\u0000"
    await sent(command, {"argv": ["x"]}, sandbox_profile="offline")
    assert runner.asked[1:] == [(["x"], "workspace", 60.0, True)]


@pytest.mark.parametrize("limit", [{"sandbox_profile": "strict"}, {"hosts": ["a"]}])
async def test_it_holds_limits_itself(
    limit: dict[str, Any], command: RunCommand, runner: Recorder
) -> None:
    """Protects: a second layer, whatever the harness let through."""
    with pytest.raises(CapabilityError) as caught:
        await sent(command, {"argv": ["x"]}, **limit)
    assert caught.value.code == "constraint_unavailable"
    assert runner.asked == []


async def test_a_former_owner_runs_nothing(command: RunCommand, runner: Recorder) -> None:
    """Protects against two owners: who was taken over learns it before anything runs."""
    with pytest.raises(CapabilityError) as caught:
        await sent(command, {"argv": ["x"]}, lost)
    assert (caught.value.code, runner.asked) == ("not_owner", [])


async def test_a_tree_that_changed_is_not_run_on(
    command: RunCommand, runner: Recorder, source: Path
) -> None:
    """Protects an approval against an editor in the same folder: it was for another state."""
    prepared = await command.prepare({"argv": ["x"]})
    (source / "notes.txt").write_bytes(b"other\n")
    with pytest.raises(CapabilityError) as caught:
        await command.send(prepared, permit({}), ours)
    assert (caught.value.code, caught.value.effect_possible) == ("version_changed", False)
    assert runner.asked == []


@pytest.mark.parametrize("folder", ["..", "/etc", "out", "none", "notes.txt", "src/../.."])
async def test_it_runs_nowhere_else(
    folder: str, command: RunCommand, runner: Recorder, source: Path, tmp_path: Path
) -> None:
    """Protects what lies outside, by the guard of all paths; a forged plan gets no further."""
    (source / "out").symlink_to(tmp_path)
    with pytest.raises(CapabilityError):
        await command.prepare({"argv": ["x"], "folder": folder})
    plain = await command.prepare({"argv": ["x"]})
    forged = Prepared.model_validate(
        plain.model_dump()
        | {"plan": plain.plan.replace(b'"folder":"."', f'"folder":"{folder}"'.encode())}
    )
    with pytest.raises(CapabilityError):
        await command.send(forged, permit({}), ours)
    assert runner.asked == []


@pytest.mark.parametrize("code", ["program_missing", "offline_unavailable", "no_scratch"])
async def test_what_never_began_is_no_doubt(code: str, workspace: FolderWorkspace) -> None:
    """Protects from waiting for a person where it is certain that nothing ran."""
    command = RunCommand(workspace, Recorder(EnvironmentFault("x", op="x", code=code)))
    with pytest.raises(CapabilityError) as caught:
        await sent(command, {"argv": ["x"]})
    assert (caught.value.code, caught.value.effect_possible) == (code, False)
    assert caught.value.advice


@pytest.mark.parametrize("code", ["supervisor_lost", "process_not_ended", "something_new"])
async def test_what_may_have_run_stays_a_doubt(code: str, workspace: FolderWorkspace) -> None:
    """Protects the record: a command that nobody watched to its end is never called not run."""
    command = RunCommand(workspace, Recorder(EnvironmentFault("x", op="x", code=code)))
    with pytest.raises(EnvironmentFault):
        await sent(command, {"argv": ["x"]})
