"""doctor on the policy: what decides, whether it may, and what a running process said of it."""

import asyncio
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest
from command_line import Ran
from loops import DONE, call, contract, opened, says
from misbehaving_opa import REVISION, MisbehavingOpa, body, http, misbehaving, provenance
from misbehaving_opa import says as answers
from own_rules import BROKEN, written

from checkrein import capability
from checkrein.policy_rego.bundle_files import load_bundle, shipped_bundle
from checkrein.settings import Settings

Cli = Callable[..., Ran]

TOKEN = "t0ken-of-mine"


@pytest.fixture
def rules(tmp_path: Path) -> Path:
    """A bundle with a test that passes."""
    written(tmp_path / "rules", "first")
    return tmp_path / "rules"


@pytest.fixture
async def fake() -> AsyncIterator[MisbehavingOpa]:
    """A server that answers as OPA does."""
    async with misbehaving() as server:
        yield server


def told(cli: Cli) -> tuple[int, dict[str, Any]]:
    """The exit code, and what doctor tells of the policy."""
    ran = cli("doctor", "--json")
    (part,) = [part for part in ran.json["parts"] if part["name"] == "policy"]
    assert part["needed"]
    assert part["how"]
    assert TOKEN not in ran.out + ran.err
    return ran.code, part


def test_the_shipped_bundle(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    """Protects: where nothing is named, it is said what decides all the same."""
    monkeypatch.delenv("CHECKREIN_POLICY", raising=False)
    code, part = told(cli)
    assert (code, part["found"], part["version"]) == (0, True, shipped_bundle().version)
    assert "the shipped bundle" in part["detail"]


def test_a_folder_that_may_decide(cli: Cli, rules: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Protects: its version is what decisions will record."""
    monkeypatch.setenv("CHECKREIN_POLICY", f"embedded:{rules}")
    code, part = told(cli)
    assert (code, part["found"], part["version"]) == (0, True, load_bundle(rules).version)
    assert f"embedded:{rules}: compiles and passes its own tests" in part["detail"]
    (rules / "mine_test.rego").unlink()
    assert "it has no tests" in told(cli)[1]["detail"]


@pytest.mark.parametrize(("broken", "problem"), BROKEN.values(), ids=BROKEN)
def test_a_folder_that_may_not(
    cli: Cli,
    rules: Path,
    monkeypatch: pytest.MonkeyPatch,
    broken: Callable[[Path], object],
    problem: str,
) -> None:
    """Protects: doctor finds before a run does what would be refused, and why."""
    broken(rules)
    monkeypatch.setenv("CHECKREIN_POLICY", f"embedded:{rules}")
    code, part = told(cli)
    assert (code, part["found"], part["version"]) == (1, False, None)
    assert problem in part["detail"]
    assert "Runs that go on keep the bundle that they have." in part["detail"]
    assert "MISSING policy" in cli("doctor").out


async def test_what_a_run_refused_is_visible_from_outside(
    cli: Cli, settings: Settings, rules: Path, tmp_path: Path
) -> None:
    """Protects: a refusal inside another process is found without looking through its trace."""

    @capability("world.turns", resource=lambda a: f"day:{a['day']}")
    async def turns(day: int) -> None:
        """Break the rules, then mend them."""
        written(rules, "second", tested="second" if day == 3 else "other")

    days = [says("", call("world.turns", day=day)) for day in (1, 2)]
    first = load_bundle(rules).version
    async with opened(settings, turns) as (harness, _):
        task = contract(tmp_path, [*days, DONE], policy=rules, capabilities=["world.turns"])
        report = await harness.run(task)
    code, part = await asyncio.to_thread(told, cli)
    assert code == 0  # the settings name another one
    assert "The last change that a run met was refused" in part["detail"]
    assert f"{report.attempt_id}/" in part["detail"]
    assert f"{first} went on" in part["detail"]
    assert "test_allow" in part["detail"]
    (tmp_path / "two").mkdir()
    written(rules, "first")
    days = [says("", call("world.turns", day=day)) for day in (3, 4)]
    async with opened(settings, turns) as (harness, _):
        task = contract(tmp_path / "two", [*days, DONE], policy=rules, capabilities=["world.turns"])
        await harness.run(task)
    _, part = await asyncio.to_thread(told, cli)
    assert "The last change that a run met was taken over" in part["detail"]


async def test_a_server_that_may_decide(
    cli: Cli, fake: MisbehavingOpa, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Protects: what it serves is said, and whether that is what is accepted; never the token."""
    monkeypatch.setenv("CHECKREIN_POLICY", f"opa:{fake.url}")
    monkeypatch.setenv("CHECKREIN_OPA_TOKEN", TOKEN)
    code, part = await asyncio.to_thread(told, cli)
    assert (code, part["found"], part["version"]) == (0, True, REVISION)
    assert f"opa:{fake.url}: OPA 1.22.3 answers and serves {REVISION}" in part["detail"]
    assert "CHECKREIN_OPA_REVISIONS lists none" in part["detail"]
    monkeypatch.setenv("CHECKREIN_OPA_REVISIONS", f"{REVISION},sha256:next")
    _, part = await asyncio.to_thread(told, cli)
    assert "all of them in CHECKREIN_OPA_REVISIONS" in part["detail"]


async def test_a_server_that_may_not(
    cli: Cli, fake: MisbehavingOpa, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Protects: another revision, no answer and no address are told apart."""
    monkeypatch.setenv("CHECKREIN_POLICY", f"opa:{fake.url}")
    monkeypatch.setenv("CHECKREIN_OPA_TOKEN", TOKEN)
    monkeypatch.setenv("CHECKREIN_OPA_REVISIONS", "sha256:next")
    code, part = await asyncio.to_thread(told, cli)
    assert (code, part["found"]) == (1, False)
    assert f"serves {REVISION}, which is not accepted" in part["detail"]
    assert "sha256:next" in part["detail"]
    fake.behave = answers(http(body(provenance=provenance(None))))
    _, part = await asyncio.to_thread(told, cli)
    assert "no revision" in part["detail"]
    monkeypatch.setenv("CHECKREIN_POLICY", "opa:http://127.0.0.1:9")
    code, part = await asyncio.to_thread(told, cli)
    assert (code, "cannot be reached" in part["detail"]) == (1, True)
    monkeypatch.setenv("CHECKREIN_POLICY", f"opa:http://me:{TOKEN}@127.0.0.1:9")
    code, part = await asyncio.to_thread(told, cli)
    assert (code, "holds a user" in part["detail"]) == (1, True)


def test_a_database_that_is_away_hides_nothing_of_the_policy(
    plain_cli: Cli, rules: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Protects: each part is told of by itself."""
    monkeypatch.setenv("CHECKREIN_DATABASE_URL", "postgresql://postgres@127.0.0.1:1/postgres")
    monkeypatch.setenv("CHECKREIN_POLICY", f"embedded:{rules}")
    code, part = told(plain_cli)
    assert (code, part["found"]) == (1, True)
