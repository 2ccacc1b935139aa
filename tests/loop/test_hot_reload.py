"""The folder of a policy changes while a run goes on: taken over whole, or refused and told."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from loops import DONE, Turn, call, contract, opened, payloads, says
from own_rules import BROKEN, written

from checkrein import capability
from checkrein.contracts.attempt import AttemptStatus
from checkrein.contracts.event import Payload, PolicyDecided, PolicyRefused, PolicyReloaded
from checkrein.contracts.task import TaskContract
from checkrein.errors import InputError
from checkrein.policy_rego.bundle_files import Bundle, load_bundle
from checkrein.policy_rego.bundle_tests import TestReport, test_bundle
from checkrein.policy_rego.embedded import EmbeddedPolicy
from checkrein.settings import Settings

WRITE = says("", call("workspace.write_file", path="a.txt", content="two\n"))

Change = Callable[[], Awaitable[None]]


@pytest.fixture
def rules(tmp_path: Path) -> Path:
    """A bundle whose rule allows all for the reason `first`, and whose test says so."""
    written(tmp_path / "rules", "first")
    return tmp_path / "rules"


def outside(*changes: Callable[[], object]) -> Any:
    """A capability in whose calls the world changes: by one change after the other."""
    coming = list(changes)

    @capability("world.turns", resource=lambda a: f"day:{a['day']}")
    async def turns(day: int) -> None:
        """Let the next thing happen."""
        result = coming.pop(0)()
        if isinstance(result, Awaitable):
            await result

    return turns


def day(number: int) -> Turn:
    """A turn in which the next change happens."""
    return says("", call("world.turns", day=number))


GRANTED = ["workspace.write_file", "world.turns"]


def codes(told: Sequence[Payload]) -> list[str]:
    """What decided, decision by decision, with the changes of the bundle between them."""
    return [
        p.decision.reason_code if isinstance(p, PolicyDecided) else p.type
        for p in told
        if isinstance(p, PolicyDecided | PolicyReloaded | PolicyRefused)
    ]


async def test_the_next_decision_is_by_the_new_bundle(
    tmp_path: Path, settings: Settings, rules: Path
) -> None:
    """Protects: rules change in the middle of a run, and its story says so before it counts."""
    first = load_bundle(rules).version
    change = outside(lambda: written(rules, "second"))
    async with opened(settings, change) as (harness, parts):
        task = contract(tmp_path, [day(1), WRITE, DONE], policy=rules, capabilities=GRANTED)
        report = await harness.run(task)
        told = await payloads(parts, report.attempt_id)
    assert report.status is AttemptStatus.CANDIDATE_VERIFIED
    assert codes(told) == ["first", "first", "policy_reloaded", "second", "second"]
    (reloaded,) = [p for p in told if isinstance(p, PolicyReloaded)]
    second = load_bundle(rules).version
    assert (reloaded.before, reloaded.version) == (first, second)
    versions = [p.decision.policy_version for p in told if isinstance(p, PolicyDecided)]
    assert versions == [first, first, second, second]


@pytest.mark.parametrize(("broken", "problem"), BROKEN.values(), ids=BROKEN)
async def test_a_bundle_that_is_no_good_is_refused_once_and_the_old_one_goes_on(
    tmp_path: Path,
    settings: Settings,
    rules: Path,
    broken: Callable[[Path], object],
    problem: str,
) -> None:
    """Protects: a slip in an edit stops no run and loosens none; it is told once, until mended."""
    first = load_bundle(rules).version
    change = outside(lambda: broken(rules), lambda: written(rules, "mended"))
    other = says("", call("workspace.write_file", path="b.txt", content="new\n"))
    async with opened(settings, change) as (harness, parts):
        task = contract(
            tmp_path, [day(1), WRITE, day(2), other, DONE], policy=rules, capabilities=GRANTED
        )
        report = await harness.run(task)
        told = await payloads(parts, report.attempt_id)
    assert report.status is AttemptStatus.CANDIDATE_VERIFIED
    assert codes(told) == [
        *("first", "first", "policy_refused", "first", "first", "first", "first"),
        *("policy_reloaded", "mended", "mended"),
    ]
    (refused,) = [p for p in told if isinstance(p, PolicyRefused)]
    assert refused.serving == first
    assert problem in refused.problem


async def test_the_old_bundle_back_again_is_told_too(
    tmp_path: Path, settings: Settings, rules: Path
) -> None:
    """Protects: a story does not end with a refusal that was taken back."""
    change = outside(
        lambda: written(rules, "second", tested="other"), lambda: written(rules, "first")
    )
    async with opened(settings, change) as (harness, parts):
        task = contract(tmp_path, [day(1), day(2), WRITE, DONE], policy=rules, capabilities=GRANTED)
        report = await harness.run(task)
        told = await payloads(parts, report.attempt_id)
    changes = [p for p in told if isinstance(p, PolicyReloaded | PolicyRefused)]
    assert [p.type for p in changes] == ["policy_refused", "policy_reloaded"]
    assert isinstance(changes[1], PolicyReloaded)
    assert changes[1].version == changes[1].before == load_bundle(rules).version


async def test_many_files_are_exchanged_by_one_rename(
    tmp_path: Path, settings: Settings, rules: Path
) -> None:
    """Protects: a folder named by a link is exchanged in one step, as the docs say."""
    link, new = tmp_path / "link", tmp_path / "new"
    link.symlink_to(rules)
    written(tmp_path / "other", "second")

    def exchange() -> None:
        new.symlink_to(tmp_path / "other")
        new.rename(link)

    async with opened(settings, outside(exchange)) as (harness, parts):
        task = contract(tmp_path, [day(1), WRITE, DONE], policy=link, capabilities=GRANTED)
        report = await harness.run(task)
        told = await payloads(parts, report.attempt_id)
    assert codes(told) == ["first", "first", "policy_reloaded", "second", "second"]


async def test_attempts_at_once_all_follow(tmp_path: Path, settings: Settings, rules: Path) -> None:
    """Protects: every run that goes on in a process hears of it, in a stream of its own."""
    changed = asyncio.Event()
    both = asyncio.Barrier(2)

    async def met() -> None:
        await both.wait()
        if not changed.is_set():
            changed.set()
            written(rules, "second")

    change = outside(met, met)
    tasks: list[TaskContract] = []
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        turns = [day(1), WRITE, DONE]
        tasks.append(contract(tmp_path / name, turns, policy=rules, capabilities=GRANTED))
    async with opened(settings, change) as (harness, parts):
        reports = await asyncio.gather(*(harness.run(task) for task in tasks))
        for report in reports:
            told = await payloads(parts, report.attempt_id)
            assert codes(told) == ["first", "first", "policy_reloaded", "second", "second"]


async def test_a_process_loads_and_tests_a_bundle_once(
    tmp_path: Path, settings: Settings, rules: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Protects: many tasks on one bundle do not each start a worker; a changed one is taken."""
    loaded: list[str] = []
    load = EmbeddedPolicy.load

    async def counted(bundle: Bundle, **more: Any) -> EmbeddedPolicy:
        loaded.append(bundle.version)
        return await load(bundle, **more)

    tested: list[str] = []

    async def counted_tests(bundle: Bundle) -> TestReport:
        tested.append(bundle.version)
        return await test_bundle(bundle)

    monkeypatch.setattr(EmbeddedPolicy, "load", counted)
    monkeypatch.setattr("checkrein.policy_rego.soundness.test_bundle", counted_tests)
    versions = [load_bundle(rules).version]
    async with opened(settings) as (harness, parts):
        for number in range(3):
            if number == 2:
                versions.append(written(rules, "second"))
            folder = tmp_path / str(number)
            folder.mkdir()
            report = await harness.run(contract(folder, [WRITE, DONE], policy=rules))
            told = await payloads(parts, report.attempt_id)
            assert not any(isinstance(p, PolicyReloaded | PolicyRefused) for p in told)
    assert loaded == tested == versions


