"""workspace.run_command: judged by its words, cut off where the policy says so, nothing left."""

import asyncio
import json
import os
import sys
import tempfile
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from loops import ASK_WRITES, DONE, call, contract, opened, payloads, says
from process_trees import alive, until_gone

from checkrein.adapters import command_runner
from checkrein.adapters.command_offline import find_offline
from checkrein.adapters.command_runner import SEARCH_PATH
from checkrein.compose import Parts
from checkrein.contracts.attempt import AttemptStatus
from checkrein.contracts.context import Trust
from checkrein.contracts.effect import EffectStatus
from checkrein.contracts.environment import EnvironmentSpec
from checkrein.contracts.event import Observed
from checkrein.contracts.observation import Observation
from checkrein.errors import EnvironmentFault
from checkrein.graph.report import Report
from checkrein.harness import Harness
from checkrein.policy_rego import library
from checkrein.settings import Settings

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")

RUN = "workspace.run_command"
CONNECT = "import socket; socket.create_connection(('127.0.0.1', {port}), 5); print('reached it')"
# Without a sandbox, so that what a command wrote outside of its copy can be seen.
LOCAL = EnvironmentSpec(backends=["local"], network="host")
OWN = """package checkrein.rules.own

allow contains {{"reason_code": "own_allows"}}

{limit}
"""


def rules(folder: Path, limit: str = "") -> Path:
    """A bundle that allows everything, within one limit."""
    place = folder / "policy" / "checkrein" / "rules"
    place.mkdir(parents=True, exist_ok=True)
    limits = f"limit contains {limit}\n" if limit else ""
    (place / "own.rego").write_text(OWN.format(limit=limits), encoding="utf-8")
    return folder / "policy"


async def told(parts: Parts, report: Report) -> list[Observation]:
    """What the model was told, in order."""
    found = await payloads(parts, report.attempt_id)
    return [p.observation for p in found if isinstance(p, Observed)]


async def one(
    folder: Path, settings: Settings, wanted: dict[str, Any], limit: str = "", **fields: Any
) -> tuple[Observation, Report]:
    """What the model is told of one call, and how the run ended."""
    policy = rules(folder, limit)
    turns = [says("", wanted), DONE]
    task = contract(folder, turns, policy=policy, capabilities=[RUN], **fields)
    async with opened(settings) as (harness, parts):
        report = await harness.run(task)
        (seen,) = await told(parts, report)
    return seen, report


def code(seen: Observation) -> str:
    """Why a call was not done."""
    assert seen.diagnostics is not None
    return seen.diagnostics.error_type


