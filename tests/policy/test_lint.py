"""What keeps a bundle from being loaded, with the place and what to do about it."""

from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest

from checkrein.errors import InputError
from checkrein.policy_rego import authoring
from checkrein.policy_rego.bundle_files import load_bundle, make_bundle, shipped_bundle
from checkrein.policy_rego.embedded import EmbeddedPolicy
from checkrein.policy_rego.engine_process import EngineProcess
from checkrein.policy_rego.findings import Finding
from checkrein.policy_rego.lint import lint
from checkrein.policy_rego.portable import PORTABLE

Lint = Callable[..., Awaitable[list[Finding]]]
PATH = "checkrein/rules/x.rego"
HEAD = "package checkrein.rules.x\n\nimport future.keywords.not\n\n"
ALLOW = 'allow contains {"reason_code": "fine"} if '


@pytest.fixture
async def linted() -> AsyncIterator[Lint]:
    """Checks one file's text, with more files by path where the test needs them."""
    engine = await EngineProcess.start()

    async def run(text: str, *, path: str = PATH, tests: bool = True, **data: str) -> list[Finding]:
        is_test = path.endswith("_test.rego")
        bundle = make_bundle(
            origin="bundle",
            modules={} if is_test else {path: text},
            tests={path: text} if is_test else {},
            data={f"{name}.json": value for name, value in data.items()},
        )
        return await lint(bundle, engine, deadline_s=10, tests=tests)

    yield run
    await engine.close()


@pytest.mark.parametrize(
    ("bundle", "rule", "line", "column", "advice"),
    [
        ("missing_builtin", "unsupported_function", 4, 2, "Do without it"),
        ("misspelt_input", "input_path", 4, 15, "Did you mean capability?"),
        ("recursion", "recursion", 5, 1, "no recursion"),
        ("walk", "walk_destructuring", 4, 16, "walk(value, [path, found])"),
        ("http_send", "forbidden_function", 4, 2, "data"),
        ("now_ns", "forbidden_function", 3, 43, "input.now_ms"),
        ("not_without_import", "not_without_import", 4, 2, "import future.keywords.not"),
        ("syntax", "syntax", 5, 1, ""),
    ],
)
async def test_nasty_bundles_are_refused_with_their_place(
    bundles: Path, bundle: str, rule: str, line: int, column: int, advice: str
) -> None:
    """Each would be answered differently by OPA, crash the engine, or silently never deny."""
    folder = bundles / bundle
    found = (await authoring.check(folder))[0]
    assert (found.level, found.rule, found.path) == ("error", rule, PATH)
    assert (found.line, found.column) == (line, column)
    assert advice in found.advice
    with pytest.raises(InputError) as refused:
        await EmbeddedPolicy.load(load_bundle(folder))
    assert refused.value.code == "policy_invalid"
    assert f"{PATH}:{line}:{column}: " in str(refused.value)
    assert f"checkrein policy check {folder}" in str(refused.value)


