"""The crash table as data: boundaries by kinds of target by durability, and what must come of each.

Spec 5 names the boundaries. A cell runs in processes that are really killed; crash_cell does that.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import get_args

from checkrein.contracts.action import Guarantee, Lookup
from checkrein.settings import Durability

VERIFIED = "CANDIDATE_VERIFIED"
DURABILITIES: tuple[Durability, ...] = get_args(Durability)


@dataclass(frozen=True)
class Kind:
    """A kind of target: what it is called, and what it promises.

    Attributes:
        named: MODULE:OBJECT of a target that somebody brought; empty for ours.
        counts: whether it can say how many effects there are.
    """

    name: str
    guarantee: Guarantee
    lookup: Lookup = Lookup.NONE
    named: str = ""
    counts: bool = True

    @property
    def repeats(self) -> bool:
        """Whether the same send may be made once more."""
        return self.guarantee is not Guarantee.NONE

    @property
    def proves(self) -> bool:
        """Whether it can prove that an effect has happened."""
        return self.lookup is Lookup.AUTHORITATIVE

    @property
    def sends(self) -> bool:
        """Whether an effect can be there without its receipt."""
        return self.guarantee is not Guarantee.SAME_TRANSACTION


FILE = Kind("file", Guarantee.COMPARE_AND_SET, Lookup.AUTHORITATIVE)
SQL_ROW = Kind("sql_row", Guarantee.COMPARE_AND_SET, Lookup.AUTHORITATIVE)
SQL_SAME = Kind("sql_same_transaction", Guarantee.SAME_TRANSACTION)
HTTP_ATOMIC = Kind("http_atomic_authoritative", Guarantee.ATOMIC_KEY, Lookup.AUTHORITATIVE)
HTTP_EVENTUAL = Kind("http_atomic_eventual", Guarantee.ATOMIC_KEY, Lookup.EVENTUAL)
HTTP_KEYED = Kind("http_atomic_none", Guarantee.ATOMIC_KEY)
HTTP_ASKED = Kind("http_none_authoritative", Guarantee.NONE, Lookup.AUTHORITATIVE)
HTTP_BARE = Kind("http_none_none", Guarantee.NONE)

KINDS = (
    FILE,
    SQL_ROW,
    SQL_SAME,
    HTTP_ATOMIC,
    HTTP_EVENTUAL,
    HTTP_KEYED,
    HTTP_ASKED,
    HTTP_BARE,
)


@dataclass(frozen=True)
class Boundary:
    """Where processes are killed.

    Attributes:
        first: the failpoint of the process that runs the task.
        second: that of the process after it; empty: it lives.
        cancels: whether the process after it cancels, in place of recovering.
        sent: whether the effect is EXECUTING, without a receipt, once the first is dead.
        happened: whether the target has it by then (never where it and its receipt are one).
        busy: whether the target turns the first send away, so that it is sent again.
        says: the spec's words.
    """

    name: str
    first: str
    says: str
    second: str = ""
    cancels: bool = False
    sent: bool = False
    happened: bool = False
    busy: bool = False

    def of(self, kind: Kind) -> bool:
        """Whether this kind of target has such a moment."""
        if self.first == "after_target":
            return kind.sends
        return not self.busy or (kind.sends and kind.name != FILE.name)

    def failpoint(self, kind: Kind) -> str:
        """The first process's failpoint. The workspace has a name of its own for its target."""
        if self.first == "after_target" and kind.name == FILE.name:
            return "after_file_write"
        return self.first


