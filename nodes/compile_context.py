"""compile_context: the top of every turn. Reads the world, changes nothing outside."""

from checkrein.contracts.attempt import AttemptStatus
from checkrein.contracts.codec import canonical, digest
from checkrein.contracts.context import (
    CompiledContext,
    ContextManifest,
    Omitted,
    Source,
    Trust,
)
from checkrein.contracts.event import AttemptEnded, CheckpointSaved
from checkrein.nodes import exhaustion, guests, messages
from checkrein.nodes.cancel import cancel
from checkrein.nodes.failing import failed_for_good
from checkrein.nodes.messages import ShownTurn, shown_turn
from checkrein.nodes.noticing import look
from checkrein.nodes.offering import offered, standing_notice
from checkrein.nodes.run import Run, Step
from checkrein.nodes.stopping import WorkStopped
from checkrein.nodes.waiting import undecided, waiting_for
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
        if not await guests.left_behind(run, position):
            return Step("ready", turn.turn)
        position = await run.position()
    if run.guest is not None and run.guest.messages is None:
        return Step("held", 0 if turn is None else turn.turn)
    history = await _history(run, _next(position))
    failed = failed_for_good([past.facts for past in history], run.contract)
    if failed is not None:
        status, (kind, why) = AttemptStatus.FAILED, failed
        await run.record(AttemptEnded(status=status, detail=why, error_type=kind))
        return Step("failed")
    short = exhaustion.short(position)
    if short is not None:
        await exhaustion.exhausted(run, *short)
        return Step("suspend")
    try:
        noticed = await look(run, position, _next(position), [past.facts for past in history])
    except WorkStopped:
        return await compile_context(run)  # it hears now what it is to stop for
    if noticed and waiting_for(await run.position()) is not None:
        return Step("suspend")
    await exhaustion.warned(run, await run.position())
    run.compiled = await compiled(run, await run.position())
    return Step("ready", run.compiled.turn)


def _next(position: Position) -> int:
    """The number of the turn that comes."""
    newest = position.turn
    return 1 if newest is None else newest.turn + (newest.status == "CLOSED")


def _goes_on(run: Run, position: Position) -> bool:
    """Whether an open turn is passed on although it waits: the node that it waits at says so.

    One that is to stop waits here, since no node further on would do anything.
    """
    return not run.stop.asked or bool(undecided(position))


async def _let_go(run: Run, turn: int) -> Step:
    """Store the safe point at which this process stops working; whoever recovers goes on."""
    await run.record(CheckpointSaved(turn=turn), look=False)
    return Step("drained", turn)


async def compiled(run: Run, position: Position) -> CompiledContext:
    """Make the context of the coming turn. Deterministic: the same position, the same bytes."""
    number = _next(position)
    if run.guest is not None:
        return guests.compiled(run, number)
    history = await _history(run, number)
    environment = run.ports.environment
    withdrawn = environment.withdrawn if environment else []
    head = messages.opening(run.contract, position, number, withdrawn)
    noticed = standing_notice(run, position, number)
    withheld = [] if noticed is None else noticed.withheld
    specs = [spec for spec in offered(run, position) if spec.name not in withheld]
    tools = [messages.tool(spec) for spec in specs] + [messages.ASK_TOOL]
    sources = [
        Source(type="rules", id="platform", tokens=messages.tokens(head[0]), trust=Trust.PLATFORM),
        Source(type="goal", id="contract", tokens=messages.tokens(head[1]), trust=Trust.USER),
        Source(
            type="tools",
            id="offered",
            tokens=messages.tools_tokens(tools),
            trust=Trust.PLATFORM,
        ),
    ]
    past, omitted = _fitted(history)
    sources += [
        Source(type="turn", id=str(turn.turn), tokens=turn.tokens, trust=turn.trust)
        for turn in past
    ]
    tail = [] if noticed is None else [messages.notice(noticed)]
    sources += [
        Source(
            type="notice",
            id=f"{noticed.signal}:{noticed.rung}",
            tokens=messages.tokens(message),
            # A reviewer has read what tools said.
            trust=Trust.PLATFORM if noticed.review is None else Trust.TOOL,
        )
        for message in tail
        if noticed is not None
    ]
    sent = head + [message for turn in past for message in turn.messages] + tail
    texts = [messages.written(head), *(turn.written for turn in past), messages.written(tail)]
    names = canonical([tool.name for tool in tools])
    manifest = ContextManifest(
        turn=number,
        policy_version=run.ports.policy.version,
        sources=sources,
        omitted=omitted,
        total_tokens=sum(source.tokens for source in sources),
        budget_tokens=CONTEXT_TOKENS,
        # Of the canonical JSON of [messages, names of tools], put together from its parts.
        sent=digest(b"[[" + b",".join(filter(None, texts)) + b"]," + names + b"]"),
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
