"""policy diff: recorded decisions under the rules of before and after, and only what changes."""

import time
from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import UTC, datetime, timedelta

import pytest
from decided_runs import decided_run
from open_store import OpenStore, opened_store

from checkrein.checkpointer.decisions import PostgresDecisions
from checkrein.contracts.decision import DecisionInput
from checkrein.errors import InputError, IntegrityError
from checkrein.policy_rego.bundle_files import Bundle, make_bundle
from checkrein.policy_rego.embedded import EmbeddedPolicy
from checkrein.policy_rego.input_document import input_text
from checkrein.policy_rego.replay import KINDS, Recorded, Replay, replayed

PolicyOf = Callable[..., Awaitable[EmbeddedPolicy]]
Make = Callable[..., DecisionInput]

OLD = """package checkrein.rules.mine

allow contains {"reason_code": "reading"} if input.action.side_effect_class == "READ"

ask contains {"reason_code": "writing"} if input.action.side_effect_class == "REVERSIBLE"

deny contains {"reason_code": "secret"} if {
\tsome path in input.action.facts.paths
\t"secrets" in path.segments
}
"""
NEW = OLD.replace('"secrets" in path.segments', 'path.segments[0] in {"secrets", "private"}')
AREAS = ("src", "docs", "secrets", "private", "tests")


def bundle_of(text: str) -> Bundle:
    """A bundle of one module."""
    return make_bundle(origin="b", modules={"rules/mine.rego": text}, tests={}, data={})


