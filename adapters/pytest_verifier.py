"""The `pytest` check: tests that pytest runs in a copy, judged by its report and a control."""

import asyncio
import importlib.util
import shutil
import sys
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from checkrein.adapters.blocking import to_end
from checkrein.adapters.command_door import CommandDoor
from checkrein.adapters.command_output import without_host_paths
from checkrein.adapters.hidden_tests import lay_over
from checkrein.adapters.judged_command import end_of, ending, report_of, run_in_copy
from checkrein.adapters.junit_report import MAX_REPORT, Report, read_report
from checkrein.adapters.pytest_control import Control
from checkrein.adapters.pytest_steering import config_of, named_changed, steering_changed
from checkrein.adapters.tests_excused import excused
from checkrein.adapters.tests_wanted import gap, hidden_gap, verdict
from checkrein.contracts.check import Check, PytestCheck, PytestSpec
from checkrein.contracts.codec import visible
from checkrein.contracts.verification import CheckResult, CheckStatus
from checkrein.errors import CapabilityError, EnvironmentFault, InputError, IntegrityError
from checkrein.ports.artifact_store import ArtifactStore
from checkrein.ports.command_runner import CommandResult
from checkrein.ports.verifier import Examination
from checkrein.ports.workspace import Workspace

_VERSION = "pytest/1"
_JUDGE = Path(__file__).with_name("pytest_judge.py")
_REPORT = "report.xml"
_OWN = "judging"
_PLAIN = "pytest.ini"
_SOME_FAILED = 1
_USAGE = {2: "it was interrupted", 3: "it broke", 4: "it was called wrongly", 5: "no test ran"}


class PytestVerifier:
    """Implements checkrein.ports.verifier.Verifier for `pytest` checks.

    What the tests import runs in the process that judges them. So nothing of the candidate may
    steer pytest, the report lies outside of its folder, a control that must fail goes along, and
    the exit status must agree. Code that was written to defeat this very verifier still may:
    hidden tests, and a sandbox, are what stands against that.
    """

    def __init__(self, door: CommandDoor, artifacts: ArtifactStore) -> None:
        """`artifacts` keeps output and report as evidence."""
        self._door = door
        self._artifacts = artifacts

    @property
    def version(self) -> str:
        """Name and version, recorded with each result."""
        return _VERSION

    def judges(self, check: Check) -> bool:
        """Whether this is a `pytest` check."""
        return isinstance(check, PytestCheck)

    async def verify(
        self, check: Check, examination: Examination, workspace: Workspace
    ) -> CheckResult:
        """Run the tests; PASS only where all that count were reported as passed.

        Raises:
            EnvironmentFault: pytest, a plugin or the folder of hidden tests is not there.
            InputError: the check is of another kind.
        """
        if not isinstance(check, PytestCheck):
            raise InputError(f"{_VERSION} cannot judge a {type(check).__name__}.", op="pytest")
        spec, copy = check.pytest, examination.copy_root
        _see_installed(spec)
        laid: frozenset[str] = frozenset()
        hidden = spec.hidden
        if hidden is not None:
            laid = await to_end(lambda: lay_over(hidden, copy, workspace.ref))
        try:
            steering = await steering_changed(workspace, copy, laid)
            theirs = await named_changed(workspace, _files_of(spec), laid)
        except IntegrityError:
            why = "The record of the files as they were has been altered; nothing can be said."
            return _result(spec, CheckStatus.ERROR, why)
        if steering or theirs:
            return _result(spec, CheckStatus.FAIL, _not_theirs(steering, theirs))
        return await self._judged(spec, examination, laid)

    async def _judged(
        self, spec: PytestSpec, examination: Examination, laid: frozenset[str]
    ) -> CheckResult:
        copy, control = examination.copy_root, Control()
        # Read before any code of the candidate can change them.
        spared = await asyncio.to_thread(excused, copy, laid)
        await asyncio.to_thread(control.lay, copy)
        own = await asyncio.to_thread(_laid_beside, copy)
        seen = Path(self._door.seen(own.parent))
        argv = await asyncio.to_thread(lambda: _argv(spec, copy, seen, control, _tests_among(laid)))
        done = await run_in_copy(self._door, argv, examination, spec.timeout_s, root=own.parent)
        if isinstance(done, str):
            raise EnvironmentFault(done, op="pytest.run")  # Python itself is never the candidate's
        ran, told = done
        found = await _read(own)
        kept = await self._artifacts.put(
            told + b"\n--- report ---\n" + found.raw,
            name="hidden_test_report" if spec.hidden else "test_report",
            media_type="text/plain",
            producer=_VERSION,
        )
        doubt = _doubt(ran, found, control, spec.timeout_s)
        outcome = verdict(found.report, spec, laid, spared)
        passed = doubt is None and outcome.passed
        why, place = "", str(seen / copy.name)
        if doubt is not None and spec.hidden is not None:
            why = "The run does not count, and hidden tests are among it, so that no more is told."
        elif doubt is not None:
            why = without_host_paths(f"{doubt}\n{end_of(ran)}".strip(), copy, place)
        elif not passed:
            why = (
                hidden_gap(outcome)
                if spec.hidden
                else without_host_paths(gap(outcome), copy, place)
            )
        return _result(spec, CheckStatus.PASS if passed else CheckStatus.FAIL, why).model_copy(
            update={
                # The control makes every honest run end by 1; it is taken off again.
                "exit_code": 0 if passed else ran.exit_code,
                "duration_s": round(ran.duration_s, 3),
                "evidence_ref": kept.uri,
                "measured": dict(found.report.counts()),
            }
        )


