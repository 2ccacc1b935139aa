"""deliver: tell people of approvals, by the deliverers that were set up, and what became of it."""

import asyncio
import contextlib
import signal
from typing import TYPE_CHECKING, Annotated, Any

import typer

from checkrein.entrypoints.cli.console import out, out_json, out_table, short, warn
from checkrein.entrypoints.cli.exits import Exit
from checkrein.entrypoints.cli.opening import opened
from checkrein.entrypoints.cli.options import Json
from checkrein.errors import InputError, StoreError

if TYPE_CHECKING:
    from checkrein.compose import Parts
    from checkrein.entrypoints.cli.watch import Watch
    from checkrein.graph.delivery import Courier, Tried
    from checkrein.ports.outbox import OutboxEntry

PAUSE_S = 2.0
"""Seconds between two looks at the outbox."""

SWEEP_S = 30.0
"""Seconds between two looks for requests that are overdue."""


def deliver(
    watch: Annotated[
        bool, typer.Option("--watch", help="Stay, and deliver what becomes due, until SIGTERM.")
    ] = False,
    listed: Annotated[
        bool, typer.Option("--list", help="Deliver nothing; show what became of each message.")
    ] = False,
    limit: Annotated[
        int, typer.Option("--limit", min=1, max=10_000, help="With --list: the newest so many.")
    ] = 50,
    json: Json = False,
) -> int:
    """Tell people of approvals, by what CHECKREIN_DELIVERERS names; pass on what is overdue.

    With --watch and --json each delivery is one JSON object on a line of its own.
    """
    if watch and listed:
        raise InputError(
            "--watch delivers and --list does not; give one of them.",
            op="cli.deliver",
            code="unusable_argument",
        )
    if listed:
        return _list(limit, json=json)
    from checkrein.deliverers import open_deliverers
    from checkrein.graph.delivery import Courier
    from checkrein.settings import Settings

    deliverers = open_deliverers(Settings.from_env())

    async def work(parts: "Parts", view: "Watch") -> "list[Tried]":
        courier = Courier(parts.outbox, deliverers)
        if watch:
            view.waiting("messages to deliver")
            await _stay(parts, courier, json=json)
            return []
        await parts.front_door.sweep()
        return await courier.once()

    tried = opened(work)
    if json and not watch:
        out_json({"tried": [_tried_json(one) for one in tried]})
    elif not watch:
        _tell(tried, json=False)
        if not tried:
            out("Nothing is due.")
    return Exit.DONE if all(one.state == "DELIVERED" for one in tried) else Exit.WRONG


async def _stay(parts: "Parts", courier: "Courier", *, json: bool) -> None:
    """Deliver until SIGTERM; what is on its way then is seen through. A second one ends it."""
    loop = asyncio.get_running_loop()
    ending = asyncio.Event()

    def asked() -> None:
        loop.remove_signal_handler(signal.SIGTERM)
        courier.stopping = True
        ending.set()

    loop.add_signal_handler(signal.SIGTERM, asked)
    next_sweep = loop.time()
    while not ending.is_set():
        try:
            if loop.time() >= next_sweep:
                next_sweep = loop.time() + SWEEP_S
                await parts.front_door.sweep()
            _tell(await courier.once(), json=json)
        except StoreError as error:
            if not error.retryable:
                raise
            warn(f"{error} It is tried again.")
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(PAUSE_S):
                await ending.wait()


def _tell(tried: "list[Tried]", *, json: bool) -> None:
    for one in tried:
        if json:
            out_json(_tried_json(one))
        else:
            note = f": {short(one.note, 300)}" if one.note else ""
            out(f"{(one.state or 'settled elsewhere'):<10} {one.deliverer}  {one.key}{note}")


def _tried_json(one: "Tried") -> dict[str, Any]:
    return {
        "deliverer": one.deliverer,
        "key": one.key,
        "kind": one.kind,
        "state": one.state,
        "note": one.note,
    }


def _list(limit: int, *, json: bool) -> int:
    async def work(parts: "Parts", view: "Watch") -> "list[OutboxEntry]":
        return await parts.outbox.entries(limit=limit)

    found = opened(work)
    if json:
        out_json({"messages": [entry.model_dump(mode="json") for entry in found]})
    elif not found:
        out("The outbox is empty.")
    else:
        out_table(
            ("message", "at", "deliverer", "state", "tries", "note"),
            (row for entry in found for row in _rows(entry)),
        )
    return Exit.DONE


def _rows(entry: "OutboxEntry") -> list[tuple[object, ...]]:
    at = f"{entry.at:%Y-%m-%d %H:%M:%S}"
    if not entry.deliveries:
        return [(entry.key, at, "-", "no deliverer has looked yet", 0, "")]
    return [
        (entry.key, at, one.deliverer, one.state, one.tries, short(one.last_error, 60))
        for one in entry.deliveries
    ]
