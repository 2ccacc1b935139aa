"""Hot reload: the folder of a running policy changes, and the next decision goes by it."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from own_rules import RULE, TEST, written

from checkrein.contracts.decision import DecisionInput
from checkrein.contracts.event import PolicyRefused, PolicyReloaded
from checkrein.errors import EnvironmentFault, InputError
from checkrein.policy_rego.bundle_files import Bundle, load_bundle
from checkrein.policy_rego.embedded import EmbeddedPolicy
from checkrein.policy_rego.reload import ReloadingPolicy

Make = Callable[..., DecisionInput]
Follow = Callable[..., Awaitable[ReloadingPolicy]]


async def test_the_next_decision_is_by_what_lies_there_now(
    follow: Follow, folder: Path, document: Make
) -> None:
    """Protects: rules change while runs go on, whole, and each decision names its version."""
    policy = await follow()
    before = await policy.decide(document())
    assert (before.reason_code, before.policy_version) == ("first", load_bundle(folder).version)
    written(folder, "second")
    after = await policy.decide(document())
    assert (after.reason_code, after.policy_version) == ("second", load_bundle(folder).version)
    assert policy.version == after.policy_version
    assert policy.news() == (PolicyReloaded(version=policy.version, before=before.policy_version),)
    state = policy.state()
    assert (state.serving, state.reloads, state.refused) == (policy.version, 1, None)


@pytest.mark.parametrize(
    ("text", "test", "problem"),
    [
        (RULE.format("second") + "\ndeny contains {", TEST.format("second"), "mine.rego:5"),
        (RULE.format("second").replace("tenant", "tennant"), TEST.format("second"), "tennant"),
        (RULE.format("second"), TEST.format("other"), "test_allow"),
        (RULE.format("Not a code"), TEST.format("first"), "no reason code"),
    ],
    ids=["syntax", "misspelt", "own test", "member"],
)
async def test_a_bundle_that_is_no_good_is_refused_and_the_old_one_serves(
    follow: Follow, folder: Path, document: Make, text: str, test: str, problem: str
) -> None:
    """Protects: a slip in an edit denies nothing and allows nothing; it is told."""
    policy = await follow()
    first = policy.version
    (folder / "mine.rego").write_text(text)
    (folder / "mine_test.rego").write_text(test)
    for _ in range(3):
        decision = await policy.decide(document())
        assert (decision.reason_code, decision.policy_version) == ("first", first)
    (event,) = policy.news()  # told once, not at every decision
    assert isinstance(event, PolicyRefused)
    assert event.serving == first
    assert problem in event.problem
    state = policy.state()
    assert (state.serving, state.refused) == (first, load_bundle(folder).version)
    assert problem in state.problem
    written(folder, "mended")
    assert (await policy.decide(document())).reason_code == "mended"
    assert policy.state().problem == ""


async def test_a_folder_that_is_gone_is_refused_and_comes_back(
    follow: Follow, folder: Path, document: Make
) -> None:
    """Protects: a deployment that moves the folder away for a moment takes no rule away."""
    policy = await follow()
    away = folder.with_name("away")
    await asyncio.to_thread(folder.rename, away)
    assert (await policy.decide(document())).reason_code == "first"
    assert "does not exist" in policy.state().problem
    await asyncio.to_thread(away.rename, folder)
    assert (await policy.decide(document())).reason_code == "first"
    assert (policy.state().problem, policy.state().reloads) == ("", 0)
    refused, back = policy.news()
    assert (refused.type, refused.version) == ("policy_refused", "")
    assert back == PolicyReloaded(version=policy.version, before=policy.version)


async def test_only_tests_changed_is_no_other_version(
    follow: Follow, folder: Path, document: Make
) -> None:
    """Protects: tests are no part of the version, so that editing them replaces nothing."""
    policy = await follow()
    (folder / "mine_test.rego").write_text(TEST.format("first") + "\n# a note\n")
    await policy.decide(document())
    assert (policy.news(), policy.state().reloads) == ((), 0)


async def test_decisions_that_are_being_made_end_by_the_policy_that_began_them(
    follow: Follow, folder: Path, document: Make
) -> None:
    """Protects: a change in the middle of many decisions loses and mixes none of them."""
    policy = await follow()
    first = policy.version

    async def some() -> set[tuple[str, str]]:
        found: set[tuple[str, str]] = set()
        for _ in range(40):
            decision = await policy.decide(document())
            found.add((decision.reason_code, decision.policy_version))
        return found

    running = [asyncio.create_task(some()) for _ in range(4)]
    await asyncio.sleep(0.02)
    written(folder, "second")
    found = set[tuple[str, str]]().union(*await asyncio.gather(*running))
    await policy.settled()
    assert found == {("first", first), ("second", policy.version)}


async def test_a_change_that_takes_long_is_not_waited_for(
    follow: Follow, folder: Path, document: Make
) -> None:
    """Protects: a bundle with slow tests delays one decision by no more than the patience."""
    gate = asyncio.Event()

    async def opener(bundle: Bundle) -> EmbeddedPolicy:
        if opened:
            await gate.wait()
        opened.append(bundle.version)
        return await EmbeddedPolicy.load(bundle)

    opened: list[str] = []
    policy = await follow(patience_s=0.05, opener=opener)
    written(folder, "second")
    async with asyncio.timeout(5):
        assert (await policy.decide(document())).reason_code == "first"
        assert policy.state().loading
        assert (await policy.decide(document())).reason_code == "first"
    gate.set()
    await policy.settled()
    assert (await policy.decide(document())).reason_code == "second"


async def test_an_engine_that_fails_keeps_the_old_bundle_and_is_tried_again(
    follow: Follow, folder: Path, document: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Protects: a machine that is short of processes for a moment does not freeze the rules."""
    monkeypatch.setattr("checkrein.policy_rego.reload.RETRY_S", 0.0)
    faults = [EnvironmentFault("no process", op="policy.engine")]

    async def opener(bundle: Bundle) -> EmbeddedPolicy:
        if seen and faults:
            raise faults.pop()
        seen.append(bundle.version)
        return await EmbeddedPolicy.load(bundle)

    seen: list[str] = []
    policy = await follow(opener=opener)
    written(folder, "second")
    assert (await policy.decide(document())).reason_code == "first"
    assert policy.state().problem == "no process"
    assert (await policy.decide(document())).reason_code == "second"
    assert [event.type for event in policy.news()] == ["policy_refused", "policy_reloaded"]


