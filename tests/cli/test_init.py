"""`checkrein init`: a first task that runs as it is, in an empty folder and in a project."""

import json
import os
import re
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from command_line import Ran
from jsonschema import Draft202012Validator

from checkrein.strict_yaml import read_yaml

Cli = Callable[..., Ran]

LINE = re.compile(r"# yaml-language-server: \$schema=(\S+)")


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty git repository, which one is in."""
    folder = tmp_path / "project"
    folder.mkdir()
    subprocess.run(["git", "init", "-q"], cwd=folder, check=True)
    monkeypatch.chdir(folder)
    monkeypatch.setenv("LOGNAME", "dana")
    return folder


def to_the_end(cli: Cli, *task: str) -> dict[str, Any]:
    """Run, approve what is asked as the person it names, resume; how it stands then."""
    asked = cli("run", *task, "--json")
    assert asked.code == 3, asked.out + asked.err
    report = asked.json
    (request,) = report["approvals"]
    assert report["next"][:1] == [f"checkrein approve {request['approval_id']} --as dana"]
    assert cli("approve", request["approval_id"], "--as", "dana").code == 0
    return cli("resume", report["attempt_id"], "--json").json


def kinds(report: dict[str, Any]) -> dict[str, str]:
    return {check["kind"]: check["status"] for check in report["verification"]["checks"]}


def files(folder: Path) -> set[str]:
    """Every file of a folder, Git's left out."""
    found = (path for path in folder.rglob("*") if not path.is_dir())
    names = {path.relative_to(folder).as_posix() for path in found}
    return {name for name in names if not name.startswith(".git/")}


def test_init_and_run_work_in_an_empty_repository(cli: Cli, repository: Path) -> None:
    """Protects a newcomer: two commands, one yes, and a verified result."""
    ran = cli("init")
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.splitlines()[-1] == "next: checkrein run"
    assert set(ran.out.splitlines()[:-1]) == files(repository)
    said = cli("run")
    assert said.code == 3
    assert "note: the task file is checkrein.yaml, in this folder" in said.err
    done = to_the_end(cli)
    assert done["status"] == "CANDIDATE_VERIFIED", done
    assert set(kinds(done).values()) == {"PASS"}
    assert "text_match" in kinds(done) and "pytest" not in kinds(done)


def test_the_rules_are_sound_and_tested(plain_cli: Cli, repository: Path) -> None:
    """Protects: what init writes is a bundle that its own tools find nothing in."""
    plain_cli("init")
    checked = plain_cli("policy", "check", "--strict", ".checkrein/policy")
    assert checked.code == 0, checked.out
    tested = plain_cli("policy", "test", ".checkrein/policy")
    assert tested.code == 0, tested.out


def test_tests_of_others_are_none_of_ours(plain_cli: Cli, repository: Path) -> None:
    """Protects the first run: what lies in an environment is no check, and no test is a failure."""
    (repository / "pyproject.toml").write_text("[tool.pytest.ini_options]\n")
    for place in (".tox/a", "env/lib", "node_modules/b"):
        (repository / place).mkdir(parents=True)
        (repository / place / "test_it.py").write_text("")
    (repository / "env" / "pyvenv.cfg").write_text("")
    assert "pytest" not in plain_cli("init").out
    assert "pytest" not in (repository / "checkrein.yaml").read_text()


@pytest.mark.parametrize(
    "files",
    [
        {"test_sum.py": "def test_sum() -> None:\n    assert 1 + 1 == 2\n"},
        {"src/shop/tests/a_test.py": "def test_a(): ...\n"},
    ],
)
def test_in_a_project_with_tests_they_are_a_check(
    cli: Cli, repository: Path, files: dict[str, str]
) -> None:
    """Protects: the proposal fits the folder, and its tests cannot be changed on the way."""
    for name, text in files.items():
        (repository / name).parent.mkdir(parents=True, exist_ok=True)
        (repository / name).write_text(text)
    ran = cli("init")
    assert "The tests of this folder are among the checks: pytest." in ran.out
    done = to_the_end(cli)
    assert done["status"] == "CANDIDATE_VERIFIED", done
    assert kinds(done)["pytest"] == "PASS"


