"""Evidence of real runs, however they end: whole, sufficient, and made of what was stored."""

import asyncio
import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import LiteralString

import endings
import forged
import loops
import pytest
from psycopg import AsyncConnection, sql
from psycopg.rows import DictRow, dict_row

from checkrein.compose import Parts
from checkrein.contracts.attempt import Checkpoint
from checkrein.contracts.evidence import EvidencePackage
from checkrein.contracts.proposal import RawReply
from checkrein.errors import CheckreinError, EnvironmentFault, InputError, IntegrityError
from checkrein.graph.evidence import export, package
from checkrein.graph.evidence_check import check
from checkrein.graph.evidence_files import artifact_path, context_path
from checkrein.graph.trace_rules import grade
from checkrein.settings import Settings

CHILD = Path(__file__).parents[2] / "support" / "crash_child.py"


async def written(parts: Parts, task_id: str, out: Path) -> Path:
    """Export what an open harness holds."""
    return await export(parts.records, parts.events, parts.artifacts, task_id, out)


def read_package(folder: Path) -> EvidencePackage:
    """The package of a folder."""
    return EvidencePackage.model_validate_json((folder / "evidence.json").read_bytes())


async def by_owner(
    settings: Settings, statement: LiteralString | sql.Composed
) -> list[dict[str, object]]:
    """Run a statement as the superuser: how a tamperer works. Returns what it returns."""
    url = str(settings.database_url)
    connecting = AsyncConnection[DictRow].connect(url, row_factory=dict_row)
    async with await connecting as connection:
        cursor = await connection.execute(statement)
        return await cursor.fetchall() if cursor.description else []


@pytest.mark.shows(10, 227, 234)
@pytest.mark.parametrize("name", endings.SCENARIOS)
async def test_evidence_of_every_kind_of_end_is_whole(
    name: str, tmp_path: Path, settings: Settings
) -> None:
    """Protects: what the events amount to, computed again, is what the tables say, for all ends.

    The trace of a run that failed keeps all rules too: a faithful record is no judgement.
    """
    scenario, status = endings.SCENARIOS[name]
    async with loops.opened(settings) as (harness, parts):
        task_id = await scenario(tmp_path, harness, parts)
        folder = await written(parts, task_id, tmp_path / "evidence")
    found = read_package(folder)
    assert check(folder) == []
    assert grade(forged.read_events(folder)) == []
    assert found.attempt.status == status
    columns = sql.SQL(", ").join(
        map(sql.Identifier, sorted(set(Checkpoint.model_fields) - {"schema_version"}))
    )
    rows = await by_owner(settings, sql.SQL("SELECT {} FROM checkrein.checkpoints").format(columns))
    (row,) = [row for row in rows if row["attempt_id"] == found.attempt.attempt_id]
    checkpoint = Checkpoint.model_validate_json((folder / "checkpoint.json").read_bytes())
    assert checkpoint.model_dump(exclude={"schema_version"}) == row


@pytest.mark.parametrize("place", ["after_executing", "after_file_write", "in_verifier"])
async def test_evidence_of_a_run_that_was_killed_is_whole(
    place: str, tmp_path: Path, settings: Settings, environment: dict[str, str]
) -> None:
    """Protects: a death on the way leaves no mark that would make evidence look forged."""
    task = loops.contract(tmp_path, [endings.WRITE, loops.DONE], policy=loops.ASK_WRITES)
    contract = tmp_path / "contract.json"
    contract.write_text(task.model_dump_json(), encoding="utf-8")
    child = await asyncio.create_subprocess_exec(
        *(sys.executable, str(CHILD), str(contract)),
        env=environment | {"CHECKREIN_FAILPOINT": place},
    )
    assert await child.wait() == -signal.SIGKILL
    async with loops.opened(settings) as (harness, parts):
        attempt = (await parts.records.attempts())[0]
        with pytest.raises(InputError, match="has ended"):
            await written(parts, attempt.task_id, tmp_path / "early")
        report = await harness.recover(attempt.attempt_id)
        assert report.verified
        folder = await written(parts, attempt.task_id, tmp_path / "evidence")
    assert check(folder) == []
    assert read_package(folder).effects[0].status == "COMMITTED"
    assert not (tmp_path / "early").exists()


