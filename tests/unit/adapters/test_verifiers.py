"""The verifiers: they look at the world, and an answer is worth what was really run."""

import sys
from pathlib import Path

import pytest

from checkrein.adapters.artifact_files import FolderArtifactStore
from checkrein.adapters.command_output import without_host_paths
from checkrein.adapters.command_runner import LocalCommandRunner
from checkrein.adapters.command_verifier import CommandVerifier
from checkrein.adapters.judged_command import MAX_GAP
from checkrein.adapters.unchanged_verifier import UnchangedVerifier
from checkrein.adapters.workspace import FolderWorkspace
from checkrein.contracts.check import Check, CommandCheck, CommandSpec, UnchangedCheck
from checkrein.contracts.task import Constraint, NetworkConstraint, TaskContract
from checkrein.contracts.verification import CheckResult, CheckStatus
from checkrein.errors import EnvironmentFault, InputError
from checkrein.ports.command_runner import CommandResult
from checkrein.ports.verifier import Examination


@pytest.fixture
def store(home: Path) -> FolderArtifactStore:
    return FolderArtifactStore(home)


@pytest.fixture
def verifier(store: FolderArtifactStore) -> CommandVerifier:
    return CommandVerifier(LocalCommandRunner(), store)


def command(*argv: str, timeout_s: int = 30) -> CommandCheck:
    return CommandCheck(command=CommandSpec(argv=list(argv), timeout_s=timeout_s))


def examination(root: Path, check: Check, *constraints: Constraint) -> Examination:
    contract = TaskContract(goal="x", success=[check], constraints=list(constraints))
    return Examination(attempt_id="a1", contract=contract, copy_root=root, state_digest="sha256:x")


async def judged(
    verifier: CommandVerifier, workspace: FolderWorkspace, root: Path, check: CommandCheck
) -> CheckResult:
    return await verifier.verify(check, examination(root, check), workspace)


async def test_exit_status_alone_decides(
    verifier: CommandVerifier, store: FolderArtifactStore, workspace: FolderWorkspace, source: Path
) -> None:
    """Protects verdicts: neither words nor an empty output make a pass."""
    good = await judged(verifier, workspace, source, command("sh", "-c", "echo FAILED; exit 0"))
    assert (good.status, good.gap, good.exit_code) == (CheckStatus.PASS, "", 0)
    bad = await judged(verifier, workspace, source, command("sh", "-c", "echo all passed; exit 1"))
    assert (bad.status, bad.exit_code) == (CheckStatus.FAIL, 1)
    assert "exit status 1\nall passed" in bad.gap
    assert bad.name == "sh -c 'echo all passed; exit 1'"
    killed = await judged(verifier, workspace, source, command("sh", "-c", "kill -9 $$"))
    assert (killed.status, "ended by signal 9" in killed.gap) == (CheckStatus.FAIL, True)
    assert bad.evidence_ref is not None
    kept = (await store.get(bad.evidence_ref)).decode()
    assert "command: sh -c 'echo all passed; exit 1'\noutcome: exit status 1\n" in kept
    assert "--- stdout ---\nall passed\n" in kept


async def test_no_end_is_no_pass(
    verifier: CommandVerifier, workspace: FolderWorkspace, source: Path
) -> None:
    """Protects against waiting for ever, and against taking silence for success."""
    result = await judged(
        verifier, workspace, source, command("sh", "-c", "echo on; sleep 60", timeout_s=1)
    )
    assert (result.status, result.exit_code) == (CheckStatus.FAIL, None)
    assert "no end within its time of 1 s\non" in result.gap


async def test_the_gap_is_bounded_and_names_no_folder_of_the_machine(
    verifier: CommandVerifier, workspace: FolderWorkspace, source: Path
) -> None:
    """Protects the context from floods, and the machine's layout from the model."""
    show = (
        "import os, sys, tempfile; print('x' * 100_000); print(os.path.abspath('src/app.py'));"
        "print(os.__file__, tempfile.gettempdir(), sys.prefix, sys.executable);"
        "print('GET /api/users/1'); sys.exit(1)"
    )
    result = await judged(verifier, workspace, source, command("python", "-c", show))
    assert len(result.gap) < MAX_GAP + 1000
    for secret in (str(source), sys.prefix, sys.base_prefix, "/tmp/", "/home/"):
        assert secret not in result.gap
    assert "\nsrc/app.py\n" in result.gap
    assert "<host>/os.py" in result.gap
    assert "GET /api/users/1" in result.gap


