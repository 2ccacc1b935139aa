"""The completion gate on whole runs: what is always looked at, what ends how, what stays hidden."""

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import psycopg
import pytest
from judged import MENDED, PROJECT, Files, written
from langchain_core.callbacks import AsyncCallbackManagerForLLMRun
from langchain_core.messages import BaseMessage
from langchain_core.outputs import ChatResult
from loops import DONE, call, contract, payloads, says
from psycopg import sql
from pydantic import Field

from checkrein.adapters.text_match_verifier import TextMatchVerifier
from checkrein.compose import Given, Parts, composed
from checkrein.contracts.attempt import AttemptStatus
from checkrein.contracts.environment import EnvironmentSpec
from checkrein.contracts.event import VerificationFinished
from checkrein.contracts.task import TaskContract
from checkrein.contracts.verification import CheckResult, CheckStatus, VerificationResult
from checkrein.errors import InputError
from checkrein.graph.report import Report
from checkrein.harness import Harness
from checkrein.settings import Settings
from checkrein.testing.scripted_model import ScriptedChatModel

Hook = Callable[[int], Awaitable[None]]


class Watched(ScriptedChatModel):
    """A scripted model that keeps what it was sent, and lets something happen before it answers."""

    requests: list[str] = Field(default_factory=list[str])
    hook: Hook | None = None

    async def _agenerate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        self.requests.append(f"{messages} {kwargs}")
        if self.hook is not None:
            await self.hook(len(self.requests))
        return await super()._agenerate(messages, stop, run_manager, **kwargs)


async def run(
    task: TaskContract, settings: Settings, hook: Hook | None = None
) -> tuple[Report, list[VerificationResult], list[str]]:
    """Run a task; returns its report, its verifications, and what the model was sent."""
    assert task.model is not None
    scripted = ScriptedChatModel.load(Path(task.model.removeprefix("scripted:")))
    model = Watched(script=scripted.script, source=scripted.source, hook=hook)
    async with composed(settings, Given(model=model), lease_ttl_s=15.0) as parts:
        report = await Harness(parts).run(task)
        return report, await verifications(parts, report.attempt_id), model.requests


async def verifications(parts: Parts, attempt_id: str) -> list[VerificationResult]:
    """All verdicts of an attempt, oldest first."""
    told = await payloads(parts, attempt_id)
    return [p.result for p in told if isinstance(p, VerificationFinished)]


WRITES = says("", call("workspace.write_file", path="a.txt", content="two\n"))

TAMPERED = {
    "it was denied": (
        """UPDATE checkrein.decisions SET body =
        jsonb_set(body::jsonb, '{decision}', '"DENY"')::json WHERE phase = 'dispatch'""",
        "workspace.write_file@1 was sent although the policy said DENY and nobody approved it",
    ),
    "nobody approved it": (
        """UPDATE checkrein.decisions SET body =
        jsonb_set(body::jsonb, '{decision}', '"REQUIRE_APPROVAL"')::json""",
        "was sent although the policy said REQUIRE_APPROVAL and nobody approved it",
    ),
    "nobody decided": (
        "DELETE FROM checkrein.decisions WHERE phase = 'dispatch'",
        "was sent without a decision of the policy",
    ),
    "it was something else": (
        "UPDATE checkrein.effects SET operation_hash = 'sha256:0'",
        "was sent as another operation than was decided on",
    ),
    "nobody knows": (
        "UPDATE checkrein.effects SET status = 'UNKNOWN_EFFECT'",
        "was sent and nobody can say whether it happened",
    ),
}


@pytest.mark.shows(205)
@pytest.mark.parametrize("case", TAMPERED)
async def test_what_was_not_allowed_is_not_accepted(
    tmp_path: Path, settings: Settings, case: str
) -> None:
    """Protects policy_ok: by the database's own record, whatever the other checks say."""
    statement, said = TAMPERED[case]

    async def tamper(request: int) -> None:
        if request == 2:
            async with await psycopg.AsyncConnection.connect(
                str(settings.database_url), autocommit=True
            ) as login:
                await login.execute(statement.encode())

    task = contract(tmp_path, [WRITES, DONE], budgets={"repairs": 3})
    report, [verdict], _ = await run(task, settings, tamper)
    assert report.status is AttemptStatus.FAILED_VERIFICATION
    assert [c.status for c in verdict.checks if c.kind == "command"] == [CheckStatus.PASS]
    [obeyed] = [c for c in verdict.checks if c.kind == "policy_obeyed"]
    assert (obeyed.status, obeyed.repairable, verdict.repairable) == (
        CheckStatus.FAIL,
        False,
        False,
    )
    assert said in obeyed.gap


