"""The library of rules: each stands alone, all stand together, and the page says what they say."""

import asyncio
import re
from collections.abc import Awaitable, Callable
from pathlib import Path

import policy_rules_doc
import pytest

from checkrein.contracts.codec import canonical
from checkrein.contracts.decision import DecisionInput, Verdict
from checkrein.errors import InputError
from checkrein.evals.parity_bundles import library_words, variants
from checkrein.evals.parity_inputs import Generator
from checkrein.evals.parity_plausible import LIBRARY_DATA
from checkrein.policy_rego import authoring, library, metadata
from checkrein.policy_rego.bundle_files import load_bundle
from checkrein.policy_rego.embedded import EmbeddedPolicy
from checkrein.policy_rego.engine_process import EngineProcess
from checkrein.policy_rego.lint import parsed
from checkrein.policy_rego.lint_rules import SETS

RULES = {rule.name: rule for rule in library.rules()}


def test_the_library_is_what_is_promised() -> None:
    """The rules that teams look for are there by name; one that vanished breaks bundles."""
    assert [*RULES] == [
        "budgets",
        "capabilities",
        "commands",
        "commit",
        "duties",
        "money",
        "network",
        "paths",
        "planning",
        "production",
        "protected",
        "secrets",
        "sql",
        "stages",
        "untrusted",
        "workspace",
    ]
    assert all(rule.title for rule in RULES.values())


@pytest.mark.parametrize("name", RULES)
async def test_each_rule_stands_alone(name: str, tmp_path: Path) -> None:
    """Copied alone beside the shipped entrypoint it is sound, and its tests reach every line."""
    await library.add_to(tmp_path, [name])
    assert await authoring.check(tmp_path) == []
    report = await authoring.test(tmp_path, deadline_s=30)
    assert [result for result in report.results if result.outcome != "pass"] == []
    assert report.ok
    mine = [file for file in report.coverage if file.path == f"checkrein/rules/{name}.rego"]
    assert [file.missed for file in mine] == [[]]


async def test_all_rules_stand_together(tmp_path: Path) -> None:
    """No two of them take one name or one reason code; the lint would warn of both."""
    await library.add_to(tmp_path, [*RULES])
    assert await authoring.check(tmp_path) == []
    report = await authoring.test(tmp_path, deadline_s=30)
    assert [result for result in report.results if result.outcome != "pass"] == []


async def test_each_rule_says_what_it_does(tmp_path: Path) -> None:
    """Title, description and the very reason code that it gives, once, where it gives it first."""
    await library.add_to(tmp_path, [*RULES])
    engine = await EngineProcess.start()
    try:
        findings, modules = await parsed(load_bundle(tmp_path).modules, engine)
    finally:
        engine.kill()
        await engine.close()
    assert findings == []
    owners: dict[str, str] = {}
    for module in modules:
        if module.package == ("checkrein",):
            continue
        about = metadata.of_package(module)
        assert about.title, module.path
        assert about.description, module.path
        for rule in module.rules:
            if rule.kind != "Set" or rule.name not in SETS:
                continue
            code, note = metadata.literal_code(rule), metadata.of_rule(module, rule)
            place = f"{module.path}:{rule.span['line']}"
            if code in owners and code:
                assert owners[code] == f"{rule.name} in {module.path}", place
                continue
            assert note.title, place
            assert note.description, place
            assert note.reason_code == code, place
            assert code or rule.name == "limit", place
            owners[code] = f"{rule.name} in {module.path}"


async def test_the_page_says_what_the_rules_say() -> None:
    """docs/policy-rules.md is made from rules, tests and data; who changes one makes it anew."""
    written = policy_rules_doc.FILE.read_text(encoding="utf-8")
    assert written == await policy_rules_doc.page(), "run python scripts/policy_rules_doc.py"


