"""Five signals of going in circles, and honest runs that show none of them."""

from collections.abc import Callable

import pytest
from going_round import called

from checkrein.contracts.progress import ProgressRules, Signal
from checkrein.nodes.no_progress import noticed
from checkrein.nodes.turn_facts import TurnFacts, alike, words

RULES = ProgressRules()


def turns(make: Callable[[int], TurnFacts], count: int, first: int = 1) -> list[TurnFacts]:
    """So many turns, each made from its number."""
    return [make(n) for n in range(first, first + count)]


def read(n: int, path: str, text: object, said: str = "") -> TurnFacts:
    """A look at a file."""
    return called(n, "workspace.read", {"path": path}, result=text, said=said)


@pytest.mark.shows(199)
@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"path": "./a//b.py"}, {"path": "a/../a/b.py"}),
        ({"query": "price  of\tApples"}, {"query": "apples price of"}),
        ({"paths": ["b.txt", "a.txt"], "limit": 10}, {"limit": 11, "paths": ["a.txt", "b.txt"]}),
    ],
)
def test_near_same_arguments(one: dict[str, object], other: dict[str, object]) -> None:
    """Protects: white space, order, numbers and ways to write a path hide no repetition."""
    assert alike(words(one), words(other))


@pytest.mark.parametrize("other", [{"path": "b.txt"}, {"path": "a.txt", "find": "the price of it"}])
def test_other_arguments(other: dict[str, object]) -> None:
    """Protects: another file, or another question about it, is another call."""
    assert not alike(words({"path": "a.txt"}), words(other))


@pytest.mark.shows(199)
def test_a_repeated_call() -> None:
    """Protects: the same question with the same answer, three turns in a row; not two."""
    history = turns(lambda n: called(n, "web.find", {"q": f"price {n}"}, result="none"), 3)
    found = noticed(history, RULES)
    assert found is not None
    assert (found.signal, found.turns) == (Signal.REPEATED_CALL, [1, 2, 3])
    assert [call.observation.action_id for call in found.calls] == ["act_1_0", "act_2_0", "act_3_0"]
    assert noticed(history[:2], RULES) is None


def test_times_in_results_are_nothing_new() -> None:
    """Protects: a command that always fails the same is not new because it took another time."""
    text = "2 failed in {}.3s at 2026-11-30T10:00:0{}Z"
    history = turns(lambda n: called(n, "run", {"argv": ["pytest"]}, result=text.format(n, n)), 3)
    found = noticed(history, RULES)
    assert found is not None
    assert found.signal is Signal.REPEATED_CALL


@pytest.mark.shows(199)
@pytest.mark.parametrize("period", [2, 3, 4])
def test_a_cycle(period: int) -> None:
    """Protects: writing this, that and this again is no progress, although each changes a file."""
    history = turns(
        lambda n: called(n, "write", {"text": "abcd"[n % period]}, result="ok", effect=True),
        3 * period,
    )
    rules = ProgressRules(facts=100)
    found = noticed(history, rules)
    assert found is not None
    assert (found.signal, len(found.turns)) == (Signal.CYCLE, 3 * period)
    assert noticed(history[:-1], rules) is None


@pytest.mark.shows(199)
def test_a_repeated_error() -> None:
    """Protects: other arguments, other words, and looks at what is known hide no repeated error."""
    names = ["alpha", "beta", "gamma", "delta"]
    history = [read(1, "known", "x")]
    for n, name in enumerate(names):
        history.append(called(2 * n + 2, "fetch", {"name": name}, error="not_found"))
        history.append(read(2 * n + 3, "known", "x"))
    found = noticed(history[:-1], RULES)
    assert found is not None
    assert (found.signal, found.turns) == (Signal.REPEATED_ERROR, [2, 4, 6, 8])
    assert noticed(history[:-3], RULES) is None


@pytest.mark.shows(199)
def test_an_unchanged_plan() -> None:
    """Protects: saying each turn what one is about to do, and doing nothing, is noticed."""
    order = [*"abcd", *"dbca"]
    history = [
        read(n, name, f"text {name}", said="Now I shall mend it.")
        for n, name in enumerate(order, start=1)
    ]
    found = noticed(history, RULES)
    assert found is not None
    assert (found.signal, found.turns) == (Signal.UNCHANGED_PLAN, [5, 6, 7, 8])
    assert noticed(history[:-1], RULES) is None


