"""Running a bundle's own tests: the `test_*` rules of its *_test.rego files."""

import asyncio
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

from checkrein.contracts.codec import Frozen, json_object
from checkrein.errors import EnvironmentFault
from checkrein.policy_rego.bundle_files import Bundle, entrypoint, load_bundle
from checkrein.policy_rego.embedded import DEADLINE_S
from checkrein.policy_rego.engine_process import EngineProcess
from checkrein.policy_rego.evaluation import load_into
from checkrein.policy_rego.findings import from_engine, unusable
from checkrein.policy_rego.lint import PARSE_S, lint, parsed
from checkrein.policy_rego.output import values_of
from checkrein.policy_rego.probing import (
    Condition,
    ProbedModule,
    bodies_of,
    first_failed,
    load_probed,
)
from checkrein.policy_rego.syntax import Module

TEST_PREFIX = "test_"
SKIP_PREFIX = "todo_test_"


class TestResult(Frozen):
    """One test rule: `pass` is true, `fail` is false or undefined, `error` could not be told.

    Attributes:
        name: the full name, for example checkrein.rules.paths_test.test_outside_is_denied.
        message: why it failed; may quote the test's own input.
        failed: the first condition that was not true, where the engine can say.
        duration_ms: milliseconds that its evaluation took.
    """

    __test__ = False  # for pytest: this is no test class

    path: str
    line: int
    name: str
    outcome: Literal["pass", "fail", "error", "skip"]
    message: str = ""
    failed: Condition | None = None
    duration_ms: float = 0.0


class Coverage(Frozen):
    """The lines of one module that the tests together reached, and those that none reached."""

    path: str
    covered: list[int]
    missed: list[int]

    @property
    def percent(self) -> float:
        """Covered lines of all lines that can be, 0 to 100."""
        lines = len(self.covered) + len(self.missed)
        return 100.0 * len(self.covered) / lines if lines else 100.0


class TestReport(Frozen):
    """All tests of a bundle. `version` names the bundle that was tested."""

    __test__ = False

    origin: str
    version: str
    results: list[TestResult]
    coverage: list[Coverage]

    @property
    def ok(self) -> bool:
        """Whether there are tests and none of them failed or broke."""
        ran = [result for result in self.results if result.outcome != "skip"]
        return bool(ran) and all(result.outcome == "pass" for result in ran)

    def count(self, outcome: str) -> int:
        """How many tests came out so."""
        return sum(result.outcome == outcome for result in self.results)

    @property
    def percent(self) -> float:
        """Covered lines of all modules, 0 to 100."""
        covered = sum(len(file.covered) for file in self.coverage)
        lines = covered + sum(len(file.missed) for file in self.coverage)
        return 100.0 * covered / lines if lines else 100.0


async def test(folder: Path, *, deadline_s: float = DEADLINE_S) -> TestReport:
    """Run the `test_*` rules of a bundle folder's *_test.rego files.

    Each file is loaded with all rules of the bundle and with those test files that hold no test,
    and no other: the engine would evaluate the others' tests along with what is below
    checkrein.rules. `deadline_s` is for each test. Names that begin with todo_ are skipped.

    Raises:
        InputError: the folder cannot be used, or the bundle or a test has an error.
        EnvironmentFault: the engine cannot be used.
    """
    return await test_bundle(await asyncio.to_thread(load_bundle, folder), deadline_s=deadline_s)


async def test_bundle(bundle: Bundle, *, deadline_s: float = DEADLINE_S) -> TestReport:
    """As `test`, for a bundle that is read already."""
    engine = await EngineProcess.start()
    try:
        findings = await lint(bundle, engine, deadline_s=deadline_s, tests=True)
        errors = [finding for finding in findings if finding.level == "error"]
        if errors:
            raise unusable(bundle.origin, errors)
        _, modules = await parsed({**bundle.modules, **bundle.tests}, engine)
    finally:
        engine.kill()
        await engine.close()
    tests = [module for module in modules if module.is_test]
    shared = {module.path: module.text for module in tests if not _tests_of(module)}
    results: list[TestResult] = []
    reports: list[dict[str, Any]] = []
    for module in tests:
        if _tests_of(module):
            found, report = await _run(bundle, module, shared, deadline_s)
            results += found
            reports.append(report)
    return TestReport(
        origin=bundle.origin,
        version=bundle.version,
        results=results,
        coverage=_coverage([m for m in modules if not m.is_test], reports),
    )


# For pytest, where a test imports them.
test.__test__ = False  # type: ignore[attr-defined]
test_bundle.__test__ = False  # type: ignore[attr-defined]


