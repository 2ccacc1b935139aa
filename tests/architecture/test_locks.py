"""The lock files pin what pyproject.toml asks for, by hash, and name no address."""

import re

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from project_files import ROOT, pyproject

LOCKS = {
    "requirements.lock": ("dev", "models", "studio", "demo", "bench"),
    "requirements-demo.lock": ("demo",),
}
PIN = re.compile(r"^([A-Za-z0-9._-]+)==([^ \\]+)", re.MULTILINE)


def pins(name: str) -> dict[str, str]:
    text = (ROOT / name).read_text(encoding="utf-8")
    return {canonicalize_name(match[1]): match[2] for match in PIN.finditer(text)}


@pytest.mark.parametrize("name", LOCKS)
def test_lock_satisfies_pyproject(name: str) -> None:
    project = pyproject()
    wanted = list(project["project"]["dependencies"])
    wanted += project["dependency-groups"]["build"]
    for extra in LOCKS[name]:
        wanted += project["project"]["optional-dependencies"][extra]
    locked = pins(name)
    for requirement in map(Requirement, wanted):
        version = locked.get(canonicalize_name(requirement.name))
        assert version is not None, f"{requirement} is not locked: run `make lock`"
        assert version in requirement.specifier, f"{requirement} is locked at {version}"


@pytest.mark.parametrize("name", LOCKS)
def test_lock_has_hashes_and_no_address(name: str) -> None:
    text = (ROOT / name).read_text(encoding="utf-8")
    assert text.count("--hash=sha256:") >= len(pins(name)) > 0
    for unwanted in ("://", "--index", "--extra-index", "--find-links", "file:", "@ "):
        assert unwanted not in text


def test_both_locks_pin_the_same_versions() -> None:
    full, small = pins("requirements.lock"), pins("requirements-demo.lock")
    assert {name: full.get(name) for name in small} == small