async def test_misspelt_name_behind_a_variable_is_found(bundles: Path) -> None:
    """`some path in input...` and then path.insde: the most likely place of a slip."""
    found = (await authoring.check(bundles / "misspelt_input"))[1]
    assert (found.line, found.column, found.advice) == (9, 7, "Did you mean inside?")


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        (HEAD + ALLOW + "startwith(input.tenant, `a`)", "unknown_function"),
        (HEAD + ALLOW + "rand.intn(`a`, 2) == 1", "forbidden_function"),
        (HEAD + ALLOW + "print(input.action.args)", "forbidden_function"),
        (HEAD + ALLOW + "time.parse_rfc3339_ns(input.tenant) > 0", "unknown_function"),
        (HEAD + ALLOW + "io.jwt.decode(input.tenant)[0].alg == `a`", "unsupported_function"),
        (HEAD + ALLOW + "regex.match(`^\\d+$`, input.tenant)", "pattern_class"),
        (HEAD + ALLOW + "input.budget.steps > 0.5", "fraction"),
        (HEAD + ALLOW + "input.now_ms > 9223372036854775808", "large_integer"),
        (HEAD + ALLOW + "walk(input.action.args)[_] == 1", "walk_destructuring"),
        (HEAD + ALLOW + "input.action.facts.paths.inside", "input_path"),
        (HEAD + ALLOW + 'input["tennant"] == `a`', "input_path"),
        (HEAD + ALLOW + "input.tenant.name == `a`", "input_path"),
        (HEAD + ALLOW + "{ some p in input.action.facts.paths; p.segments.x == 1 }", "input_path"),
        (HEAD + ALLOW + "every p in input.approvals { p.who == `a` }", "input_path"),
        (HEAD + ALLOW + "{ facts := input.action.facts; facts.path }", "input_path"),
        (HEAD + ALLOW + "a\na if b\nb if a", "recursion"),
        (HEAD + ALLOW + "f(1)\nf(x) if g(x)\ng(x) if data.checkrein.rules.x.f(x)", "recursion"),
        (HEAD + ALLOW + "data.checkrein.decision.decision == `DENY`", "recursion"),
        (HEAD + "allow := true", "not_a_set"),
        (HEAD + "deny if input.tenant == `a`", "not_a_set"),
        (HEAD + "default deny := false", "not_a_set"),
        (HEAD + "allow contains `fine` if true", "malformed_member"),
        (HEAD + 'allow contains {"reason": "fine"} if true', "malformed_member"),
        (HEAD + 'ask contains {"reason_code": "fine", "role": []} if true', "malformed_member"),
        (HEAD + 'limit contains {"max_bytes": 1, "max_rows": 1} if true', "malformed_member"),
        (HEAD + 'limit contains {"max_byte": 1} if true', "malformed_member"),
        (HEAD + 'deny contains {"reason_code": "Not Fine"} if true', "reason_code"),
        (HEAD + 'deny contains {"reason_code": "policy_error"} if true', "reason_code"),
        (HEAD + ALLOW + "o.a\no.a := 1 if input.tenant == `a`", "partial_object"),
        (HEAD + ALLOW + "count(s) > 0\ndefault s := 1\ns contains 1 if true", "default_of_set"),
        (HEAD + "denies contains 1 if input.tenant == `a`", "misspelt_set"),
        (HEAD + "helper if input.tenant == `a`", "no_members"),
        ("package other\nallow contains 1 if true", "package"),
        ("package checkrein.rules\nallow contains 1 if true", "package"),
        ("package checkrein.rules.x.y\nallow contains 1 if true", "package"),
        ("package checkrein.rules.x_test\n" + ALLOW + "true", "package"),
        ("package checkrein\nextra := 1", "entrypoint_changed"),
        (HEAD + ALLOW + "{\n\ty == 1\n}", "unsafe_variable"),
        (HEAD + ALLOW + "x == 1\nx := 1\nx := 2", "conflict"),
    ],
    ids=str,
)
async def test_findings(linted: Lint, text: str, rule: str) -> None:
    """One flaw, one finding of its name, at a place in the file."""
    findings = await linted(text)
    assert rule in {found.rule for found in findings}, findings
    assert all(found.path == PATH and found.line >= 1 for found in findings)


@pytest.mark.parametrize(
    "text",
    [
        HEAD + ALLOW + "not startswith(input.tenant, `a`)",
        HEAD + ALLOW + "input.action.args.whatever.the[0].model == `says`",
        HEAD + ALLOW + "input.budget.steps > 3",
        HEAD + ALLOW + "{ some name, left in input.budget; left < 1; name == `steps` }",
        HEAD + ALLOW + "{ walk(input.action.args, [_, found]); found == `x` }",
        HEAD + ALLOW + "input.action.facts.paths[0].segments[0] == `src`",
        HEAD + ALLOW + "{ some i; input.action.facts.paths[i].inside }",
        HEAD + "import input.action.facts as known\n\n" + ALLOW + "known.bytes < 10",
        HEAD + ALLOW + "input.now_ms > 1764500000000000000",
        HEAD + ALLOW + "regex.match(`^[0-9]+$`, input.tenant)",
        HEAD + ALLOW + "f(1)\n\nf(n) if n > 0",
        HEAD + ALLOW + "object.get(input.action.args, `a`, 1) == 1",
        HEAD
        + ALLOW
        + "{\n\tx := {y | some y in [1, 2]}\n\tx[1]\n}\n\nx := 3 if input.phase == `propose`",
    ],
    ids=str,
)
async def test_sound_rules_have_no_finding(linted: Lint, text: str) -> None:
    """A lint that cries wolf is switched off."""
    assert await linted(text) == []