def test_a_result_is_handed_over_once_the_rules_lie_outside(cli: Cli, repository: Path) -> None:
    """Protects: what the first task says of the commit holds, with the starter's own rules."""
    assert cli("init").code == 0
    (repository / ".checkrein" / "policy").rename(repository.parent / "rules")
    task = repository / "checkrein.yaml"
    text = task.read_text().replace("policy: .checkrein/policy", "policy: ../rules")
    task.write_text(text.replace("# commit_authority:", "commit_authority:"))
    done = to_the_end(cli)
    assert done["status"] == "CANDIDATE_VERIFIED", done
    committed = cli("commit", done["task_id"], "--as", "dana")
    assert committed.code == 0, committed.out + committed.err
    assert (repository / "hello.txt").read_text() == "hello from a governed run\n"


@pytest.mark.parametrize("there", ["checkrein.yaml", ".checkrein", "link", "both"])
def test_nothing_is_overwritten(plain_cli: Cli, repository: Path, there: str) -> None:
    """Protects what a team has: it is told by name, and nothing else appears beside it."""
    named = {"both": ["checkrein.yaml", ".checkrein"], "link": ["checkrein.yaml"]}
    expected = named.get(there, [there])
    for name in expected:
        place = repository / name
        if there == "link":
            place.symlink_to("nowhere")
        elif name == ".checkrein":
            place.mkdir()
        else:
            place.write_text("mine\n")
    before = sorted(os.listdir(repository))
    ran = plain_cli("init", "--json")
    assert (ran.code, ran.error["code"]) == (2, "in_the_way")
    assert ran.error["context"]["paths"] == expected
    assert all(name in ran.error["message"] for name in expected)
    assert sorted(os.listdir(repository)) == before
    assert list(repository.glob(".checkrein/*")) == []


def test_what_appears_meanwhile_is_kept(
    plain_cli: Cli, repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Protects against a race: whoever was faster keeps theirs, and our half is gone."""
    rename = os.rename

    def slower(source: Path, target: Path) -> None:
        (repository / "checkrein.yaml").write_text("mine\n")
        rename(source, target)

    monkeypatch.setattr(os, "rename", slower)
    ran = plain_cli("init", "--json")
    assert (ran.code, ran.error["code"]) == (2, "in_the_way")
    assert files(repository) == {"checkrein.yaml"}
    assert (repository / "checkrein.yaml").read_text() == "mine\n"


def test_another_folder_is_made(plain_cli: Cli, repository: Path) -> None:
    """Protects: the next command is one that can be pasted."""
    ran = plain_cli("init", "my tasks")
    assert ran.out.splitlines()[-1] == "next: cd 'my tasks' && checkrein run"
    assert (repository / "my tasks" / "checkrein.yaml").is_file()
    (repository / "file").write_text("")
    refused = plain_cli("init", "file", "--json")
    assert (refused.code, refused.error["code"]) == (2, "folder_unusable")


@pytest.mark.parametrize("name", ["true", "007", "-x", "dana"])
def test_every_name_stays_text(
    plain_cli: Cli, repository: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """Protects people whom YAML would take for a number or a list."""
    monkeypatch.setenv("LOGNAME", name)
    assert plain_cli("init").code == 0
    written = read_yaml(Path("checkrein.yaml"), what="task file", op="test", max_bytes=100_000)
    assert written.value["requested_by"] == name
    assert written.value["approvals"]["roles"] == {"approver": [name]}


def test_an_editor_finds_the_schemas_offline(plain_cli: Cli, repository: Path) -> None:
    """Protects authors: the first line leads to a schema that lies beside, and the file fits it."""
    plain_cli("init")
    for name in ("checkrein.yaml", ".checkrein/decisions.yaml"):
        file = repository / name
        found = LINE.fullmatch(file.read_text().splitlines()[0])
        assert found is not None
        validator: Any = Draft202012Validator(json.loads((file.parent / found[1]).read_text()))
        document = read_yaml(file, what="file", op="test", max_bytes=100_000)
        validator.validate(document.value)
    assert "{{" not in (repository / "checkrein.yaml").read_text()
