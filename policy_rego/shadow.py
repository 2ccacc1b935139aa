"""A candidate policy beside the live one: asked the same, decides nothing, is compared."""

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress

from checkrein.contracts.codec import Frozen
from checkrein.contracts.decision import DecisionInput, PolicyDecision
from checkrein.ports.policy import Policy, PolicyNews

MOST_PENDING = 16
"""Answers of the candidate that may be outstanding; what comes on top is passed over."""


class Differing(Frozen):
    """One action that the candidate answers otherwise.

    Attributes:
        input_ref: digest of the exact input, which is stored with the live decision.
    """

    action_id: str
    phase: str
    capability: str
    input_ref: str
    live: PolicyDecision
    candidate: PolicyDecision


class ShadowCounts(Frozen):
    """How often the candidate was asked, and what became of it.

    Attributes:
        same: answered as the live policy did.
        differing: answered otherwise, failures of its bundle or engine included.
        passed_over: not asked, since too many answers were outstanding already.
        broken: raised, or the log did, which neither may.
    """

    same: int = 0
    differing: int = 0
    passed_over: int = 0
    broken: int = 0


class ShadowPolicy:
    """`live` decides; `candidate` is asked beside it. Implements `checkrein.ports.policy.Policy`.

    A decision is the live policy's and is there as soon as that has made it: nobody waits for the
    candidate, whose own deadline bounds it. Give the candidate a worker of its own.
    """

    def __init__(self, live: Policy, candidate: Policy, log: Callable[[Differing], None]) -> None:
        """`log` is called on the event loop with each differing answer; it must not block."""
        self._live = live
        self._candidate = candidate
        self._log = log
        self._pending: set[asyncio.Task[None]] = set()
        self._counts = ShadowCounts()

    @property
    def version(self) -> str:
        """The live policy's."""
        return self._live.version

    @property
    def candidate_version(self) -> str:
        """The candidate's."""
        return self._candidate.version

    @property
    def counts(self) -> ShadowCounts:
        """What became of the candidate's answers so far."""
        return self._counts

    def input_text(self, document: DecisionInput) -> bytes:
        """The exact input as the live policy sees it; raises as that does."""
        return self._live.input_text(document)

    async def decide(self, document: DecisionInput) -> PolicyDecision:
        """The live policy's answer; the candidate's comes later, to the log."""
        decision = await self._live.decide(document)
        if len(self._pending) >= MOST_PENDING:
            self._count("passed_over")
            return decision
        task = asyncio.create_task(self._beside(document, decision), name="shadow policy")
        self._pending.add(task)
        task.add_done_callback(self._ended)
        return decision

    def news(self) -> Sequence[PolicyNews]:
        """The live policy's."""
        return self._live.news()

    def heard(self, news: Sequence[PolicyNews]) -> None:
        """Told to the live policy."""
        self._live.heard(news)

    async def settled(self) -> None:
        """Wait until every outstanding answer of the candidate is there."""
        while self._pending:
            await asyncio.wait(set(self._pending))

    async def close(self) -> None:
        """Drop what is outstanding, and close both policies. May be called twice."""
        for task in set(self._pending):
            task.cancel()
        await self.settled()
        try:
            await self._candidate.close()
        finally:
            await self._live.close()

    async def _beside(self, document: DecisionInput, live: PolicyDecision) -> None:
        candidate = await self._candidate.decide(document)
        if _core(candidate) == _core(live):
            self._count("same")
            return
        self._count("differing")
        self._log(
            Differing(
                action_id=document.action.action_id,
                phase=document.phase,
                capability=document.action.capability,
                input_ref=live.input_ref,
                live=live,
                candidate=candidate,
            )
        )

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._pending.discard(task)
        with suppress(asyncio.CancelledError):
            fault = task.exception()
            if fault is not None:
                # The live decision has been made long since; the loop's handler tells the fault.
                self._count("broken")
                task.get_loop().call_exception_handler(
                    {"message": "A shadow policy raised.", "exception": fault, "task": task}
                )

    def _count(self, what: str) -> None:
        number = getattr(self._counts, what) + 1
        self._counts = self._counts.model_copy(update={what: number})


def _core(decision: PolicyDecision) -> PolicyDecision:
    """A decision without what differs between two evaluations of one answer."""
    return decision.model_copy(
        update={
            "policy_version": "",
            "engine": "",
            "input_ref": "",
            "message": None,
            "duration_ms": 0.0,
        }
    )
