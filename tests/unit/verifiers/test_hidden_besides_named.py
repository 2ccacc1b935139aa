"""Hidden tests count besides the named ones, wherever both stand in one check."""

from pathlib import Path
from typing import Any

import pytest
from judged import MENDED, Judging, written

from checkrein.contracts.verification import CheckStatus
from checkrein.errors import EnvironmentFault

NAMED = {
    "fail_to_pass": ["tests/test_shop.py::test_price"],
    "pass_to_pass": ["tests/test_shop.py::test_kind"],
}
FITS = "from shop import price\n\n\ndef test_again():\n    assert price() + 1 == 3\n"
FAILS = "from shop import price\n\n\ndef test_text():\n    assert str(price()) == 'two'\n"


def hidden(folder: Path, text: str, name: str = "tests/test_more.py") -> dict[str, Any]:
    written(folder / "hidden", {name: text})
    return {"pytest": {**NAMED, "hidden": str(folder / "hidden")}}


@pytest.mark.parametrize("paths", [[], ["tests/test_shop.py"]])
async def test_a_patch_that_fits_the_named_tests_alone_is_refused(
    judging: Judging, tmp_path: Path, paths: list[str]
) -> None:
    """Protects from an overfitted patch where one check names tests and hides others."""
    check = hidden(tmp_path, FAILS)
    check["pytest"]["paths"] = paths
    result = await judging.result(check, MENDED)
    assert result.status is CheckStatus.FAIL
    assert result.gap == "1 of 3 hidden tests failed."
    assert "test_text" in await judging.evidence(result)


async def test_what_passes_both_is_accepted(judging: Judging, tmp_path: Path) -> None:
    result = await judging.result(hidden(tmp_path, FITS), MENDED)
    assert (result.status, result.gap) == (CheckStatus.PASS, "")


async def test_hidden_tests_that_never_ran_prove_nothing(judging: Judging, tmp_path: Path) -> None:
    """Protects from a folder whose files are no tests by their names."""
    result = await judging.result(hidden(tmp_path, FITS, "more.py"), MENDED)
    assert result.status is CheckStatus.FAIL


ALONE = "from shop import price\n\n\ndef test_it():\n    assert price() == 2\n"


async def test_hidden_tests_are_found_where_folders_are_passed_over(
    judging: Judging, tmp_path: Path
) -> None:
    """Protects from a candidate that has pytest pass over the folder of the hidden tests."""
    written(tmp_path / "hidden", {"tests/test_more.py": ALONE})
    check = {"pytest": {"hidden": str(tmp_path / "hidden")}}
    own = {"tests/pyvenv.cfg": "", "test_ok.py": "def test_ok():\n    assert True\n"}
    result = await judging.result(check, own)
    assert result.status is CheckStatus.FAIL


@pytest.mark.parametrize("place", ["tests/test_more.py", "test_more.py"])
async def test_a_hidden_test_runs_once(judging: Judging, tmp_path: Path, place: str) -> None:
    """Protects from refusing what is right: code that holds state is not asked the same twice."""
    once = (
        "import shop\n\n\ndef test_kind():\n    assert 'kinds' not in vars(shop)\n"
        "    shop.kinds = ['price']\n"
    )
    written(tmp_path / "hidden", {place: once})
    result = await judging.result({"pytest": {"hidden": str(tmp_path / "hidden")}}, MENDED)
    assert (result.status, result.gap) == (CheckStatus.PASS, "")


@pytest.mark.parametrize("named", [True, False])
async def test_a_hidden_test_that_the_candidate_skips_has_not_passed(
    judging: Judging, tmp_path: Path, named: bool
) -> None:
    """Protects from product code that raises what a runner takes for a skip."""
    skips = "import unittest\n\n\ndef price():\n    return 2\n\n\ndef more():\n"
    skips += "    raise unittest.SkipTest('x')\n"
    text = "from shop import more\n\n\ndef test_text():\n    assert more() == 3\n"
    written(tmp_path / "hidden", {"tests/test_more.py": text})
    spec = {"hidden": str(tmp_path / "hidden")} | (NAMED if named else {})
    result = await judging.result({"pytest": spec}, {"shop.py": skips})
    assert result.status is CheckStatus.FAIL


async def test_named_tests_written_with_dots_keep_their_file(
    judging: Judging, tmp_path: Path
) -> None:
    """Protects from a candidate that writes the named test anew."""
    check = {"pytest": {"fail_to_pass": ["tests.test_shop.test_price"]}}
    easy = {"tests/test_shop.py": "def test_price():\n    assert True\n"}
    result = await judging.result(check, easy)
    assert result.status is CheckStatus.FAIL
    assert "tests/test_shop.py (holds tests that are named)" in result.gap


async def test_a_report_of_hidden_tests_tells_nothing(judging: Judging, tmp_path: Path) -> None:
    """Protects hidden tests from code that writes them into the report's own faults."""
    written(tmp_path / "hidden", {"tests/test_more.py": ALONE})
    place = "[a.split('=')[1] for a in sys.argv if a.startswith('--junit-xml')][0]"
    evil = f"import os, sys\nopen({place}, 'w').write('<leaked/>')\nos._exit(77)\n"
    check = {"pytest": {"hidden": str(tmp_path / "hidden")}}
    result = await judging.result(check, {"shop.py": evil})
    assert result.status is CheckStatus.FAIL
    assert "leaked" not in result.gap
    assert "77" not in result.gap


async def test_a_linked_folder_of_hidden_tests_is_not_left_out(
    judging: Judging, tmp_path: Path
) -> None:
    """Protects from tests that never run because they lie behind a link."""
    written(tmp_path / "elsewhere", {"test_more.py": FAILS})
    check = hidden(tmp_path, FITS)
    (tmp_path / "hidden" / "cases").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(EnvironmentFault, match="a link to a folder"):
        await judging.result(check, MENDED)
