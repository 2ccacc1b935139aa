"""suspend: the one place where every suspension but an approval happens."""

from langgraph.types import interrupt

from checkrein.nodes.run import Run, Step
from checkrein.nodes.waiting import waiting_for


async def suspend(run: Run) -> Step:
    """Pause while the database says that there is something to wait for."""
    position = await run.position()
    waiting = waiting_for(position)
    if waiting is not None:
        interrupt(
            {
                "kind": "suspension",
                "attempt_id": run.attempt_id,
                "status": str(waiting.status),
                "why": waiting.reason,
                "answers": list(waiting.answers),
                "unfinished": position.unfinished,
                "judgements": [
                    {"role": j.role, "question": j.question, "state_digest": j.state_digest}
                    for j in position.asks_people
                ],
            }
        )
    return Step("resumed")
