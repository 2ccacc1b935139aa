"""The METADATA comments above rules and packages: OPA's annotations, as far as docs need them."""

from dataclasses import dataclass
from typing import Any

import yaml

from checkrein.policy_rego.json_shapes import is_object
from checkrein.policy_rego.syntax import Module, Rule, tagged

_MARK = "# METADATA"


@dataclass(frozen=True)
class Annotation:
    """What an annotation says; every part is empty where it says nothing.

    Attributes:
        line: where it stands, counted from 1; 0 where there is none.
        fault: why it cannot be read.
    """

    title: str = ""
    description: str = ""
    reason_code: str = ""
    line: int = 0
    fault: str = ""


def of_package(module: Module) -> Annotation:
    """The annotation right above the package line."""
    return _above(module, int(module.package_span["line"]))


def of_rule(module: Module, rule: Rule) -> Annotation:
    """The annotation right above a rule."""
    return _above(module, int(rule.span["line"]))


def literal_code(rule: Rule) -> str:
    """The reason code that a rule's head gives as plain text, or nothing."""
    _, head = tagged(tagged(rule.node)[1]["head"])
    _, key = tagged(head.get("key"))
    for _, name, value in key.get("fields", []):
        if tagged(name)[1].get("value") == "reason_code":
            tag, body = tagged(value)
            return str(body["value"]) if tag in {"String", "RawString"} else ""
    return ""


def _above(module: Module, line: int) -> Annotation:
    lines = module.text.splitlines()
    start = line - 1
    while start > 0 and lines[start - 1].startswith("#"):
        start -= 1
    block = lines[start : line - 1]
    marks = [number for number, text in enumerate(block) if text.strip() == _MARK]
    if not marks:
        return Annotation()
    text = "\n".join(one[1:].removeprefix(" ") for one in block[marks[-1] + 1 :])
    at = start + marks[-1] + 1
    try:
        said: Any = yaml.safe_load(text)
    except yaml.YAMLError as error:
        return Annotation(line=at, fault=str(error).partition("\n")[0])
    if not is_object(said):
        return Annotation(line=at, fault="it is no list of names and values")
    custom: Any = said.get("custom", {})
    return Annotation(
        title=str(said.get("title", "")).strip(),
        description=str(said.get("description", "")).strip(),
        reason_code=str(custom.get("reason_code", "")) if is_object(custom) else "",
        line=at,
    )