@pytest.mark.shows(204, 205, 206, 210, 216, 222)
async def test_an_accepted_verdict_says_by_what(tmp_path: Path, settings: Settings) -> None:
    """Protects readers of evidence: every check has its strength, and who judged is named."""
    checks: list[dict[str, Any]] = [
        {"command": {"argv": ["grep", "-q", "two", "a.txt"]}},
        {"policy_obeyed": {}},
    ]
    task = contract(tmp_path, [WRITES, DONE], success=checks, artifacts=["diff", "test_report"])
    report, [verdict], _ = await run(task, settings)
    assert report.status is AttemptStatus.CANDIDATE_VERIFIED
    assert verdict.verifier_version == "command/1, gate/1"
    found = [(c.kind, c.strength, c.status, c.check_id is not None) for c in verdict.checks]
    assert found == [
        ("policy_obeyed", "guard", "PASS", True),
        ("command", "tests", "PASS", True),
        ("policy_obeyed", "guard", "PASS", False),
        ("artifacts", "guard", "PASS", False),
    ]


@pytest.mark.shows(205, 216)
async def test_a_run_that_ended_well_in_a_wrong_world_is_not_accepted(
    tmp_path: Path, settings: Settings
) -> None:
    """Protects tests_pass: every action succeeded, and the world is not as it was to be."""
    checks = [{"command": {"argv": ["grep", "-q", "three", "a.txt"]}}]
    task = contract(tmp_path, [WRITES, DONE], success=checks, budgets={"repairs": 0})
    report, [verdict], _ = await run(task, settings)
    assert report.effects == {"COMMITTED": 1}
    assert (report.status, verdict.status) == (AttemptStatus.FAILED_VERIFICATION, CheckStatus.FAIL)


@pytest.mark.shows(205, 223)
async def test_a_forbidden_change_is_not_accepted(tmp_path: Path, settings: Settings) -> None:
    """Protects no_forbidden_change: the tests pass, since they were changed."""
    checks = [{"command": {"argv": ["grep", "-q", "two", "a.txt"]}}]
    guard = [{"unchanged": ["a.txt"]}]
    task = contract(
        tmp_path, [WRITES, DONE], success=checks, constraints=guard, budgets={"repairs": 0}
    )
    report, [verdict], _ = await run(task, settings)
    assert report.status is AttemptStatus.FAILED_VERIFICATION
    assert [(c.kind, c.status) for c in verdict.checks if c.status != CheckStatus.PASS] == [
        ("unchanged", CheckStatus.FAIL)
    ]


async def test_a_check_that_cannot_run_is_the_environments_fault(
    tmp_path: Path, settings: Settings
) -> None:
    """Protects the model and the candidate: nobody knows, so it is neither repaired nor refused."""

    async def tamper(request: int) -> None:
        if request == 2:
            [baseline] = settings.home.glob("workspaces/*/baseline")
            (baseline / "a.txt").write_text("other\n")

    checks = [{"unchanged": ["b.txt"]}, {"command": {"argv": ["false"]}}]
    task = contract(tmp_path, [WRITES, DONE], success=checks, budgets={"repairs": 3})
    report, [verdict], _ = await run(task, settings, tamper)
    assert report.status is AttemptStatus.ENVIRONMENT_ERROR
    assert (verdict.status, verdict.repairable) == (CheckStatus.ERROR, False)
    assert str(settings.home) not in verdict.model_dump_json()