def test_host_paths_in_text(tmp_path: Path) -> None:
    """Protects readable diagnostics: only what is a path of this machine is shortened."""
    text = f'File "{tmp_path}/a/b.py", line 3; in {tmp_path}; /usr/lib/x.py:3 src/usr/lib http://h/usr/x'
    assert without_host_paths(text, tmp_path) == (
        'File "a/b.py", line 3; in .; <host>/x.py:3 src/usr/lib http://h/usr/x'
    )


async def test_a_program_of_the_candidate_that_is_missing_fails_it(
    verifier: CommandVerifier, workspace: FolderWorkspace, source: Path
) -> None:
    """Protects the difference: a script that the model removed is its fault, not the machine's."""
    ours = await judged(verifier, workspace, source, command("./check.sh"))
    assert (ours.status, "not in the workspace" in ours.gap) == (CheckStatus.FAIL, True)
    with pytest.raises(EnvironmentFault, match="no-such-program"):
        await judged(verifier, workspace, source, command("no-such-program"))


class _Recorder:
    """A runner that only notes whether a network was allowed."""

    def __init__(self) -> None:
        self.offline: list[bool] = []

    async def run(
        self,
        argv: list[str],
        *,
        cwd: Path,
        timeout_s: float,
        offline: bool = False,
        stdin: bytes = b"",
    ) -> CommandResult:
        self.offline.append(offline)
        return CommandResult(
            argv=argv, exit_code=0, stdout=b"", stderr=b"", timed_out=False, duration_s=0.1
        )


async def test_network_none_reaches_the_runner(
    store: FolderArtifactStore, workspace: FolderWorkspace, source: Path
) -> None:
    """Protects the constraint: it is enforced where commands run, not only written down."""
    recorder, check = _Recorder(), command("true")
    verifier = CommandVerifier(recorder, store)
    await verifier.verify(check, examination(source, check), workspace)
    none = NetworkConstraint(network="none")
    await verifier.verify(check, examination(source, check, none), workspace)
    assert recorder.offline == [False, True]


@pytest.mark.shows(223)
async def test_unchanged_finds_every_change(workspace: FolderWorkspace, source: Path) -> None:
    """Protects tests and policies: edited, removed or added files fail the candidate."""
    check, verifier = UnchangedCheck(unchanged=["src/**"]), UnchangedVerifier()
    seen = examination(source, check)
    assert (await verifier.verify(check, seen, workspace)).status is CheckStatus.PASS
    (source / "notes.txt").write_text("allowed")
    assert (await verifier.verify(check, seen, workspace)).status is CheckStatus.PASS
    (source / "src" / "conftest.py").write_text("added")
    (source / "src" / "app.py").unlink()
    result = await verifier.verify(check, seen, workspace)
    assert result.status is CheckStatus.FAIL
    assert "- src/app.py\n- src/conftest.py\nPut them back." in result.gap
    assert result.name == "src/**"


async def test_an_altered_baseline_is_an_error_and_no_pass(
    workspace: FolderWorkspace, source: Path, home: Path
) -> None:
    """Protects against a comparison with a forged past."""
    check = UnchangedCheck(unchanged=["src/**"])
    (home / "workspaces" / "a1" / "baseline" / "notes.txt").write_text("forged")
    result = await UnchangedVerifier().verify(check, examination(source, check), workspace)
    assert result.status is CheckStatus.ERROR
    assert str(home) not in result.gap


async def test_each_verifier_judges_its_kind_only(
    verifier: CommandVerifier, workspace: FolderWorkspace, source: Path
) -> None:
    """Protects against a check that nobody ran."""
    run, same = command("true"), UnchangedCheck(unchanged=["**"])
    assert (verifier.judges(run), verifier.judges(same)) == (True, False)
    assert (UnchangedVerifier().judges(run), UnchangedVerifier().judges(same)) == (False, True)
    with pytest.raises(InputError):
        await verifier.verify(same, examination(source, same), workspace)
    with pytest.raises(InputError):
        await UnchangedVerifier().verify(run, examination(source, run), workspace)
