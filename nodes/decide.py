"""decide: call the model once, store its raw output, and only then read it."""

import asyncio
import random

from checkrein.contracts.attempt import AttemptStatus
from checkrein.contracts.budget import Budget
from checkrein.contracts.codec import canonical, digest
from checkrein.contracts.context import CompiledContext
from checkrein.contracts.event import (
    AttemptEnded,
    BudgetReserved,
    BudgetSettled,
    ContextCompiled,
    ModelRequested,
    ModelResponded,
    QuestionAsked,
    RetryScheduled,
    TurnStopped,
)
from checkrein.contracts.proposal import (
    CandidateProposal,
    ModelReply,
    NothingProposal,
    Proposal,
    QuestionProposal,
    ToolProposal,
    Usage,
)
from checkrein.errors import (
    BudgetExceededError,
    CheckreinError,
    LeaseLostError,
    ModelError,
    StoreError,
)
from checkrein.nodes import exhaustion, metering, observations
from checkrein.nodes.compile_context import compiled
from checkrein.nodes.offering import deciding
from checkrein.nodes.run import Reply, Run, Step
from checkrein.nodes.stopping import WorkStopped
from checkrein.ports.model import Model
from checkrein.ports.records import Position

MODEL_TRIES = 3
"""How often a model call that fails in passing is made in all."""

IDLE_TURNS = 3
"""After so many turns in a row without one usable proposal the attempt ends MODEL_ERROR."""


async def decide(run: Run) -> Step:
    """Make sure that the turn has its raw output, then say what it amounts to."""
    position = await run.position()
    turn = position.turn
    if turn is not None and turn.status == "RESPONDED" and turn.raw_ref is not None:
        return await _judged(run, position, turn.turn, await run.stored_reply(turn.raw_ref))
    if position.idle_turns >= IDLE_TURNS:
        return await _ended(
            run,
            f"the model made no usable proposal in {position.idle_turns} turns in a row",
            "protocol_error",
        )
    if run.stop.asked:
        return Step("stopped")
    context = run.compiled or await compiled(run, position)
    run.compiled = None
    try:
        answer = await _asked(run, position, context)
    except BudgetExceededError as error:
        await exhaustion.refused(run, error, _worst_case(run, position, context))
        return Step("suspend")
    except ModelError as error:
        return await _ended(run, str(error), error.code)
    except WorkStopped:
        return Step("stopped", context.turn)
    run.reply = run.parsed(answer.raw)
    return await _judged(run, position, context.turn, run.reply)


async def _asked(run: Run, position: Position, context: CompiledContext) -> ModelReply:
    """Call the model, trying passing faults again, and store the reply unread."""
    number = context.turn
    model = deciding(run, position)
    reserved = _worst_case(run, position, context)
    manifest = canonical(context.manifest.model_dump(mode="json"))
    await run.record(
        *metering.lost(number, position.held),
        ContextCompiled(
            turn=number,
            manifest_ref=digest(manifest),
            sent=context.manifest.sent,
            tokens=context.manifest.total_tokens,
            lowest_trust=context.lowest_trust,
        ),
        BudgetReserved(turn=number, amounts=reserved),
        ModelRequested(turn=number, model=model.name),
        blobs=(manifest,),
        look=False,
    )
    try:
        await run.reach("before_model")
        reply = await _tried(run, model, context, reserved)
        await run.reach("after_model")
    except (StoreError, LeaseLostError, ModelError):
        raise  # it is settled already, or nothing can be recorded: whoever goes on settles it
    except (WorkStopped, CheckreinError):
        await run.record(*metering.lost(number, reserved))
        raise
    await run.record(
        ModelResponded(
            turn=number,
            raw_ref=digest(reply.raw),
            usage=reply.usage,
            model_id=reply.model_id,
            request_id=reply.request_id,
        ),
        BudgetSettled(
            turn=number,
            released=reserved,
            spent=metering.of_model(run.contract, position, model.name, reply.usage),
        ),
        blobs=(reply.raw,),
    )
    await run.reach("after_raw_output")
    return reply


def _worst_case(run: Run, position: Position, context: CompiledContext) -> dict[Budget, int]:
    model = deciding(run, position)
    tokens = context.manifest.total_tokens
    most = Usage(input_tokens=tokens, output_tokens=model.max_output_tokens)
    return metering.of_model(run.contract, position, model.name, most)


async def _tried(
    run: Run, model: Model, context: CompiledContext, reserved: dict[Budget, int]
) -> ModelReply:
    for number in range(1, MODEL_TRIES + 1):
        try:
            return await run.interruptible(model.respond(context))
        except ModelError as error:
            if not error.retryable or number == MODEL_TRIES:
                # It may have been paid: settled at the worst case, never at zero.
                spent = reserved if error.retryable else {Budget.STEPS: 1}
                await run.record(BudgetSettled(turn=context.turn, released=reserved, spent=spent))
                raise
            delay = 2**number * (0.5 + random.random() / 2)  # noqa: S311 - jitter, no secret
            await run.record(
                # This try may have been paid; the next one is another call.
                *metering.lost(context.turn, reserved),
                BudgetReserved(turn=context.turn, amounts=reserved),
                RetryScheduled(
                    turn=context.turn,
                    what="model",
                    try_number=number + 1,
                    delay_s=round(delay, 3),
                    error_type=error.code,
                ),
                ModelRequested(turn=context.turn, model=model.name, try_number=number + 1),
            )
            await run.interruptible(asyncio.sleep(delay))
    raise AssertionError("unreachable: the last try returns or raises")


async def _judged(run: Run, position: Position, turn: int, reply: Reply) -> Step:
    """Say what the stored output amounts to, and record what ends the turn here."""
    proposals = list(reply.proposals)
    known = position.turn
    waits = known.waits_for if known is not None and known.turn == turn else None
    match proposals:
        case [QuestionProposal() as asked]:
            if waits is None:
                await run.record(
                    QuestionAsked(turn=turn, call_id=asked.call_id, question=asked.question)
                )
            return Step("suspend", turn)
        case [NothingProposal() as nothing]:
            if waits is None:
                await run.record(TurnStopped(turn=turn, why=nothing.why))
            return Step("suspend", turn)
        case [CandidateProposal()]:
            return Step("candidate", turn)
        case _:
            return await _calls(run, turn, proposals)


async def _calls(run: Run, turn: int, proposals: list[Proposal]) -> Step:
    if any(isinstance(proposal, ToolProposal) for proposal in proposals):
        return Step("proposed", turn)
    await run.record(*observations.of_unusable(run.attempt_id, turn, proposals))
    return Step("unusable", turn)


async def _ended(run: Run, why: str, error_type: str) -> Step:
    status = AttemptStatus.MODEL_ERROR
    await run.record(AttemptEnded(status=status, detail=why, error_type=error_type))
    return Step("model_error")
