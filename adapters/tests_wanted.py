"""Which tests of a report count, how they ended, and the smallest that helps to mend them."""

import re
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

from checkrein.adapters.junit_report import Case, CaseName, Ended, Report
from checkrein.contracts.check import NamedTests
from checkrein.contracts.codec import visible

MAX_SHOWN = 5
"""Most failing tests that a diagnostic shows; the others are counted."""

MAX_LINE = 300
"""Longest line of one, in characters."""

MAX_LINES = 4
"""Most lines that a failing test shows of itself."""

_NOT_PASSED = frozenset({Ended.FAILED, Ended.ERROR})


@dataclass(frozen=True)
class Verdict:
    """What the tests that count say.

    Attributes:
        passed: whether that is enough.
        bad: those that are not passed, with what is known of each; None was not reported at all.
        total: how many count.
    """

    passed: bool
    bad: list[tuple[str, Case | None]]
    total: int


def verdict(
    report: Report,
    wanted: NamedTests,
    laid: Collection[str] = (),
    excused: Collection[str] = (),
) -> Verdict:
    """Judge a report. A named test that was not reported as passed has failed.

    Hidden tests count besides all others, and at least one must have run: whoever skips one has
    not passed it. `laid`: the files that hold them. `excused`: those that their author marks as
    failing or passed over.
    """
    named = list(dict.fromkeys([*wanted.fail_to_pass, *wanted.pass_to_pass]))
    known = _by_name(report)
    found = [(test, _worst(known[plain_name(test)])) for test in named]
    bad = [(test, case) for test, case in found if case is None or case.ended != Ended.PASSED]
    told = Verdict(not bad, list(bad), len(named)) if named else _all_of(report.cases)
    if wanted.hidden is None:
        return told
    counted = {id(case) for test in named for case in known[plain_name(test)]}
    mine = {
        n: case
        for n, case in report.cases.items()
        if _of(n, laid) and not _excused(n, case, excused)
    }
    besides = [
        (shown(n), case)
        for n, case in mine.items()
        if id(case) not in counted and case.ended != Ended.PASSED
    ]
    all_bad = list(dict([*told.bad, *besides]).items())
    total = told.total + (len(mine) - len(counted & {*map(id, mine.values())}) if named else 0)
    return Verdict(told.passed and bool(mine) and not besides, all_bad, total)


def _all_of(cases: Mapping[CaseName, Case]) -> Verdict:
    failing = [(shown(n), case) for n, case in cases.items() if case.ended in _NOT_PASSED]
    ran = [case for case in cases.values() if case.ended != Ended.SKIPPED]
    return Verdict(bool(ran) and not failing, list(failing), len(ran))


def _of(name: CaseName, files: Collection[str]) -> bool:
    """Whether a test is of one of these files, which runners name by module, class or path."""
    words = set(re.split(r"\W+", shown(name)))
    return any(PurePosixPath(file).stem in words for file in files)


def _excused(name: CaseName, case: Case, excused: Collection[str]) -> bool:
    return case.ended is Ended.SKIPPED and shown(name).partition("[")[0] in excused


def _by_name(report: Report) -> Mapping[str, list[Case]]:
    """Cases by their plain name, and by that without parameters, which means all of them."""
    known: defaultdict[str, list[Case]] = defaultdict(list)
    for name, case in report.cases.items():
        whole = shown(name)
        for each in {whole, whole.partition("[")[0]}:
            known[each].append(case)
    return known


def plain_name(test: str) -> str:
    """What a report calls a test in one word: tests.test_a.TestB.test_c[x].

    It may be written as pytest does, tests/test_a.py::TestB::test_c[x].
    """
    plain, bracket, parameters = test.partition("[")
    if "::" in plain:
        file, *rest = plain.split("::")
        plain = ".".join([re.sub(r"\.py$", "", file.replace("/", ".")), *rest])
    return plain + bracket + parameters


def _worst(cases: Sequence[Case]) -> Case | None:
    return max(cases, key=lambda case: list(Ended).index(case.ended), default=None)


def shown(name: CaseName) -> str:
    """A test's name for people."""
    return f"{name.classname}.{name.name}" if name.classname else name.name


def gap(judged: Verdict) -> str:
    """The first failing tests with their assertion lines; safe for a screen."""
    if not judged.bad:
        return "No test ran. At least one must."
    lines = [f"{len(judged.bad)} of {judged.total} tests that count did not pass:"]
    for test, case in judged.bad[:MAX_SHOWN]:
        lines.append(f"- {_cut(test)}: {_end(case)}")
        lines += [f"    {line}" for line in (_telling(case) if case is not None else [])]
    if len(judged.bad) > MAX_SHOWN:
        lines.append(f"and {len(judged.bad) - MAX_SHOWN} more")
    return "\n".join(lines)


def hidden_gap(judged: Verdict) -> str:
    """How many failed, and nothing that could tell which or why."""
    if not judged.bad:
        return "No hidden test ran. At least one must."
    return f"{len(judged.bad)} of {judged.total} hidden tests failed."


def _end(case: Case | None) -> str:
    if case is None:
        return "was not run"
    return {Ended.SKIPPED: "was skipped", Ended.ERROR: "error"}.get(case.ended, "failed")


def _telling(case: Case) -> list[str]:
    """The lines that say what was wrong: pytest marks them by E, and the place stands last."""
    lines = [line.rstrip() for line in case.said.splitlines() if line.strip()]
    marked = [line for line in lines if line.startswith("E ")]
    place = lines[-1:] if marked and re.match(r"\S+:\d+: ", lines[-1]) else []
    told = marked[: MAX_LINES - 1] + place or case.message.splitlines()[:MAX_LINES]
    return [_cut(line) for line in told or lines[-MAX_LINES:]]


def _cut(line: str) -> str:
    safe = visible(line)
    return safe if len(safe) <= MAX_LINE else safe[:MAX_LINE] + "..."