@pytest.mark.parametrize(
    ("line", "level"),
    [
        ("deny contains {C} if input.tenant in data.blocked", "error"),
        ("deny contains {C} if input.tenant in data.known.blocked", "error"),
        ("deny contains {C} if input.tenant in data.known.text.more", "error"),
        ("deny contains {C} if input.tenant in data.empty.more", "error"),
        ("deny contains {C} if input.tenant in data[`blocked`]", "error"),
        ("ask contains {C} if some one in data.blocked[_]", "error"),
        ("limit contains {`max_bytes`: data.most} if true", "error"),
        ("limit contains {`max_bytes`: data.known[input.tenant].most} if true", None),
        ("deny contains {C} if input.tenant in data.blocked[input.tenant]", "error"),
        ("deny contains {C} if input.tenant in data.known.tenants", None),
        ("deny contains {C} if input.tenant in data.checkrein.rules.x.own.more", None),
        ("deny contains {C} if not input.tenant in data.friends", "warning"),
        ("deny contains {C} if count({1 | input.tenant in data.blocked}) > 0", "warning"),
        ("allow contains {C} if input.tenant in data.friends", "warning"),
        ("deny contains {C} if theirs\n\ntheirs if input.tenant in data.friends", "warning"),
    ],
)
async def test_data_that_are_not_there_are_found(
    linted: Lint, line: str, level: str | None
) -> None:
    """A rule that could never hold anything back is refused; elsewhere the author is told."""
    own = "\n\nown := {1} if input.tenant == `a`\n\nallow contains {C} if own == 1\n"
    text = HEAD + (line + own).replace("{C}", '{"reason_code": "fine"}', 1)
    text = text.replace("{C}", '{"reason_code": "own"}')
    data = '{"known": {"tenants": ["a"], "text": "b"}, "empty": {}}'
    found = await linted(text, data=data)
    assert [(one.rule, one.level) for one in found] == ([("data_path", level)] if level else [])


async def test_tests_may_bring_data_of_their_own(linted: Lint) -> None:
    """`with data.x as` in a test stands for data that the bundle need not hold."""
    test = "package checkrein.rules.x_test\n\ntest_a if data.blocked == 1 with data.blocked as 1\n"
    assert await linted(test, path="checkrein/rules/x_test.rego") == []


async def test_library_functions_are_known_by_every_name() -> None:
    """A function in checkrein.lib may be called by its path, by an import and by another name."""
    library = "package checkrein.lib.texts\n\nis_short(text) if count(text) < 9\n"
    calls = "\n\timported.is_short(`a`)\n\ttexts.is_short(`a`)\n"
    rule = (
        "package checkrein.rules.x\n\nimport data.checkrein.lib.texts\n"
        "import data.checkrein.lib.texts as imported\n\n"
        f"{ALLOW}{{{calls}\tdata.checkrein.lib.texts.is_short(`a`)\n}}\n"
    )
    modules = {PATH: rule, "checkrein/lib/texts.rego": library}
    bundle = make_bundle(origin="b", modules=modules, tests={}, data={})
    engine = await EngineProcess.start()
    assert await lint(bundle, engine, deadline_s=10) == []
    wrong = {**modules, PATH: rule.replace("imported.is_short", "imported.is_shrt")}
    (found,) = await lint(
        make_bundle(origin="b", modules=wrong, tests={}, data={}), engine, deadline_s=10
    )
    assert (found.rule, found.line) == ("unknown_function", 7)
    await engine.close()


async def test_plain_not_needs_no_import(linted: Lint) -> None:
    """Only a `not` with something to hoist out of it is read in two ways."""
    head = "package checkrein.rules.x\n\n"
    assert await linted(head + ALLOW + "not input.action.reversible") == []
    found = await linted(head + ALLOW + "not input.tenant == `a`")
    assert [one.rule for one in found] == ["not_without_import"]


async def test_recursion_is_found_before_anything_is_evaluated(bundles: Path) -> None:
    """Evaluating it would end the process by a stack overflow: the engine must outlive the lint."""
    engine = await EngineProcess.start()
    findings = await lint(load_bundle(bundles / "recursion"), engine, deadline_s=10)
    assert [found.rule for found in findings] == ["recursion"]
    assert engine.usable
    await engine.close()


async def test_slow_bundle_is_refused_at_the_trial(linted: Lint) -> None:
    """What cannot judge one harmless action in time would deny every action, late."""
    slow = "{ some a in r; some b in r; a + b < 0 }\n\nr := numbers.range(1, 100000)"
    bundle = make_bundle(origin="b", modules={PATH: HEAD + ALLOW + slow}, tests={}, data={})
    with pytest.raises(InputError, match="Some rule takes too long"):
        await EmbeddedPolicy.load(bundle, deadline_s=0.5)


