"""What becomes of a folder that changes, as news: told once, in time, bounded, never in silence."""

from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from own_rules import written

from checkrein.contracts.decision import DecisionInput
from checkrein.contracts.event import PROBLEM_CHARS, PolicyRefused
from checkrein.errors import InputError
from checkrein.policy_rego.bundle_files import Bundle, load_bundle
from checkrein.policy_rego.embedded import EmbeddedPolicy
from checkrein.policy_rego.reload import ReloadingPolicy

Make = Callable[..., DecisionInput]
Follow = Callable[..., Awaitable[ReloadingPolicy]]


async def test_news_stays_until_it_is_heard(follow: Follow, folder: Path, document: Make) -> None:
    """Protects: an event that could not be stored is stored by the next try, and then no more."""
    policy = await follow()
    written(folder, "second")
    await policy.decide(document())
    news = policy.news()
    assert policy.news() == news
    assert len(news) == 1
    policy.heard(news)
    assert policy.news() == ()


async def test_what_happens_while_a_decision_is_made_is_news_of_the_next(
    follow: Follow, folder: Path, document: Make
) -> None:
    """Protects: no event says that a bundle decides before a decision that the old one makes."""
    policy = await follow(patience_s=0.0)
    written(folder, "second")
    assert (await policy.decide(document())).reason_code == "first"
    await policy.settled()
    assert policy.news() == ()
    assert (await policy.decide(document())).reason_code == "second"
    assert [event.type for event in policy.news()] == ["policy_reloaded"]


async def test_a_problem_is_bounded_and_can_be_stored(
    follow: Follow, folder: Path, document: Make
) -> None:
    """Protects: whatever is wrong with a folder, its refusal fits into an event."""

    async def opener(bundle: Bundle) -> EmbeddedPolicy:
        if bundle.version != first:
            raise InputError("\0\udcff" + "long" * PROBLEM_CHARS, op="test")
        return await EmbeddedPolicy.load(bundle)

    first = load_bundle(folder).version
    policy = await follow(opener=opener)
    written(folder, "second")
    await policy.decide(document())
    (event,) = policy.news()
    assert isinstance(event, PolicyRefused)
    assert len(event.problem) == PROBLEM_CHARS
    assert event.problem.startswith("\\u0000\\udcfflong")


async def test_a_folder_that_is_still_being_written_is_left_alone(
    follow: Follow, folder: Path, document: Make
) -> None:
    """Protects: a half of a change is neither taken over nor called broken."""
    opened: list[str] = []

    async def opener(bundle: Bundle) -> EmbeddedPolicy:
        opened.append(bundle.version)
        if len(opened) == 2:
            written(folder, "whole")  # the rest arrives while the first half is looked at
        return await EmbeddedPolicy.load(bundle)

    policy = await follow(opener=opener)
    written(folder, "half")
    assert (await policy.decide(document())).reason_code == "whole"
    assert [event.version for event in policy.news()] == [policy.version]
    assert len(opened) == 3


async def test_a_folder_that_never_lies_still_is_told_of(
    follow: Follow, folder: Path, document: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Protects: rules that cannot be taken over are not passed over in silence."""
    policy = await follow()

    def never(_: object) -> bool:
        return False

    monkeypatch.setattr("checkrein.policy_rego.reload.settled", never)
    monkeypatch.setattr("checkrein.policy_rego.reload.SETTLED_S", 0.0)
    written(folder, "second")
    for _ in range(2):
        assert (await policy.decide(document())).reason_code == "first"
    (event,) = policy.news()
    assert isinstance(event, PolicyRefused)
    assert "changes all the time" in event.problem


async def test_a_change_within_one_tick_of_the_clock_is_seen(
    follow: Follow, folder: Path, document: Make
) -> None:
    """Protects: two edits of the same size right after each other do not look like one."""
    policy = await follow()
    for code in ("aaaaa", "bbbbb", "ccccc", "ddddd"):
        written(folder, code)
        assert (await policy.decide(document())).reason_code == code
