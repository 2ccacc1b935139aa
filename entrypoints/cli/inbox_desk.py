"""The inbox at work: it reads what is open, draws it, and records what a person says by keys."""

import asyncio
import signal
from contextlib import suppress
from dataclasses import replace

from checkrein.compose import Parts
from checkrein.contracts.approval import Answer, ApprovalRequest, Approver, Said
from checkrein.contracts.display import short
from checkrein.contracts.task import TaskContract
from checkrein.entrypoints.cli import inbox_view
from checkrein.entrypoints.cli.editing import changed
from checkrein.entrypoints.cli.identity import Claim
from checkrein.entrypoints.cli.inbox_state import QUIT, Item, View, Wish, pressed, seen
from checkrein.entrypoints.cli.inbox_terminal import ENDED, RESIZED, Terminal
from checkrein.entrypoints.cli.next_steps import next_steps, people
from checkrein.errors import CheckreinError, StoreError
from checkrein.graph.approvals import answer_approval
from checkrein.graph.report import report

REFRESH_S = 2.0
"""How often what is open is read anew."""

_SWEEP_EVERY = 15
"""Of so many readings one also publishes what dead owners left, and ends what has expired."""


class Desk:
    """One person at one terminal."""

    def __init__(self, parts: Parts, claim: Claim, person: Approver, terminal: Terminal) -> None:
        self._parts = parts
        self._claim = claim
        self._tenant = person.tenant
        self._terminal = terminal
        self._view = View(by=person.name if person.authenticated else f"{person.name} (asserted)")
        self._contracts: dict[str, TaskContract] = {}
        self._anew = asyncio.Event()

    async def attended(self) -> bool:
        """Work until the person leaves; False where SIGTERM or a lost terminal ended it.

        Raises:
            CheckreinError: the database refused to be read for another reason than being away.
        """
        reading = asyncio.create_task(self._reading())
        try:
            while True:
                self._draw()
                coming = asyncio.create_task(self._terminal.event())
                await asyncio.wait({coming, reading}, return_when=asyncio.FIRST_COMPLETED)
                if reading.done():
                    coming.cancel()
                    reading.result()  # it ends by an error alone
                event = await coming
                if event == ENDED:
                    return False
                if not await self._take(event):
                    return True
        finally:
            reading.cancel()
            with suppress(asyncio.CancelledError, CheckreinError):
                await reading

    async def _take(self, event: str) -> bool:
        """Do what a key asks for; False where it asks to end."""
        if event == RESIZED:
            self._terminal.redraw()
            return True
        width, height = self._terminal.size()
        self._view, wish = pressed(self._view, event)
        self._view = replace(self._view, scroll=inbox_view.scrolled(self._view, width, height))
        if wish == QUIT:
            return False
        if wish is not None:
            await self._answer(wish)
        return True

    async def _answer(self, wish: Wish) -> None:
        """Record an answer; whatever speaks against it is told, and the inbox goes on."""
        self._say("Recording your answer ...")
        try:
            told = await self._recorded(wish)
        except CheckreinError as error:
            told = str(error)
        self._say(told)
        self._anew.set()

    async def _recorded(self, wish: Wish) -> str:
        assert wish.answer is not None
        if wish.answer is Answer.EDIT:
            said = await self._edited(wish.approval_id)
        else:
            said = Said(answer=wish.answer, reason=wish.text)
        # A token is proved at each answer: it may have been revoked since the inbox was opened.
        by = await self._claim.proved(self._parts, "approve")
        self._view = replace(self._view, answered=self._view.answered | {wish.approval_id})
        request = await answer_approval(
            self._parts.events, self._parts.records, wish.approval_id, said, by
        )
        if request.status == "PENDING":
            return f"{request.approval_id} is PENDING; more people must say so."
        stands = await report(self._parts.records, request.attempt_id)
        commands = next_steps(stands, await self._contract(request)).commands
        then = f" Next: {commands[-1]}" if commands else ""
        return f"{request.approval_id} is {request.status} by {by.name}.{then}"

    async def _edited(self, approval_id: str) -> Said:
        """What the person's editor makes of the arguments.

        Raises:
            InputError: as editing.changed.
        """
        request, _ = await self._parts.records.approval(approval_id)
        title = f"{short(request.capability)} on {short(request.resource)}"
        self._terminal.give_back()
        # Ctrl-C is the editor's, as long as it has the terminal.
        before = signal.signal(signal.SIGINT, lambda number, frame: None)
        try:
            args = await asyncio.to_thread(changed, request.args, title=title)
        finally:
            signal.signal(signal.SIGINT, before)
            self._terminal.take()
        return Said(answer=Answer.EDIT, args=args)

    async def _reading(self) -> None:
        """Read what is open, again and again; a database that is away is waited for."""
        turn = 0
        while True:
            self._anew.clear()
            try:
                if turn % _SWEEP_EVERY == 0:
                    await self._parts.front_door.sweep()
                items = await self._items()
            except StoreError as error:
                self._say(f"The list is old: {error}")
            else:
                self._view = seen(self._view, items)
                self._draw()
            turn += 1
            with suppress(TimeoutError):
                async with asyncio.timeout(REFRESH_S):
                    await self._anew.wait()

    async def _items(self) -> tuple[Item, ...]:
        found: list[Item] = []
        for request in await self._parts.records.approvals(None):
            contract = await self._contract(request)
            if self._tenant in {None, contract.tenant}:
                found.append(Item(request, tuple(people(contract, request))))
        return tuple(found)

    async def _contract(self, request: ApprovalRequest) -> TaskContract:
        """The contract of a request's task; it never changes."""
        if request.attempt_id not in self._contracts:
            contract = await self._parts.events.contract(request.attempt_id)
            self._contracts[request.attempt_id] = contract
        return self._contracts[request.attempt_id]

    def _say(self, text: str) -> None:
        self._view = replace(self._view, message=text)
        self._draw()

    def _draw(self) -> None:
        width, height = self._terminal.size()
        self._terminal.draw(inbox_view.screen(self._view, width, height))