async def test_file_that_breaks_the_parser_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """The engine's parser takes exponential time for nested brackets; it is not waited for."""
    monkeypatch.setattr("checkrein.policy_rego.lint.PARSE_S", 1.0)
    text = "package checkrein.rules.x\n\nx := " + "[" * 31 + "]" * 31
    bundle = make_bundle(origin="b", modules={PATH: text}, tests={}, data={})
    with pytest.raises(InputError, match="checkrein/rules/x.rego:1:1: The engine breaks"):
        await EmbeddedPolicy.load(bundle)


async def test_very_long_reference_is_refused(linted: Lint) -> None:
    """A tree deeper than Python's own stack ends in a finding, not in a crash."""
    findings = await linted(HEAD + ALLOW + "input.action.args" + ".a" * 450 + " == 1")
    assert [found.level for found in findings] in ([], ["error"])


async def test_data_where_rules_stand_are_refused(linted: Lint) -> None:
    """Otherwise a data file could add members that no rule of the bundle shows."""
    for data in (
        '{"checkrein": {"rules": {"y": {"allow": [{"reason_code": "from_data"}]}}}}',
        '{"checkrein": {"decision": {"decision": "ALLOW"}}}',
        '{"checkrein": {"allows": [{"reason_code": "from_data"}]}}',
    ):
        findings = await linted(HEAD + ALLOW + "true", data=data)
        assert {found.rule for found in findings} == {"data_over_rules"}
        assert findings[0].path == "data.json"


async def test_tests_are_checked_too(linted: Lint) -> None:
    """A misspelt mock makes a test pass for no reason; a member in a test would be counted."""
    path = "checkrein/rules/x_test.rego"
    head = "package checkrein.rules.x_test\n\n"
    misspelt = head + 'test_a if input.tenant == "a" with input.tennant as "a"\n'
    assert [f.rule for f in await linted(misspelt, path=path) if f.level == "error"] == [
        "input_path"
    ]
    member = head + 'allow contains {"reason_code": "fine"} if true\n'
    assert [f.rule for f in await linted(member, path=path)] == ["member_in_test"]
    wrong = "package checkrein.rules.x\n\ntest_a if true\n"
    assert [f.rule for f in await linted(wrong, path=path)] == ["package", "empty_test"]
    printing = head + 'test_a if {\n\tprint("seen")\n}\n'
    assert [f.rule for f in await linted(printing, path=path)] == ["empty_test"]
    circle = head + 'test_a if data.checkrein.decision.decision == "DENY"\n'
    found = await linted(circle, path=path)
    assert [f.rule for f in found] == ["recursion"]
    assert "checkrein.decision_test" in found[0].advice


async def test_shipped_bundle_has_no_finding() -> None:
    """The bundle that everybody starts from holds to what it asks of others."""
    engine = await EngineProcess.start()
    assert await lint(shipped_bundle(), engine, deadline_s=10, tests=True) == []
    await engine.close()


async def test_portable_functions_are_all_in_the_engine() -> None:
    """A function on the list that the engine lacks would fail only when a rule reaches it."""
    engine = await EngineProcess.start()
    bundle = shipped_bundle()
    modules = [list(item) for item in bundle.modules.items()]
    load = {"do": "load", "modules": modules, "data": bundle.data, "coverage": False}
    assert "fault" not in await engine.ask(load, limit_s=10)
    query = {"do": "eval", "query": "opa.runtime().builtins", "input": "{}"}
    reply = await engine.ask(query, limit_s=10)
    assert {name for name in PORTABLE if f'"{name}"' not in reply["result"]} == set()
    await engine.close()


async def test_place_counts_characters_and_a_tab_as_one(linted: Lint) -> None:
    """Editors count so; the engine counts bytes, and a tab as four."""
    text = HEAD + ALLOW + '{\n\t"é€😀" == "x"; input.tennant == "a"\n}\n'
    (found,) = await linted(text)
    assert (found.line, found.column) == (6, 22)
    broken = HEAD + ALLOW + '{\n\t"é€😀" == }\n}\n'
    (found,) = await linted(broken)
    assert (found.rule, found.line, found.column) == ("syntax", 6, 11)