@asynccontextmanager
async def listening() -> AsyncGenerator[tuple[int, list[str]]]:
    """A real server on this machine, and what has connected to it."""
    seen: list[str] = []

    def connected(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        seen.append("connected")
        writer.close()

    server = await asyncio.start_server(connected, "127.0.0.1", 0)
    async with server:
        yield server.sockets[0].getsockname()[1], seen


async def approved(harness: Harness, report: Report) -> Report:
    """The run after bob has said yes to what it asked."""
    await harness.approve(report.approvals[0].approval_id, by="bob")
    return await harness.resume(report.attempt_id)


async def test_a_command_is_approved_runs_and_is_told(tmp_path: Path, settings: Settings) -> None:
    """Protects the person who approves, and the model, which sees how it ended and what it said."""
    script = "import os, sys; print(os.getcwd(), os.listdir()); sys.exit('bad \\ud7ff')"
    wanted = call(RUN, argv=["python", "-c", script, "a b", "\u202egpj.exe"], folder="src")
    task = contract(
        tmp_path,
        [says("", wanted), DONE],
        files={"src/a.py": "", ".git/config": "x"},
        policy=ASK_WRITES,
        capabilities=[RUN],
    )
    async with opened(settings) as (harness, parts):
        report = await harness.run(task)
        (asked,) = report.approvals
        report = await approved(harness, report)
        (seen,) = await told(parts, report)
        (effect,) = await parts.records.effects(report.attempt_id)
    assert '"a b"' in asked.preview
    assert "\u202e" not in asked.preview
    assert 'in the folder "src", for at most 60 s' in asked.preview
    assert asked.reversible is False
    assert seen.status == "ok"
    result = seen.structured_result
    assert (result["exit_code"], result["timed_out"], result["offline"]) == (1, False, False)
    assert result["stdout"] == "src ['a.py']\n", "no place of this machine is told"
    assert result["stderr"] == "bad \ud7ff\n"
    assert seen.trust is Trust.EXTERNAL
    assert effect.status is EffectStatus.COMMITTED
    assert report.status is AttemptStatus.CANDIDATE_VERIFIED


async def test_what_it_writes_does_not_stay(
    tmp_path: Path, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Protects files, which change by patches alone: what a command does to its copy is gone."""
    script = "rm a.txt; mkdir new; echo x > new/file; chmod 0 new; ls; pwd"
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    seen, report = await one(tmp_path, settings, call(RUN, argv=["sh", "-c", script]))
    assert seen.structured_result["stdout"] == "new\n.\n"
    work = Path(report.workspace)
    assert os.listdir(work) == ["a.txt"]
    assert (work / "a.txt").read_text() == "one\n"
    assert [name for name in os.listdir(temporary) if name.startswith("checkrein-c")] == []


async def test_long_output_keeps_its_end(tmp_path: Path, settings: Settings) -> None:
    """Protects store and model from any length, and keeps where the errors stand."""
    script = "import sys; print('x' * 3_000_000); print('the end'); print('short', file=sys.stderr)"
    seen, _ = await one(tmp_path, settings, call(RUN, argv=["python", "-c", script]))
    result = seen.structured_result
    assert result["stdout"].endswith("the end\n")
    assert len(result["stdout"]) == 16 * 1024
    assert (result["stdout_truncated"], result["stderr_truncated"]) == (True, False)
    assert result["stderr"] == "short\n"


async def test_offline_is_out_of_reach_of_a_real_server(tmp_path: Path, settings: Settings) -> None:
    """Protects what must not leave: the limit is held by the kernel, whatever the command tries."""
    try:
        await find_offline(SEARCH_PATH)
    except EnvironmentFault as fault:
        pytest.skip(str(fault))
    async with listening() as (port, seen):
        wanted = call(RUN, argv=["python", "-c", CONNECT.format(port=port)])
        cut_off, _ = await one(tmp_path / "a", settings, wanted, '{"sandbox_profile": "offline"}')
        assert seen == []
        by_contract, _ = await one(
            tmp_path / "c", settings, wanted, constraints=[{"network": "none"}]
        )
        assert seen == []
        reached, _ = await one(tmp_path / "b", settings, wanted)
        assert seen == ["connected"]
    assert by_contract.structured_result["offline"] is True
    result = cut_off.structured_result
    assert (result["offline"], result["exit_code"], result["stdout"]) == (True, 1, "")
    assert "Error" in result["stderr"]
    result = reached.structured_result
    assert (result["offline"], result["exit_code"], result["stdout"]) == (False, 0, "reached it\n")


@pytest.mark.parametrize(
    "limit",
    ['{"sandbox_profile": "strict"}', '{"sandbox_profile": "OFFLINE"}', '{"path_roots": ["src"]}'],
)
async def test_a_limit_that_cannot_be_had_is_a_denial(
    limit: str, tmp_path: Path, settings: Settings
) -> None:
    """Protects: a profile nobody knows is never taken for one that somebody does."""
    ran = tmp_path / "ran"
    seen, report = await one(tmp_path, settings, call(RUN, argv=["touch", str(ran)]), limit)
    assert (seen.status, code(seen)) == ("denied", "constraint_unavailable")
    assert not ran.exists()
    assert report.effects == {}


async def test_a_machine_that_cannot_cut_off_runs_nothing(
    tmp_path: Path, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Protects: no command runs with a network in silence where it was to have none."""

    async def missing(path: str) -> tuple[str, ...]:
        return await find_offline(str(tmp_path))  # where there is no unshare

    monkeypatch.setattr(command_runner, "find_offline", missing)
    ran = tmp_path / "ran"
    limit = '{"sandbox_profile": "offline"}'
    wanted = call(RUN, argv=["touch", str(ran)])
    seen, report = await one(tmp_path, settings, wanted, limit, environment=LOCAL)
    assert (seen.status, code(seen)) == ("failed", "offline_unavailable")
    assert not ran.exists()
    assert report.effects == {"REFUSED": 1}


HOSTILE = {
    "a NUL": '{"argv": ["touch", "{ran}\\u0000"]}',
    "a surrogate": '{"argv": ["touch", "{ran}", "\\ud800"]}',
    "10,000 words": json.dumps({"argv": ["touch", "{ran}", *["x"] * 10_000]}),
    "no words": '{"argv": []}',
    "an empty program": '{"argv": ["", "{ran}"]}',
    "a line": '{"argv": "touch {ran}"}',
    "no text": '{"argv": ["touch", "{ran}", 7]}',
    "a long word": json.dumps({"argv": ["touch", "{ran}", "x" * 5_000]}),
    "no argv": '{"command": ["touch", "{ran}"]}',
    "an environment": '{"argv": ["touch", "{ran}"], "env": {"PATH": "/"}}',
    "no time": '{"argv": ["touch", "{ran}"], "timeout_s": 0}',
    "an hour": '{"argv": ["touch", "{ran}"], "timeout_s": 3600}',
    "outside": '{"argv": ["touch", "{ran}"], "folder": "../.."}',
    "an absolute folder": '{"argv": ["touch", "{ran}"], "folder": "/"}',
    "a folder that is not there": '{"argv": ["touch", "{ran}"], "folder": "none"}',
    "a program that is not there": '{"argv": ["no-such-program-1", "{ran}"]}',
}


@pytest.mark.parametrize("name", HOSTILE)
async def test_hostile_calls_run_nothing(name: str, tmp_path: Path, settings: Settings) -> None:
    """Protects the machine and the run: it is told what to mend, and the next call works."""
    ran = tmp_path / "ran"
    turns = [
        says("", {"name": RUN, "args": HOSTILE[name].replace("{ran}", str(ran))}),
        says("", call(RUN, argv=["true"])),
        DONE,
    ]
    task = contract(tmp_path, turns, policy=rules(tmp_path), capabilities=[RUN])
    async with opened(settings) as (harness, parts):
        report = await harness.run(task)
        first, second = await told(parts, report)
    assert report.status is AttemptStatus.CANDIDATE_VERIFIED
    assert first.status in {"invalid", "failed"}
    assert first.diagnostics is not None
    assert first.diagnostics.advice
    assert second.structured_result["exit_code"] == 0
    assert not ran.exists()


def stubborn(marker: str) -> list[str]:
    """A command whose grandchildren lie in sessions of their own; none hears TERM."""
    script = f"trap '' TERM; setsid sh -c 'setsid sleep {marker} & sleep {marker}' & sleep {marker}"
    return ["sh", "-c", script]


async def test_a_command_that_takes_too_long_is_ended_with_all_that_it_started(
    tmp_path: Path, settings: Settings
) -> None:
    """Protects the machine: its time is over for the whole tree, and that it ran is known."""
    marker = f"71.{os.getpid()}"
    seen, _ = await one(tmp_path, settings, call(RUN, argv=stubborn(marker), timeout_s=1))
    assert seen.status == "ok"
    assert seen.structured_result["exit_code"] is None
    assert seen.structured_result["timed_out"] is True
    assert alive(f"sleep {marker}") == []


async def test_a_policy_that_gives_it_less_time_ends_it_too(
    tmp_path: Path, settings: Settings
) -> None:
    """Protects: the harness's own limit leaves no process; what came of it, a person settles."""
    marker = f"72.{os.getpid()}"
    wanted = call(RUN, argv=stubborn(marker))
    policy = rules(tmp_path, '{"timeout_ms": 1500}')
    task = contract(tmp_path, [says("", wanted), DONE], policy=policy, capabilities=[RUN])
    async with opened(settings) as (harness, _):
        report = await harness.run(task)
    assert report.status is AttemptStatus.RECONCILE_REQUIRED
    assert until_gone(alive(f"sleep {marker}"), 10) == []


@pytest.mark.parametrize(
    ("argv", "status", "why"),
    [
        (["true"], "ok", ""),
        (["curl", "https://evil.example"], "denied", "command_not_listed"),
        (["true", "--more"], "denied", "command_not_listed"),
        (["env", "bash", "-c", "true"], "denied", "command_is_shell"),
    ],
)
async def test_the_library_judges_its_words(
    argv: list[str], status: str, why: str, tmp_path: Path, settings: Settings
) -> None:
    """Protects: a list of commands holds for what really runs, word by word."""
    policy = tmp_path / "policy"
    await library.add_to(policy, ["commands"])
    data = {"capabilities": [RUN], "exact": [["true"]], "prefixes": [["env"]]}
    (policy / "checkrein/commands/data.json").write_text(json.dumps(data), encoding="utf-8")
    seen, _ = await one(tmp_path, settings, call(RUN, argv=argv))
    assert seen.status == status
    assert not why or code(seen) == why


async def test_it_must_be_granted(tmp_path: Path, settings: Settings) -> None:
    """Protects contracts from before it: what they do not name, the model is not offered."""
    turns = [says("", call(RUN, argv=["true"])), DONE]
    task = contract(tmp_path, turns, policy=None)
    async with opened(settings) as (harness, parts):
        (seen,) = await told(parts, await harness.run(task))
    assert (seen.status, code(seen)) == ("denied", "capability_not_granted")


async def test_an_approval_is_for_the_tree_that_was_there(
    tmp_path: Path, settings: Settings
) -> None:
    """Protects the person who approves: what runs, runs on the state that they saw."""
    ran = tmp_path / "ran"
    turns = [says("", call(RUN, argv=["touch", str(ran)])), DONE]
    task = contract(tmp_path, turns, policy=ASK_WRITES, capabilities=[RUN], environment=LOCAL)
    async with opened(settings) as (harness, _):
        report = await harness.run(task)
        (Path(report.workspace) / "a.txt").write_text("other\n", encoding="utf-8")
        report = await approved(harness, report)
        assert report.status is AttemptStatus.APPROVAL_STALE
        assert not ran.exists()
        report = await approved(harness, report)
    assert report.effects == {"COMMITTED": 1}
    assert ran.exists()
