"""What the model is told it will be accepted by: what must hold, never what is hidden or secret."""

import json
import re

from checkrein.contracts import check as c
from checkrein.contracts.codec import visible
from checkrein.contracts.task import LARGEST_PUBLISHED

LIMIT = 2_000
"""Longest criterion, in characters. What is longer is cut, and says so."""


def criterion(check: c.Check) -> str:
    """One check, as a sentence for the model."""
    return _cut(_told(check))


def handing_over() -> str:
    """What can be handed over, where the final commit applies the changes to their source."""
    return (
        "Accepted when all changes can be handed over: only ordinary files of at most "
        f"{LARGEST_PUBLISHED >> 20} MiB and folders, no links, and nothing that became another "
        "kind of thing"
    )


def _told(check: c.Check) -> str:
    match check:
        case c.CommandCheck():
            return f"Accepted when this exits 0: {' '.join(check.command.argv)}"
        case c.PytestCheck():
            where = " ".join(check.pytest.paths) or "the whole workspace"
            return f"Accepted when pytest passes: {where}{_named(check.pytest)}"
        case c.JunitCheck():
            argv = " ".join(check.junit.argv)
            return f"Accepted when this exits 0 and its tests pass: {argv}{_named(check.junit)}"
        case c.SarifCheck():
            return (
                f"Accepted when this scan finds nothing above {check.sarif.worst}: "
                f"{' '.join(check.sarif.argv)}"
            )
        case c.UnchangedCheck():
            return f"Accepted when these paths are unchanged: {', '.join(check.unchanged)}"
        case c.DiffWithinCheck():
            return _diff(check.diff_within)
        case c.PolicyObeyedCheck():
            return "Accepted when everything that was done was allowed or approved"
        case _:
            return _state(check)


def _state(check: c.Check) -> str:
    """The kinds that look at a state or an output."""
    match check:
        case c.FileStateCheck():
            return _file(check.file_state)
        case c.SqlStateCheck():
            return _sql(check.sql_state)
        case c.HttpStateCheck():
            return _http(check.http_state)
        case c.JsonSchemaCheck():
            return f"Accepted when {_schema(check.json_schema.file, check.json_schema.against)}"
        case c.ArtifactCheck():
            return _artifact(check.artifact)
        case c.TextMatchCheck():
            return _text(check.text_match)
        case c.ModelJudgeCheck():
            judged = check.model_judge
            files = ", ".join(judged.files)
            return f"Accepted when an independent judge says yes of {files}: {judged.rubric}"
        case c.HumanCheck():
            return f"Accepted when the role {check.human.role} says yes to: {check.human.question}"
        case _:
            return f"Accepted by a {c.kind_of(check)} check"


def _named(spec: c.NamedTests) -> str:
    """Named tests; where some are hidden no name is told, since it may be one of theirs."""
    if spec.hidden is not None:
        return ", and hidden tests"
    named = [*spec.fail_to_pass, *spec.pass_to_pass]
    return f"; these count: {', '.join(named)}" if named else ""


def _diff(spec: c.DiffWithinSpec) -> str:
    bounds = [f"files: at most {spec.files}"] if spec.files is not None else []
    bounds += [f"lines: at most {spec.lines}"] if spec.lines is not None else []
    more = f" ({', '.join(bounds)})" if bounds else ""
    return f"Accepted when all changes lie within {', '.join(spec.paths)}{more}"


def _file(spec: c.FileStateSpec) -> str:
    if not spec.exists:
        return f"Accepted when {spec.path} does not exist"
    must = ["exists"]
    must += [f"has the SHA-256 {spec.sha256}"] if spec.sha256 else []
    must += [f"is exactly {json.dumps(spec.equals)}"] if spec.equals is not None else []
    must += [f"contains {json.dumps(part)}" for part in spec.contains]
    must += [f"lacks {json.dumps(part)}" for part in spec.lacks]
    return f"Accepted when {spec.path} {' and '.join(must)}"


def _sql(spec: c.SqlStateSpec) -> str:
    wanted = f"{spec.count} rows" if spec.rows is None else json.dumps(spec.rows)
    return f"Accepted when the database answers {wanted} to: {spec.query}"


def _http(spec: c.HttpStateSpec) -> str:
    # Names, passwords and queries of an address may be secrets.
    found = re.match(r"(https?://)(?:[^/?#]*@)?([^?#]*)", spec.url)
    place = "".join(found.groups()) if found else "the service"
    fields = "".join(f", {name} = {json.dumps(value)}" for name, value in spec.fields.items())
    return f"Accepted when GET {place} answers {spec.status}{fields}"


def _schema(file: str, against: object) -> str:
    if isinstance(against, dict):
        return f"{file} is JSON that is valid under {json.dumps(against)}"
    return f"{file} is JSON that is valid under the task's schema"


def _artifact(spec: c.ArtifactSpec) -> str:
    size = f"{spec.min_bytes} to {spec.max_bytes} bytes"
    form = f", and {_schema(spec.path, spec.against)}" if spec.against is not None else ""
    return f"Accepted when {spec.path} is there as {spec.media_type} of {size}{form}"


def _text(spec: c.TextMatchSpec) -> str:
    ignoring = f" (ignoring {' and '.join(spec.ignoring)})" if spec.ignoring else ""
    for how, value in (
        ("is exactly", spec.equals),
        ("contains", spec.contains),
        ("has a match of the regular expression", spec.matches),
    ):
        if value is not None:
            return f"Accepted when {spec.file} {how} {json.dumps(value)}{ignoring}"
    return f"Accepted when {spec.file} says what it must"


def _cut(text: str) -> str:
    safe = visible(text)
    left = len(safe) - LIMIT
    return safe if left <= 0 else f"{safe[:LIMIT]} [{left} characters left out]"
