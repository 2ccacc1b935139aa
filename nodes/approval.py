"""approval: a doorbell. One interrupt, nothing else; the answers are read from the database."""

from langgraph.types import interrupt

from checkrein.nodes.offer import payload
from checkrein.nodes.run import Run, Step
from checkrein.nodes.waiting import undecided


async def approval(run: Run) -> Step:
    """Pause for the first action that nobody has decided; what is answered here counts nothing."""
    waiting = undecided(await run.position())
    if waiting and waiting[0].approval is not None:
        interrupt(payload(waiting[0].approval))
    return Step("rung")
