"""The traps of answers: undefined, contradictory, malformed, and rules that fail."""

import json
from collections.abc import Sequence
from typing import Any

from checkrein.evals.nasty_case import ALLOWED, NastyCase, allowing, denying, rules

_WHOLE: dict[str, Any] = {
    "decision": "ALLOW",
    "reason_code": "fine",
    "reasons": ["fine"],
    "constraints": {},
    "approval": None,
    "obligations": [],
}
_TERMS = {"roles": ["approver"], "quorum": 1, "expires_in_s": 60, "separation_of_duty": False}


def _entrypoint(value: Any) -> str:
    return f"package checkrein\n\ndecision := {json.dumps(value)}\n"


def _undefined() -> Sequence[NastyCase]:
    never = 'package checkrein\n\ndecision := "unused" if input.phase == "never"\n'
    elsewhere = f"package checkrein.elsewhere\n\ndecision := {json.dumps(_WHOLE)}\n"
    return [
        NastyCase(4, "undefined decision", "output check", "policy_undefined", entrypoint=never),
        NastyCase(4, "decision elsewhere", "output check", "policy_undefined",
                  entrypoint=elsewhere),
        NastyCase(4, "no rules at all", "rule", "no_rule_allows", rules=rules("")),
        NastyCase(4, "rules of another package", "rule", "no_rule_allows",
                  rules=f"package checkrein.other\n\n{ALLOWED}"),
    ]  # fmt: skip


def _contradictory() -> Sequence[NastyCase]:
    two = "package checkrein\n\ndecision := %s\n\ndecision := %s\n"
    level = (
        'level := "low" if input.phase == "propose"\n\nlevel := "high" if input.tenant == "local"'
    )
    return [
        NastyCase(5, "two decisions", "engine", "policy_error",
                  entrypoint=two % (json.dumps(_WHOLE), json.dumps({**_WHOLE, "reasons": ["b"]}))),
        NastyCase(5, "two values of a helper", "engine", "policy_error",
                  rules=rules(f'{level}\n\n{ALLOWED}\n'
                              'deny contains {"reason_code": "caught"} if level == "high"')),
    ]  # fmt: skip


def _malformed() -> Sequence[NastyCase]:
    limited = {**_WHOLE, "decision": "CONSTRAINED_ALLOW"}
    asked = {**_WHOLE, "decision": "REQUIRE_APPROVAL"}
    values: dict[str, Any] = {
        "an object with allow": {"allow": True},
        "a denial by false": {"allow": False},
        "the word deny": "deny",
        "the word ALLOW": "ALLOW",
        "true": True,
        "one": 1,
        "null": None,
        "an empty list": [],
        "an unknown word": {**_WHOLE, "decision": "MAYBE"},
        "an unknown part": {**_WHOLE, "extra": 1},
        "an unknown limit": {**limited, "constraints": {"nobody_enforces_this": 1}},
        "a limit of another type": {**limited, "constraints": {"max_bytes": "1"}},
        "a limit that is no whole number": {**limited, "constraints": {"max_bytes": 1.5}},
        "limits of nothing": limited,
        "an allow with limits": {**_WHOLE, "constraints": {"max_bytes": 1}},
        "an approval without terms": asked,
        "a quorum of none": {**asked, "approval": {**_TERMS, "quorum": 0}},
        "a reserved reason": {**_WHOLE, "reason_code": "policy_timeout"},
    }
    cases = [
        NastyCase(6, name, "output check", "policy_output_invalid", entrypoint=_entrypoint(value))
        for name, value in values.items()
    ]
    members = {
        "a member that is a word": '"fine"',
        "a member that is true": "true",
        "a member with another part": '{"reason_code": "fine", "more": 1}',
        "a member with a reserved reason": '{"reason_code": "policy_error"}',
    }
    cases += [
        NastyCase(6, name, "rule", "policy_output_invalid",
                  rules=rules(f"allow contains {member} if input.phase == \"propose\""))
        for name, member in members.items()
        if "reserved" not in name
    ]  # fmt: skip
    return cases


def _failing() -> Sequence[NastyCase]:
    names = "flagged[name] := 1 if some name in input.action.args.names\n"
    return [
        NastyCase(8, "an empty object of rules", "engine", "caught",
                  change={"action.args.names": []},
                  rules=rules(f'{ALLOWED}\n{names}\n'
                              'deny contains {"reason_code": "caught"} if count(flagged) == 0')),
        NastyCase(9, "a number that is none", "engine", "policy_error",
                  rules=denying("to_number(input.action.args.amount) > 100"),
                  change={"action.args.amount": "1,000"}),
        NastyCase(9, "a pattern that is none, in data", "engine", "policy_error",
                  rules=denying("regex.match(data.pattern, input.action.resource)"),
                  data='{"pattern": "("}'),
        NastyCase(9, "a number that is one", "rule", "fine", decision="ALLOW",
                  rules=denying("to_number(input.action.args.amount) > 100"),
                  change={"action.args.amount": "7"}),
        NastyCase(12, "a rule that calls itself", "lint", "recursion",
                  rules=rules('allow contains {"reason_code": "fine"} if depth(1) > 5000\n\n'
                              "depth(n) := depth(n + 1)")),
        NastyCase(12, "a rule that asks the network", "lint", "http_send",
                  rules=allowing('http.send({"method": "GET", "url": "http://127.0.0.1:9/"})')),
        NastyCase(12, "a rule with a clock of its own", "lint", "clock",
                  rules=allowing("time.now_ns() > 0")),
        NastyCase(12, "expiry exactly now", "rule", "no_rule_allows",
                  rules=allowing("input.now_ms < data.until_ms"),
                  data='{"until_ms": 1000}', change={"now_ms": 1000}),
    ]  # fmt: skip


def answers() -> list[NastyCase]:
    """All of them."""
    return [*_undefined(), *_contradictory(), *_malformed(), *_failing()]
