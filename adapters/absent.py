"""Stand-ins for what an attempt does not need any more: one that is only brought to its end."""

from collections.abc import Sequence
from typing import NoReturn

from checkrein.contracts.context import CompiledContext
from checkrein.contracts.decision import DecisionInput, PolicyDecision
from checkrein.contracts.proposal import ModelReply
from checkrein.errors import CheckreinError
from checkrein.ports.policy import PolicyNews


class AbsentModel:
    """ports.model.Model that is never asked: to cancel, nobody needs a key or a script."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.max_output_tokens = 1

    async def respond(self, context: CompiledContext) -> ModelReply:
        """Refuse: no new work is begun here."""
        _refused("model")

    def closing_note(self, turns: int) -> str | None:
        """Nothing to say."""
        return None


class AbsentPolicy:
    """ports.policy.Policy that is never asked: nothing is about to run."""

    version = ""

    async def decide(self, document: DecisionInput) -> PolicyDecision:
        """Refuse: no new work is begun here."""
        _refused("policy")

    def input_text(self, document: DecisionInput) -> bytes:
        """Refuse: no new work is begun here."""
        _refused("policy")

    def news(self) -> Sequence[PolicyNews]:
        """Nothing: nothing is decided."""
        return ()

    def heard(self, news: Sequence[PolicyNews]) -> None:
        """There is none."""

    async def close(self) -> None:
        """Nothing to stop."""


def _refused(what: str) -> NoReturn:
    raise CheckreinError(
        f"The {what} was asked in an attempt that is being cancelled.", op="absent.asked"
    )