@pytest.mark.shows(199)
def test_no_new_fact() -> None:
    """Protects: looking again at all that is known brings nothing, in whatever order it is done."""
    order = [*"abcdef", *"dbfaec"]
    history = [
        read(n, name, f"text {name}", said=f"{name * 5} {n}")
        for n, name in enumerate(order, start=1)
    ]
    found = noticed(history, RULES)
    assert found is not None
    assert (found.signal, found.turns) == (Signal.NO_NEW_FACT, [7, 8, 9, 10, 11, 12])
    assert noticed(history[:-1], RULES) is None


def test_reading_again_after_a_change_is_honest() -> None:
    """Protects: whoever changes a file and looks at it again goes on with the work."""
    history: list[TurnFacts] = []
    for n in range(1, 20, 2):
        text = f"version {'x' * n}"
        history.append(
            called(n, "write", {"path": "a", "text": text}, result="written", effect=True)
        )
        history.append(read(n + 1, "a", text))
        assert noticed(history, RULES) is None


def test_the_same_look_beside_work_is_honest() -> None:
    """Protects: running the same failing tests after each change is how software is mended."""
    history: list[TurnFacts] = []
    for n in range(1, 20, 2):
        text = f"version {'y' * n}"
        history.append(
            called(n, "write", {"path": "a", "text": text}, result="written", effect=True)
        )
        history.append(called(n + 1, "run", {"argv": ["pytest"]}, result="2 failed"))
        assert noticed(history, RULES) is None


def test_ten_letters_of_one_form_are_honest() -> None:
    """Protects: doing the same to other things is work, even where the target says only `done`."""
    names = ["ann", "bob", "cy", "dan", "eve", "fay", "gus", "hal", "ida", "jo"]
    history = [
        called(n, "mail.send", {"to": f"{name}@x.org"}, result="sent", effect=True, said="Next.")
        for n, name in enumerate(names, start=1)
    ]
    assert all(noticed(history[:n], RULES) is None for n in range(len(history) + 1))


def test_polling_is_honest_for_as_long_as_the_task_says() -> None:
    """Protects: a tool that waits may be asked again; for ever it may not."""
    rules = ProgressRules(polling=["job.status"], polls=10)
    history = turns(lambda n: called(n, "job.status", {"job": "j"}, result="running"), 10)
    assert all(noticed(history[:n], rules) is None for n in range(10))
    found = noticed(history, rules)
    assert found is not None
    assert found.signal is Signal.REPEATED_CALL


def test_a_result_that_changes_is_progress() -> None:
    """Protects: a job that gets on is worth asking about, also where nobody declared it."""
    history = turns(lambda n: called(n, "job.status", {"job": "j"}, result=f"{n} of 40"), 30)
    assert all(noticed(history[:n], RULES) is None for n in range(31))


def test_a_persons_answer_begins_anew() -> None:
    """Protects: what was before a person spoke counts against nobody afterwards."""
    before = turns(lambda n: read(n, "a", "x"), 3)
    spoken = [*before[:-1], called(3, "read", {"path": "a"}, result="x", answer="Look once more.")]
    assert noticed(spoken, RULES) is None
    assert noticed([*spoken, *turns(lambda n: read(n, "a", "x"), 2, first=4)], RULES) is None
    assert noticed([*spoken, *turns(lambda n: read(n, "a", "x"), 3, first=4)], RULES) is not None


@pytest.mark.parametrize(
    "value", [float("nan"), 10**40, "\ud800", "\x00", "x" * 3_000_000, [[[["deep"]]]], None, True]
)
def test_whatever_a_model_writes_is_compared(value: object) -> None:
    """Protects: arguments that no store and no canonical form can hold end no run here."""
    history = turns(lambda n: called(n, "read", {"x": value}, error="invalid_arguments"), 3)
    found = noticed(history, RULES)
    assert found is not None
    assert found.signal is Signal.REPEATED_CALL
    assert history[0].signature == history[1].signature
