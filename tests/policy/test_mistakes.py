"""The mistakes that authors make: each is found at its place, and it is said how to mend it."""

from pathlib import Path

import pytest

from checkrein.policy_rego import authoring

MISTAKES = Path(__file__).parent / "mistakes"
RULES = "rules/mine.rego"
TESTS = "rules/mine_test.rego"

# Folder, file, line, column, name of the check, and a phrase of the mend.
TABLE = [
    ("misspelt_input", RULES, 4, 15, "input_path", "Did you mean capability?"),
    ("misspelt_behind_variable", RULES, 5, 7, "input_path", "Did you mean inside?"),
    ("missing_if", RULES, 3, 44, "syntax", "Write `if` before the brace"),
    ("missing_contains", RULES, 3, 1, "not_a_set", "deny contains"),
    ("wrong_package", RULES, 1, 1, "package", "checkrein.rules.<name>"),
    ("conflict", RULES, 9, 1, "conflict", "conditions that exclude each other"),
    ("unsafe_variable", RULES, 4, 2, "unsafe_variable", "some path in"),
    ("unquoted_text", RULES, 4, 18, "unsafe_variable", "double quotes"),
    ("unknown_function", RULES, 4, 2, "unknown_function", "Did you mean startswith?"),
    ("recursion", RULES, 7, 1, "recursion", "iterate with `some`"),
    ("http_send", RULES, 4, 2, "forbidden_function", "into the bundle's data"),
    ("clock", RULES, 4, 2, "forbidden_function", "Use input.now_ms"),
    ("walk_destructuring", RULES, 4, 16, "walk_destructuring", "walk(value, [path, found])"),
    ("not_over_missing", RULES, 4, 2, "not_without_import", "import future.keywords.not"),
    ("unknown_import", RULES, 3, 8, "unknown_import", "Did you mean paths?"),
    ("unused_rule", RULES, 5, 1, "unused_rule", "use it in a rule that does"),
    ("misspelt_set", RULES, 5, 1, "misspelt_set", "Did you mean allow?"),
    ("misspelt_set_denied", RULES, 3, 1, "misspelt_set", "Did you mean deny?"),
    ("reason_code_malformed", RULES, 3, 32, "reason_code", "Use 2 to 64 of a-z"),
    ("reason_code_reserved", RULES, 3, 32, "reason_code", "Choose another"),
    ("reason_code_twice", "rules/other.rego", 3, 1, "reason_code_twice", "Choose another"),
    ("ask_without_reason", RULES, 3, 1, "malformed_member", "an object with reason_code"),
    ("unknown_constraint", RULES, 3, 1, "malformed_member", "exactly one constraint"),
    ("two_constraints", RULES, 3, 1, "malformed_member", "exactly one constraint"),
    ("no_roles", RULES, 3, 41, "member_value", "at least one role"),
    ("data_typo", RULES, 4, 29, "data_path", "Did you mean tenants?"),
    ("data_absent", RULES, 4, 27, "data_path", "for example into data.json"),
    ("data_absent_asks", RULES, 6, 20, "data_path", "There are: hosts, ports."),
    ("data_absent_default", RULES, 5, 24, "data_path", "take it out here"),
    ("data_absent_prefix", RULES, 4, 7, "data_path", "for example into data.json"),
    ("broken_data", "known/data.json", 2, 22, "bundle", "no comma behind the last item"),
    ("unknown_word", RULES, 4, 37, "input_value", "READ, REVERSIBLE, IRREVERSIBLE"),
    ("number_as_text", RULES, 4, 25, "input_value", "Compare with a value of that type"),
    ("not_equal_in_loop", RULES, 4, 2, "not_equals_in_loop", "every item in"),
    ("and_sign", RULES, 4, 24, "syntax", "each condition on a line of its own"),
    ("single_quotes", RULES, 4, 18, "syntax", "double quotes"),
    ("open_brace", RULES, 4, 22, "syntax", "Close the bracket"),
    ("ascii_class", RULES, 4, 15, "pattern_class", "[0-9]"),
    ("empty_test", TESTS, 3, 1, "empty_test", "count(mine.deny) == 1"),
    ("misspelt_test", TESTS, 5, 1, "unused_rule", "begin with test_"),
]

WARNINGS = {
    *("unused_rule", "reason_code_twice", "not_equals_in_loop", "empty_test", "misspelt_test"),
    *("not_equal_in_loop", "data_absent_default"),
}
"""What a bundle can be loaded with: `policy check --strict` fails on these too."""


@pytest.mark.parametrize(
    ("folder", "path", "line", "column", "rule", "mend"), TABLE, ids=[row[0] for row in TABLE]
)
async def test_each_mistake_is_found_with_its_place_and_its_mend(
    folder: str, path: str, line: int, column: int, rule: str, mend: str
) -> None:
    """Protects: a slip is told by the line that holds it, not by an action denied for no reason."""
    findings = await authoring.check(MISTAKES / folder)
    found = next((one for one in findings if one.rule == rule), None)
    assert found is not None, findings
    # One slip, one finding: the first line read is the one to mend.
    assert len(findings) == (2 if folder == "unknown_import" else 1), findings
    assert (found.path, found.line, found.column) == (path, line, column)
    assert mend in found.advice
    assert found.level == ("warning" if folder in WARNINGS else "error")
    text = (MISTAKES / folder / path).read_text()
    source, below = authoring.caret(text, found).split("\n")
    assert source == text.splitlines()[line - 1]
    assert below.rstrip("^").strip() == "" and len(below) == column


def test_every_folder_is_in_the_table() -> None:
    """Protects: a mistake that somebody adds is held against its place too; 20 are asked for."""
    folders = {place.name for place in MISTAKES.iterdir()}
    assert folders == {row[0] for row in TABLE}
    assert len(folders) >= 20
