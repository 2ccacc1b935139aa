"""Five ways to go in circles, as scripts: each turn is honest by itself."""

from itertools import cycle, islice
from typing import Any

from loops import Turn, call, says

FILES = {f"{name}.txt": f"about {name}\n" for name in ("ash", "oak", "elm", "fir", "yew", "box")}
"""What there is to look at."""

_ORDERS = [
    ["oak", "fir", "ash", "box", "elm", "yew"],
    ["fir", "elm", "oak", "yew", "ash", "box"],
    ["elm", "ash", "yew", "oak", "box", "fir"],
    ["ash", "elm", "box", "oak", "yew", "fir"],
]
_SHUFFLED = [name for order in _ORDERS for name in order]
_WORDS = [
    *("amber", "basil", "cedar", "delta", "ember", "fjord", "grove", "heath", "inlet", "jetty"),
    *("kelp", "lagoon", "marsh", "nook", "onyx", "prairie", "quartz", "ridge", "shoal", "tundra"),
    *("umber", "vale", "willow", "xeric", "yonder", "zephyr", "atoll", "bluff", "creek", "dune"),
]


def _look(name: str, said: str = "", **more: Any) -> Turn:
    return says(said, call("workspace.read", path=f"{name}.txt", **more))


def _write(text: str) -> Turn:
    return says("", call("workspace.write_file", path="a.txt", content=text))


def same_call() -> list[Turn]:
    """The same file, again and again; the path is written in several ways."""
    ways = cycle(["ash.txt", "./ash.txt"])
    return [says(word, call("workspace.read", path=next(ways))) for word in _WORDS]


def same_error() -> list[Turn]:
    """Files that are not there, each under another name."""
    return [_look(f"{word}-missing", f"Perhaps {word}.") for word in _WORDS]


def same_plan() -> list[Turn]:
    """The same words about mending it, beside looks at what is known."""
    order = [*list(FILES), *(f"{name}.txt" for name in _SHUFFLED)]
    return [_look(path.removesuffix(".txt"), "Now I shall mend it.") for path in order]


def same_facts() -> list[Turn]:
    """Other words each time, and nothing that was not known."""
    order = [*list(FILES), *(f"{name}.txt" for name in _SHUFFLED)]
    said = cycle(_WORDS)
    return [_look(path.removesuffix(".txt"), f"{next(said)} {next(said)}") for path in order]


def same_cycle() -> list[Turn]:
    """One change, and the change that undoes it."""
    return list(islice(cycle([_write("one way\n"), _write("the other\n")]), 30))


CIRCLES = {
    "repeated_call": same_call(),
    "repeated_error": same_error(),
    "unchanged_plan": same_plan(),
    "no_new_fact": same_facts(),
    "cycle": same_cycle(),
}
"""By the signal that each of them is noticed by."""
