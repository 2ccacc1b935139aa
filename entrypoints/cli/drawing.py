"""graph: the compiled graph as Mermaid, as it stands in the README."""

from typing import TYPE_CHECKING

from checkrein.entrypoints.cli.console import out, out_json
from checkrein.entrypoints.cli.exits import Exit
from checkrein.entrypoints.cli.live import Live
from checkrein.entrypoints.cli.opening import be_quiet
from checkrein.entrypoints.cli.options import Json

if TYPE_CHECKING:
    from contextlib import AbstractAsyncContextManager

    from langchain_core.runnables import RunnableConfig

    from checkrein.graph.state import GraphState
    from checkrein.nodes.run import Run


class _NoRuns:
    """A graph that is only drawn is never entered."""

    def enter(
        self, state: "GraphState", config: "RunnableConfig"
    ) -> "AbstractAsyncContextManager[Run]":
        """Refuse."""
        raise NotImplementedError


def graph(json: Json = False) -> int:
    """Print the compiled graph as Mermaid text."""
    be_quiet()
    with Live("Checkrein to load"):
        from checkrein.graph.build import build, mermaid

        text = mermaid(build(_NoRuns()))
    if json:
        out_json({"mermaid": text})
    else:
        out(text.rstrip("\n"))
    return Exit.DONE