@pytest.mark.shows(10, 228)
def test_the_check_needs_no_database_no_network_and_no_tool(evidence: Path) -> None:
    """Protects: evidence can be checked on a machine that has nothing but the folder."""
    code = """
import sys
from pathlib import Path
from checkrein.graph.evidence_check import check
assert check(Path(sys.argv[1])) == []
heavy = ("psycopg", "langgraph", "langchain_core", "checkrein.adapters", "checkrein.checkpointer")
assert not [name for name in heavy if name in sys.modules], sys.modules
"""
    subprocess.run([sys.executable, "-c", code, str(evidence)], env={}, check=True)


@pytest.mark.shows(206, 220, 222, 231)
def test_every_effect_leads_back_to_what_allowed_it(original: Path) -> None:
    """Protects: who asked, which policy, who approved what, what was done, and what proves it."""
    found = read_package(original)
    (effect,), (line,) = found.effects, found.lineage
    assert (effect.effect_id, effect.status) == (line.effect_id, "COMMITTED")
    record = next(x for x in found.actions if x.action.action_id == line.action_id)
    (approval,) = [x for x in found.approvals if x.request.approval_id in line.approval_ids]
    assert approval.request.operation_hash == effect.operation_hash
    assert approval.request.resource_version == effect.from_version
    assert "+two" in approval.request.preview
    (grant,) = approval.grants
    assert (grant.approver, grant.authenticated, grant.reason) == ("bob", False, "it is right")
    assert line.policy_version in found.policies
    for decision in record.decisions:
        name = decision.input_ref.removeprefix("sha256:")
        asked = json.loads((original / f"decision_inputs/{name}.json").read_bytes())
        assert asked["action"]["action_id"] == line.action_id
    manifest = json.loads((original / context_path(line.context)).read_bytes())
    assert manifest["sent"] == record.action.provenance.context
    assert found.task.requested_by == "alice"
    assert found.inputs[0] == f"contract:{found.task.contract_version}"
    verdict, candidate = found.verification, found.candidate
    assert verdict is not None
    assert candidate is not None
    assert verdict.accepted
    assert (candidate.summary, candidate.state_digest) == ("It is done.", verdict.state_digest)
    assert candidate.candidate_hash.startswith("sha256:")
    assert verdict.checks[0].exit_code == 0


@pytest.mark.shows(224)
def test_the_folder_holds_everything_that_the_events_name(original: Path) -> None:
    """Protects: trace, checkpoint, contexts, raw outputs, inputs and artifacts, all as files."""
    found = read_package(original)
    assert {name.split("/")[0] for name in forged.names(original)} == {
        "artifacts",
        "attestation.intoto.json",
        "checkpoint.json",
        "contexts",
        "decision_inputs",
        "events.jsonl",
        "evidence.json",
        "handover.json",
        "manifest.json",
        "model_outputs",
        "report.html",
    }
    diff, report = found.artifacts
    assert "+two" in (original / artifact_path(diff)).read_text()
    assert "exit status 0" in (original / artifact_path(report)).read_text()
    outputs = [RawReply.model_validate_json(p.read_bytes()) for p in original.glob("model_*/*")]
    assert {reply.text for reply in outputs} == {"I look first.", "I change it.", "It is done."}


@pytest.mark.shows(237)
async def test_the_original_of_a_shortened_result_is_in_it(
    tmp_path: Path, settings: Settings
) -> None:
    """Protects: what the model saw cut can be read whole."""
    async with loops.opened(settings) as (harness, parts):
        task_id = await endings.asked(tmp_path, harness, parts)
        folder = await written(parts, task_id, tmp_path / "evidence")
    (original,) = (folder / "originals").iterdir()
    assert original.read_text() == "many words\n" * 40_000


async def test_the_last_attempt_that_ended_is_exported(tmp_path: Path, settings: Settings) -> None:
    """Protects: an attempt at work hides no proof of the one before, and is never half exported."""
    turns = [loops.says("Done."), loops.says("", loops.call("ask_user", question="Really?"))]
    task = loops.contract(
        tmp_path, turns, success=endings.WANTS_TWO, budgets={"repairs": 0}, policy=loops.ALLOW_ALL
    )
    async with loops.opened(settings) as (harness, parts):
        first = await harness.run(task)
        script = tmp_path / "decisions.yaml"
        script.write_text(script.read_text().replace("Done.", ""), encoding="utf-8")
        second = await parts.front_door.retry(first.task_id)
        assert second.status.is_suspended
        folder = await written(parts, first.task_id, tmp_path / "evidence")
        with pytest.raises(InputError) as failure:
            stores = (parts.records, parts.events, parts.artifacts)
            await package(*stores, second.attempt_id)
    assert failure.value.code == "attempt_not_ended"
    assert read_package(folder).attempt.attempt_id == first.attempt_id