class _Found(NamedTuple):
    """The report as it lay there; `problem` where it cannot be read."""

    raw: bytes
    report: Report
    problem: str | None


async def _read(scratch: Path) -> _Found:
    try:
        raw = await report_of(scratch, _REPORT, MAX_REPORT)
    except CapabilityError:
        return _Found(b"", Report(), "there is no report of it")
    try:
        return _Found(raw, await asyncio.to_thread(read_report, raw), None)
    except InputError as error:
        return _Found(raw, Report(), str(error))


def _doubt(ran: CommandResult, found: _Found, control: Control, timeout_s: float) -> str | None:
    """Why the run proves nothing; None where its report can be gone by."""
    ended = ending(ran, timeout_s)
    if ran.timed_out:
        return f"The tests: {ended}."
    control_held = control.taken_from(found.report)
    if found.problem is None and control_held and ran.exit_code == _SOME_FAILED:
        return None
    if ran.exit_code in _USAGE:
        return f"pytest did not run the tests: {_USAGE[ran.exit_code]} ({ended})."
    if found.problem is not None:
        return f"The run does not count: {found.problem} ({ended})."
    return (
        "The run does not count: the harness adds a test that must fail, and it was not reported "
        f"as failing ({ended}). Something changes how tests are run or reported, or ends the run."
    )


def _see_installed(spec: PytestSpec) -> None:
    for module in ("pytest", *spec.plugins):
        top = module.partition(".")[0]
        if importlib.util.find_spec(top) is None:
            raise EnvironmentFault(
                f"{top} is not installed beside Checkrein ({sys.prefix}), and the task's tests "
                f"need it. Install it there: {sys.executable} -m pip install {top}",
                op="pytest.run",
                code="pytest_missing",
            )


def _files_of(spec: PytestSpec) -> list[str]:
    """The files that named tests stand in."""
    named = [*spec.fail_to_pass, *spec.pass_to_pass]
    found: list[str] = []
    for test in named:
        if "::" in test:
            found.append(test.partition("::")[0])
            continue
        # tests.test_a.TestB.test_c: whichever of its beginnings is a module of tests.
        parts = test.partition("[")[0].split(".")
        found += ["/".join(parts[:n]) + ".py" for n in range(1, len(parts))]
    return list(dict.fromkeys(found))


def _laid_beside(copy: Path) -> Path:
    """The harness's own folder beside the copy, with what starts pytest. Blocking."""
    own = copy.with_name(_OWN)
    own.mkdir()
    shutil.copyfile(_JUDGE, own / _JUDGE.name)
    (own / _PLAIN).write_text("[pytest]\n", encoding="utf-8")
    return own


def _tests_among(laid: frozenset[str]) -> list[str]:
    """Those of the hidden files that hold tests, by the names that pytest looks for."""
    names = {file: PurePosixPath(file).name for file in laid}
    found = [f for f, n in names.items() if n.startswith("test_") or n.endswith("_test.py")]
    return sorted(file for file in found if file.endswith(".py"))


def _argv(
    spec: PytestSpec, copy: Path, seen: Path, control: Control, hidden: list[str]
) -> list[str]:
    """The whole command; what stands last outdoes what a project's own options say. Blocking.

    `seen`: where the command finds the folder that holds the copy and ours.
    """
    config, scratch, place = config_of(copy), seen / _OWN, seen / copy.name
    chosen = spec.paths or [file for file in _files_of(spec) if (copy / file).is_file()]
    if chosen or hidden:
        # Also where all is looked for: a folder may be marked as one to pass over.
        chosen = [*dict.fromkeys([*(chosen or ["."]), *hidden])]
    own = [f"--{name}={value}" for name, value in _options(place, scratch).items()]
    settings = {
        "cache_dir": str(scratch / "cache"),
        "junit_family": "xunit2",
        "junit_logging": "no",
    }
    return [
        *(sys.executable, "-I", "-X", f"pycache_prefix={scratch / 'pycache'}"),
        *(str(scratch / _JUDGE.name), *spec.plugins, "--"),
        *("-c", str(place / config if config else scratch / _PLAIN)),
        *(part for name, value in settings.items() for part in ("-o", f"{name}={value}")),
        *own,
        *(part for plugin in spec.plugins for part in ("-p", plugin)),
        "--continue-on-collection-errors",
        "--no-header",
        "--keep-duplicates",  # else a folder that holds the control's would swallow it
        *(f"./{path}" for path in chosen or ["."]),
        f"./{control.path}",  # last, when the candidate's code has done what it does
    ]


def _options(copy: Path, scratch: Path) -> dict[str, str]:
    return {
        "junit-xml": str(scratch / _REPORT),
        "junit-prefix": "",
        "rootdir": str(copy),
        "confcutdir": str(copy),
        "maxfail": "0",
        "tb": "auto",
        "color": "no",
    }


def _not_theirs(steering: list[str], theirs: list[str]) -> str:
    lines = ["These files must be as they were at the start. Put them back:"]
    lines += [f"- {visible(path)} (decides how the tests are run)" for path in steering[:20]]
    lines += [f"- {visible(path)} (holds tests that are named)" for path in theirs[:20]]
    return "\n".join(lines)


def _result(spec: PytestSpec, status: CheckStatus, why: str) -> CheckResult:
    what = ["pytest", *spec.paths, *(["with hidden tests"] if spec.hidden else [])]
    return CheckResult(kind="pytest", name=" ".join(what), status=status, gap=why)
