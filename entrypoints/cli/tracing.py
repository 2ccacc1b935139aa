"""trace: what happened in an attempt, and whether the record of it is whole."""

import json as jsonlib
from datetime import datetime
from typing import TYPE_CHECKING, Any

import typer
from typer.core import TyperGroup

from checkrein.entrypoints.cli import words
from checkrein.entrypoints.cli.console import out, out_json, out_table, short
from checkrein.entrypoints.cli.exits import Exit
from checkrein.entrypoints.cli.opening import opened
from checkrein.entrypoints.cli.options import AttemptId, Json

if TYPE_CHECKING:
    from checkrein.compose import Parts
    from checkrein.contracts.event import ChainFault, Event
    from checkrein.entrypoints.cli.watch import Watch

_PAGE = 5_000


class ShowByDefault(TyperGroup):
    """`trace ATTEMPT` is `trace show ATTEMPT`."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Put the default command in where none is named."""
        if args and args[0] not in {*self.commands, "--help"}:
            args = ["show", *args]
        return super().parse_args(ctx, args)


app = typer.Typer(
    cls=ShowByDefault,
    no_args_is_help=True,
    rich_markup_mode=None,
    help="Show what happened: `trace ATTEMPT`; or check that.",
    subcommand_metavar="ATTEMPT | COMMAND [ARGS]...",
)


@app.command()
def show(attempt: AttemptId, json: Json = False) -> int:
    """Show the events of an attempt, in order."""
    attempt_id, events, _ = _read(attempt)
    if json:
        out_json({"attempt_id": attempt_id, "events": [_event_json(event) for event in events]})
        return Exit.DONE
    out(f"attempt {attempt_id}, {len(events)} events")
    began = events[0].time if events else None
    rows = ((event.seq, _since(event, began), event.type, _told(event)) for event in events)
    out_table(("seq", "seconds", "event", "what happened"), rows)
    return Exit.DONE


@app.command()
def verify(attempt: AttemptId, json: Json = False) -> int:
    """Check that the record is whole; exit code 1 if not."""
    attempt_id, events, (head_seq, head_hash) = _read(attempt)
    from checkrein.contracts.event import check_chain

    faults = [*check_chain(events, head_seq, head_hash), *_unreadable(events)]
    if json:
        found = [fault.model_dump(mode="json") for fault in faults]
        out_json(
            {
                "attempt_id": attempt_id,
                "events": len(events),
                "head": head_hash,
                "ok": not faults,
                "faults": found,
            }
        )
    elif not faults:
        out(f"whole: {len(events)} events of attempt {attempt_id}, ending in {head_hash}")
    else:
        out(f"NOT whole: the record of attempt {attempt_id} was changed after it was written")
        for fault in faults:
            kind = next((event.type for event in events if event.seq == fault.seq), "event")
            out(f"  seq {fault.seq} ({short(kind, 40)}): {short(fault.problem, 300)}")
    return Exit.WRONG if faults else Exit.DONE


def _read(attempt: str) -> "tuple[str, list[Event], tuple[int, str]]":
    """The attempt's id, its events, and the head that the attempt's row names."""
    prefix = words.identifier(attempt, "ATTEMPT")

    async def work(parts: "Parts", watch: "Watch") -> "tuple[str, list[Event], tuple[int, str]]":
        attempt_id = await parts.records.resolve(prefix)
        # The head first: what is appended meanwhile is left out below, and is no fault.
        position = await parts.records.position(attempt_id)
        events: list[Event] = []
        while page := await parts.events.read(
            attempt_id, after=events[-1].seq if events else 0, limit=_PAGE
        ):
            events += page
        if not position.attempt.status.is_terminal:
            last = (await parts.records.position(attempt_id)).head_seq
            events = [e for e in events if not position.head_seq < e.seq <= last]
        return attempt_id, events, (position.head_seq, position.head_hash)

    return opened(work)


def _unreadable(events: "list[Event]") -> "list[ChainFault]":
    """Events whose payload is none that this version writes or reads."""
    from checkrein.contracts.event import ChainFault

    faults: list[ChainFault] = []
    for event in events:
        try:
            kind: str = event.read().type
        except ValueError:
            kind = "nothing that can be read"
        if kind != event.type:
            problem = f"its payload is {kind}, its type says {event.type}"
            faults.append(ChainFault(seq=event.seq, problem=problem))
    return faults


def _event_json(event: "Event") -> dict[str, Any]:
    """One event for programs; `payload` is parsed, and text where it is no JSON any more."""
    whole = event.model_dump(mode="json")
    try:
        whole["payload"] = jsonlib.loads(event.payload)
    except ValueError:
        whole["payload"] = event.payload
    return whole


def _since(event: "Event", began: datetime | None) -> str:
    try:
        return "" if began is None else f"{(event.time - began).total_seconds():.3f}"
    except ValueError:
        return event.at


def _told(event: "Event") -> str:
    from checkrein.entrypoints.cli.lines import told

    try:
        return short(told(event.read()), 160)
    except ValueError:
        return "(cannot be read; see `checkrein trace verify`)"