@pytest.mark.parametrize("error", [KeyError("x"), TimeoutError(), InputError("odd", op="x")])
async def test_a_verifier_that_breaks_is_one_check_that_could_not_run(
    error: Exception, tmp_path: Path, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Protects the attempt: it ends with every other result, where each recovery met it again."""

    async def breaks(*given: object) -> CheckResult:
        raise error

    monkeypatch.setattr(TextMatchVerifier, "verify", breaks)
    checks = [{"text_match": {"file": "a.txt", "equals": "one"}}, {"command": {"argv": ["true"]}}]
    task = contract(tmp_path, [DONE], success=checks)
    report, [verdict], _ = await run(task, settings)
    assert report.status is AttemptStatus.ENVIRONMENT_ERROR
    odd, passed = (check for check in verdict.checks if check.check_id is not None)
    if odd.kind == "command":
        odd, passed = passed, odd
    assert (odd.kind, odd.status, passed.status) == (
        "text_match",
        CheckStatus.ERROR,
        CheckStatus.PASS,
    )
    assert odd.gap == "odd" or f"broke: {type(error).__name__} at test_gate.py" in odd.gap


CANARY = "canary_4711"
HIDDEN: Files = {
    f"tests/test_{CANARY}.py": (
        f"from shop import price\n\n\ndef test_{CANARY}_good():\n    assert True\n\n\n"
        f"def test_{CANARY}_bad():\n    print('{CANARY}')\n    assert price() == 2, '{CANARY}'\n"
    )
}
FIXES = says("", call("workspace.write_file", path="shop.py", content=MENDED["shop.py"]))


def hidden_task(folder: Path, turns: list[dict[str, Any]], files: Files) -> TaskContract:
    """A task that hidden tests judge."""
    hidden = written(folder / "laid_aside", HIDDEN)
    check = {"pytest": {"hidden": str(hidden)}}
    return contract(folder, turns, files=files, success=[check], budgets={"repairs": 2})


async def kept_rows(settings: Settings) -> list[str]:
    """Every row of every table of ours and of LangGraph's, as text; bytes in hex."""
    rows: list[str] = []
    async with await psycopg.AsyncConnection.connect(str(settings.database_url)) as login:
        tables = await (
            await login.execute(
                "SELECT table_schema, table_name FROM information_schema.tables"
                " WHERE table_schema IN ('checkrein', 'langgraph') AND table_type = 'BASE TABLE'"
            )
        ).fetchall()
        for names in tables:
            query = sql.SQL("SELECT t::text FROM {} t").format(sql.Identifier(*names))
            rows += [row[0] for row in await (await login.execute(query)).fetchall()]
    return rows


@pytest.mark.shows(211, 212)
async def test_hidden_tests_reach_no_model(tmp_path: Path, settings: Settings) -> None:
    """Protects hidden tests: name, content, message and output are kept for people and no model.

    The canary is hunted for in every request, row, blob and file; one kept report holds it.
    """
    task = hidden_task(tmp_path, [DONE, FIXES, DONE], PROJECT)
    report, verdicts, requests = await run(task, settings)
    assert report.status is AttemptStatus.CANDIDATE_VERIFIED
    assert verdicts[0].gaps == ["pytest with hidden tests: 2 of 4 hidden tests failed."]
    assert "Accepted when pytest passes: the whole workspace, and hidden tests" in requests[0]
    assert "2 of 4 hidden tests failed" in requests[-1]
    assert "laid_aside" not in "".join(requests)
    rows = await kept_rows(settings)
    assert len(rows) > 50
    for text in (*requests, *rows):
        assert CANARY not in text
        assert CANARY.encode().hex() not in text
    holding = [
        path
        for path in settings.home.rglob("*")
        if path.is_file() and _holds(path, CANARY.encode())
    ]
    kept = {ref.removeprefix("artifact:sha256:") for v in verdicts for ref in v.evidence_refs}
    assert {path.name for path in holding} == kept


def _holds(path: Path, word: bytes) -> bool:
    return word in path.read_bytes() or word in str(path).encode()


@pytest.mark.shows(211)
async def test_code_that_writes_hidden_tests_down_gets_no_further_turn(
    tmp_path: Path, settings: Settings
) -> None:
    """Protects hidden tests from the code that runs beside them: what leaked is never read."""
    leaks = (
        "import glob, pathlib\n"
        f"for work in glob.glob('{settings.home}/workspaces/*/work'):\n"
        "    for file in pathlib.Path('tests').glob('*.py'):\n"
        "        (pathlib.Path(work) / 'leak.txt').write_text(file.read_text())\n"
        "def price():\n    return 1\n"
    )
    turns = [DONE, says("", call("workspace.read", path="leak.txt")), DONE]
    task = hidden_task(tmp_path, turns, {**PROJECT, "shop.py": leaks})
    # In a sandbox the workspace is not there to be written to.
    bare = EnvironmentSpec(backends=["local"], network="host")
    report, verdicts, requests = await run(task.model_copy(update={"environment": bare}), settings)
    assert report.status is AttemptStatus.FAILED_VERIFICATION
    assert (len(verdicts), len(requests)) == (1, 1)
    assert "state unchanged while it was verified" in str(verdicts[0].gaps)
