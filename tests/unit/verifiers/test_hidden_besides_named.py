"""Hidden tests count besides the named ones, wherever both stand in one check."""

from pathlib import Path
from typing import Any

import pytest
from judged import MENDED, Judging, written

from checkrein.contracts.verification import CheckStatus

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
