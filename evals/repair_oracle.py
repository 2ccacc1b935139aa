"""The oracle of the repair evaluation: runs tests on a folder, apart from the harness.

It knows nothing of verifiers: it takes a folder as a run left it, puts the original tests back,
lays the hidden ones over it and reads what pytest reports.
"""

import asyncio
import os
import shutil
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple
from xml.etree import ElementTree

from checkrein.errors import EnvironmentFault
from checkrein.evals.repair_cases import TESTS, Repair

TIME_LIMIT_S = 60

_ARGV = (
    *(sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"),
    "--continue-on-collection-errors",
)
_ENVIRONMENT = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTHONDONTWRITEBYTECODE": "1"}


class Outcomes(NamedTuple):
    """Whether each test passed, by its id; `said` is the end of pytest's output."""

    passed: dict[str, bool]
    said: str

    def failing(self) -> list[str]:
        """The ids of the tests that did not pass."""
        return [test for test, passed in self.passed.items() if not passed]


async def sound(repair: Repair, folder: Path) -> bool:
    """Whether a folder is what was wanted: every visible and every hidden test passes."""
    outcomes = await run_tests(folder, repair.program / TESTS, repair.hidden)
    named = [*repair.fail_to_pass, *repair.pass_to_pass]
    return not outcomes.failing() and all(outcomes.passed.get(test, False) for test in named)


async def run_tests(folder: Path, tests: Path | None = None, *over: Path) -> Outcomes:
    """Run all tests in a copy of a folder.

    Args:
        tests: takes the place of the copy's own tests.
        over: folders that are laid over the copy.

    Raises:
        EnvironmentFault: pytest made no report, although it was given the time.
    """
    scratch = Path(await asyncio.to_thread(tempfile.mkdtemp, prefix="checkrein-oracle-"))
    try:
        copy = scratch / "copy"
        await asyncio.to_thread(_laid_out, folder, copy, tests, over)
        return await _outcomes(copy, scratch / "report.xml")
    finally:
        await asyncio.to_thread(shutil.rmtree, scratch, ignore_errors=True)


def _laid_out(folder: Path, copy: Path, tests: Path | None, over: Sequence[Path]) -> None:
    skipped = shutil.ignore_patterns("__pycache__", ".git")
    shutil.copytree(folder, copy, ignore=skipped)
    if tests is not None:
        shutil.rmtree(copy / TESTS, ignore_errors=True)
        shutil.copytree(tests, copy / TESTS, ignore=skipped)
    for one in over:
        shutil.copytree(one, copy, ignore=skipped, dirs_exist_ok=True)


async def _outcomes(copy: Path, report: Path) -> Outcomes:
    process = await asyncio.create_subprocess_exec(
        *_ARGV,
        f"--junitxml={report}",
        f"--rootdir={copy}",
        cwd=copy,
        env={"PATH": os.environ.get("PATH", ""), **_ENVIRONMENT},
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    try:
        async with asyncio.timeout(TIME_LIMIT_S):
            out, _ = await process.communicate()
    except TimeoutError:
        return Outcomes({"(all)": False}, f"the tests did not end within {TIME_LIMIT_S} s")
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    said = out.decode("utf-8", "replace")[-2000:]
    try:
        return Outcomes(await asyncio.to_thread(_read, report, copy), said)
    except FileNotFoundError as error:
        message = f"pytest made no report in {copy}: {said}"
        raise EnvironmentFault(message, op="repairs.oracle") from error


def _read(report: Path, copy: Path) -> dict[str, bool]:
    """Ids as pytest writes them. A test that was skipped has not passed, and has not failed."""
    passed: dict[str, bool] = {}
    # pytest wrote it a moment ago, on this machine.
    for case in ElementTree.parse(report).iter("testcase"):  # noqa: S314
        endings = {child.tag for child in case}
        if "skipped" not in endings:
            name = _id(copy, case.get("classname") or "", case.get("name") or "")
            passed[name] = passed.get(name, True) and not endings & {"failure", "error"}
    return passed


def _id(copy: Path, classname: str, name: str) -> str:
    """An id from the dotted name of module and class.

    The report's own `file` is where a function is written, which for an inherited test is not
    where it runs.
    """
    parts = classname.split(".")
    for length in range(len(parts), 0, -1):
        file = "/".join(parts[:length]) + ".py"
        if (copy / file).is_file():
            return "::".join([file, *parts[length:], name])
    return "::".join(part for part in (classname, name) if part)
