"""policy eval --why: which rules fired and, of each that did not, the first condition to fail."""

from collections.abc import Callable
from pathlib import Path

import pytest

from checkrein.contracts.decision import DecisionInput, Verdict
from checkrein.errors import InputError
from checkrein.policy_rego import authoring
from checkrein.policy_rego.authoring import Explanation, RuleAnswer
from checkrein.policy_rego.bundle_files import Bundle, make_bundle, shipped_bundle
from checkrein.policy_rego.input_document import input_text, read_input

Make = Callable[..., DecisionInput]
HEAD = "package checkrein.rules.mine\n\nimport future.keywords.not\n\n"


def bundle_of(text: str) -> Bundle:
    """A bundle of one module."""
    return make_bundle(origin="b", modules={"rules/mine.rego": HEAD + text}, tests={}, data={})


async def why(text: str, document: DecisionInput) -> Explanation:
    """What a bundle of one module answers, and why."""
    return await authoring.explained(bundle_of(text), input_text(document).decode())


async def only(text: str, document: DecisionInput) -> RuleAnswer:
    """The answer of the only rule."""
    explanation = await why(text, document)
    assert explanation.note == ""
    (rule,) = explanation.rules
    return rule


async def test_shipped_rules_say_which_of_them_decided(document: Make) -> None:
    """Protects: an author sees the one rule that denied, by package, code and line."""
    text = input_text(document("workspace.write_file", ["tests/a.py"])).decode()
    explanation = await authoring.explained(shipped_bundle(), text)
    assert explanation.decision.reasons == ["protected_path"]
    fired = {rule.reason_code: rule for rule in explanation.rules if rule.fired}
    assert {"protected_path", "workspace_write"} <= set(fired)
    found = fired["protected_path"]
    assert (found.package, found.set, found.path) == (
        "checkrein.rules.protected",
        "deny",
        "checkrein/rules/protected.rego",
    )
    line = shipped_bundle().modules[found.path].splitlines()[found.line - 1]
    assert line.startswith("deny contains")
    assert found.members == [{"reason_code": "protected_path"}]
    assert all(rule.fired is not None for rule in explanation.rules)
    assert all(rule.failed is not None for rule in explanation.rules if not rule.fired)


RULE = 'deny contains {"reason_code": "not_today"} if {\n'


@pytest.mark.parametrize(
    ("body", "line", "text", "found"),
    [
        (
            '\tinput.tenant == "local"\n\tinput.task.risk == "high"\n\tinput.phase == "propose"\n',
            7,
            'input.task.risk == "high"',
            ['input.task.risk is "low"'],
        ),
        (
            "\tsome path in input.action.facts.paths\n\tpath.inside == false\n",
            7,
            "path.inside == false",
            [],
        ),
        (
            '\tnot input.tenant == "local"\n',
            6,
            'not input.tenant == "local"',
            ['input.tenant is "local"'],
        ),
        (
            '\tinput.action.args.path == "x"\n',
            6,
            'input.action.args.path == "x"',
            ["input.action.args.path is not shown"],
        ),
        (
            '\tinput.budget.model_tokens < 5; input.tenant == "local"\n',
            6,
            "input.budget.model_tokens < 5",
            ["input.budget.model_tokens is not there"],
        ),
        (
            '\tevery path in input.action.facts.paths {\n\t\tpath.segments[0] == "doc"\n\t}\n',
            6,
            'every path in input.action.facts.paths { path.segments[0] == "doc" }',
            None,
        ),
        (
            '\t"admin" in input.actor.roles\n\tinput.tenant == "local"\n',
            6,
            '"admin" in input.actor.roles',
            ["input.actor.roles is []"],
        ),
        (
            '\ttenant := input.tenant\n\tstartswith(tenant, `loc`)\n\tcontains(tenant, "x")\n',
            8,
            'contains(tenant, "x")',
            [],
        ),
    ],
    ids=["second", "some", "not", "args", "missing", "every", "quoted", "local"],
)
async def test_the_first_condition_that_failed(
    document: Make, body: str, line: int, text: str, found: list[str] | None
) -> None:
    """Protects: the condition that is named is the one that failed, and what the model wrote is
    never repeated."""
    rule = await only(RULE + body + "}\n", document("workspace.read", ["src/a.py"]))
    assert rule.fired is False
    assert rule.failed is not None
    assert (rule.failed.outcome, rule.failed.line, rule.failed.text) == ("false", line, text)
    assert found is None or rule.failed.found == found