async def test_the_folder_is_not_looked_at_too_often(
    follow: Follow, folder: Path, document: Make
) -> None:
    """Protects: looking costs nothing worth speaking of, however many decisions there are."""
    policy = await follow(check_every_s=3_600.0)
    written(folder, "second")
    assert (await policy.decide(document())).reason_code == "first"


async def test_a_first_bundle_that_is_no_good_is_an_error(follow: Follow, folder: Path) -> None:
    """Protects: nothing begins to serve that was never sound."""
    (folder / "mine.rego").write_text("package checkrein.rules.mine\n\nallow contains")
    with pytest.raises(InputError, match="mine.rego:3"):
        await follow()


async def test_closing_while_a_change_is_taken_over(
    follow: Follow, folder: Path, document: Make
) -> None:
    """Protects: an attempt that ends in the middle leaves no process behind."""
    policy = await follow(patience_s=0.0)
    written(folder, "second")
    await policy.decide(document())
    async with asyncio.timeout(10):
        await policy.close()
        await policy.close()
    assert (await policy.decide(document())).reason_code == "policy_unavailable"


async def test_a_first_bundle_whose_own_tests_fail_is_an_error(
    follow: Follow, folder: Path
) -> None:
    """Protects: what would be refused in the middle of a run does not begin one either."""
    written(folder, "first", tested="other")
    with pytest.raises(InputError, match="test_allow") as refused:
        await follow()
    assert refused.value.code == "policy_tests_failed"
