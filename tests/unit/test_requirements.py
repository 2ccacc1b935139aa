"""The table from checklist items to tests: what counts as a test, and what fails the check."""

from pathlib import Path

import pytest
import requirements

SOURCE = """\
# a comment that must stay
groups:
- number: 1
  name: First
  items:
  - {id: 1, status: open, line: "One"}
  - {id: 2, status: open, line: "Two | with a bar"}
- number: 2
  name: Second
  items:
  - {id: 30, status: shown, line: "Thirty"}
"""

SHOWS_30 = "import pytest\n\n@pytest.mark.shows(30)\ndef test_thirty(): ...\n"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "docs").mkdir()
    (tmp_path / "tests" / "unit").mkdir(parents=True)
    (tmp_path / "docs" / "requirements.yaml").write_text(SOURCE, encoding="utf-8")
    (tmp_path / "tests" / "unit" / "test_thirty.py").write_text(SHOWS_30, encoding="utf-8")
    return tmp_path


def add(project: Path, text: str, name: str = "test_more.py") -> None:
    (project / "tests" / name).write_text("import pytest\n\n" + text, encoding="utf-8")


def run(project: Path, *arguments: str) -> int:
    return requirements.main([*arguments, "--root", str(project)])


def shown_by(project: Path) -> dict[int, list[str]]:
    return requirements.by_item(requirements.collect(project)[0])


def test_written_table_passes_the_check(project: Path) -> None:
    assert run(project) == 0
    assert run(project, "--check") == 0
    table = (project / "docs" / "requirements.md").read_text(encoding="utf-8")
    assert "| 30 | Thirty | shown | `tests/unit/test_thirty.py::test_thirty` |" in table
    assert "1 of 3 items are shown." in table


@pytest.mark.parametrize(
    ("text", "tests"),
    [
        ("@pytest.mark.shows(1)\ndef test_a(): ...", ["test_a"]),
        ("@pytest.mark.shows(2, 1)\nasync def test_a(): ...", ["test_a"]),
        ("@pytest.mark.shows(1)\nclass TestA:\n    def test_b(self): ...", ["TestA"]),
        ("class TestA:\n    pytestmark = [pytest.mark.shows(1)]", ["TestA"]),
        ("class TestA:\n    @pytest.mark.shows(1)\n    def test_b(self): ...", ["TestA::test_b"]),
        (
            "@pytest.mark.parametrize('x', [pytest.param(1, marks=pytest.mark.shows(1))])\n"
            "def test_a(x): ...",
            ["test_a"],
        ),
    ],
)
def test_marks_are_found_wherever_pytest_takes_them(
    project: Path, text: str, tests: list[str]
) -> None:
    add(project, text)
    assert shown_by(project)[1] == [f"tests/test_more.py::{name}" for name in tests]


def test_module_mark_shows_for_the_whole_file(project: Path) -> None:
    add(project, "pytestmark = pytest.mark.shows(1)\ndef test_a(): ...")
    assert shown_by(project)[1] == ["tests/test_more.py"]


@pytest.mark.parametrize("mark", ["skip", "skip(reason='later')", "xfail", "xfail(strict=True)"])
def test_skipped_and_failing_tests_show_nothing(project: Path, mark: str) -> None:
    add(project, f"@pytest.mark.shows(1)\n@pytest.mark.{mark}\ndef test_a(): ...")
    assert 1 not in shown_by(project)


def test_tests_are_read_and_never_imported(project: Path) -> None:
    add(project, "raise SystemExit\n@pytest.mark.shows(1)\ndef test_a(): ...")
    assert 1 in shown_by(project)


def test_sync_turns_items_to_shown_and_keeps_the_rest(project: Path) -> None:
    add(project, "@pytest.mark.shows(2)\ndef test_a(): ...")
    assert run(project, "--sync") == 0
    text = (project / "docs" / "requirements.yaml").read_text(encoding="utf-8")
    assert text == SOURCE.replace("id: 2, status: open", "id: 2, status: shown")
    assert run(project, "--check") == 0


def test_sync_never_turns_an_item_back(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (project / "tests" / "unit" / "test_thirty.py").unlink()
    assert run(project, "--sync") == 1
    assert (project / "docs" / "requirements.yaml").read_text(encoding="utf-8") == SOURCE
    assert "item 30 has lost its test: Thirty" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("@pytest.mark.shows(99)\ndef test_a(): ...", "shows item 99"),
        ("@pytest.mark.shows(1)\ndef test_a(): ...", "item 1 has a test but is still open"),
        ("@pytest.mark.shows(N)\ndef test_a(): ...", "takes plain numbers"),
        ("@pytest.mark.shows(True)\ndef test_a(): ...", "takes plain numbers"),
        ("@pytest.mark.shows()\ndef test_a(): ...", "takes item numbers"),
        ("@pytest.mark.shows(1)\ndef fixture(): ...", "is no test"),
        ("@pytest.mark.shows(30)\ndef test_a(): ...", "is stale"),
    ],
)
def test_check_fails_and_writes_nothing(
    project: Path, text: str, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(project) == 0
    before = (project / "docs" / "requirements.md").read_text(encoding="utf-8")
    add(project, text)
    assert run(project, "--check") == 1
    assert message in capsys.readouterr().err
    assert (project / "docs" / "requirements.md").read_text(encoding="utf-8") == before


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('  - {id: 30, status: open, line: "Again"}\n', "item 30 is listed twice"),
        ('  - {id: 31, status: done, line: "Odd"}\n', "the unknown status done"),
    ],
)
def test_faults_of_the_source_are_named(
    project: Path, line: str, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    source = project / "docs" / "requirements.yaml"
    source.write_text(SOURCE + line, encoding="utf-8")
    assert run(project) == 1
    assert message in capsys.readouterr().err


def test_the_projects_own_table_is_true() -> None:
    assert requirements.main(["--check"]) == 0
