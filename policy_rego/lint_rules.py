"""Where rules may stand and what members they may add: the authors' contract, as far as the text
of a bundle shows it. What only shows when it is evaluated, the entrypoint denies."""

import difflib
from collections.abc import Iterator, Sequence
from typing import Any

from checkrein.contracts.decision import Constraints, Reserved
from checkrein.policy_rego.bundle_files import Bundle, entrypoint
from checkrein.policy_rego.findings import Finding
from checkrein.policy_rego.json_shapes import is_object
from checkrein.policy_rego.syntax import Module, Node, Path, Rule, tagged

SETS = ("allow", "ask", "deny", "limit")
"""The partial sets that rules add members to."""

RULES: Path = ("checkrein", "rules")
LIBRARY: Path = ("checkrein", "lib")

_ASK_KEYS = {"reason_code", "roles", "quorum", "expires_in_s", "separation_of_duty", "scopes"}
_WHERE = (
    "Rules belong in packages checkrein.rules.<name>, functions for several of them in "
    "checkrein.lib.<name>."
)


def rule_findings(module: Module) -> Iterator[Finding]:
    """Packages, heads and literal members of one module."""
    yield from _package(module)
    in_rules = module.package[:2] == RULES and not module.is_test
    defaults = {rule.name for rule in module.rules if rule.kind == "Default"}
    for rule in module.rules:
        if module.is_test:
            yield from _test_rule(module, rule)
            continue
        yield from _head(module, rule, defaults)
        if in_rules and rule.name in SETS:
            yield from _member(module, rule)
    if in_rules and not any(rule.name in SETS for rule in module.rules):
        yield module.finding(
            module.package_span,
            "no_members",
            "No rule in this file allows, asks, denies or limits anything.",
            "Add to one of these sets, or move what others use to checkrein.lib.<name>.",
        ).model_copy(update={"level": "warning"})


def data_findings(bundle: Bundle, data: Any, modules: Sequence[Module]) -> Iterator[Finding]:
    """Data in a place where rules stand: engines disagree about which of the two counts."""
    taken = {(*module.package, rule.name) for module in modules for rule in module.rules}
    taken |= {RULES, LIBRARY}
    for path in sorted(taken):
        value: Any = data
        for part in path:
            value = value.get(part) if is_object(value) else None
        if value is not None:
            yield Finding(
                rule="data_over_rules",
                path=bundle.data_paths[0],
                line=1,
                column=1,
                message=f"The data define {'.'.join(path)}, where rules stand.",
                advice="Put data elsewhere, for example below checkrein.known.",
            )


def _package(module: Module) -> Iterator[Finding]:
    package, dotted = module.package, ".".join(module.package)
    if module.is_test:
        if package[:1] != ("checkrein",) or not package[-1].endswith("_test"):
            yield module.finding(
                module.package_span,
                "package",
                f"The tests stand in package {dotted}.",
                "Name it after the package that they test, with _test behind it.",
            )
    elif package == ("checkrein",):
        if module.text != entrypoint():
            yield module.finding(
                module.package_span,
                "entrypoint_changed",
                "Package checkrein belongs to the shipped entrypoint alone.",
                _WHERE,
            )
    elif package[-1].endswith("_test"):
        yield module.finding(
            module.package_span,
            "package",
            f"The package {dotted} is named like one of tests.",
            "Name the file *_test.rego, or the package otherwise.",
        )
    elif not (package[:2] == RULES and len(package) == 3) and package[:2] != LIBRARY:
        yield module.finding(
            module.package_span, "package", f"Nothing asks rules in package {dotted}.", _WHERE
        )


def _test_rule(module: Module, rule: Rule) -> Iterator[Finding]:
    if module.package[:2] == RULES and rule.name in SETS:
        yield module.finding(
            rule.span,
            "member_in_test",
            f"The test defines {rule.name} below checkrein.rules, where it counts as a rule.",
            "Give it another name.",
        )


def _head(module: Module, rule: Rule, defaults: set[str]) -> Iterator[Finding]:
    in_rules = module.package[:2] == RULES
    if in_rules and rule.name in SETS and rule.kind != "Set":
        yield module.finding(
            rule.span,
            "not_a_set",
            f"{rule.name} is no partial set here, so that every action would be denied.",
            f'Write `{rule.name} contains {{"reason_code": "..."}} if {{ ... }}`.',
        )
    elif rule.kind == "Compr" and rule.ref.parts:
        yield module.finding(
            rule.span,
            "partial_object",
            "Where no member of this object is true, engines disagree about what it is.",
            "Use a partial set (`contains`) or an object comprehension.",
        )
    elif rule.kind == "Set" and rule.name in defaults:
        yield module.finding(
            rule.span, "default_of_set", f"The set {rule.name} has a default.", "Delete it."
        )


def _member(module: Module, rule: Rule) -> Iterator[Finding]:
    if rule.kind != "Set":
        return
    _, head = tagged(tagged(rule.node)[1]["head"])
    tag, key = tagged(head["key"])
    if tag in {"String", "RawString", "Number", "Bool", "Null", "Array", "Set"}:
        yield _malformed(module, rule, "is no object")
        return
    fields: list[Any] = key["fields"] if tag == "Object" else []
    values = {str(tagged(field[1])[1].get("value")): field[2] for field in fields}
    if any(tagged(field[1])[0] not in {"String", "RawString"} for field in fields) or not fields:
        return  # only known when it is evaluated
    wrong = _wrong_keys(rule.name, set(values))
    if wrong:
        yield _malformed(module, rule, wrong)
    elif rule.name != "limit":
        yield from _reason(module, values["reason_code"])


def _wrong_keys(name: str, keys: set[str]) -> str:
    if name == "limit":
        known = set(Constraints.model_fields)
        if len(keys) != 1:
            return "holds more than one constraint"
        unknown = keys - known
    else:
        known = _ASK_KEYS if name == "ask" else {"reason_code"}
        if "reason_code" not in keys:
            return "has no reason_code"
        unknown = keys - known
    if not unknown:
        return ""
    first = min(unknown)
    near = difflib.get_close_matches(first, sorted(known), n=1, cutoff=0.6)
    return f"has the unknown key {first}" + (f" (did you mean {near[0]}?)" if near else "")


def _malformed(module: Module, rule: Rule, why: str) -> Finding:
    keys = "exactly one constraint" if rule.name == "limit" else "reason_code"
    more = ", and may have roles, quorum, expires_in_s, separation_of_duty, scopes"
    return module.finding(
        rule.span,
        "malformed_member",
        f"This member of {rule.name} {why}; it would deny every action that it applies to.",
        f"A member of {rule.name} is an object with {keys}{more if rule.name == 'ask' else ''}.",
    )


def _reason(module: Module, value: Node) -> Iterator[Finding]:
    tag, body = tagged(value)
    code = str(body.get("value"))
    if tag not in {"String", "RawString"}:
        return
    if code in {reserved.value for reserved in Reserved}:
        why, advice = f"Only Checkrein itself gives the reason code {code}.", "Choose another."
    elif not _is_code(code):
        why = f"{code!r} is no reason code."
        advice = "Use 2 to 64 of a-z, 0-9 and _, a letter first."
    else:
        return
    yield module.finding(body["span"], "reason_code", why, advice)


def _is_code(text: str) -> bool:
    plain = text.isascii() and text.replace("_", "a").isalnum() and text == text.lower()
    return plain and text[:1].isalpha() and 2 <= len(text) <= 64
