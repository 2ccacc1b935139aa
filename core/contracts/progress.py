"""Progress: when a run counts as going in circles, and the ladder that it is then led up."""

from enum import StrEnum
from typing import Annotated

from pydantic import Field

from checkrein.contracts.codec import Frozen


class Signal(StrEnum):
    """By what a lack of progress is noticed."""

    REPEATED_CALL = "repeated_call"
    CYCLE = "cycle"
    REPEATED_ERROR = "repeated_error"
    UNCHANGED_PLAN = "unchanged_plan"
    NO_NEW_FACT = "no_new_fact"


class Rung(StrEnum):
    """What is tried about it, in this order: the model's own means first, a person last."""

    REPLAN = "replan"
    SHRINK = "shrink"
    SWITCH = "switch"
    REVIEW = "review"
    PERSON = "person"


LADDER = tuple(Rung)
"""The rungs from first to last."""


class ProgressRules(Frozen):
    """When a run counts as making no progress. Every number but `calm` counts turns in a row.

    Attributes:
        repeats: the same tool with near-same arguments and the same answer.
        polls: the same for a tool named in `polling`, of which asking again is the use.
        errors: the same error of the same tool, with nothing new in between.
        plan: the model says the same, and nothing new comes of it.
        facts: nothing is found that was not known, and nothing is changed.
        cycles: how often a period of two to four turns is gone through.
        patience: how long a rung is given before the next; less where few steps are left.
        calm: after so many turns without a notice the ladder begins at its foot again.
        polling: capabilities that wait for something, so that calling them again is honest.
    """

    repeats: int = Field(default=3, ge=2, le=1_000, strict=True)
    polls: int = Field(default=20, ge=2, le=1_000, strict=True)
    errors: int = Field(default=4, ge=2, le=1_000, strict=True)
    plan: int = Field(default=4, ge=2, le=1_000, strict=True)
    facts: int = Field(default=6, ge=2, le=1_000, strict=True)
    cycles: int = Field(default=3, ge=2, le=100, strict=True)
    patience: int = Field(default=2, ge=1, le=100, strict=True)
    calm: int = Field(default=8, ge=1, le=1_000, strict=True)
    polling: list[Annotated[str, Field(min_length=1, max_length=64)]] = Field(
        default_factory=list[str], max_length=256
    )


class Skipped(Frozen):
    """A rung that was passed over, and why."""

    rung: Rung
    why: str


class Notice(Frozen):
    """One notice that a run goes in circles, and the rung that was climbed for it.

    Attributes:
        turn: the turn that comes next; what is advised is for it.
        evidence: the turns that show it, oldest first.
        action_ids: the calls of those turns that were repeated.
        repeated: the tools of those calls.
        withheld: capabilities that are not offered for a while.
        skipped: the rungs below this one that were passed over.
        advice: what the model is told; on the last rung, what the person is asked.
        review: the independent reviewer's words.
    """

    turn: int
    signal: Signal
    rung: Rung
    evidence: list[int]
    action_ids: list[str]
    repeated: list[str]
    withheld: list[str] = Field(default_factory=list[str])
    skipped: list[Skipped] = Field(default_factory=list[Skipped])
    advice: str
    review: str | None = None
