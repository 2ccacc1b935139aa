"""SARIF 2.1.0, read for one question: which findings are above a level, and count.

Read by hand and not by the schema: the schema lets a log pass that says nothing at all.
"""

import json
from collections.abc import Iterator
from typing import Any, NamedTuple, cast

from checkrein.contracts.check import Level, SarifSpec
from checkrein.contracts.codec import visible
from checkrein.errors import InputError

MAX_LOG = 64 << 20
"""Largest log that is read, in bytes."""

LEVELS = tuple(Level)
"""Least first."""

_TEXT = 300


class Finding(NamedTuple):
    """One result of a scan. `place`: file and line, as the log has it."""

    rule: str
    level: Level
    text: str
    place: str
    suppressed: bool


def findings(data: bytes) -> list[Finding]:
    """Every result that says that something is wrong.

    Raises:
        InputError: it is no SARIF 2.1.0 log, holds no run, or a run that did not end well.
    """
    try:
        log = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise _refused(f"it is no JSON ({error})") from error
    whole = _object(log, "the log")
    if whole.get("version") != "2.1.0":
        raise _refused("its version is not 2.1.0")
    runs = _list(whole.get("runs"), "runs")
    if not runs:
        raise _refused("it holds no run, so that nothing was looked at")
    return [finding for run in runs for finding in _of_run(_object(run, "a run"))]


def counted(found: list[Finding], spec: SarifSpec) -> list[Finding]:
    """Those that are above the worst that may be, and not excused."""
    return [
        finding
        for finding in found
        if LEVELS.index(finding.level) > LEVELS.index(spec.worst)
        and finding.rule not in spec.allow
        and (spec.count_suppressed or not finding.suppressed)
    ]


def _of_run(run: dict[str, Any]) -> Iterator[Finding]:
    for invocation in _list(run.get("invocations", []), "invocations"):
        if _object(invocation, "an invocation").get("executionSuccessful") is not True:
            raise _refused("the scan says of itself that it did not end well")
    results = run.get("results")
    if results is None:
        raise _refused("a run has no results, which means that it did not look")
    levels = _Levels(run)
    for result in _list(results, "results"):
        yield from _of_result(_object(result, "a result"), levels)


def _of_result(result: dict[str, Any], levels: "_Levels") -> Iterator[Finding]:
    # pass, open, informational, notApplicable and review say that nothing is wrong yet.
    if result.get("kind", "fail") != "fail" or result.get("baselineState") == "absent":
        return
    rule = levels.rule_of(result)
    message = _object(result.get("message", {}), "a message")
    yield Finding(
        rule=rule,
        level=levels.level_of(result, rule),
        text=visible(str(message.get("text", message.get("id", ""))))[:_TEXT],
        place=_place(result),
        suppressed=_suppressed(result),
    )


class _Levels:
    """The levels that a run's rules have where a result names none."""

    def __init__(self, run: dict[str, Any]) -> None:
        tool = _object(run.get("tool", {}), "tool")
        parts = [tool.get("driver", {}), *_list(tool.get("extensions", []), "extensions")]
        self._driver: list[dict[str, Any]] = []
        self._by_id: dict[str, dict[str, Any]] = {}
        for n, part in enumerate(parts):
            rules = [
                _object(rule, "a rule")
                for rule in _list(_object(part, "a tool").get("rules", []), "rules")
            ]
            if n == 0:
                self._driver = rules
            self._by_id |= {str(rule.get("id", "")): rule for rule in rules}

    def rule_of(self, result: dict[str, Any]) -> str:
        named = result.get("ruleId") or _object(result.get("rule", {}), "rule").get("id")
        if isinstance(named, str) and named:
            return named
        index = result.get("ruleIndex")
        if isinstance(index, int) and 0 <= index < len(self._driver):
            return str(self._driver[index].get("id", ""))
        return ""

    def level_of(self, result: dict[str, Any], rule: str) -> Level:
        """The result's own level, else its rule's, else warning; what is none is the worst."""
        own = result.get("level")
        if own is None:
            known = self._by_id.get(rule) or self._by_id.get(rule.partition("/")[0], {})
            settings = _object(known.get("defaultConfiguration", {}), "a configuration")
            own = settings.get("level", Level.WARNING)
        return Level(own) if isinstance(own, str) and own in LEVELS else Level.ERROR


def _suppressed(result: dict[str, Any]) -> bool:
    """Whether it is suppressed and nobody still looks at that, or has refused it."""
    found = _list(result.get("suppressions") or [], "suppressions")
    states = [_object(each, "a suppression").get("status", "accepted") for each in found]
    return bool(states) and all(state == "accepted" for state in states)


def _place(result: dict[str, Any]) -> str:
    locations = _list(result.get("locations", []), "locations")
    if not locations:
        return ""
    physical = _object(_object(locations[0], "a location").get("physicalLocation", {}), "a place")
    file = _object(physical.get("artifactLocation", {}), "a file").get("uri", "")
    line = _object(physical.get("region", {}), "a region").get("startLine")
    return visible(f"{file}:{line}" if line is not None else str(file))[:_TEXT]


def _object(value: object, what: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise _refused(f"{what} is no object")
    return cast("dict[str, Any]", value)


def _list(value: object, what: str) -> list[Any]:
    if not isinstance(value, list):
        raise _refused(f"{what} is no list")
    return cast("list[object]", value)


def _refused(why: str) -> InputError:
    return InputError(f"The scan's log cannot be gone by: {why}.", op="sarif.read", code="bad_log")
