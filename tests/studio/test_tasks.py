"""Tasks that a person hands to the server: where they may lie, and what they may name."""

from pathlib import Path

import pytest

from checkrein.errors import InputError
from checkrein.studio_people import Person
from checkrein.studio_tasks import read_task, tasks_folder

ALICE = Person(person="alice", tenant="local")
TASK = """
goal: Do it.
requested_by: bob
model: scripted:decisions.yaml
workspace: {path: work}
success:
  - command: {argv: [python, --version]}
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder of tasks, with a neighbour that is none of its business."""
    inside = tmp_path / "tasks"
    inside.mkdir()
    for place in (inside, tmp_path):
        (place / "task.yaml").write_text(TASK)
    (inside / "link.yaml").symlink_to(tmp_path / "task.yaml")
    (inside / "away").symlink_to(tmp_path)
    return inside.resolve()


@pytest.mark.parametrize("given", ["task.yaml", " ./task.yaml "])
def test_task_is_requested_by_who_is_signed_in(folder: Path, given: str) -> None:
    """Protects the requester's name, whatever the file says."""
    contract = read_task(given, folder, ALICE)
    assert contract.requested_by == "alice"
    assert contract.workspace is not None
    assert contract.workspace.path == str(folder / "work")
    assert contract.model == f"scripted:{folder / 'decisions.yaml'}"


@pytest.mark.parametrize(
    "given",
    ["../task.yaml", "away/task.yaml", "link.yaml", "/etc/passwd", "a/../../task.yaml"],
)
def test_file_must_lie_in_the_folder(folder: Path, given: str) -> None:
    """Protects every other file of the machine, symlinks included."""
    with pytest.raises(InputError, match="must lie below"):
        read_task(given, folder, ALICE)


@pytest.mark.parametrize("given", [TASK, "", "  ", "a\0b"])
def test_a_text_is_no_task(folder: Path, given: str) -> None:
    """Protects the machine: a client names neither the commands that run nor who may approve."""
    with pytest.raises(InputError, match="Name a task file"):
        read_task(given, folder, ALICE)


def test_task_of_another_tenant_is_refused(folder: Path) -> None:
    """Protects tenants from each other."""
    (folder / "other.yaml").write_text(TASK + "tenant: other\n")
    with pytest.raises(InputError, match="is for the tenant other"):
        read_task("other.yaml", folder, ALICE)


def test_errors_name_file_place_and_field(folder: Path) -> None:
    """Protects whoever writes a task by hand from hunting for the fault."""
    (folder / "wrong.yaml").write_text(TASK.replace("goal:", "goals:"))
    with pytest.raises(InputError, match=r"(?s)wrong.yaml:2:1: .*goals: is no known field"):
        read_task("wrong.yaml", folder, ALICE)


def test_folder_is_named_by_the_environment(tmp_path: Path) -> None:
    """Protects the default: the folder that the server was started in."""
    assert tasks_folder({"CHECKREIN_TASKS": str(tmp_path)}) == tmp_path.resolve()
    assert tasks_folder({}) == Path.cwd().resolve()
