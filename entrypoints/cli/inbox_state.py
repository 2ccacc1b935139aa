"""What the inbox holds and what a key does to it: values and pure functions, no terminal."""

from dataclasses import dataclass, replace
from typing import NamedTuple

from checkrein.contracts.approval import MAX_SAID, Answer, ApprovalRequest

PAGE = 10
"""Lines that a page key scrolls by."""

_MOVES = {"up": -1, "k": -1, "down": 1, "j": 1, "pageup": -PAGE, "pagedown": PAGE, " ": PAGE}
_ASKS = {"r": Answer.REJECT, "o": Answer.RESPOND}


class Item(NamedTuple):
    """One request, with who may answer it."""

    request: ApprovalRequest
    people: tuple[str, ...]


class Typing(NamedTuple):
    """A line that is being written, or a yes that is being confirmed, about one request."""

    answer: Answer
    approval_id: str
    text: str = ""


class Wish(NamedTuple):
    """What a key asks the inbox to do; without an answer it is to end."""

    answer: Answer | None = None
    approval_id: str = ""
    text: str = ""


QUIT = Wish()
"""The wish to end."""


@dataclass(frozen=True)
class View:
    """What is on the screen.

    Attributes:
        items: open requests, oldest first; None before they were read for the first time.
        chosen: the approval that is marked. It is kept by its id, so that what others answer
            moves no key press to another request.
        whole: whether the chosen one is shown alone, with its preview.
        scroll: lines of it that have gone by.
        typing: what the keys go to, where they go to a line.
        answered: what was answered here; that it goes from the list is no news.
        message: what happened last.
    """

    by: str
    items: tuple[Item, ...] | None = None
    chosen: str | None = None
    whole: bool = False
    scroll: int = 0
    typing: Typing | None = None
    answered: frozenset[str] = frozenset()
    message: str = ""

    @property
    def place(self) -> int | None:
        """Where the chosen one stands in the list."""
        ids = [item.request.approval_id for item in self.items or ()]
        return ids.index(self.chosen) if self.chosen in ids else None

    @property
    def item(self) -> Item | None:
        """The chosen one."""
        return None if self.place is None or self.items is None else self.items[self.place]


def seen(view: View, items: tuple[Item, ...]) -> View:
    """The view after the list was read anew.

    What went while it was looked at or answered is told; another one is marked, and not opened.
    """
    old, now = view.place, replace(view, items=items)
    if now.place is not None:
        return now
    first = items[min(old or 0, len(items) - 1)].request.approval_id if items else None
    looked_at = view.whole or view.typing is not None
    gone = view.chosen is not None and looked_at and view.chosen not in view.answered
    text = f"{view.chosen} is not open any more; somebody answered it, or it ended."
    return replace(
        now,
        chosen=first,
        whole=False,
        scroll=0,
        typing=None,
        message=text if gone else view.message,
    )


def pressed(view: View, key: str) -> tuple[View, Wish | None]:
    """What a key does. Keys are characters, or names such as up, enter, escape, backspace."""
    if view.typing is not None:
        return _typed(view, view.typing, key)
    if key == "q" or (key == "escape" and view.whole):
        return (replace(view, whole=False, scroll=0), None) if view.whole else (view, QUIT)
    if key in _MOVES:
        return _moved(view, _MOVES[key]), None
    if key in {"home", "end", "g", "G"}:
        return replace(view, scroll=0 if key in {"home", "g"} else 10**9), None
    if view.items and not view.whole and key.isdecimal() and 0 < int(key) <= len(view.items):
        return replace(view, chosen=view.items[int(key) - 1].request.approval_id), None
    if view.chosen is None:
        return view, None
    if key in {"enter", "p"}:
        return replace(view, whole=not view.whole, scroll=0), None
    if key == "e":
        return replace(view, message=""), Wish(Answer.EDIT, view.chosen)
    if key == "a" or key in _ASKS:
        answer = _ASKS.get(key, Answer.APPROVE)
        return replace(view, typing=Typing(answer, view.chosen), message=""), None
    return view, None


def _moved(view: View, by: int) -> View:
    if view.whole:
        return replace(view, scroll=max(0, view.scroll + by))
    if not view.items or view.place is None:
        return view
    place = min(max(view.place + by, 0), len(view.items) - 1)
    return replace(view, chosen=view.items[place].request.approval_id)


def _typed(view: View, typing: Typing, key: str) -> tuple[View, Wish | None]:
    """A key while a line is written or a yes confirmed."""
    closed = replace(view, typing=None)
    if key == "escape":
        return replace(closed, message="Nothing was said."), None
    if typing.answer is Answer.APPROVE:
        if key in {"y", "Y"}:
            return closed, Wish(Answer.APPROVE, typing.approval_id)
        return replace(closed, message="Nothing was said."), None
    if key == "enter":
        if not typing.text.strip():
            return replace(view, message="Say something, or leave by escape."), None
        return closed, Wish(typing.answer, typing.approval_id, typing.text)
    if key == "backspace":
        return replace(view, typing=typing._replace(text=typing.text[:-1])), None
    if len(key) == 1 and key.isprintable() and len(typing.text) < MAX_SAID:
        return replace(view, typing=typing._replace(text=typing.text + key)), None
    return view, None
