"""compile_context: the top of every turn. Reads the world, changes nothing outside."""

from checkrein.contracts.action import SideEffect
from checkrein.contracts.budget import Budget
from checkrein.contracts.codec import canonical, digest
from checkrein.contracts.context import (
    CompiledContext,
    ContextManifest,
    Omitted,
    Source,
    Trust,
)
from checkrein.contracts.event import BudgetExhausted, CheckpointSaved
from checkrein.nodes import messages
from checkrein.nodes.cancel import cancel
from checkrein.nodes.messages import ShownTurn, shown_turn
from checkrein.nodes.run import Run, Step
from checkrein.nodes.waiting import undecided, waiting_for
from checkrein.ports.capability import PLAN, CapabilitySpec
from checkrein.ports.records import Position

HISTORY_TURNS = 40
"""The most turns that are shown word for word."""

CONTEXT_TOKENS = 60_000
"""The most tokens (estimated) that history may fill."""


async def compile_context(run: Run) -> Step:
    """Stop where that is asked for, else make the next turn's context ready."""
    if run.stop.asked:
        run.seen = None  # what was asked for was recorded by somebody else
    position = await run.position()
    if position.cancel_reason is not None:
        return await cancel(run, position)
    turn = position.turn
    opened = turn is not None and turn.status == "RESPONDED"
    if waiting_for(position) is not None and not (opened and _goes_on(run, position)):
        return Step("suspend")
    if run.stop.draining:
        return await _let_go(run, 0 if turn is None else turn.turn)
    if turn is not None and opened:
        return Step("ready", turn.turn)
    short = _exhausted(position)
    if short is not None:
        await run.record(short)
        return Step("suspend")
    run.compiled = await compiled(run, position)
    return Step("ready", run.compiled.turn)


def _goes_on(run: Run, position: Position) -> bool:
    """Whether an open turn is passed on although it waits: the node that it waits at says so.

    One that is to stop waits here, since no node further on would do anything.
    """
    return not run.stop.asked or bool(undecided(position))


async def _let_go(run: Run, turn: int) -> Step:
    """Store the safe point at which this process stops working; whoever recovers goes on."""
    await run.record(CheckpointSaved(turn=turn), look=False)
    return Step("drained", turn)


def _offered(run: Run, position: Position) -> list[CapabilitySpec]:
    """What the model is shown of what the task grants: while it plans, only what changes nothing.

    That spares it denials, and protects nothing: the gate judges whatever is called.
    """
    planning = position.planning(run.contract)
    granted = run.contract.capabilities
    if position.attempt.commit is not None:
        granted = [run.contract.commit_act.capability]
    named = (run.ports.capabilities.get(name) for name in granted)
    specs = [capability.spec for capability in named if capability is not None]
    if planning:
        return [spec for spec in specs if spec.side_effect is SideEffect.READ]
    return [spec for spec in specs if spec.name != PLAN]


async def compiled(run: Run, position: Position) -> CompiledContext:
    """Make the context of the coming turn. Deterministic: the same position, the same bytes."""
    newest = position.turn
    number = 1 if newest is None else newest.turn + (newest.status == "CLOSED")
    history = await _history(run, number)
    head = messages.opening(run.contract, position, number)
    tools = [messages.tool(spec) for spec in _offered(run, position)] + [messages.ASK_TOOL]
    sources = [
        Source(type="rules", id="platform", tokens=messages.tokens(head[0]), trust=Trust.PLATFORM),
        Source(type="goal", id="contract", tokens=messages.tokens(head[1]), trust=Trust.USER),
    ]
    past, omitted = _fitted(history)
    sources += [
        Source(type="turn", id=str(turn.turn), tokens=turn.tokens, trust=turn.trust)
        for turn in past
    ]
    sent = head + [message for turn in past for message in turn.messages]
    texts = [messages.written(head), *(turn.written for turn in past)]
    names = canonical([tool.name for tool in tools])
    manifest = ContextManifest(
        turn=number,
        policy_version=run.ports.policy.version,
        sources=sources,
        omitted=omitted,
        total_tokens=sum(source.tokens for source in sources),
        budget_tokens=CONTEXT_TOKENS,
        # Of the canonical JSON of [messages, names of tools], put together from its parts.
        sent=digest(b"[[" + b",".join(texts) + b"]," + names + b"]"),
    )
    return CompiledContext(
        turn=number,
        messages=sent,
        tools=tools,
        manifest=manifest,
        lowest_trust=messages.least_trusted(source.trust for source in sources),
    )


def _fitted(history: list[ShownTurn]) -> tuple[list[ShownTurn], list[Omitted]]:
    """The newest turns that fit, oldest first; and what was left out, with the reason."""
    taken: list[ShownTurn] = []
    omitted: list[Omitted] = []
    left = CONTEXT_TOKENS
    for past in reversed(history):
        if past.tokens > left:
            why = "the context has no room left"
            omitted.append(Omitted(type="turn", id=str(past.turn), reason=why))
            continue
        left -= past.tokens
        taken.insert(0, past)
    if history and history[0].turn > 1:
        why = f"only the last {HISTORY_TURNS} turns are shown"
        omitted.append(Omitted(type="turns", id=f"1-{history[0].turn - 1}", reason=why))
    return taken, omitted


async def _history(run: Run, number: int) -> list[ShownTurn]:
    """The last turns before turn `number`; this run reads each of them once."""
    known = run.history[-1].turn if run.history else 0
    missing = min(number - 1 - known, HISTORY_TURNS)
    if missing > 0:
        records = await run.lease.records.history(run.attempt_id, before=number, limit=missing)
        run.history = [*run.history, *map(shown_turn, records)][-HISTORY_TURNS:]
    return run.history


def _exhausted(position: Position) -> BudgetExhausted | None:
    for budget in (Budget.STEPS, Budget.WALL_TIME_S, Budget.MODEL_TOKENS):
        line = position.budgets[budget]
        free = line.left + (line.reserved if budget is not Budget.WALL_TIME_S else 0)
        if free < 1:
            return BudgetExhausted(budget=budget, limit=line.limit, left=line.left, needed=1)
    return None
