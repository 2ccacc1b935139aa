"""budget: show what an attempt may use and has used, and raise a limit."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from checkrein.entrypoints.cli import words
from checkrein.entrypoints.cli.console import out, out_json, out_table
from checkrein.entrypoints.cli.exits import Exit
from checkrein.entrypoints.cli.identity import claim
from checkrein.entrypoints.cli.opening import opened
from checkrein.entrypoints.cli.options import AttemptId, Json, NamedWho, TokenFile
from checkrein.errors import InputError

if TYPE_CHECKING:
    from checkrein.compose import Parts
    from checkrein.contracts.budget import BookLine, Budget
    from checkrein.entrypoints.cli.watch import Watch

app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode=None,
    help="What attempts may use: look at the books, and raise a limit.",
)


@app.command()
def show(attempt: AttemptId, json: Json = False) -> int:
    """Show every budget that an attempt draws on: its own, its task's, and those of its parent."""

    async def work(parts: "Parts", watch: "Watch") -> "tuple[str, list[BookLine]]":
        attempt_id = await parts.records.resolve(attempt)
        return attempt_id, await parts.records.books(attempt_id)

    attempt_id, lines = opened(work)
    if json:
        out_json({"attempt_id": attempt_id, "budgets": [_json(line) for line in lines]})
        return Exit.DONE
    head = ("budget", "of", "limit", "spent", "reserved", "left", "books")
    out_table(head, (_row(attempt_id, line) for line in lines))
    return Exit.DONE


@app.command("raise")
def raised(
    attempt: AttemptId,
    budget: Annotated[
        str, typer.Argument(metavar="BUDGET", help="As `checkrein budget show` lists it.")
    ],
    limit: Annotated[
        int, typer.Argument(metavar="LIMIT", help="The whole new limit, in the budget's unit.")
    ],
    reason: Annotated[str, typer.Option("--reason", metavar="TEXT", help="Why, for the record.")],
    task: Annotated[
        bool, typer.Option("--task", help="Raise what all attempts of the task share.")
    ] = False,
    who: NamedWho = None,
    token_file: TokenFile = None,
    json: Json = False,
) -> int:
    """Raise a limit. `checkrein resume` then goes on where the attempt stopped."""
    name, why, claimed = _budget(budget), words.said(reason, "--reason"), claim(who, token_file)

    async def work(parts: "Parts", watch: "Watch") -> "tuple[str, BookLine]":
        from checkrein.graph.budgets import raise_budget

        attempt_id = await parts.records.resolve(attempt)
        speaker = await claimed.proved(parts, "authority")
        line = await raise_budget(
            parts.events,
            parts.records,
            attempt_id,
            name,
            limit,
            speaker,
            reason=why,
            shared=task,
        )
        return attempt_id, line

    attempt_id, line = opened(work)
    if json:
        out_json({"attempt_id": attempt_id, **_json(line)})
        return Exit.DONE
    out(f"{line.budget} of {line.kind} {line.pool} is {line.limit} now; {_left(line)} are left.")
    out(f"next: checkrein resume {attempt_id}")
    return Exit.DONE


def _budget(name: str) -> "Budget":
    from checkrein.contracts.budget import Budget

    if name not in set(Budget):
        raise InputError(
            f"There is no budget {name[:40]!r}. There are: {', '.join(Budget)}.",
            op="cli.budget",
            code="unusable_argument",
        )
    return Budget(name)


def _left(line: "BookLine") -> int:
    return max(0, line.limit - line.spent - line.reserved)


def _json(line: "BookLine") -> dict[str, Any]:
    return line.model_dump(mode="json") | {"left": _left(line), "balances": line.balances}


def _row(attempt_id: str, line: "BookLine") -> tuple[object, ...]:
    whose = "this attempt" if line.pool == attempt_id else f"{line.kind} {line.pool}"
    books = "balance" if line.balances else f"DO NOT BALANCE ({line.drawn}, {line.held} held)"
    return (line.budget, whose, line.limit, line.spent, line.reserved, _left(line), books)
