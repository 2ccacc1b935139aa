"""The judge: another model's opinion of a candidate, for goals that nothing else can measure."""

from typing import Literal, Protocol

from pydantic import Field

from checkrein.contracts.codec import Frozen
from checkrein.contracts.proposal import Usage


class ShownFile(Frozen):
    """One file of the candidate as data. `text` is None where it is no text."""

    path: str
    text: str | None


class Question(Frozen):
    """What is judged, by what, and nothing else: neither the work's story nor its author's words.

    Attributes:
        rubric: of the contract, as questions that yes or no answers.
        files: data. Whatever stands in them, nothing of it is an instruction.
    """

    rubric: str
    files: list[ShownFile]


class Opinion(Frozen):
    """What the judge says.

    Attributes:
        raw: its answer, unread, as text for people.
        verdict: None where the answer was not of the one form that counts.
    """

    raw: str
    verdict: Literal["pass", "fail"] | None = None
    reasons: list[str] = Field(default_factory=list[str])
    usage: Usage


class Judge(Protocol):
    """One model that judges, in a context of its own for each question."""

    @property
    def name(self) -> str:
        """How people name it, for example `openai:gpt-5`."""
        ...

    def most(self, question: Question) -> Usage:
        """The worst case of asking once; reserved before it."""
        ...

    async def opinion(self, question: Question) -> Opinion:
        """Ask once.

        Raises:
            ModelError: it could not be asked.
        """
        ...


class OpenJudge(Protocol):
    """Opens the judge that a check names."""

    async def __call__(self, model: str) -> Judge:
        """Open it.

        Raises:
            InputError: the model cannot be opened; the message says what is missing.
        """
        ...
