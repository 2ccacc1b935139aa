"""Whatever an honest run does, it is not noticed; whatever a loop looks like, it is."""

from going_round import called
from hypothesis import given
from hypothesis import strategies as st

from checkrein.contracts.progress import LADDER, ProgressRules, Rung, Signal
from checkrein.nodes.ladder import climbed
from checkrein.nodes.no_progress import noticed
from checkrein.nodes.turn_facts import TurnFacts
from checkrein.ports.records import Noticed

RULES = ProgressRules()
TOOLS = st.sampled_from(["read", "write", "run", "find"])


@given(st.lists(st.tuples(TOOLS, st.text(max_size=8), st.booleans(), st.text(max_size=8))))
def test_whoever_finds_something_new_each_turn_is_never_noticed(
    done: list[tuple[str, str, bool, str]],
) -> None:
    """Protects: honest work is left alone, whatever it says and however alike its calls look."""
    history = [
        called(n, tool, {"x": arg}, result=["new", "q" * n], effect=effect, said=said)
        for n, (tool, arg, effect, said) in enumerate(done, start=1)
    ]
    for end in range(len(history) + 1):
        assert noticed(history[:end], RULES) is None


@given(
    st.lists(st.tuples(TOOLS, st.sampled_from("abc"), st.booleans()), min_size=1, max_size=5),
    st.integers(min_value=1, max_value=3),
)
def test_whoever_goes_round_is_noticed(period: list[tuple[str, str, bool]], extra: int) -> None:
    """Protects: no period of calls that come to the same stays unseen for long."""
    rounds = RULES.cycles * len(period) + RULES.facts * extra
    history: list[TurnFacts] = []
    for n in range(rounds):
        tool, arg, fails = period[n % len(period)]
        history.append(
            called(n + 1, tool, {"x": arg}, result=arg, error="broken" if fails else None)
        )
    assert noticed(history, RULES) is not None


def notice(turn: int, rung: Rung) -> Noticed:
    """A notice that was recorded before."""
    return Noticed(
        turn=turn,
        signal=Signal.REPEATED_CALL,
        rung=rung,
        evidence=[1],
        action_ids=[],
        repeated=[],
        advice="",
    )


@given(
    st.integers(min_value=1, max_value=40),
    st.integers(min_value=1, max_value=6),
    st.booleans(),
)
def test_the_ladder_is_climbed_in_order_and_ends_before_the_steps(
    steps: int, patience: int, reviewer: bool
) -> None:
    """Protects: a person is reached while there is a turn left, however few there are."""
    rules = ProgressRules(patience=patience, calm=100)
    last: Noticed | None = None
    climbed_to: list[Rung] = []
    for turn in range(1, steps + 1):
        climb = climbed(last, turn, steps - turn + 1, rules, reviewer=reviewer)
        if climb is not None:
            climbed_to.append(climb.rung)
            last = notice(turn, climb.rung)
            assert climbed(last, turn, steps - turn + 1, rules, reviewer=reviewer) is None
        if last is not None and last.rung is Rung.PERSON:
            break
    assert climbed_to == sorted(climbed_to, key=LADDER.index)
    assert climbed_to[-1] is Rung.PERSON
    if steps > len(LADDER):
        missing = set(LADDER) - set(climbed_to)
        assert missing == (set() if reviewer else {Rung.REVIEW})
