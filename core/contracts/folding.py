"""Arguments as programs are shown them, in bounds and without secrets, and the way back. Pure.

A long text becomes its beginning and end with its size and digest; a text with hidden characters
has them written out; what looks like a credential is masked. A person's edit that leaves such a
form as it was gets back what it stands for.
"""

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, cast

from checkrein.contracts.codec import digest
from checkrein.contracts.display import shown
from checkrein.contracts.secrets import MASK, masked
from checkrein.errors import InputError

LONGEST = 2_000
"""Most characters of one text that are shown whole."""

WHOLE = 64 * 1024
"""Most bytes of all arguments together, as JSON in UTF-8."""

_STEPS = (1, 4, 16, 64)
_REST = "[folded]"
_OF_JSON = "of JSON"
_MAX_NAME = 200
_MAX_FOLDED = 64
_MARK = re.compile(r"\[folded: [\d,]+ [A-Za-z ]+, sha256:[0-9a-f]{64}\]")


def folded(args: dict[str, Any], *, whole: int = WHOLE) -> dict[str, Any]:
    """Arguments within `whole` bytes, each text within about LONGEST characters.

    Where shorter texts are not enough, the largest values become one text each, and in the end
    all of them together do.
    """
    safe = cast("dict[str, Any]", masked(args)[0])
    made: dict[str, Any] = {}
    for step in _STEPS:
        made = {key: _fold(safe[key], args[key], LONGEST // step) for key in args}
        if _fits(made, whole):
            break
    for key in sorted(args, key=lambda name: -_size(made[name]))[:_MAX_FOLDED]:
        if not _fits(made, whole):
            made[key] = _form(_json(safe[key]), LONGEST // _STEPS[-1], _OF_JSON)
    if _fits(made, whole) and not _odd_names(args):
        return made
    return {_REST: _form(_json(safe), LONGEST // _STEPS[-1], _OF_JSON)}


def folded_text(text: str, limit: int) -> str:
    """A shown text in at most about so many characters: beginning, what is left out, end."""
    if len(text) <= limit:
        return text
    head, tail = text[: limit * 3 // 4], text[len(text) - limit // 4 :]
    left = len(text) - len(head) - len(tail)
    name = digest(text.encode("utf-8", "surrogatepass"))
    return f"{head}\n[... {left:,} of {len(text):,} characters left out; all: {name} ...]\n{tail}"


def folded_line(line: str, limit: int) -> str:
    """One shown line in about so many characters: beginning, what is left out, end."""
    left = len(line) - limit
    if left <= 0:
        return line
    end = line[len(line) - limit // 4 :]
    return f"{line[: limit * 3 // 4]} … ({left:,} characters left out) … {end}"


def unfolded(edited: dict[str, Any], original: dict[str, Any]) -> dict[str, Any]:
    """An edit in which everything that was only folded or masked is as it was in the original.

    A folded value is known by its place, else by its digest; a masked one by its place alone.

    Raises:
        InputError: a folded text was changed, so that nobody can say what is meant.
    """
    safe = cast("dict[str, Any]", masked(original)[0])
    wholes = dict(_wholes(safe, original))
    if edited.keys() == {_REST} and _REST not in original:
        return cast("dict[str, Any]", _restored(edited[_REST], original, safe, wholes, _REST))
    return {
        key: _restored(value, original.get(key), safe.get(key), wholes, key)
        for key, value in edited.items()
    }


def _restored(value: Any, was: Any, safe: Any, wholes: dict[str, "_Whole"], place: str) -> Any:
    """One value of an edit; `was` is what stands in its place in the original, `safe` masked."""
    if isinstance(value, str):
        return _restored_text(value, was, safe, wholes, place)
    if isinstance(value, dict):
        old = cast("dict[str, Any]", was) if isinstance(was, dict) else {}
        hid = cast("dict[str, Any]", safe) if isinstance(safe, dict) else {}
        return {
            key: _restored(item, old.get(key), hid.get(key), wholes, f"{place}/{key}")
            for key, item in cast("dict[str, Any]", value).items()
        }
    if isinstance(value, list):
        before, hidden = _items(was), _items(safe)
        return [
            _restored(item, _at(before, n), _at(hidden, n), wholes, f"{place}/{n}")
            for n, item in enumerate(cast("Sequence[Any]", value))
        ]
    return value


def _restored_text(text: str, was: Any, safe: Any, wholes: dict[str, "_Whole"], place: str) -> Any:
    if text == was or (text == MASK and safe == MASK):
        return was
    marks = [mark for mark in _MARK.findall(text) if mark in wholes]
    if not marks:
        return text
    if text in _forms(safe):
        return was
    found = wholes[marks[-1]]
    if text in _forms(found.safe):
        return found.value
    raise InputError(
        f"The text at {shown(place[:200])} was shown folded, and its folded form was changed. "
        "Leave it exactly as it was shown, or write the whole text in its place.",
        op="folding.unfold",
        code="unusable_edit",
    )


def _items(value: Any) -> Sequence[Any]:
    return cast("Sequence[Any]", value) if isinstance(value, list) else ()


def _at(items: Sequence[Any], place: int) -> Any:
    return items[place] if place < len(items) else None


def _fold(safe: Any, value: Any, longest: int) -> Any:
    """One value in bounds; `safe` is the same with what is secret masked."""
    if isinstance(safe, str):
        if safe == MASK and value != MASK:
            return safe
        changed = len(safe) > longest or shown(safe, lines=True) != safe
        return _form(safe, longest, "") if changed else safe
    if isinstance(safe, dict):
        items = cast("dict[str, Any]", safe).items()
        if _odd_names(cast("dict[str, Any]", safe)):
            return _form(_json(safe), longest, _OF_JSON)
        return {key: _fold(item, value[key], longest) for key, item in items}
    if isinstance(safe, list):
        pairs = zip(cast("Sequence[Any]", safe), value, strict=True)
        return [_fold(item, original, longest) for item, original in pairs]
    return safe


def _odd_names(value: dict[str, Any]) -> bool:
    """Whether an object has names that cannot be shown as they are."""
    return any(len(key) > _MAX_NAME or shown(key) != key for key in value)


def _form(safe: str, longest: int, what: str) -> str:
    """What stands for a text: all or the ends of it as shown, and the mark.

    The digest is that of the masked text: one of a short secret could be guessed from.
    """
    seen = shown(safe, lines=True)
    if len(seen) > longest:
        seen = f"{seen[: longest * 3 // 4]} … {seen[len(seen) - longest // 4 :]}"
    return f"{seen} {_mark(safe, what)}"


def _mark(safe: str, what: str) -> str:
    words = f"characters {what}".strip()
    return f"[folded: {len(safe):,} {words}, {digest(safe.encode('utf-8', 'surrogatepass'))}]"


def _forms(safe: Any) -> set[str]:
    """Every form in which a value may have been shown, at any of the steps."""
    texts = [(_json(safe), _OF_JSON)]
    if isinstance(safe, str):
        texts.append((safe, ""))
    return {_form(text, LONGEST // step, what) for step in _STEPS for text, what in texts}


class _Whole(NamedTuple):
    """A value of the original, and the same with what is secret masked."""

    safe: Any
    value: Any


def _wholes(safe: Any, value: Any) -> Iterator[tuple[str, _Whole]]:
    """Every mark that could stand in a folded form of a value, with what it stands for."""
    whole = _Whole(safe, value)
    yield _mark(_json(safe), _OF_JSON), whole
    if isinstance(safe, str):
        yield _mark(safe, ""), whole
    elif isinstance(safe, dict):
        for key, item in cast("dict[str, Any]", safe).items():
            yield from _wholes(item, value[key])
    elif isinstance(safe, list):
        for item, original in zip(cast("Sequence[Any]", safe), value, strict=True):
            yield from _wholes(item, original)


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _size(value: Any) -> int:
    return len(_json(value).encode("utf-8", "surrogatepass"))


def _fits(value: Any, whole: int) -> bool:
    return _size(value) <= whole
