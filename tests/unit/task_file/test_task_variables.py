"""Variables of the environment in task files: filled in as one text, typed by their field."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from checkrein.adapters.task_file import LoadedTask, load_task
from checkrein.contracts.check import TextMatchCheck
from checkrein.contracts.task import Risk
from checkrein.errors import InputError

TASK = """\
goal: Close ticket ${TICKET}
requested_by: ${WHO:-alice}
risk: ${RISK:-low}
plan_mode: ${PLAN:-false}
model: ${MODEL:-scripted:decisions.yaml}
workspace: {path: "${PLACE:-.}"}
budgets:
  steps: ${STEPS:-30}
  wall_time_s: "${SECONDS_LEFT:-900}"
approvals: {roles: {"${ROLE}": [bob]}}
success:
  - text_match: {file: a.txt, contains: "$${TICKET} costs $$5, $9"}
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "task.yaml"


def loaded(file: Path, text: str = TASK, **environ: str) -> LoadedTask:
    file.write_text(text.replace('"${ROLE}"', "approver"), encoding="utf-8")
    return load_task(file, environ)


def refusal(file: Path, text: str, **environ: str) -> InputError:
    file.write_text(text, encoding="utf-8")
    with pytest.raises(InputError) as caught:
        load_task(file, environ)
    return caught.value


def test_values_and_defaults_stand_in_the_contract(file: Path) -> None:
    """Protects resuming elsewhere: the contract holds what was filled in, typed by its field."""
    contract = loaded(file, TICKET="T-17", STEPS="7", PLAN="true", RISK="low", WHO="").contract
    assert contract.goal == "Close ticket T-17"
    assert contract.requested_by == "alice"
    assert (contract.budgets.steps, contract.budgets.wall_time_s) == (7, 900)
    assert contract.plan_mode is True
    assert contract.risk is Risk.LOW
    assert contract.model == f"scripted:{file.parent / 'decisions.yaml'}"


def test_a_dollar_is_escaped_by_another(file: Path) -> None:
    """Protects texts that mean the sign itself."""
    (check,) = loaded(file, TICKET="T-17").contract.success
    assert isinstance(check, TextMatchCheck)
    assert check.text_match.contains == "${TICKET} costs $5, $9"


def test_names_of_fields_are_never_filled(file: Path) -> None:
    """Protects the structure: who may approve is not for the environment to name a role of."""
    error = refusal(file, TASK, TICKET="T-17", ROLE="approver")
    assert "approvals.roles.${ROLE}" in str(error)


@pytest.mark.parametrize("value", ["7", "true", "null", "1.5", "~"])
def test_a_text_stays_a_text(file: Path, value: str) -> None:
    """Protects people and tickets that are called like a number."""
    assert loaded(file, TASK.replace("Close ticket ", ""), TICKET=value).contract.goal == value


@pytest.mark.parametrize(
    ("variable", "value", "message"),
    [
        ("STEPS", "many", '8:3: budgets.steps: must be a whole number, not "many"'),
        ("STEPS", "null", '8:3: budgets.steps: must be a whole number, not "null"'),
        ("STEPS", "1.5", "budgets.steps: must be a whole number, not 1.5"),
        ("STEPS", ".inf", "budgets.steps: is no finite number"),
        ("STEPS", "9" * 5000, "budgets.steps: must be a whole number"),
        ("STEPS", "0", "budgets.steps: must be greater than 0, not 0"),
        ("PLAN", "yes", 'plan_mode: must be true or false, not "yes"'),
        ("RISK", "none", "3:1: risk: must be 'low', 'medium' or 'high'"),
        ("MODEL", "x" * 600, "5:1: model: must have at most 512 characters"),
        ("TICKET", "x" * (1 << 20) + "x", "1:1: goal: variables fill in more than 1,048,576"),
    ],
)
def test_values_are_validated_like_any_other(
    file: Path, variable: str, value: str, message: str
) -> None:
    """Protects limits: a value of the environment passes the same rules, and is told by place."""
    text = TASK.replace('"${ROLE}"', "approver")
    assert message in str(refusal(file, text, **{"TICKET": "T-17", variable: value}))


def test_what_is_missing_is_told_by_name_and_place(file: Path) -> None:
    """Protects authors: every variable at once, and what to do."""
    text = TASK.replace("${WHO:-alice}", "${WHO}")
    error = refusal(file, text)
    assert error.code == "invalid_variable"
    assert error.context["line"] == 1
    assert str(error).replace(str(file), "task.yaml").splitlines() == [
        "task.yaml:1:1: goal: the variable TICKET is not set; set it, or write a default: "
        "${TICKET:-...}",
        "task.yaml:2:1: requested_by: the variable WHO is not set; set it, or write a default: "
        "${WHO:-...}",
    ]
    text = "\n".join(f"f{n}: ${{MISSING}}" for n in range(20))
    assert str(refusal(file, text)).splitlines()[-1] == "and 12 more"


@pytest.mark.parametrize(
    "sign", ["${}", "${1A}", "${A-b}", "${A:?b}", "${A", "${A:-${B}}", "${ A }", "${A:-{}}"]
)
def test_what_is_no_variable_is_refused(file: Path, sign: str) -> None:
    """Protects against a guess at what was meant."""
    error = refusal(file, f"goal: '{sign}'\n", A="a", B="b")
    assert "1:1: goal: ${" in str(error) and "is no variable; write ${NAME}" in str(error)


@pytest.mark.parametrize("text", ["budgets: {steps: ${STEPS}}", "a: [${WHO}, b]"])
def test_a_variable_within_brackets_wants_quotes(file: Path, text: str) -> None:
    """Protects authors from what YAML says of braces within braces."""
    assert "Put ${...} in quotes within brackets." in str(refusal(file, text))


@pytest.mark.shows(262)
@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("SHOP_TOKEN", "hunter2hunter2"),
        ("PASSWORD", "hunter2hunter2"),
        ("CHECKREIN_TOKEN", ""),
        ("DATABASE", "postgres://shop:hunter2hunter2@db/shop"),
        ("KEY", "ghp_hunter2hunter2hunter2hunter2"),
    ],
)
def test_a_secret_is_never_stored_in_a_contract(file: Path, name: str, value: str) -> None:
    """Protects secrets: they are lent by name; the error says so, and does not say the value."""
    error = refusal(file, f"goal: use ${{{name}:-none}}\n", **{name: value})
    assert error.code == "invalid_variable"
    assert "lend it by `secrets` instead (docs/secrets.md)" in str(error)
    assert "hunter2" not in str(error) + str(error.context)


@settings(deadline=None, max_examples=100)
@given(value=st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1))
def test_no_value_changes_the_structure(
    tmp_path_factory: pytest.TempPathFactory, value: str
) -> None:
    """Protects against injection: whatever a value holds, it is that one text."""
    file = tmp_path_factory.mktemp("task") / "task.yaml"
    file.write_text('goal: "${GOAL}"\nsuccess: [{command: {argv: ["${GOAL}"]}}]\n')
    try:
        contract = load_task(file, {"GOAL": value}).contract
    except InputError as error:
        assert "credential" in str(error)
        return
    assert contract.goal == value
    assert contract.model_dump()["success"][0]["command"]["argv"] == [value]


def test_the_short_forms_command_takes_none(file: Path) -> None:
    """Protects against words that a value would be split into."""
    text = 'goal: g\nsuccess: {evaluator: "pytest ${WHAT}"}\n'
    assert "2:11: success.evaluator: takes no variable" in str(refusal(file, text, WHAT="a -p b"))