def _tests_of(module: Module) -> list[tuple[str, int]]:
    """Name and line of each test rule, in the order of the file, each name once."""
    names: dict[str, int] = {}
    for rule in module.rules:
        if rule.kind == "Compr" and rule.name.startswith((TEST_PREFIX, SKIP_PREFIX)):
            names.setdefault(rule.name, int(rule.span["line"]))
    return list(names.items())


async def _run(
    bundle: Bundle, module: Module, shared: dict[str, str], deadline_s: float
) -> tuple[list[TestResult], dict[str, Any]]:
    """Run one file's tests; the engine is started anew where one test broke it."""
    texts = {**shared, module.path: module.text}
    results: list[TestResult] = []
    engine: EngineProcess | None = None
    try:
        for name, line in _tests_of(module):
            if engine is None or not engine.usable:
                if engine is not None:
                    await engine.close()
                engine = await EngineProcess.start()
                await load_into(engine, bundle, limit_s=PARSE_S, tests=texts, coverage=True)
            results.append(await _one(engine, module, name, line, deadline_s))
        report = await _report(engine)
        if engine is not None and engine.usable:
            results = await _with_conditions(engine, bundle, module, texts, results, deadline_s)
        return results, report
    finally:
        if engine is not None:
            engine.kill()
            await engine.close()


async def _one(
    engine: EngineProcess, module: Module, name: str, line: int, deadline_s: float
) -> TestResult:
    full = ".".join((*module.package, name))
    if name.startswith(SKIP_PREFIX):
        return TestResult(path=module.path, line=line, name=full, outcome="skip")
    started = time.perf_counter()
    outcome: Literal["pass", "fail", "error"] = "error"
    try:
        request = {"do": "eval", "query": f"data.{full}", "input": "{}"}
        reply = await engine.ask(request, limit_s=deadline_s)
    except EnvironmentFault as fault:
        message = str(fault)
    else:
        if "fault" in reply:
            texts = {module.path: module.text}
            found = from_engine(str(reply["message"]), texts, rule="test", fallback=module.path)
            message = str(found)
        else:
            values = values_of(str(reply.get("result")))
            outcome = "pass" if values == [True] else "fail"
            message = "" if outcome == "pass" else "It is not true."
    return TestResult(
        path=module.path,
        line=line,
        name=full,
        outcome=outcome,
        message=message,
        duration_ms=round((time.perf_counter() - started) * 1_000, 3),
    )


async def _with_conditions(
    engine: EngineProcess,
    bundle: Bundle,
    module: Module,
    texts: dict[str, str],
    results: list[TestResult],
    deadline_s: float,
) -> list[TestResult]:
    """The results, each failed one with the condition that failed. Reloads the engine."""
    names = {result.name.rpartition(".")[2] for result in results if result.outcome == "fail"}
    rules = [rule for rule in module.rules if rule.name in names and rule.kind == "Compr"]
    if not rules:
        return results
    probed = ProbedModule(module, rules)
    found: dict[str, Condition] = {}
    try:
        modules = {**bundle.modules, **texts}
        if await load_probed(engine, modules, [probed], bundle.data, "{}"):
            return results
        for rule in rules:
            if bodies_of(rule) and rule.name not in found:
                failed = await first_failed(engine, probed, rule, 0, "{}", deadline_s)
                if failed is not None:
                    found[rule.name] = failed[0]
    except EnvironmentFault as fault:
        # The results stand; only what they would be told with is missing.
        note = f"It is not true. Which condition failed cannot be told: {fault}"
        return [
            result.model_copy(update={"message": note}) if result.outcome == "fail" else result
            for result in results
        ]
    return [
        result.model_copy(update={"failed": found.get(result.name.rpartition(".")[2])})
        for result in results
    ]


async def _report(engine: EngineProcess | None) -> dict[str, Any]:
    """Lines by file since the engine was loaded; empty where it broke."""
    if engine is None or not engine.usable:
        return {}
    reply = await engine.ask({"do": "coverage"}, limit_s=PARSE_S)
    return json_object(str(reply.get("report")), op="policy.test")


def _coverage(modules: Sequence[Module], reports: Sequence[dict[str, Any]]) -> list[Coverage]:
    covered: dict[str, set[int]] = {}
    missed: dict[str, set[int]] = {}
    for report in reports:
        for file in report.get("files", []):
            path = str(file["path"])
            covered.setdefault(path, set()).update(file["covered"])
            missed.setdefault(path, set()).update(file["not_covered"])
    for module in modules:
        if module.path not in covered and module.text != entrypoint():
            # The engine does not report a file that it never reached: each rule counts by its line.
            missed[module.path] = {int(rule.span["line"]) for rule in module.rules}
    return [
        Coverage(path=path, covered=sorted(lines), missed=sorted(missed.get(path, set()) - lines))
        for path in (module.path for module in modules)
        if (lines := covered.get(path, set())) or path in missed
    ]
