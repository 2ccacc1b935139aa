"""judge: a person's word on a sealed candidate, stored when it is said."""

from typing import TYPE_CHECKING, Annotated, cast

import typer

from checkrein.entrypoints.cli import words
from checkrein.entrypoints.cli.console import out, out_json
from checkrein.entrypoints.cli.exits import Exit
from checkrein.entrypoints.cli.identity import claim
from checkrein.entrypoints.cli.opening import opened
from checkrein.entrypoints.cli.options import AttemptId, Json, NamedWho, TokenFile
from checkrein.errors import InputError

if TYPE_CHECKING:
    from checkrein.compose import Parts
    from checkrein.contracts.judgement import Judgement, Word
    from checkrein.entrypoints.cli.watch import Watch


def judge(
    attempt: AttemptId,
    verdict: Annotated[str, typer.Argument(metavar="pass|fail", help="What you say of it.")],
    note: Annotated[str, typer.Option("--note", metavar="TEXT", help="Why; a fail needs it.")] = "",
    check: Annotated[
        str, typer.Option("--check", metavar="PART", help="Which, where several checks wait.")
    ] = "",
    who: NamedWho = None,
    token_file: TokenFile = None,
    json: Json = False,
) -> int:
    """Say pass or fail to a result that waits for a person; it holds for this state alone."""
    prefix = words.identifier(attempt, "ATTEMPT")
    if verdict not in {"pass", "fail"}:
        raise InputError(
            f"A judgement is pass or fail, not {verdict[:40]!r}.", op="cli.judge", code="usage"
        )
    why = words.said(note, "--note") if note else ""
    by = claim(who, token_file)

    async def work(parts: "Parts", watch: "Watch") -> tuple["Judgement", list[str]]:
        from checkrein.entrypoints.cli.next_steps import next_steps
        from checkrein.graph.judgements import give_judgement
        from checkrein.graph.report import report

        speaker = await by.proved(parts, "approve")
        attempt_id = await parts.records.resolve(prefix)
        said = await give_judgement(
            parts.events,
            parts.records,
            attempt_id,
            speaker,
            verdict=cast("Word", verdict),
            note=why,
            about=check,
        )
        stands = await report(parts.records, attempt_id)
        return said, next_steps(stands, await parts.events.contract(attempt_id)).commands

    said, commands = opened(work)
    if json:
        out_json({"judgement": said.model_dump(mode="json"), "next": commands})
        return Exit.DONE
    out(f"{said.by} says {said.verdict} to: {said.check}")
    for place, command in enumerate(commands):
        out(f"{'next:' if place == 0 else 'then:'} {command}")
    return Exit.DONE