async def test_all_rules_together_leave_the_workspace_as_it_was(
    tmp_path: Path,
    policy_of: Callable[..., Awaitable[EmbeddedPolicy]],
    document: Callable[..., DecisionInput],
) -> None:
    """A team that takes every rule with its first data can still read, and is asked for writes."""
    await library.add_to(tmp_path, [*RULES])
    policy = await policy_of(load_bundle(tmp_path))
    read = document(paths=["src/a.py"])
    read = read.model_copy(update={"budget": {"tool_calls": 9}})
    decision = await policy.decide(read)
    assert (decision.decision, decision.reasons) == (Verdict.ALLOW, ["read_in_workspace"])
    decision = await policy.decide(document("workspace.write_file", ["src/a.py"]))
    assert (decision.decision, decision.reasons) == (Verdict.REQUIRE_APPROVAL, ["workspace_write"])


async def test_parity_reaches_every_rule(
    policy_of: Callable[..., Awaitable[EmbeddedPolicy]],
) -> None:
    """What `make parity` compares is compared for each rule: code or limit comes up in some answer.

    A rule that is added is reached too, or this fails and says which one the inputs miss.
    """
    words = library_words()
    assert {rule.name for rule in RULES.values() if not words & _codes(rule)} == set()
    policy = await policy_of(variants()["library, with data"])
    said: set[str] = set()
    for document in Generator(1).documents(4000):
        decision = await policy.decide(document)
        said |= {*decision.reasons, *decision.constraints}
    assert words - said == set()


async def test_their_own_tests_stand_a_change_of_the_data(tmp_path: Path) -> None:
    """A team sets the data, and a bundle whose own tests fail is not taken over."""
    await library.add_to(tmp_path, [*RULES])
    for name, document in LIBRARY_DATA["checkrein"].items():
        place = tmp_path / "checkrein" / name / "data.json"
        place.write_bytes(canonical(document))
    report = await authoring.test(tmp_path, deadline_s=30)
    assert [result for result in report.results if result.outcome != "pass"] == []


def _codes(rule: library.LibraryRule) -> set[str]:
    """The reason codes in the heads of a rule's file, read apart from its METADATA."""
    return set(
        re.findall(r'"reason_code": "([a-z_]+)"', rule.files[f"{library.RULES}/{rule.name}.rego"])
    )


async def test_they_go_with_the_starter(tmp_path: Path) -> None:
    """`policy init` and then the rules that it does not bring: sound, and every test passes."""
    await authoring.start(tmp_path)
    own = {"capabilities", "commit", "paths", "protected", "workspace"}
    await library.add_to(tmp_path, [name for name in RULES if name not in own])
    assert await authoring.check(tmp_path) == []
    assert (await authoring.test(tmp_path, deadline_s=30)).ok


async def test_nothing_is_overwritten(tmp_path: Path) -> None:
    """A team's own rule, data or package stands, and then nothing at all is copied."""
    await library.add_to(tmp_path, ["money"])
    data = tmp_path / "checkrein/money/data.json"
    data.write_text("{}", encoding="utf-8")
    (tmp_path / "checkrein/rules/money.rego").unlink()
    (tmp_path / "checkrein/rules/money_test.rego").unlink()
    with pytest.raises(InputError, match=r"data\.json is there already"):
        await library.add_to(tmp_path, ["network", "money"])
    assert data.read_text(encoding="utf-8") == "{}"
    assert not (tmp_path / "checkrein/rules/network.rego").exists()
    own = tmp_path / "elsewhere.rego"
    own.write_text("package checkrein.rules.sql\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"is a package checkrein\.rules\.sql already"):
        await library.add_to(tmp_path, ["sql"])


@pytest.mark.parametrize("names", [[], ["monye"], ["money", "../money"], ["money_test"]])
async def test_an_unknown_name_is_refused_with_the_known_ones(
    names: list[str], tmp_path: Path
) -> None:
    """A typing mistake copies nothing, and the answer names what there is."""
    with pytest.raises(InputError, match="There are: budgets, capabilities, commands") as caught:
        await library.add_to(tmp_path / "new", names)
    assert caught.value.code == "rule_unknown"
    assert not (tmp_path / "new").exists()


async def test_a_place_that_is_no_folder_is_refused(tmp_path: Path) -> None:
    """The message names it; nothing is written beside it."""
    place = tmp_path / "file"
    place.write_text("text", encoding="utf-8")
    with pytest.raises(InputError, match="is no folder") as caught:
        await library.add_to(place, ["money"])
    assert caught.value.code == "folder_unusable"
    await asyncio.to_thread(place.unlink)
