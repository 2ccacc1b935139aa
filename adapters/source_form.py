"""The short task form of the design sources, mapped field by field to the task contract.

    goal: ...
    success: {evaluator: "pytest tests/regression_test.py"}
    constraints: [prose, ...]
    budgets: {steps: 30, wall_time_s: 900, model_tokens: 120000}
    artifacts: ["git diff", "test report"]

Fields of the contract that the short form lacks (workspace, model, capabilities, ...) may stand
beside these and are taken as they are. Authority is never invented: no capabilities, no rights.
"""

import shlex
from collections.abc import Mapping
from typing import Any, cast

from checkrein.contracts.codec import Frozen
from checkrein.errors import InputError

_SHELL = frozenset({"|", "||", "&", "&&", ";", ">", ">>", "<", "<<", "2>", "2>&1"})
_TESTS: dict[str, Any] = {"unchanged": ["tests/**", "**/test_*.py", "**/*_test.py"]}
_OFFLINE: dict[str, Any] = {"network": "none"}
PROSE_CONSTRAINTS: Mapping[str, dict[str, Any]] = {
    "不得改动测试": _TESTS,
    "do not change the tests": _TESTS,
    "不得访问公网": _OFFLINE,
    "do not access the public network": _OFFLINE,
}
"""Sentences of the sources that have an enforced form; any other prose only guides the model."""

ARTIFACTS: Mapping[str, str] = {"git diff": "diff", "test report": "test_report"}
"""The sources' names of artifacts, and ours."""


class Mapped(Frozen):
    """What became of one field: where it stood, where it went, and what it means there."""

    source: str
    target: str
    meaning: str


class SourceForm(Frozen):
    """A task in the contract's own form, and the record of every field that was mapped."""

    contract: dict[str, Any]
    mapping: list[Mapped]


def is_source_form(value: Any) -> bool:
    """Whether a document is written in the short form: `success` has an `evaluator`."""
    if not isinstance(value, dict):
        return False
    success = cast(dict[str, Any], value).get("success")
    return isinstance(success, dict) and "evaluator" in success


def from_source_form(source: Mapping[str, Any]) -> SourceForm:
    """Map the short form to the contract's form; what is not of the short form stays as it is.

    Raises:
        InputError: the evaluator is no command that can run without a shell (code
            invalid_fields; `context["path"]` names the field).
    """
    contract = dict(source)
    mapping: list[Mapped] = [
        Mapped(source=name, target=name, meaning=meaning)
        for name, meaning in _SAME.items()
        if name in source
    ]
    success = dict(source["success"])
    argv = _command(success.pop("evaluator"))
    if success:
        name = next(iter(success))
        raise _refused(f"success.{name}", "is no known field; known is evaluator")
    contract["success"] = [{"command": {"argv": argv}}]
    mapping.append(
        Mapped(
            source="success.evaluator",
            target="success[0].command.argv",
            meaning="split into words and run by the harness without a shell; 0 is success",
        )
    )
    for name, mapped in (("constraints", _constraint), ("artifacts", _artifact)):
        items: Any = source.get(name)
        if isinstance(items, list):
            contract[name] = [
                mapped(item, n, mapping) for n, item in enumerate(cast(list[object], items))
            ]
    return SourceForm(contract=contract, mapping=mapping)


_SAME = {
    "goal": "guides the model; nothing is enforced by it",
    "budgets": "steps, wall_time_s and model_tokens have the same names and units here",
}


def _command(evaluator: Any) -> list[str]:
    if not isinstance(evaluator, str) or not evaluator.strip():
        raise _refused(
            "success.evaluator", "names no command; write one, for example pytest tests/test_a.py"
        )
    try:
        words = shlex.split(evaluator)
    except ValueError as error:
        raise _refused("success.evaluator", f"has unbalanced quotes ({error})") from error
    for word in words:
        assigns = word is words[0] and "=" in word
        if assigns or word in _SHELL or "$(" in word or "`" in word:
            raise _refused(
                "success.evaluator",
                f"needs a shell for {word!r}, and there is none; name one program and its "
                "arguments, or write success as a list of commands",
            )
    return words


def _constraint(item: Any, place: int, mapping: list[Mapped]) -> Any:
    if not isinstance(item, str):
        return item
    form = PROSE_CONSTRAINTS.get(item.strip().rstrip("。.").lower())
    meaning = "enforced by the harness" if form else "stays prose: guides the model only"
    where = f"constraints[{place}]"
    target = f"{where}.{next(iter(form))}" if form else where
    mapping.append(Mapped(source=where, target=target, meaning=meaning))
    return form or item


def _artifact(item: Any, place: int, mapping: list[Mapped]) -> Any:
    known = ARTIFACTS.get(item.strip().lower()) if isinstance(item, str) else None
    if known is None:
        return item
    where = f"artifacts[{place}]"
    mapping.append(Mapped(source=where, target=where, meaning=f"the artifact {known}"))
    return known


def _refused(path: str, problem: str) -> InputError:
    return InputError(
        f"{path}: {problem}.", op="task.load", code="invalid_fields", context={"path": path}
    )
