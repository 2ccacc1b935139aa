"""Which engine decides is chosen by environment, program or task; and secrets stay at home."""

from dataclasses import replace
from pathlib import Path

import loops
import pytest
from misbehaving_opa import REVISION, MisbehavingOpa, body, http, says

from checkrein.contracts.attempt import AttemptStatus
from checkrein.contracts.event import PolicyDecided
from checkrein.errors import EnvironmentFault, InputError
from checkrein.harness import Harness
from checkrein.settings import Settings

WRITE = loops.says("", loops.call("workspace.write_file", path="a.txt", content="two\n"))


async def engines(settings: Settings, folder: Path, policy: str | None) -> set[str]:
    """Run one write, and return the engines that decided."""
    task = loops.contract(folder, [WRITE, loops.DONE], policy=None)
    if policy is not None:
        task = task.model_copy(update={"policy": policy})
    async with loops.opened(settings) as (harness, parts):
        report = await harness.run(task)
        assert report.status is AttemptStatus.CANDIDATE_VERIFIED
        assert report.effects == {"COMMITTED": 1}
        return {
            payload.decision.engine
            for payload in await loops.payloads(parts, report.attempt_id)
            if isinstance(payload, PolicyDecided)
        }


def named(home: Path, url: str, **more: str) -> Settings:
    """Settings as the environment gives them."""
    return Settings.from_env({"CHECKREIN_HOME": str(home), "CHECKREIN_POLICY": url, **more})


def with_database(settings: Settings, given: Settings) -> Settings:
    """The same on the test's database."""
    return replace(given, home=settings.home, database_url=settings.database_url)


async def test_the_environment_names_a_server(
    fake: MisbehavingOpa, settings: Settings, home: Path, tmp_path: Path
) -> None:
    """Where a task names nothing, the server of the settings decides, with the settings' token."""
    given = named(
        home,
        f"opa:{fake.url}",
        CHECKREIN_OPA_TOKEN="t0ken",
        CHECKREIN_OPA_REVISIONS=f" {REVISION},x",
    )
    assert await engines(with_database(settings, given), tmp_path, None) == {"opa 1.22.3"}
    assert all("Authorization: Bearer t0ken\r\n" in head for head, _ in fake.questions)
    assert "t0ken" not in repr(given)


async def test_a_task_that_names_another_server_gets_no_token(
    fake: MisbehavingOpa, settings: Settings, home: Path, tmp_path: Path
) -> None:
    """A task file cannot have the token sent to a server of its own."""
    given = named(home, "opa:http://127.0.0.1:9", CHECKREIN_OPA_TOKEN="t0ken")
    assert await engines(with_database(settings, given), tmp_path, f"opa:{fake.url}") == {
        "opa 1.22.3"
    }
    assert all("t0ken" not in head for head, _ in fake.questions)


async def test_a_revision_that_is_not_listed_is_refused_before_the_run(
    fake: MisbehavingOpa, settings: Settings, home: Path, tmp_path: Path
) -> None:
    """Nothing is stored of a run whose policy cannot be opened."""
    given = named(home, f"opa:{fake.url}", CHECKREIN_OPA_REVISIONS="sha256:other")
    with pytest.raises(EnvironmentFault):
        await engines(with_database(settings, given), tmp_path, None)


async def test_the_program_names_a_server(
    fake: MisbehavingOpa, settings: Settings, tmp_path: Path
) -> None:
    """Harness.open(policy="opa:URL") makes it a part of the contract."""
    fake.behave = says(http(body()))
    async with Harness.open(policy=f"opa:{fake.url}", settings=settings) as harness:
        report = await harness.run(loops.contract(tmp_path, [WRITE, loops.DONE], policy=None))
        assert report.effects == {"COMMITTED": 1}
    assert len(fake.questions) == 3


async def test_a_folder_is_named_the_same_way(
    settings: Settings, home: Path, tmp_path: Path
) -> None:
    """embedded:DIR is a bundle's folder, for tasks that name none."""
    given = named(home, f"embedded:{loops.ALLOW_ALL}")
    (engine,) = await engines(with_database(settings, given), tmp_path, None)
    assert engine.startswith("regorus")


@pytest.mark.parametrize("text", ["opa", "opa:", "embedded:", "/policies", "OPA:http://x"])
def test_what_names_no_engine_is_refused(home: Path, text: str) -> None:
    """A misspelt setting must not fall back to another policy."""
    with pytest.raises(InputError):
        named(home, text)
