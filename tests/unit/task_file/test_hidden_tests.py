"""Hidden tests in a task file: beside it, and out of the model's reach, or it is refused."""

from pathlib import Path

import pytest

from checkrein.adapters.task_file import load_task
from checkrein.contracts.check import PytestCheck
from checkrein.errors import InputError


def written(folder: Path, hidden: str, mode: str = "copy") -> Path:
    (folder / "work" / "inside").mkdir(parents=True)
    (folder / "judges").mkdir()
    (folder / "link").symlink_to("work/inside")
    file = folder / "task.yaml"
    file.write_text(
        f"goal: x\nworkspace: {{path: work, mode: {mode}}}\n"
        f"success:\n  - pytest: {{hidden: {hidden}}}\n"
    )
    return file


@pytest.mark.shows(211)
def test_they_are_found_beside_the_task(tmp_path: Path) -> None:
    """Protects starting a task from any folder: the path is absolute from then on."""
    [check] = load_task(written(tmp_path, "judges")).contract.success
    assert isinstance(check, PytestCheck)
    assert check.pytest.hidden == str(tmp_path / "judges")


@pytest.mark.shows(211)
@pytest.mark.parametrize("mode", ["copy", "in_place"])
@pytest.mark.parametrize("hidden", ["work", "work/inside", "link", ".", "work/../link"])
def test_they_may_not_lie_where_the_model_reads(tmp_path: Path, hidden: str, mode: str) -> None:
    """Protects hidden tests: neither in the workspace nor around it, by no name."""
    with pytest.raises(InputError, match=r"task.yaml:4.*hidden.*put the hidden tests elsewhere"):
        load_task(written(tmp_path, hidden, mode))


def test_they_must_be_there(tmp_path: Path) -> None:
    """Protects against a task that nothing would judge."""
    with pytest.raises(InputError, match="is no folder"):
        load_task(written(tmp_path, "none"))


def test_tests_that_the_model_can_change_are_warned_of(tmp_path: Path) -> None:
    """Protects the author: nothing named, hidden or protected: the model judges itself."""
    file = written(tmp_path, "judges")
    assert "judge it" not in str(load_task(file).warnings)
    text = file.read_text().replace("{hidden: judges}", "{paths: [tests]}")
    file.write_text(text)
    assert "the model can change the tests that judge it" in str(load_task(file).warnings)
    file.write_text(text + '  - unchanged: ["tests/**"]\n')
    assert "judge it" not in str(load_task(file).warnings)
