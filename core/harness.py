"""The public Python API: a harness that is open on one database."""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from langchain_core.language_models import BaseChatModel

from checkrein.compose import Given, Parts, composed
from checkrein.contracts.approval import Answer, ApprovalRequest, Said
from checkrein.contracts.budget import BookLine, Budget
from checkrein.contracts.event import Event
from checkrein.contracts.judgement import Judgement, Word
from checkrein.contracts.task import TaskContract
from checkrein.contracts.token import TokenScope
from checkrein.graph.approvals import answer_approval
from checkrein.graph.budgets import raise_budget
from checkrein.graph.identity import speaker
from checkrein.graph.judgements import give_judgement
from checkrein.graph.report import Report, report
from checkrein.guests import Guests
from checkrein.ports.capability import Capability
from checkrein.settings import Settings


class Harness:
    """Runs tasks and answers approvals. Make one with `Harness.open`.

    Every method may raise StoreError (the database cannot be used) besides what it names.
    """

    def __init__(self, parts: Parts, policy: Path | str | None = None) -> None:
        """Use `Harness.open`."""
        self._parts = parts
        self._policy = None if policy is None else _named(policy)

    @classmethod
    @asynccontextmanager
    async def open(
        cls,
        *,
        model: BaseChatModel | None = None,
        capabilities: Sequence[Capability] = (),
        policy: Path | str | None = None,
        settings: Settings | None = None,
    ) -> AsyncGenerator["Harness"]:
        """Open the database (embedded unless CHECKREIN_DATABASE_URL names yours).

        Args:
            model: your LangChain chat model; None takes each task's `model` string.
            capabilities: yours, made by `@capability` or `govern`, beside the workspace's.
            policy: a bundle folder, or `opa:URL` of a server, for the tasks that are run here; it
                becomes a part of their contract, so that every later process uses it too. None
                takes each task's own, else what CHECKREIN_POLICY names, else the shipped rules.
            settings: None reads the CHECKREIN_... environment variables.

        Raises:
            EnvironmentFault: the embedded Postgres cannot start.
            StoreError: the database cannot be used.
        """
        given = Given(model, tuple(capabilities))
        settings = settings or Settings.from_env()
        if policy is not None:
            # Named by this program itself, so that the settings' token is meant for it.
            settings = replace(settings, policy=_named(policy))
        async with composed(settings, given) as parts:
            yield cls(parts, policy)

    async def run(self, contract: TaskContract, *, parent: str | None = None) -> Report:
        """Work on a new task until it ends or must wait for somebody.

        Args:
            contract: what is asked.
            parent: an attempt that this is a child of: it counts in its budgets besides its own.

        Raises:
            InputError: workspace, policy or model cannot be opened, or there is no such parent;
                nothing was stored.
            ConflictError: the parent has ended, is being cancelled, or counts other money.
            BudgetExceededError: the parent may have no more children at one time.
        """
        if self._policy is not None:
            contract = contract.model_copy(update={"policy": self._policy})
        return await self._parts.front_door.start(contract, parent=parent)

    async def resume(self, attempt_id: str) -> Report:
        """Go on with an attempt; where it still waits, only say for what.

        Raises:
            InputError: no such attempt.
            BusyError: another process works on it.
        """
        return await self._parts.front_door.resume(attempt_id)

    async def recover(self, attempt_id: str, *, wait_s: float = 0.0) -> Report:
        """Take over an attempt whose process died. Raises as `resume` does.

        `wait_s`: how long to wait for the lease of an owner that is frozen, in seconds.
        """
        return await self._parts.front_door.recover(attempt_id, wait_s=wait_s)

    def drain(self) -> None:
        """Begin nothing new and let all work stop at its next safe point; each call then returns.

        To be called on the event loop's thread. What has not ended stays RUNNING, for `recover`.
        """
        self._parts.front_door.drain()

    async def cancel(self, attempt_id: str, *, by: str, reason: str) -> Report:
        """Ask for the end of an attempt. Effects that happened stay on the record."""
        return await self._parts.front_door.cancel(attempt_id, by=by, reason=reason)

    async def status(self, attempt_id: str) -> Report:
        """Where an attempt stands; changes nothing."""
        return await report(self._parts.records, attempt_id)

    async def approvals(self) -> list[ApprovalRequest]:
        """All open requests, oldest first."""
        return await self._parts.records.approvals()

    async def approve(
        self,
        approval_id: str,
        *,
        by: str | None = None,
        token: str | None = None,
        reason: str = "",
    ) -> ApprovalRequest:
        """Say yes to one request.

        Args:
            by: who says so; the name is stored as asserted, not as authenticated.
            token: a token of ours (`checkrein token issue`), which proves who says so; `by` may
                then be left out. Without either it is nobody in particular.

        Raises:
            InputError: no such request, the person may not answer it, or the token is not good.
            ConflictError: it is not open any more.
        """
        said = Said(answer=Answer.APPROVE, reason=reason)
        return await self._answer(approval_id, said, by, token)

    async def reject(
        self, approval_id: str, *, by: str | None = None, token: str | None = None, reason: str
    ) -> ApprovalRequest:
        """Say no to one request; the model is told the reason. As `approve` otherwise."""
        said = Said(answer=Answer.REJECT, reason=reason)
        return await self._answer(approval_id, said, by, token)

    async def edit(
        self,
        approval_id: str,
        args: dict[str, Any],
        *,
        by: str | None = None,
        token: str | None = None,
        reason: str = "",
    ) -> ApprovalRequest:
        """Put other arguments in place of the model's: all of them, for the same capability.

        That makes another action, which is judged and, where the policy says so, asked about anew
        once the attempt is resumed. As `approve` otherwise.
        """
        said = Said(answer=Answer.EDIT, args=args, reason=reason)
        return await self._answer(approval_id, said, by, token)

    async def respond(
        self, approval_id: str, text: str, *, by: str | None = None, token: str | None = None
    ) -> ApprovalRequest:
        """Give the call's result in place of the tool, which does not run. As `approve`."""
        said = Said(answer=Answer.RESPOND, reason=text)
        return await self._answer(approval_id, said, by, token)

    async def budgets(self, attempt_id: str) -> list[BookLine]:
        """Every budget that the attempt draws on: its own, its task's, and those of its parent."""
        return await self._parts.records.books(attempt_id)

    async def raise_budget(
        self,
        attempt_id: str,
        budget: Budget,
        limit: int,
        *,
        by: str | None = None,
        token: str | None = None,
        reason: str = "",
        shared: bool = False,
    ) -> BookLine:
        """Raise a limit; `resume` then goes on where the attempt stopped.

        Args:
            attempt_id: an attempt that has not ended.
            budget: which one.
            limit: the whole new limit, in the budget's own unit.
            by: who says so; the name is stored as asserted, not as authenticated.
            token: a token that is good for authority, which proves who says so.
            reason: for the record.
            shared: the budget that all attempts of the task share is meant.

        Raises:
            InputError: no such attempt or budget, a limit that is no larger, or a person who may
                not raise it.
            ConflictError: the attempt has ended, or somebody else was faster.
        """
        parts = self._parts
        who = await speaker(parts.tokens, by, token, TokenScope.AUTHORITY)
        return await raise_budget(
            parts.events,
            parts.records,
            attempt_id,
            budget,
            limit,
            who,
            reason=reason,
            shared=shared,
        )

    async def judge(
        self,
        attempt_id: str,
        verdict: Word,
        *,
        by: str | None = None,
        token: str | None = None,
        note: str = "",
        about: str = "",
    ) -> Judgement:
        """Say pass or fail to the sealed candidate, where a `human` check asks for it.

        It holds for this state alone; resuming goes on. `by` and `token` as for `approve`.

        Args:
            note: why; a fail needs one, and the model is told.
            about: a part of the check's name, where several wait for this person.

        Raises:
            InputError: the person may not judge, or it is not clear what is meant.
            ConflictError: nobody is asked to judge anything.
        """
        parts = self._parts
        who = await speaker(parts.tokens, by, token, TokenScope.APPROVE)
        return await give_judgement(
            parts.events, parts.records, attempt_id, who, verdict=verdict, note=note, about=about
        )

    @property
    def policy(self) -> str | None:
        """The policy that is a part of each contract here; None where a task names its own."""
        return self._policy

    def guests(self, governed: Sequence[Capability], model: str) -> Guests:
        """The harness for a loop that is not ours, as a middleware needs it.

        Args:
            governed: the loop's tools as capabilities, besides those the harness has.
            model: by what name its model is recorded.
        """
        return Guests(self._parts, governed, model)

    async def trace(self, attempt_id: str) -> list[Event]:
        """The attempt's events, in order."""
        return await self._parts.events.read(attempt_id)

    async def _answer(
        self, approval_id: str, said: Said, by: str | None, token: str | None
    ) -> ApprovalRequest:
        parts = self._parts
        who = await speaker(parts.tokens, by, token, TokenScope.APPROVE)
        return await answer_approval(parts.events, parts.records, approval_id, said, who)


def _named(policy: Path | str) -> str:
    """`opa:URL` as it is, a folder absolute."""
    named = str(policy)
    return named if named.startswith("opa:") else str(Path(named).absolute())


def run_sync(contract: TaskContract, *, model: BaseChatModel | None = None) -> Report:
    """Run one task to its end or first pause, from code that is not async."""

    async def once() -> Report:
        async with Harness.open(model=model) as harness:
            return await harness.run(contract)

    return asyncio.run(once())
