"""Judgements: what a person says of one sealed state, where a `human` check asks for it."""

from typing import Literal

from pydantic import Field

from checkrein.contracts.check import HumanSpec
from checkrein.contracts.codec import Frozen, visible

Word = Literal["pass", "fail"]

NOTE_LIMIT = 4_000
"""Longest note of a person, in characters."""

_NAME_LIMIT = 200


class Judgement(Frozen):
    """One question to the people of a role about one state, and what was said to it.

    Attributes:
        check: the check's name in every result; see `check_name`.
        state_digest: the state that is asked about; of another state it says nothing.
        verdict: None while nobody has said anything.
    """

    turn: int
    check: str
    role: str
    question: str
    state_digest: str
    verdict: Word | None = None
    by: str = ""
    authenticated: bool = False
    note: str = Field(default="", max_length=NOTE_LIMIT)

    @property
    def open(self) -> bool:
        """Whether a person is still asked."""
        return self.verdict is None


def check_name(spec: HumanSpec) -> str:
    """How a `human` check is called: the role that judges, and its question."""
    return visible(f"{spec.role}: {' '.join(spec.question.split())}")[:_NAME_LIMIT]