async def test_nothing_begins_under_a_bundle_whose_own_tests_fail(
    tmp_path: Path, settings: Settings, rules: Path
) -> None:
    """Protects: what a running attempt refuses is no rule for the next one either."""
    written(rules, "second", tested="other")
    async with opened(settings) as (harness, parts):
        with pytest.raises(InputError, match="test_allow") as refused:
            await harness.run(contract(tmp_path, [WRITE, DONE], policy=rules))
        assert refused.value.code == "policy_tests_failed"
        assert await parts.records.attempts() == []


async def test_going_on_waits_for_a_folder_that_is_broken(
    tmp_path: Path, settings: Settings
) -> None:
    """Protects: who goes on with a run is told what is wrong, and nothing of it is changed."""
    rules = tmp_path / "rules"
    text = 'package checkrein.rules.mine\n\nask contains {"reason_code": "asked"}\n'
    rules.mkdir()
    (rules / "mine.rego").write_text(text)
    async with opened(settings) as (harness, parts):
        report = await harness.run(contract(tmp_path, [WRITE, DONE], policy=rules))
        await harness.approve(report.approvals[0].approval_id, by="bob")
        before = await payloads(parts, report.attempt_id)
        (rules / "mine.rego").write_text(text + "deny contains {")
        with pytest.raises(InputError, match=r"mine\.rego"):
            await harness.resume(report.attempt_id)
        assert await payloads(parts, report.attempt_id) == before
        (rules / "mine.rego").write_text(text)
        report = await harness.resume(report.attempt_id)
    assert report.status is AttemptStatus.CANDIDATE_VERIFIED


@pytest.mark.parametrize("place", ["workspace/rules", "."])
async def test_no_work_may_touch_its_own_rules(
    place: str, tmp_path: Path, settings: Settings
) -> None:
    """Protects: a model that may write files in place would write the rules that judge it."""
    rules = tmp_path / place
    task = contract(tmp_path, [WRITE, DONE])
    if place != ".":
        written(rules, "first")
    assert task.workspace is not None
    in_place = task.workspace.model_copy(update={"mode": "in_place"})
    ours = task.model_copy(update={"policy": str(rules), "workspace": in_place})
    async with opened(settings) as (harness, parts):
        with pytest.raises(InputError, match="lie one inside the other") as refused:
            await harness.run(ours)
        assert refused.value.code == "policy_in_workspace"
        assert await parts.records.attempts() == []
