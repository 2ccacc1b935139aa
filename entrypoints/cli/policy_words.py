"""How findings, rules and conditions are told to people, the same by every policy command."""

from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from checkrein.entrypoints.cli.console import shown

if TYPE_CHECKING:
    from checkrein.contracts.decision import PolicyDecision
    from checkrein.policy_rego.authoring import Condition, Explanation, RuleAnswer
    from checkrein.policy_rego.findings import Finding

_OUTCOMES = {"false": "is not true", "error": "fails", "unknown": "cannot tell"}


def finding_lines(folder: Path, finding: "Finding") -> list[str]:
    """The finding, the line that it points at, and a caret below the place."""
    from checkrein.policy_rego.findings import caret

    path = folder / finding.path
    place = f"{shown(path)}:{finding.line}:{finding.column}"
    text = f"{finding.message} {finding.advice}".rstrip()
    said = f"{place}: {finding.level}: {shown(text)} [{finding.rule}]"
    try:
        source = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return [said]  # the finding itself says what is wrong with such a file
    pointed = caret(source, finding)
    return [said, *(f"    {shown(line, lines=True)}" for line in pointed.split("\n") if line)]


def condition_line(condition: "Condition", folder: Path | None = None) -> str:
    """A condition by its place, and what became of it."""
    path = condition.path if folder is None else folder / condition.path
    place = f"{shown(path)}:{condition.line}:{condition.column}"
    why = f": {shown(condition.message)}" if condition.message else ""
    return f"{place}: {_OUTCOMES[condition.outcome]}{why}: {shown(condition.text)}"


def decision_lines(decision: "PolicyDecision") -> list[str]:
    """A decision with everything that people must know of it."""
    lines = [f"{decision.decision}  {', '.join(map(shown, decision.reasons))}"]
    if decision.constraints:
        limits = ", ".join(f"{name} {shown(value)}" for name, value in decision.constraints.items())
        lines.append(f"  limited to: {limits}")
    if decision.approval is not None:
        terms = decision.approval
        duty = ", not by the requester" if terms.separation_of_duty else ""
        roles = " or ".join(map(shown, terms.roles))
        lines.append(f"  needs {terms.quorum} of: {roles}, within {terms.expires_in_s} s{duty}")
    if decision.message:
        lines.append(f"  {shown(decision.message)}")
    return lines


def rule_lines(explanation: "Explanation") -> list[str]:
    """Which rules fired, and why each of the others did not."""
    if explanation.note:
        return [shown(explanation.note)]
    fired = [rule for rule in explanation.rules if rule.fired]
    others = [rule for rule in explanation.rules if not rule.fired]
    lines = ["fired:" if fired else "No rule fired."]
    for rule in fired:
        members = "; ".join(_member(member) for member in rule.members)
        lines.append(f"  {_rule(rule)}" + (f": {shown(members)}" if members else ""))
    if others:
        lines.append("did not fire:")
    for rule in others:
        lines += [f"  {_rule(rule)}", *(f"    {line}" for line in _why_not(rule))]
    return lines


def _rule(rule: "RuleAnswer") -> str:
    named = " ".join(part for part in (rule.set, rule.package, rule.reason_code) if part)
    title = f" ({shown(rule.title)})" if rule.title else ""
    return f"{shown(named)} {shown(rule.path)}:{rule.line}{title}"


def _member(member: Any) -> str:
    """What a member says beside its reason code."""
    import json

    if not isinstance(member, dict):
        return json.dumps(member)
    named = cast(dict[str, Any], member)
    more = {name: value for name, value in named.items() if name != "reason_code"}
    return json.dumps(more) if more else ""


def _why_not(rule: "RuleAnswer") -> list[str]:
    if rule.failed is None:
        return ["cannot tell" if rule.fired is None else "what it would add is undefined"]
    lines = [condition_line(rule.failed)]
    lines += [f"  {shown(found)}" for found in rule.failed.found]
    for condition in rule.because:
        lines.append(f"  since {condition_line(condition)}")
        lines += [f"    {shown(found)}" for found in condition.found]
    return lines
