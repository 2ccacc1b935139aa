"""Negotiating an environment: everything that is missing is named, and nothing is ignored."""

import sys
import tempfile
from typing import Any

import pytest
from pydantic import ValidationError

from checkrein.adapters.environment import Machine, is_enough, lacks_of, negotiated
from checkrein.adapters.environment_mounts import check_mounts
from checkrein.contracts.attempt import WorkspaceRef
from checkrein.contracts.environment import EnvironmentSpec, Isolation, Offer, lacking, offered
from checkrein.contracts.task import TaskContract
from checkrein.errors import InputError

PINNED = "python@sha256:" + "0" * 64
SANDBOX = offered("bubblewrap", "0.8.0", set(Isolation), ["none", "host"])
PLAIN = offered("local", "", set(), ["host"])
ENGINE = offered("docker", "27", set(Isolation), ["none", "host"], tested=False)
HERE = Machine(
    os="linux",
    arch="x86_64",
    tools={"bubblewrap": {"git": "2.39.5", "node": None}, "local": {"git": "2.39.5"}},
    packages={"pytest": "9.2.0", "gone": None},
)


def lacks(offer: Offer, **wanted: Any) -> str:
    return "; ".join(lacks_of(EnvironmentSpec(**wanted), offer, HERE))


@pytest.mark.shows(255)
@pytest.mark.parametrize(
    ("wanted", "named"),
    [
        ({"os": "darwin"}, "os darwin, and this machine is linux"),
        ({"arch": "aarch64"}, "arch aarch64"),
        ({"gpu": True}, "a GPU"),
        ({"idle_s": 5}, "idle_s"),
        ({"secrets": ["PAY_KEY"]}, "the secrets PAY_KEY"),
        ({"image": PINNED}, "an image, which is docker's alone"),
        ({"network": ["pypi.org"]}, "network to pypi.org alone, a list that no backend enforces"),
        ({"tools": {"git": ">=2.40"}}, "the program git is 2.39.5: install 2.40 or newer"),
        ({"tools": {"node": "18"}}, "the program node is not there: install 18 or newer"),
        ({"packages": {"gone": "1"}}, "the Python package gone is not there"),
        ({"packages": {"pytest": "10"}}, "the Python package pytest is 9.2.0"),
    ],
)
def test_each_lack_is_named(wanted: dict[str, Any], named: str) -> None:
    """Protects: an item that nobody can honour is never passed over in silence."""
    assert lacks(SANDBOX) == ""
    assert named in lacks(SANDBOX, **wanted)


@pytest.mark.parametrize(
    ("offer", "wanted", "named"),
    [
        (PLAIN, {}, "network none"),
        (PLAIN, {"network": "host", "memory_mb": 100}, "memory_mb"),
        (PLAIN, {"network": "host", "processes": 9}, "processes"),
        (PLAIN, {"network": "host", "mounts": [{"path": "x", "name": "x"}]}, "mounts"),
        (ENGINE, {}, "pinned by its digest"),
        (ENGINE, {"image": "python:3.12"}, "pinned by its digest"),
        (ENGINE, {"image": PINNED, "tools": {"git": "2"}}, "cannot be asked of an image"),
        (lacking("bubblewrap", "It is not here."), {}, "It is not here"),
    ],
)
def test_a_weaker_backend_says_what_it_cannot_hold(
    offer: Offer, wanted: dict[str, Any], named: str
) -> None:
    """Protects: bounds are bounds, and no wishes."""
    assert named in lacks(offer, **wanted)


@pytest.mark.shows(255)
def test_the_first_that_lacks_nothing_is_chosen() -> None:
    """Protects the order that the contract gives, and what is said of those before."""
    spec = EnvironmentSpec(backends=["docker", "bubblewrap", "local"])
    found = negotiated(spec, [SANDBOX, ENGINE, PLAIN], HERE)
    assert found.offer == SANDBOX
    assert found.told == ["docker: image, pinned by its digest (NAME@sha256:...)"]
    none = negotiated(EnvironmentSpec(backends=["local"]), [SANDBOX, PLAIN], HERE)
    assert none.offer is None
    assert list(none.lacks) == ["local"], "a backend that is not named is never chosen"
    assert negotiated(spec, [], HERE).told[1] == "bubblewrap: it is not known here"


def test_pytest_in_an_image_is_a_lack() -> None:
    """Protects the first check: the Python that it names is not in the image."""
    spec = EnvironmentSpec(backends=["docker"], image=PINNED)
    assert negotiated(spec, [ENGINE], HERE).offer == ENGINE
    found = negotiated(spec, [ENGINE], HERE, own_python=True)
    assert found.offer is None
    assert "`pytest` checks" in found.told[0]
    both = EnvironmentSpec(backends=["docker", "local"], image=None, network="host")
    assert negotiated(both, [ENGINE, PLAIN], HERE, own_python=True).offer == PLAIN


@pytest.mark.parametrize(
    ("version", "least", "enough"),
    [
        ("2.39.5", ">=2.30", True),
        ("2.39.5", ">= 2.39.5", True),
        ("2.9", "2.10", False),
        ("3", "3.0.0", True),
        ("3.0.0", "3", True),
        ("v18.2.1-rc1", "18.2", True),
        ("unknown", "0.1", False),
    ],
)
def test_versions_are_compared_by_their_numbers(version: str, least: str, enough: bool) -> None:
    """Protects against 2.9 being newer than 2.10."""
    assert is_enough(version, least) is enough


@pytest.mark.parametrize(
    "wrong",
    [
        {"backends": []},
        {"backends": ["local", "local"]},
        {"backends": ["chroot"]},
        {"tools": {"../git": "1"}},
        {"tools": {"git": "new"}},
        {"tools": {"-c": "1"}},
        {"mounts": [{"path": "a", "name": "x"}, {"path": "b", "name": "x"}]},
        {"mounts": [{"path": "a", "name": "../x"}]},
        {"memory_mb": "lots"},
        {"cpu_s": 0},
        {"persistence": "volume"},
        {"privileged": True},
    ],
)
def test_a_contract_that_means_nothing_is_refused(wrong: dict[str, Any]) -> None:
    """Protects: every item is known and bounded, or it is no contract."""
    with pytest.raises(ValidationError):
        EnvironmentSpec.model_validate(wrong)


@pytest.mark.parametrize(
    ("mounts", "named"),
    [
        ([{"path": tempfile.gettempdir(), "name": "a"}], "holds the temporary folder"),
        ([{"path": "/", "name": "a"}], "holds the temporary folder"),
        ([{"path": sys.prefix, "name": "a", "mode": "rw"}], "this Python"),
        (
            [{"path": "/opt/x", "name": "a", "mode": "rw"}, {"path": "/opt/x/y", "name": "b"}],
            "/mnt/b and /mnt/a, which is rw, lie one in the other",
        ),
    ],
)
def test_a_mount_that_could_lead_elsewhere_is_refused(
    mounts: list[dict[str, str]], named: str
) -> None:
    """Protects the judge and its scratch: no link can be put where the next command's mount is."""
    place = WorkspaceRef(root="/srv/w", source="/srv/w", mode="in_place", baseline="0" * 64)
    task = TaskContract.model_validate(
        {"goal": "x", "success": [{"policy_obeyed": {}}], "environment": {"mounts": mounts}}
    )
    with pytest.raises(InputError, match=named):
        check_mounts(task, place, {})