BOUNDARIES = (
    Boundary("after_raw_output", "after_raw_output", "after raw output stored"),
    Boundary("before_decisions", "before_decisions", "before action and decision are stored"),
    Boundary("after_decisions", "after_decisions", "after action, decision and approval stored"),
    Boundary("after_checkpoint", "after_checkpoint", "after the checkpoint, before publishing"),
    Boundary("after_publishing", "after_publishing", "after publishing"),
    Boundary("after_grant", "after_grant", "after a grant is stored, before resume"),
    Boundary("before_executing", "before_executing", "before bind, claim and EXECUTING"),
    Boundary("after_executing", "after_executing", "after EXECUTING, before sending", sent=True),
    Boundary("before_resend", "before_resend", "before it is sent again", sent=True, busy=True),
    Boundary(
        "after_target", "after_target", "after the target committed, before the answer",
        sent=True, happened=True,
    ),
    Boundary(
        "before_receipt", "before_receipt", "after the answer, before the receipt",
        sent=True, happened=True,
    ),
    Boundary("after_receipt", "after_receipt", "after the receipt, before the checkpoint"),
    Boundary("between_actions", "between_actions", "between two actions of one turn"),
    Boundary("after_last_output", "after_raw_output:2", "after the last raw output stored"),
    Boundary("in_verifier", "in_verifier", "inside a verifier"),
    Boundary("before_verification", "before_verification", "before the verification is stored"),
    Boundary("after_verification", "after_verification", "after the verification is stored"),
    Boundary("after_last_checkpoint", "after_checkpoint:2", "after the end is stored"),
    Boundary("in_recover", "after_executing", "in recover itself", "in_recover", sent=True),
    Boundary(
        "in_recover_happened", "before_receipt", "in recover, the effect is there", "in_recover",
        sent=True, happened=True,
    ),
    Boundary(
        "in_recover_waiting", "after_decisions", "in recover, before anybody was asked",
        "in_recover",
    ),
    Boundary("in_cancel", "after_publishing", "in cancel, nothing sent", "in_cancel", cancels=True),
    Boundary(
        "in_cancel_sent", "after_executing", "in cancel, EXECUTING", "in_cancel",
        cancels=True, sent=True,
    ),
    Boundary(
        "in_cancel_happened", "before_receipt", "in cancel, the effect is there", "in_cancel",
        cancels=True, sent=True, happened=True,
    ),
)  # fmt: skip


@dataclass(frozen=True)
class Expected:
    """What must come of a cell.

    Attributes:
        way: a status that must be seen on the way; None: RECONCILE_REQUIRED and CANCELLING must
            not be seen.
        ledger: how many effects there are, by status.
        deduplicated: whether it is found to have happened, so that nothing is sent again.
    """

    final: str = VERIFIED
    way: str | None = None
    effects: int = 1
    ledger: dict[str, int] = field(default_factory=lambda: {"COMMITTED": 1})
    deduplicated: bool = False

    @property
    def by_hand(self) -> bool:
        """Whether a person must say what became of the effect."""
        return self.way is not None


def expected(kind: Kind, boundary: Boundary) -> Expected:
    """The promise of spec 4 and 5 for one boundary of one kind of target."""
    happened = boundary.happened and kind.sends
    proven = happened and kind.proves
    final = "CANCELLED" if boundary.cancels else VERIFIED
    if boundary.cancels and not boundary.sent:
        return Expected(final, effects=0, ledger={})
    if not boundary.sent or proven:
        return Expected(final, deduplicated=proven)
    if boundary.cancels and kind.guarantee in {
        Guarantee.COMPARE_AND_SET,
        Guarantee.SAME_TRANSACTION,
    }:
        return Expected(final, effects=0, ledger={"NOT_APPLIED": 1})
    if not boundary.cancels and kind.repeats:
        return Expected(final)
    return Expected(
        final,
        way="CANCELLING" if boundary.cancels else "RECONCILE_REQUIRED",
        effects=int(happened),
        ledger={"COMMITTED" if happened else "NOT_APPLIED": 1},
        # Nothing is sent again, whoever said that it has happened.
        deduplicated=happened and not boundary.cancels,
    )


@dataclass(frozen=True)
class Cell:
    """One boundary of one kind of target under one durability."""

    boundary: Boundary
    kind: Kind
    durability: Durability

    @property
    def name(self) -> str:
        """Stable; `--cell` takes it."""
        return f"{self.boundary.name}/{self.kind.name}/{self.durability}"

    @property
    def expected(self) -> Expected:
        """What must come of it."""
        return expected(self.kind, self.boundary)


def cells(
    kinds: Sequence[Kind] = KINDS, durabilities: Sequence[Durability] = DURABILITIES
) -> Iterator[Cell]:
    """The whole table, boundary by boundary."""
    for boundary in BOUNDARIES:
        for kind in kinds:
            if boundary.of(kind):
                for durability in durabilities:
                    yield Cell(boundary, kind, durability)


def quick(kinds: Sequence[Kind] = KINDS) -> list[Cell]:
    """Some of it: each boundary, each kind, durabilities in turn; all where an effect is open."""
    found: list[Cell] = []
    for place, boundary in enumerate(BOUNDARIES):
        able = [kind for kind in kinds if boundary.of(kind)]
        # An effect that is sent and not settled is where kinds differ.
        chosen = able if boundary.name in QUICK_WHOLE else able[place % len(able) :][:1]
        for turn, kind in enumerate(chosen):
            found.append(Cell(boundary, kind, DURABILITIES[(place + turn) % len(DURABILITIES)]))
    return found


QUICK_WHOLE = frozenset({"after_executing", "after_target", "before_receipt", "in_cancel_happened"})
"""Boundaries at which the quick table has every kind."""
