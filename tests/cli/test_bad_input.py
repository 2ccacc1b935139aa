"""What cannot be used is said in one clear message, with exit code 2, and leaves nothing behind."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from command_line import NOTHING, Ran, rows, task_file
from loops import DONE

Cli = Callable[..., Ran]


@pytest.fixture
def refused(cli: Cli, home: Path, database_url: str) -> Callable[..., str]:
    """Run what must be refused; returns the message, after looking that nothing is left behind."""

    def run(*args: object) -> str:
        ran = cli(*args)
        assert (ran.code, ran.out) == (2, ""), ran
        told = [line for line in ran.err.splitlines() if line.startswith("checkrein: ")]
        assert len(told) == 1
        ran = cli(*args, "--json")
        assert ran.code == 2
        message = str(ran.error["message"])
        assert told[0] == "checkrein: " + message.splitlines()[0]
        assert rows(database_url) == NOTHING
        assert not (home / "workspaces").exists() or not list((home / "workspaces").iterdir())
        return message

    return run


@pytest.fixture
def files(tmp_path: Path) -> Path:
    """A folder outside the home, for task files."""
    return tmp_path


def test_missing_file(refused: Callable[..., str], files: Path) -> None:
    """Protects: a wrong path names the file and says so."""
    message = refused("run", files / "nothing.yaml")
    assert str(files / "nothing.yaml") in message
    assert "not exist" in message or "no such" in message.lower() or "no file" in message.lower()


def test_empty_file(refused: Callable[..., str], files: Path) -> None:
    """Protects: an empty file is told apart from a wrong one."""
    path = files / "task.yaml"
    path.write_text("")
    assert "empty" in refused("run", path)


def test_yaml_error(refused: Callable[..., str], files: Path) -> None:
    """Protects: a slip in YAML is found by its line and column."""
    path = files / "task.yaml"
    path.write_text("version: 1\ngoal: [a, b\nsuccess: []\n")
    assert f"{path}:3:" in refused("run", path)


def test_unknown_field(refused: Callable[..., str], files: Path) -> None:
    """Protects: a misspelt field is named with the nearest known one."""
    message = refused("run", task_file(files, [DONE], budgts={"steps": 3}))
    assert "budgts" in message
    assert "budgets" in message


def test_unknown_nested_field(refused: Callable[..., str], files: Path) -> None:
    """Protects: the path of a misspelt field inside another."""
    message = refused("run", task_file(files, [DONE], budgets={"step": 3}))
    assert "budgets.step" in message
    assert "steps" in message


def test_missing_field(refused: Callable[..., str], files: Path) -> None:
    """Protects: what a task cannot do without is asked for by name."""
    message = refused("run", task_file(files, [DONE], goal=None))
    assert "goal" in message
    assert "what is to be achieved" in message


@pytest.mark.parametrize("check", [{"command": {}}, {"command": {"argv": []}}])
def test_verifier_without_command(
    refused: Callable[..., str], files: Path, check: dict[str, object]
) -> None:
    """Protects: a verifier that would run nothing proves nothing."""
    message = refused("run", task_file(files, [DONE], success=[check]))
    assert "success[0].command" in message
    assert "argv" in message


@pytest.mark.parametrize("budget", ["steps", "model_tokens", "wall_time_s", "tool_calls"])
@pytest.mark.parametrize("value", [0, -1, "many", 1.5, True])
def test_budgets_that_are_none(
    refused: Callable[..., str], files: Path, budget: str, value: object
) -> None:
    """Protects: a budget is a positive whole number."""
    assert f"budgets.{budget}" in refused("run", task_file(files, [DONE], budgets={budget: value}))


def test_negative_repairs(refused: Callable[..., str], files: Path) -> None:
    """Protects: repairs may be 0, and nothing less."""
    assert "budgets.repairs" in refused("run", task_file(files, [DONE], budgets={"repairs": -1}))


def test_workspace_missing(refused: Callable[..., str], files: Path) -> None:
    """Protects: a folder that is not there, in the task or on the command line."""
    path = task_file(files, [DONE], workspace={"path": "nowhere"})
    assert str(files / "nowhere") in refused("run", path)
    path = task_file(files, [DONE])
    assert str(files / "elsewhere") in refused("run", path, "--workspace", files / "elsewhere")
    assert "--workspace names no folder" in refused("run", path, "--workspace", "")


def test_workspace_is_a_file(refused: Callable[..., str], files: Path) -> None:
    """Protects: a file is no folder to work in."""
    path = task_file(files, [DONE], workspace={"path": "task.yaml"})
    message = refused("run", path)
    assert str(path) in message
    assert "folder" in message


def test_workspace_with_a_pipe(refused: Callable[..., str], files: Path) -> None:
    """Protects: what cannot be read like a file is refused before anything is made of it."""
    path = task_file(files, [DONE])
    os.mkfifo(files / "workspace" / "queue")
    assert "queue" in refused("run", path)


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads every folder")
def test_workspace_unreadable(refused: Callable[..., str], files: Path) -> None:
    """Protects: a folder that may not be read is named."""
    path = task_file(files, [DONE])
    (files / "workspace").chmod(0)
    try:
        assert str(files / "workspace") in refused("run", path)
    finally:
        (files / "workspace").chmod(0o755)


def test_workspace_inside_the_home(refused: Callable[..., str], home: Path, files: Path) -> None:
    """Protects: Checkrein's own records are out of the model's reach."""
    (home / "mine").mkdir()
    path = task_file(files, [DONE])
    assert str(home) in refused("run", path, "--workspace", home / "mine")


def test_policy_that_does_not_compile(refused: Callable[..., str], files: Path) -> None:
    """Protects: a rule with an error is found by file, line and column, and never skipped."""
    rules = files / "policy" / "rules"
    rules.mkdir(parents=True)
    (rules / "mine.rego").write_text(
        "package checkrein.rules.mine\n\n"
        'allow contains {"reason_code": "mine"} if {\n    input.phase = = "propose"\n}\n'
    )
    message = refused("run", task_file(files, [DONE], policy="policy"))
    assert "rules/mine.rego:4:" in message


def test_policy_missing(refused: Callable[..., str], files: Path) -> None:
    """Protects: no policy is never every permission."""
    assert str(files / "none") in refused("run", task_file(files, [DONE], policy="none"))


def test_no_model(refused: Callable[..., str], files: Path) -> None:
    """Protects: a task without a model says how one is named."""
    assert "scripted:FILE" in refused("run", task_file(files, [DONE], model=None))


def test_script_missing(refused: Callable[..., str], files: Path) -> None:
    """Protects: a script that is not there is named."""
    message = refused("run", task_file(files, [DONE], model="scripted:other.yaml"))
    assert str(files / "other.yaml") in message


@pytest.mark.parametrize(
    "args",
    [
        ["status"],
        ["resume"],
        ["recover"],
        ["pause"],
        ["trace"],
        ["trace", "verify"],
        ["approvals"],
        ["answer", "TEXT"],
        ["cancel", "--reason", "no more"],
    ],
)
def test_unknown_attempt(refused: Callable[..., str], args: list[str]) -> None:
    """Protects: an id that nothing has says so, and where ids are found."""
    words = [args[0], *(["verify"] if "verify" in args else []), "0000dead"]
    rest = [arg for arg in args[1:] if arg != "verify"]
    message = refused(*words, *rest)
    assert "There is no attempt 0000dead" in message
    assert "checkrein status" in message


def test_unknown_task(refused: Callable[..., str]) -> None:
    """Protects: a task that is not there cannot be tried again."""
    assert "There is no task 0000dead" in refused("retry", "0000dead")


def test_unknown_approval(refused: Callable[..., str]) -> None:
    """Protects: an approval that is not there cannot be answered."""
    message = refused("approve", "apr_0000dead", "--as", "bob")
    assert "There is no approval apr_0000dead" in message
    assert "checkrein approvals" in message
    assert "apr_0000dead" in refused("reject", "apr_0000dead", "--as", "bob", "--reason", "no")
