"""approve, reject, edit, respond: a person's answer to one request, stored when it is given."""

import json as json_text
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from checkrein.entrypoints.cli import words
from checkrein.entrypoints.cli.console import out, out_json
from checkrein.entrypoints.cli.exits import Exit
from checkrein.entrypoints.cli.identity import Claim, claim
from checkrein.entrypoints.cli.opening import opened
from checkrein.entrypoints.cli.options import (
    ApprovalId,
    Json,
    MaybeReason,
    NamedWho,
    Reason,
    TokenFile,
)
from checkrein.entrypoints.cli.reaching import Bounds, For, ScopeOption, Uses, reach_of
from checkrein.errors import InputError

if TYPE_CHECKING:
    from checkrein.compose import Parts
    from checkrein.contracts.approval import ApprovalRequest
    from checkrein.contracts.permission import Reach
    from checkrein.entrypoints.cli.watch import Watch

MAX_FILE = 2 * 1024 * 1024
"""Most bytes of a file of arguments that are read."""


def approve(
    approval: ApprovalId,
    who: NamedWho = None,
    token_file: TokenFile = None,
    reason: MaybeReason = "",
    scope: ScopeOption = "once",
    bound: Bounds = None,
    uses: Uses = None,
    lasts: For = None,
    json: Json = False,
) -> int:
    """Say yes to one request; it is checked again before the act."""
    reach = reach_of(scope, bound or (), uses, lasts)
    by = claim(who, token_file)
    return _say(approval, by, "approve", reason=_said(reason), reach=reach, json=json)


def reject(
    approval: ApprovalId,
    reason: Reason,
    who: NamedWho = None,
    token_file: TokenFile = None,
    json: Json = False,
) -> int:
    """Say no to one request."""
    why = words.said(reason, "--reason")
    return _say(approval, claim(who, token_file), "reject", reason=why, json=json)


def edit(
    approval: ApprovalId,
    who: NamedWho = None,
    token_file: TokenFile = None,
    args: Annotated[
        str | None, typer.Option("--args", metavar="JSON", help="All the arguments, as JSON.")
    ] = None,
    args_file: Annotated[
        Path | None, typer.Option("--args-file", metavar="FILE", help="The same, from a file.")
    ] = None,
    reason: MaybeReason = "",
    json: Json = False,
) -> int:
    """Want other arguments: another action, which is judged and asked about anew.

    Without --args and --args-file your editor ($VISUAL, else $EDITOR) opens with the present ones.
    """
    if args is not None and args_file is not None:
        raise _unusable("--args and --args-file say the same thing; give one of them")
    by = claim(who, token_file)
    if args is None and args_file is None:
        from checkrein.entrypoints.cli.editing import edited_arguments

        wanted = edited_arguments(words.identifier(approval, "ID"))
    else:
        wanted = _arguments(args if args is not None else _text_of(cast(Path, args_file)))
    return _say(approval, by, "edit", reason=_said(reason), args=wanted, json=json)


def respond(
    approval: ApprovalId,
    text: Annotated[str, typer.Argument(metavar="TEXT", help="What the model gets as result.")],
    who: NamedWho = None,
    token_file: TokenFile = None,
    json: Json = False,
) -> int:
    """Answer in the tool's place: it does not run, and your text is its result."""
    by = claim(who, token_file)
    return _say(approval, by, "respond", reason=words.said(text, "TEXT"), json=json)


def _say(
    approval: str,
    claimed: Claim,
    word: str,
    *,
    reason: str,
    args: dict[str, Any] | None = None,
    reach: "Reach | None" = None,
    json: bool,
) -> int:
    approval_id = words.identifier(approval, "ID")

    async def work(parts: "Parts", watch: "Watch") -> tuple["ApprovalRequest", str, list[str]]:
        from checkrein.contracts.approval import Answer, Said
        from checkrein.contracts.permission import Reach
        from checkrein.entrypoints.cli.next_steps import next_steps
        from checkrein.graph.approvals import answer_approval
        from checkrein.graph.report import report

        said = Said(answer=Answer(word), reason=reason, args=args, reach=reach or Reach())
        by = await claimed.proved(parts, "approve")
        request = await answer_approval(parts.events, parts.records, approval_id, said, by)
        stands = await report(parts.records, request.attempt_id)
        contract = await parts.events.contract(request.attempt_id)
        return request, by.name, next_steps(stands, contract).commands

    request, by, commands = opened(work)
    if json:
        from checkrein.entrypoints.cli.summary import request_json

        out_json({"approval": request_json(request), "next": commands})
        return Exit.DONE
    more = "; more people must say so" if request.status == "PENDING" else ""
    out(f"{request.approval_id} is {request.status} by {by}{more}.")
    for place, command in enumerate(commands):
        out(f"{'next:' if place == 0 else 'then:'} {command}")
    return Exit.DONE


def _said(reason: str) -> str:
    return words.said(reason, "--reason") if reason else ""


def _text_of(file: Path) -> str:
    try:
        with file.open("rb") as opened_file:
            data = opened_file.read(MAX_FILE + 1)
    except OSError as error:
        raise _unusable(f"{file} cannot be read: {error.strerror or error}") from error
    if len(data) > MAX_FILE:
        raise _unusable(f"{file} is larger than {MAX_FILE:,} bytes")
    return data.decode("utf-8", "surrogateescape")


def _arguments(text: str) -> dict[str, Any]:
    """Read a JSON object.

    Raises:
        InputError: it is none; line and column say where.
    """
    try:
        value: Any = json_text.loads(text)
    except RecursionError as error:
        raise _unusable("the arguments are nested too deep") from error
    except ValueError as error:
        raise _unusable(f"the arguments are no JSON: {error}") from error
    if not isinstance(value, dict):
        raise _unusable('the arguments are one JSON object, such as {"path": "a.txt"}')
    return cast("dict[str, Any]", value)


def _unusable(problem: str) -> InputError:
    return InputError(
        f"{problem[0].upper()}{problem[1:]}.", op="cli.edit", code="unusable_argument"
    )
