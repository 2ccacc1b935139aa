"""How a real OPA is found: by name, on the path, or built; and never an old or a broken one."""

from pathlib import Path

import pytest

from checkrein.errors import EnvironmentFault
from checkrein.evals.opa_binary import FOLDER, HOW, found, usable


def program(place: Path, version: str) -> Path:
    """A program that calls itself an OPA of this version."""
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(f"#!/bin/sh\necho 'Version: {version}'\n", encoding="utf-8")
    place.chmod(0o755)
    return place


def test_the_named_one_comes_first_then_the_path_then_the_built_one(tmp_path: Path) -> None:
    """Whoever names one means that one."""
    built = program(tmp_path / "root" / FOLDER / "opa", "1.22.3")
    on_path = program(tmp_path / "bin" / "opa", "1.21.3")
    named = program(tmp_path / "named", "2.0.0")
    environ = {"PATH": str(tmp_path / "bin")}
    assert found(tmp_path / "root", {**environ, "OPA_BIN": str(named)}) == named
    assert found(tmp_path / "root", environ) == on_path
    assert found(tmp_path / "root", {"PATH": "/nowhere"}) == built
    assert found(tmp_path / "empty", {"PATH": "/nowhere"}) is None
    assert "make opa" in HOW and "OPA_BIN" in HOW


def test_an_old_or_broken_one_is_passed_over_and_a_named_one_refused(tmp_path: Path) -> None:
    """An old OPA on the path must not hide the one that was built."""
    program(tmp_path / "bin" / "opa", "1.21.2")
    built = program(tmp_path / FOLDER / "opa", "1.22.3")
    assert found(tmp_path, {"PATH": str(tmp_path / "bin")}) == built
    assert not usable(tmp_path)
    assert not usable(program(tmp_path / "odd", "dev"))
    for name in ("missing", "bin/opa"):
        with pytest.raises(EnvironmentFault) as error:
            found(tmp_path, {"OPA_BIN": str(tmp_path / name)})
        assert name in str(error.value)
