"""The inbox as lines: a pure function of what it holds and of the size of the terminal."""

from functools import lru_cache
from typing import NamedTuple

from checkrein.contracts.approval import Answer, ApprovalRequest
from checkrein.contracts.approval_text import expires, facts
from checkrein.contracts.display import cropped, short, shown, width_of, wrapped
from checkrein.entrypoints.cli.inbox_state import Item, Typing, View

_LIST_KEYS = "up/down 1-9  enter preview  a approve  r reject  e edit  o respond  q quit"
_WHOLE_KEYS = "up/down space  a approve  r reject  e edit  o respond  q back to the list"
_SHORT_KEYS = "j k enter a r e o q"
_PROMPTS = {
    Answer.APPROVE: "Approve {id} ({what})? y or n",
    Answer.REJECT: "Reject {id}, because: ",
    Answer.RESPOND: "Answer in place of {what}: ",
}
_MESSAGE_LINES = 4
_MOST_LISTED = 8


class Line(NamedTuple):
    """One line of the screen; `style` is bold, reverse, warn or nothing."""

    text: str
    style: str = ""


def screen(view: View, width: int, height: int) -> list[Line]:
    """Exactly `height` lines of at most `width` columns; nothing in them steers a terminal."""
    foot = _foot(view, width)
    room = max(height - 1 - len(foot), 0)
    body = _whole(view, width, room) if view.whole else _listed(view, width, room)
    body += [Line("")] * (room - len(body))
    lines = [Line(_head(view), "bold"), *body[:room], *foot][-max(height, 1) :]
    return [Line(cropped(shown(line.text), width), line.style) for line in lines]


def scrolled(view: View, width: int, height: int) -> int:
    """The scroll of a view, kept within what there is to see."""
    if not view.whole or view.item is None:
        return 0
    room = max(height - 1 - len(_foot(view, width)), 0)
    return max(0, min(view.scroll, len(_pages(view.item, width)) - room))


def _head(view: View) -> str:
    counts = {None: "reading", 0: "nothing waits for approval"}
    count = None if view.items is None else len(view.items)
    return f"Checkrein inbox: {counts.get(count, f'{count} waiting')}; you are {view.by}"


def _foot(view: View, width: int) -> list[Line]:
    """Message and prompt, and the keys."""
    lines: list[Line] = []
    if view.message:
        text = " ".join(shown(view.message, lines=True).split())
        pieces = wrapped(text, max(width, 1), words=True)
        lines += [Line(piece) for piece in pieces[:_MESSAGE_LINES]]
    if view.typing is not None:
        return [*lines, *_prompt(view, view.typing, width)]
    keys = _WHOLE_KEYS if view.whole else _LIST_KEYS
    return [*lines, Line(keys if len(keys) <= width else _SHORT_KEYS, "reverse")]


def _prompt(view: View, typing: Typing, width: int) -> list[Line]:
    """The line that is being written; its end is what its writer looks at."""
    item = view.item
    what = "" if item is None else f"{item.request.capability} on {item.request.resource}"
    prompt = _PROMPTS[typing.answer].format(id=typing.approval_id, what=short(what, 60))
    pieces = wrapped(f"{prompt}{shown(typing.text)}", max(width, 1))
    yes = typing.answer is Answer.APPROVE
    keys = "y approves  any other key does not" if yes else "enter sends  escape leaves"
    return [*(Line(one, "bold") for one in pieces[-_MESSAGE_LINES:]), Line(keys, "reverse")]


def _listed(view: View, width: int, room: int) -> list[Line]:
    """The list around the chosen one, and what it asks for below."""
    if not view.items:
        return []
    count = len(view.items)
    rows = max(1, min(count, _MOST_LISTED, room - 2))
    first = min(max((view.place or 0) - rows // 2, 0), count - rows)
    lines = [
        Line(_row(place, item, width), "reverse" if place == view.place else "")
        for place, item in enumerate(view.items)
        if first <= place < first + rows
    ]
    left = count - rows
    lines.append(Line(f"  ({left} more)" if left else ""))
    return lines if view.item is None else [*lines, *_pages(view.item, width)]


def _row(place: int, item: Item, width: int) -> str:
    request = item.request
    mark = "!" if request.warnings else " "
    end = f" {short(request.requested_by, 16)}  until {expires(request)}"
    what = (
        f"{place + 1:>2} {mark} {short(request.capability, 40)} on {short(request.resource, 200)}"
    )
    room = width - width_of(end)
    if room < width // 2:
        return what
    cut = cropped(what, room)
    return cut + " " * (room - width_of(cut)) + end


def _whole(view: View, width: int, room: int) -> list[Line]:
    if view.item is None:
        return []
    first = max(0, min(view.scroll, len(_pages(view.item, width)) - room))
    return _pages(view.item, width)[first : first + room]


@lru_cache(maxsize=8)
def _made(text: str, width: int) -> tuple[Line, ...]:
    """A preview as lines of a width; long ones take a moment, so that they are kept."""
    lines = shown(text, lines=True).rstrip("\n").split("\n")
    return tuple(Line(f"  {piece}") for line in lines for piece in wrapped(line, max(width - 2, 1)))


def _pages(item: Item, width: int) -> list[Line]:
    """All that a request says, and its preview."""
    request = item.request
    told = [("approval", f"{request.approval_id}, until {expires(request)}"), *facts(request)]
    told.append(("may answer", ", ".join(map(shown, item.people)) or "nobody that the task names"))
    lines = [line for name, text in told for line in _fact(name, text, width)]
    for warning in request.warnings:
        lines += [Line(one.text, "warn") for one in _fact("LOOK", short(warning, 300), width)]
    return [*lines, Line(_title(request), "bold"), *_made(request.preview, width)]


def _title(request: ApprovalRequest) -> str:
    return f"preview ({request.preview_kind.value}):"


def _fact(name: str, text: str, width: int) -> list[Line]:
    pieces = wrapped(text, max(width - 15, 10), words=True)
    return [Line(f"{'' if n else name:<13}  {piece}") for n, piece in enumerate(pieces)]