def acting(document: Make, number: int) -> DecisionInput:
    """The number-th action: a read or a write in one of the areas, of a resource of its own."""
    path = f"{AREAS[number % len(AREAS)]}/f{number}.py"
    capability = ("workspace.read", "workspace.write_file")[number // len(AREAS) % 2]
    made = document(capability, [path])
    action = made.action.model_copy(update={"resource": f"file:{path}"})
    return made.model_copy(update={"action": action})


@pytest.fixture
async def store(database_url: str) -> AsyncIterator[OpenStore]:
    """The store on a fresh database."""
    async with opened_store(database_url) as opened:
        yield opened


async def recorded_by(
    decisions: PostgresDecisions, since: datetime | None = None
) -> AsyncIterator[Recorded]:
    """What the command replays."""
    async for one in decisions.since(since):
        assert one.input is not None
        yield Recorded(name=one.name, input=one.input.decode())


@pytest.mark.timeout(180)
async def test_of_a_thousand_decisions_exactly_those_that_change_are_named(
    store: OpenStore, policy_of: PolicyOf, document: Make
) -> None:
    """Protects: who changes a rule sees beforehand whom it would hit, all of them and nobody else.

    Shows 5 of the issue: 1,000 recorded decisions, one rule changed.
    """
    documents = [acting(document, number) for number in range(1_000)]
    policy = await policy_of(bundle_of(OLD))
    names = await decided_run(store, policy, documents)
    assert len(names) == 1_000

    started = time.monotonic()
    told: list[int] = []
    found = await replayed(
        bundle_of(OLD),
        bundle_of(NEW),
        recorded_by(PostgresDecisions(store.pool)),
        progress=told.append,
    )
    assert time.monotonic() - started < 60, "a thousand decisions are replayed while one waits"

    expected = {name for resource, name in names.items() if resource.startswith("file:private/")}
    assert len(expected) == 200
    assert {change.name for change in found.changes} == expected
    assert (found.decisions, found.unchanged) == (1_000, 800)
    assert {change.kind for change in found.changes} == {"newly_denied"}
    was = {(change.old.decision.value, change.old.reason_code) for change in found.changes}
    assert was == {("ALLOW", "reading"), ("REQUIRE_APPROVAL", "writing")}
    assert {change.new.reason_code for change in found.changes} == {"secret"}
    assert told[-1] == 1_000

    # Rules that say the same in other words change nothing.
    same = NEW.replace('{"secrets", "private"}', '{"private", "secrets"}')
    again = await replayed(
        bundle_of(NEW), bundle_of(same), recorded_by(PostgresDecisions(store.pool))
    )
    assert (again.changes, again.unchanged) == ([], 1_000)


async def compared(document: Make, old: str, new: str) -> Replay:
    """Ten actions under two bundles that are given as text."""

    async def inputs() -> AsyncIterator[Recorded]:
        for number in range(10):
            text = input_text(acting(document, number)).decode()
            yield Recorded(name=str(number), input=text)

    return await replayed(bundle_of(old), bundle_of(new), inputs())


READING, WRITING = '{"reason_code": "reading"}', '{"reason_code": "writing"}'
ASKED = OLD.replace(f"allow contains {READING}", f"ask contains {READING}")
ALLOWED = OLD.replace(f"ask contains {WRITING}", f"allow contains {WRITING}")
LIMIT = '\nlimit contains {"max_bytes": 10} if input.action.side_effect_class == "READ"\n'


@pytest.mark.parametrize(
    ("old", "new", "kinds"),
    [
        (OLD, OLD.replace('deny contains {"reason_code": "secret"}', "helper"), None),
        (OLD, OLD + LIMIT, {"changed_constraints": 4}),
        (OLD + LIMIT, OLD + LIMIT.replace("10", "9"), {"changed_constraints": 4}),
        (
            OLD,
            OLD.replace('"writing"}', '"writing", "roles": ["owner"]}'),
            {"changed_approval": 4},
        ),
        (OLD, OLD.replace('"reading"', '"looking"'), {"changed_reason": 4}),
        (OLD, ASKED, {"newly_asked": 4}),
        (OLD, ALLOWED, {"newly_allowed": 4}),
    ],
    ids=["freed", "limited", "tighter", "roles", "renamed", "asked", "allowed"],
)
async def test_each_kind_of_change_is_called_by_its_name(
    document: Make, old: str, new: str, kinds: dict[str, int] | None
) -> None:
    """Protects: a loosened rule is not told as a tightened one, nor a renamed one as either."""
    found = await compared(document, old, new)
    counts = {kind: len(found.of(kind)) for kind in KINDS if found.of(kind)}
    assert counts == (kinds or {"newly_asked": 1, "newly_allowed": 1})


async def test_a_bundle_with_an_error_is_refused(document: Make) -> None:
    """Protects: a candidate that does not compile is told as that, not as a denial of all."""
    wrong = OLD + '\ndeny contains {"reason_code": "a_b"} if input.tenannt'
    with pytest.raises(InputError, match="No input has input.tenannt"):
        await compared(document, OLD, wrong)


async def test_a_late_rule_is_a_denial_of_its_own_and_the_rest_goes_on(document: Make) -> None:
    """Protects: one input that a rule takes too long for does not end the replay."""
    slow = OLD + (
        '\ndeny contains {"reason_code": "slow"} if {\n'
        '\tinput.action.resource == "file:docs/f1.py"\n'
        "\tsome a in many\n\tsome b in many\n\ta + b < 0\n}\n\nmany := numbers.range(1, 100000)\n"
    )

    async def inputs() -> AsyncIterator[Recorded]:
        for number in range(3):
            text = input_text(acting(document, number)).decode()
            yield Recorded(name=str(number), input=text)

    found = await replayed(bundle_of(OLD), bundle_of(slow), inputs(), deadline_s=1.0)
    assert [(change.name, change.new.reason_code) for change in found.changes] == [
        ("1", "policy_timeout")
    ]
    assert found.unchanged == 2


async def test_the_record_is_read_by_moment_and_by_name(
    store: OpenStore, policy_of: PolicyOf, document: Make
) -> None:
    """Protects: --since cuts by the time of the record, and one decision is found by its event."""
    policy = await policy_of(bundle_of(OLD))
    names = await decided_run(store, policy, [acting(document, n) for n in range(3)])
    decisions = PostgresDecisions(store.pool)
    later = datetime.now(UTC) + timedelta(hours=1)
    earlier = datetime.now(UTC) - timedelta(hours=1)
    assert [one async for one in recorded_by(decisions, later)] == []
    assert {one.name async for one in recorded_by(decisions, earlier)} == set(names.values())

    attempt_id, _, seq = names["file:secrets/f2.py"].partition("/")
    one = await decisions.one(attempt_id, int(seq))
    assert (one.decision.reason_code, one.phase, one.policy) == ("secret", "propose", None)
    with pytest.raises(InputError, match="records no decision. These do: .*DENY, secret"):
        await decisions.one(attempt_id, 1)
    with pytest.raises(InputError, match="No event of it does"):
        await decisions.one("no-such-attempt", 1)


async def test_a_changed_input_is_not_judged_again(
    store: OpenStore, policy_of: PolicyOf, document: Make
) -> None:
    """Protects: a replay rests on what was judged, and on nothing that was put in its place."""
    policy = await policy_of(bundle_of(OLD))
    await decided_run(store, policy, [acting(document, 0)])
    decisions = PostgresDecisions(store.pool)
    await store.by_owner("UPDATE checkrein.blobs SET data = 'forged' WHERE length(data) > 10")
    with pytest.raises(IntegrityError, match="has changed"):
        assert [one async for one in decisions.since(None)]
    await store.by_owner("DELETE FROM checkrein.blobs")
    with pytest.raises(IntegrityError, match="not stored any more"):
        assert [one async for one in decisions.since(None)]