async def test_what_cannot_be_exported_is_said_and_leaves_nothing(
    tmp_path: Path, settings: Settings
) -> None:
    """Protects: one clear message for each unusable input, and no half-made folder."""
    file = tmp_path / "file"
    file.write_text("x")
    full = tmp_path / "full"
    full.mkdir()
    (full / "mine.txt").write_text("x")
    link = tmp_path / "link"
    link.symlink_to(tmp_path / "nowhere")
    async with loops.opened(settings) as (harness, parts):
        task_id = await endings.allowed(tmp_path, harness, parts)
        cases: list[tuple[str, Path, type[CheckreinError], str]] = [
            ("no-such-task", tmp_path / "new", InputError, "unknown_task"),
            (task_id, file, InputError, "out_not_empty"),
            (task_id, full, InputError, "out_not_empty"),
            (task_id, link, InputError, "out_not_empty"),
            (task_id, file / "below", EnvironmentFault, "evidence_not_written"),
        ]
        before = sorted(os.listdir(tmp_path))
        for task, out, kind, code in cases:
            with pytest.raises(kind) as failure:
                await written(parts, task, out)
            assert failure.value.code == code
            assert str(failure.value).endswith((".", "one."))
        assert sorted(os.listdir(tmp_path)) == before
        assert os.listdir(full) == ["mine.txt"]
        (tmp_path / "empty").mkdir()
        assert check(await written(parts, task_id, tmp_path / "empty")) == []
        assert check(await written(parts, task_id, tmp_path / "deep" / "er")) == []


async def test_a_lost_artifact_is_said_and_leaves_nothing(
    tmp_path: Path, settings: Settings
) -> None:
    """Protects: evidence is whole or is not made."""
    async with loops.opened(settings) as (harness, parts):
        task_id = await endings.repaired(tmp_path, harness, parts)
        for path in (settings.home / "artifacts").rglob("*"):
            if path.is_file():
                path.unlink()
        with pytest.raises(IntegrityError, match="cannot be read"):
            await written(parts, task_id, tmp_path / "evidence")
    assert not [name for name in os.listdir(tmp_path) if "evidence" in name]


TAMPERED: dict[str, LiteralString] = {
    "effects": "UPDATE checkrein.effects SET status = 'REFUSED'",
    "receipts": "UPDATE checkrein.effects SET outcome = null",
    "approvers": "UPDATE checkrein.grants SET approver = 'mallory'",
    "requests": "UPDATE checkrein.approvals SET status = 'REJECTED'",
    "no grant": "DELETE FROM checkrein.grants",
    "actions": "UPDATE checkrein.actions SET status = 'FAILED'",
    "decisions": "DELETE FROM checkrein.decisions WHERE phase = 'dispatch'",
    "verdict": """UPDATE checkrein.attempts SET verification =
        replace(verification::text, 'PASS', 'FAIL')::json""",
    "contract": """UPDATE checkrein.attempts SET contract =
        replace(contract::text, 'a.txt', 'b.txt')::json""",
    "an event": "UPDATE checkrein.events SET payload = replace(payload, 'bob', 'eve')",
    "the tail": "DELETE FROM checkrein.events WHERE type = 'attempt_ended'",
    "the head": "UPDATE checkrein.attempts SET head_seq = head_seq - 1",
}


@pytest.mark.parametrize("what", TAMPERED)
async def test_rows_that_were_edited_by_hand_make_no_evidence(
    what: str, tmp_path: Path, settings: Settings
) -> None:
    """Protects: tables are believed only where they say what the chain says."""
    async with loops.opened(settings) as (harness, parts):
        task_id = await endings.approved(tmp_path, harness, parts)
        await by_owner(settings, TAMPERED[what])
        with pytest.raises(IntegrityError) as failure:
            await written(parts, task_id, tmp_path / "evidence")
    assert failure.value.code == "records_changed"
    assert "trace verify" in str(failure.value)
    assert not (tmp_path / "evidence").exists()
