"""Turns of a loop that is not ours: it calls its model and decides when its calls run.

Everything with authority stays where it is. What such a loop adds is less: an action runs only once
its call has come to the door, and whatever never came there is closed as skipped.
"""

from collections.abc import Sequence

from checkrein.contracts.codec import canonical, digest
from checkrein.contracts.context import (
    CompiledContext,
    ContextManifest,
    Message,
    Source,
    ToolDescription,
    Trust,
)
from checkrein.contracts.event import Payload
from checkrein.contracts.observation import Diagnostics, ObservationStatus
from checkrein.nodes import messages, observations
from checkrein.nodes.run import Run
from checkrein.nodes.settling import is_open
from checkrein.ports.records import ActionState, Position

_TRUST = {
    "system": Trust.PLATFORM,
    "user": Trust.USER,
    # What a model says it may have read in what a tool said.
    "assistant": Trust.TOOL,
    "tool": Trust.TOOL,
}


def spoken(run: Run) -> bool:
    """Whether the loop has brought a model call that was not made yet."""
    return run.guest is not None and run.guest.messages is not None


def sent(said: Sequence[Message], tools: Sequence[ToolDescription]) -> str:
    """Digest of what a model is sent, as a manifest has it."""
    names = canonical([tool.name for tool in tools])
    return digest(b"[[" + messages.written(list(said)) + b"]," + names + b"]")


def compiled(run: Run, number: int) -> CompiledContext:
    """What the loop sends, as the context of turn `number`; taken as it is, for one call."""
    guest = run.guest
    assert guest is not None and guest.messages is not None
    said, guest.messages = guest.messages, None
    sources = [
        Source(
            type=message.role,
            id=str(place),
            tokens=messages.tokens(message),
            trust=_TRUST[message.role],
        )
        for place, message in enumerate(said)
    ]
    schemas = messages.tools_tokens(guest.tools)
    sources.append(Source(type="tools", id="offered", tokens=schemas, trust=Trust.PLATFORM))
    total = sum(source.tokens for source in sources)
    manifest = ContextManifest(
        turn=number,
        policy_version=run.ports.policy.version,
        sources=sources,
        omitted=[],
        total_tokens=total,
        budget_tokens=total,
        sent=sent(said, guest.tools),
    )
    return CompiledContext(
        turn=number,
        messages=said,
        tools=guest.tools,
        manifest=manifest,
        lowest_trust=messages.least_trusted(source.trust for source in sources),
    )


async def left_behind(run: Run, position: Position) -> bool:
    """Whether the loop has gone on past the open turn; what it never came to run is closed.

    The same call once more is the loop's own recovery, and gets the stored answer.
    """
    guest, turn = run.guest, position.turn
    if guest is None or guest.messages is None or turn is None:
        return False
    if turn.sent == sent(guest.messages, guest.tools):
        return False
    closed = [_skipped(state) for state in position.actions if _untouched(state)]
    if len(closed) != sum(not state.observed for state in position.actions):
        return False  # an effect is on its way: the open turn goes first
    await run.record(*closed)
    return bool(closed)


def may_run(run: Run, state: ActionState) -> bool:
    """Whether an action's call has come to the door, or its effect is on its way already."""
    return run.guest is None or state.action.call_id in run.guest.arrived or is_open(state)


def _untouched(state: ActionState) -> bool:
    return not state.observed and state.effect is None


def _skipped(state: ActionState) -> Payload:
    return observations.of_action(
        state.action,
        ObservationStatus.SKIPPED,
        diagnostics=Diagnostics(
            error_type="never_came",
            advice="The agent's own loop went on without running this call.",
        ),
    )
