"""How far a yes reaches, as the options of `approve` say it."""

import json
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from checkrein.errors import InputError

if TYPE_CHECKING:
    from checkrein.contracts.permission import Reach

ScopeOption = Annotated[
    str, typer.Option("--scope", metavar="SCOPE", help="once, task or class, as the policy offers.")
]
Bounds = Annotated[
    list[str] | None,
    typer.Option(
        "--bound",
        metavar="NAME=RANGE",
        help="With class: amount=1..500, to=acme,globex or path=below:src/app. Repeatable.",
    ),
]
Uses = Annotated[
    int | None, typer.Option("--uses", metavar="N", help="How many more actions it is good for.")
]
For = Annotated[
    str | None, typer.Option("--for", metavar="TIME", help="How long, as 90m, 8h or 7d.")
]

_RANGE = re.compile(r"(-?[0-9]{1,18})\.\.(-?[0-9]{1,18})")
_TIME = re.compile(r"([0-9]{1,7})([smhd])")
_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86_400}


def reach_of(
    scope: str, bounds: Sequence[str], uses: int | None, lasts: str | None
) -> "Reach | None":
    """Read the options; None where the yes is for its one action.

    Raises:
        InputError: one of them cannot be read, or they do not fit together.
    """
    if scope == "once":
        if bounds or uses is not None or lasts is not None:
            raise _unusable("--bound, --uses and --for go with --scope task or class")
        return None
    from pydantic import ValidationError

    from checkrein.contracts.permission import Reach

    given: dict[str, Any] = {"scope": scope, "bounds": dict(map(_bound, bounds))}
    if uses is not None:
        given["uses"] = uses
    if lasts is not None:
        given["lasts_s"] = _seconds(lasts)
    try:
        return Reach.model_validate(given)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(str(part) for part in first["loc"]) or "the scope"
        raise _unusable(f"{where}: {first['msg']}") from error


def _bound(text: str) -> tuple[str, dict[str, Any]]:
    name, sign, rest = text.partition("=")
    if not (name and sign and rest):
        raise _unusable(f"--bound {text!r} is not NAME=RANGE, such as amount=1..500")
    ranged = _RANGE.fullmatch(rest)
    if ranged:
        return name, {"at_least": int(ranged[1]), "at_most": int(ranged[2])}
    if rest.startswith("below:"):
        segments = [part for part in rest.removeprefix("below:").split("/") if part]
        if any(part in {".", ".."} for part in segments):
            raise _unusable(f"--bound {text!r} names a folder without . and ..")
        return name, {"below": segments}
    return name, {"one_of": [_word(word) for word in rest.split(",")]}


def _word(word: str) -> str | int | bool:
    """A number, true or false where it is one, else text; text that looks so stands in quotes."""
    try:
        value: Any = json.loads(word)
    except ValueError:
        return word
    return value if isinstance(value, str | int | bool) else word


def _seconds(text: str) -> int:
    found = _TIME.fullmatch(text)
    if found is None:
        raise _unusable(f"--for {text!r} is no time such as 90m, 8h or 7d")
    return int(found[1]) * _SECONDS[found[2]]


def _unusable(problem: str) -> InputError:
    return InputError(
        f"{problem[0].upper()}{problem[1:]}.", op="cli.approve", code="unusable_argument"
    )