async def test_a_condition_that_breaks_is_told_as_that(document: Make) -> None:
    """Protects: a rule that fails on an input is not mistaken for one that is not true."""
    body = '\tinput.tenant == "local"\n\tto_number(input.tenant) > 3\n}\n'
    explanation = await why(RULE + body, document())
    assert explanation.decision.reason_code == "policy_error"
    (rule,) = explanation.rules
    assert (rule.fired, rule.failed and rule.failed.outcome) == (None, "error")
    assert rule.failed is not None
    assert (rule.failed.line, "parse string as number" in rule.failed.message) == (7, True)


async def test_what_is_only_known_further_down_is_left_open(document: Make) -> None:
    """Protects: where the engine cannot judge a condition by itself, nothing is made up."""
    body = '\tname == "other"\n\tname = input.tenant\n}\n'
    rule = await only(RULE + body, document())
    assert rule.fired is False
    assert rule.failed is not None
    assert (rule.failed.outcome, rule.failed.line) == ("unknown", 6)
    assert "to line 7" in rule.failed.message


async def test_a_named_rule_says_what_failed_in_it(document: Make) -> None:
    """Protects: `all_inside is not true` is followed by why."""
    text = (
        RULE + '\tinput.tenant == "local"\n\trisky\n}\n\n'
        'risky if input.task.risk == "high"\n\nrisky if {\n\tinput.action.egress == true\n}\n'
    )
    rule = await only(text, document())
    assert rule.failed is not None and rule.failed.text == "risky"
    assert [condition.text for condition in rule.because] == [
        'input.task.risk == "high"',
        "input.action.egress == true",
    ]
    assert rule.because[0].found == ['input.task.risk is "low"']


async def test_rules_without_a_condition_and_members_that_are_made(document: Make) -> None:
    """Protects: a rule that always fires is one that fired, with what it added."""
    text = 'limit contains {"max_bytes": 5}\n\nallow contains {"reason_code": code} if {\n'
    text += '\tsome code in ["one", "two"]\n}\n'
    explanation = await why(text, document())
    assert explanation.decision.decision is Verdict.CONSTRAINED_ALLOW
    limit, allow = explanation.rules
    assert (limit.fired, limit.members) == (True, [{"max_bytes": 5}])
    assert allow.members == [{"reason_code": "one"}, {"reason_code": "two"}]


async def test_asking_why_changes_no_answer(document: Make) -> None:
    """Protects: the cut rules are never part of what decides."""
    text = input_text(document("workspace.read", ["src/a.py"])).decode()
    plain = await authoring.explained(shipped_bundle(), text, why=False)
    told = await authoring.explained(shipped_bundle(), text)
    assert plain.decision == told.decision
    assert (plain.rules, plain.decision.reason_code) == ([], "read_in_workspace")


async def test_an_input_that_is_none_is_told_by_its_field(document: Make) -> None:
    """Protects: a slip in a hand-written input is no `undefined`."""
    text = input_text(document()).decode()
    assert read_input(text, where="in.json") == text
    for wrong, part in (
        (text.replace('"tenant"', '"tennant"'), "tenant"),
        ("[]", "no.*object|not an object"),
        ("{", "Not valid JSON"),
        ("{}", "phase: Field required"),
    ):
        with pytest.raises(InputError, match=f"in.json .*{part}") as refused:
            read_input(wrong, where="in.json")
        assert refused.value.code == "policy_input_invalid"


async def test_a_failing_test_names_the_condition(bundles: Path) -> None:
    """Protects: `policy test` says which line of a test was not true."""
    report = await authoring.test(bundles / "failing_test", deadline_s=2.0)
    by_name = {result.name.rpartition(".")[2]: result for result in report.results}
    failed = by_name["test_read_is_allowed"].failed
    assert failed is not None
    assert (failed.path, failed.line) == ("checkrein/rules/x_test.rego", 10)
    assert failed.text.startswith("count(x.allow) == 1 with input as")
    assert by_name["test_list_is_allowed"].failed is None
