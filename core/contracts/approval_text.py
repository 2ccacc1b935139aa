"""An approval request in words, the same for every place that shows one. Pure.

Whatever comes from a model or a tool is shown as data: it cannot steer a terminal, close the frame
that it stands in, or pass for words of ours.
"""

import re
from typing import Any

from checkrein.contracts.approval import ApprovalRequest
from checkrein.contracts.display import short, shown
from checkrein.contracts.folding import folded_line, folded_text

_TICKS = re.compile(r"`+")
_WIDTH = 300
_REACHES = {
    "once": "this action once",
    "task": "this action, and the same again in this task",
    "class": "actions of this capability within bounds that the answer states",
}

_LEVELS = {
    "plan": "a plan; a yes ends plan mode, and each step is judged all the same",
    "result": "a result; a yes accepts it, and the checks must pass all the same",
}


def facts(request: ApprovalRequest) -> list[tuple[str, str]]:
    """What a request says besides its preview, as names and single shown lines, in order."""
    quorum = request.terms.quorum
    people = f"{quorum} people" if quorum > 1 else "one person"
    apart = "; not whoever asked" if request.terms.separation_of_duty else ""
    found = [
        ("what", f"{short(request.capability)} on {short(request.resource, _WIDTH)}"),
        ("decides", _LEVELS.get(request.level.value, "")),
        ("why", f"the model says: {short(request.purpose, _WIDTH) or '(nothing)'}"),
        ("asked by", f"{shown(request.requested_by)}; rule {short(request.reason_code)}"),
        ("runs as", short(request.agent, _WIDTH)),
        ("effect", short(request.expected, _WIDTH)),
        ("limits", limits(request)),
        ("undo", undo(request)),
        ("on failure", short(request.on_failure, _WIDTH)),
        ("a yes is for", f"{reach(request)}, {version(request)}"),
        ("risk", _risk(request)),
        ("needs", f"{people} as {' or '.join(map(shown, request.roles))}{apart}"),
        ("replaces", "" if request.replaces is None else f"{request.replaces}, which went stale"),
    ]
    return [(name, text) for name, text in found if text]


def undo(request: ApprovalRequest) -> str:
    """Whether it can be undone, and how."""
    how = f": {short(request.undo, _WIDTH)}" if request.undo else ""
    return f"it can be undone{how}" if request.reversible else f"it can NOT be undone{how}"


def reach(request: ApprovalRequest) -> str:
    """How far a yes may reach; where the policy offers more, the answer has to say so."""
    first, *more = (_REACHES.get(scope, shown(scope)) for scope in request.terms.scopes)
    return first + "".join(f", or if the answer says so {one}" for one in more)


def version(request: ApprovalRequest) -> str:
    """The version that a yes is bound to."""
    name = request.resource_version
    return f"on version {short(name, 19)}" if name else "on an object without versions"


def limits(request: ApprovalRequest) -> str:
    """The policy's limits under which it would run."""
    return ", ".join(f"{short(k)} {short(v)}" for k, v in sorted(request.constraints.items()))


def expires(request: ApprovalRequest) -> str:
    """Until when an answer counts."""
    if request.expires_at is None:
        return f"{request.terms.expires_in_s} s after it is published"
    return f"{request.expires_at:%Y-%m-%d %H:%M} UTC"


def _risk(request: ApprovalRequest) -> str:
    where = f" in {short(request.environment)}" if request.environment else ""
    return f"{request.risk}{where}"


def structured(request: ApprovalRequest, preview_limit: int) -> dict[str, Any]:
    """The same for programs, each text shown and in bounds."""
    return {
        "what": short(request.capability),
        "level": request.level.value,
        "why_claimed": short(request.purpose, 1_000),
        "as_whom": {"requested_by": request.requested_by, "agent": short(request.agent, _WIDTH)},
        "on_what": short(request.resource, 1_100),
        "expected_effect": short(request.expected, _WIDTH),
        "preview": folded_text(shown(request.preview, lines=True), preview_limit),
        "preview_kind": request.preview_kind.value,
        "undo": undo(request),
        "on_failure": short(request.on_failure, _WIDTH),
        "scope": reach(request),
        "risk": _risk(request),
        "roles": request.roles,
        "quorum": request.terms.quorum,
        "expires_in_s": request.terms.expires_in_s,
        "expires_at": None if request.expires_at is None else request.expires_at.isoformat(),
        "warnings": [short(warning, _WIDTH) for warning in request.warnings],
    }


def markdown(request: ApprovalRequest, preview_limit: int) -> str:
    """The whole request as Markdown, for the programs that people answer in."""
    lines = [f"- **{name}**: {_inline(text)}" for name, text in facts(request)]
    lines.append(f"- **until**: {expires(request)}")
    warned = [f"- {_inline(short(text, _WIDTH))}" for text in request.warnings]
    if warned:
        lines += ["", "**Look closely: something here may not be what it looks like.**", *warned]
    kind = request.preview_kind.value
    lines += ["", f"Preview ({kind}):", fenced(folded_text(request.preview, preview_limit), kind)]
    return "\n".join(lines)


def preview_lines(
    preview: str, whole: str, *, first: int = 60, last: int = 20, width: int = 400
) -> list[str]:
    """A preview as lines for a terminal, its end as well as its beginning.

    Args:
        whole: how to see what is left out.
        first, last: how many lines are shown of a longer one.
        width: most characters of a line, about.
    """
    lines = shown(preview, lines=True).rstrip("\n").split("\n")
    left = len(lines) - first - last
    if left > 0:
        note = f"[... {left:,} of {len(lines):,} lines left out; {whole} ...]"
        lines = [*lines[:first], note, *lines[-last:]]
    return [folded_line(line, width) for line in lines]


def fenced(text: str, kind: str = "") -> str:
    """Text as a code block that nothing in it can close."""
    fence = _ticks(text, 3)
    word = kind if kind in {"diff", "sql", "http"} else ""
    return f"{fence}{word}\n{shown(text, lines=True)}\n{fence}"


def _inline(text: str) -> str:
    """One line as code, which nothing in it can close."""
    line = shown(text)
    fence = _ticks(line, 1)
    # A space on both sides belongs to the fence wherever the text begins or ends with a backtick.
    return f"{fence} {line} {fence}"


def _ticks(text: str, least: int) -> str:
    return "`" * max(least, 1 + max((len(run) for run in _TICKS.findall(text)), default=0))
