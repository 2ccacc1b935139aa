"""Mounts in whole runs: what no command may be shown, and who may change what is mounted."""

import re
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from loops import ALLOW_ALL, ASK_WRITES, DONE, call, contract, opened, says

from checkrein.adapters.command_bubblewrap import BubblewrapCommandRunner
from checkrein.contracts.check import CommandCheck, CommandSpec
from checkrein.contracts.environment import EnvironmentSpec
from checkrein.errors import InputError
from checkrein.settings import Settings

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="sandboxes are a part of Linux")

RUN = "workspace.run_command"


@pytest.fixture
async def sandbox() -> None:
    """Skips where this machine has none."""
    offer = await BubblewrapCommandRunner().offer()
    if offer.lack:
        pytest.skip(offer.lack)


def places(tmp_path: Path, settings: Settings) -> dict[str, Path]:
    """Where what commands must not see lies, in a task that has all of it."""
    return {
        "Checkrein's home": settings.home,
        "the secrets": tmp_path / "secrets",
        "the policy": ALLOW_ALL,
        "the hidden tests": tmp_path / "hidden",
        "a check's schema": tmp_path / "schemas" / "form.json",
        "the workspace's source": tmp_path / "workspace",
    }


@pytest.mark.parametrize("way", ["itself", "around", "below", "by a link"])
@pytest.mark.parametrize(
    "name",
    [
        "Checkrein's home",
        "the secrets",
        "the policy",
        "the hidden tests",
        "a check's schema",
        "the workspace's source",
    ],
)
async def test_no_mount_shows_what_is_kept_from_commands(
    name: str, way: str, tmp_path: Path, settings: Settings
) -> None:
    """Protects the judge: a mount is no way around the walls, wherever its links lead."""
    settings = replace(settings, secrets=tmp_path / "secrets")
    where = places(tmp_path, settings)
    place = where[name]
    for folder in (where["the secrets"], where["the hidden tests"], tmp_path / "schemas"):
        (folder / "deep").mkdir(parents=True)
    where["a check's schema"].write_text("{}")
    (tmp_path / "link").symlink_to(place)
    ways = {"itself": place, "around": place.parent, "below": place / "deep"}
    mount = {"path": str(ways.get(way, tmp_path / "link")), "name": "data"}
    checks = [
        {"json_schema": {"file": "a.json", "against": str(where["a check's schema"])}},
        {"pytest": {"hidden": str(where["the hidden tests"])}},
    ]
    environment = EnvironmentSpec.model_validate({"mounts": [mount]})
    task = contract(tmp_path, [DONE], success=checks, environment=environment)
    async with opened(settings) as (harness, parts):
        with pytest.raises(InputError, match=re.escape(f"and {name} (")) as caught:
            await harness.run(task)
        assert await parts.records.unfinished() == []
    assert caught.value.code == "mount_unfit"


MOUNTED = EnvironmentSpec.model_validate({"mounts": [{"path": "/", "name": "data", "mode": "rw"}]})


@pytest.mark.usefixtures("sandbox")
async def test_checks_see_mounts_and_change_none(tmp_path: Path, settings: Settings) -> None:
    """Protects what is mounted: the model's commands may change it as said, judged code may not."""
    data = tmp_path / "data"
    data.mkdir(mode=0o777)
    data.chmod(0o777)
    spec = MOUNTED.mounts[0].model_copy(update={"path": str(data)})
    touch = CommandCheck(
        command=CommandSpec(argv=["sh", "-c", "ls /mnt/data/theirs && ! touch /mnt/data/judges"])
    )
    task = contract(
        tmp_path,
        [says("", call(RUN, argv=["touch", "/mnt/data/theirs"])), DONE],
        policy=ASK_WRITES,
        capabilities=[RUN],
        environment=MOUNTED.model_copy(update={"mounts": [spec]}),
        success=[touch],
    )
    async with opened(settings) as (harness, _):
        report = await harness.run(task)
        (asked,) = report.approvals
        assert f'/mnt/data is "{data}", which it may change, for good' in asked.preview
        await harness.approve(asked.approval_id, by="bob")
        report = await harness.resume(report.attempt_id)
    assert report.verified, report.detail
    assert [file.name for file in data.iterdir()] == ["theirs"]


async def test_a_mount_that_is_not_there_is_a_lack(tmp_path: Path, settings: Settings) -> None:
    """Protects: it is told with all else that is missing, and not by the first command."""
    spec = MOUNTED.mounts[0].model_copy(update={"path": str(tmp_path / "gone")})
    environment = MOUNTED.model_copy(update={"mounts": [spec], "gpu": True})
    task = contract(tmp_path, [DONE], capabilities=[RUN], environment=environment)
    async with opened(settings) as (harness, _):
        with pytest.raises(InputError, match="gone for /mnt/data, which is not there") as caught:
            await harness.run(task)
    assert caught.value.code == "environment_missing"
    assert "a GPU" in str(caught.value)
