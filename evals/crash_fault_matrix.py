"""The cells under the crash table: what else goes wrong, while an effect is open or about to be."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from checkrein.evals.crash_matrix import (
    BOUNDARIES,
    FILE,
    HTTP_ASKED,
    HTTP_ATOMIC,
    HTTP_BARE,
    HTTP_EVENTUAL,
    HTTP_KEYED,
    KINDS,
    SQL_ROW,
    SQL_SAME,
    Boundary,
    Expected,
    Kind,
    expected,
)
from checkrein.settings import Durability

_AT = {boundary.name: boundary for boundary in BOUNDARIES}


@dataclass(frozen=True)
class Fault:
    """One thing that goes wrong.

    Attributes:
        at: the boundary at which the first process is frozen or killed; its promise holds.
        kinds: the kinds of target that it is tried on.
        alone: whether it disturbs every cell of the server.
        final: the status at the end, where it is not that of the boundary.
        turned_away: whether the same key is turned away afterwards. That says nothing of the send
            before, so that where no lookup proves it, a person must say.
    """

    name: str
    says: str
    at: Boundary
    kinds: tuple[Kind, ...]
    alone: bool = False
    final: str | None = None
    turned_away: bool = False


_HTTP = (HTTP_ATOMIC, HTTP_EVENTUAL, HTTP_KEYED, HTTP_ASKED, HTTP_BARE)

FAULTS = (
    Fault("database_restarted", "Postgres crashes and is started again", _AT["before_receipt"],
          KINDS, alone=True),
    Fault("database_gone_10s", "Postgres is gone for 10 s", _AT["before_receipt"],
          (FILE, SQL_SAME, HTTP_ATOMIC), alone=True),
    Fault("connection_cut", "the owner's session is ended by the server", _AT["before_receipt"],
          KINDS),
    Fault("disk_full", "the disk is full from the last output on", _AT["after_receipt"],
          (SQL_ROW, HTTP_ATOMIC, HTTP_BARE), final="ENVIRONMENT_ERROR"),
    Fault("artifact_store_full", "the artifact store takes nothing", _AT["after_receipt"],
          (SQL_ROW, HTTP_ATOMIC, HTTP_BARE), final="ENVIRONMENT_ERROR"),
    Fault("target_gone", "the target is down, and later up", _AT["after_target"],
          _HTTP),
    Fault("answer_lost_then_busy", "the answer is lost, and then the target takes nothing",
          _AT["before_receipt"], _HTTP, turned_away=True),
    Fault(
        "target_refuses_later",
        "what the target has taken, it would refuse by now",
        _AT["after_target"],
        _HTTP,
        turned_away=True,
    ),
    Fault("clock_jumped", "all clocks are an hour on", _AT["before_receipt"], KINDS),
    Fault("clock_jumped_granted", "all clocks are an hour on", _AT["after_grant"],
          (FILE, HTTP_ATOMIC, HTTP_BARE)),
    Fault("frozen_worker", "frozen past its lease before sending, woken after the end",
          _AT["after_executing"], KINDS),
    Fault("frozen_after_answer", "frozen past its lease before its receipt, woken after the end",
          _AT["before_receipt"], KINDS),
    Fault("two_workers", "two processes recover it at once", _AT["before_receipt"], KINDS),
)  # fmt: skip


@dataclass(frozen=True)
class FaultCell:
    """One fault on one kind of target."""

    fault: Fault
    kind: Kind
    durability: Durability = "exit"

    @property
    def name(self) -> str:
        """Stable; `--cell` takes it."""
        return f"{self.fault.name}/{self.kind.name}/{self.durability}"

    @property
    def boundary(self) -> Boundary:
        """The boundary at which it happens."""
        return self.fault.at

    @property
    def expected(self) -> Expected:
        """What must come of it."""
        promised = expected(self.kind, self.fault.at)
        if self.fault.turned_away and not promised.deduplicated:
            promised = replace(promised, way="RECONCILE_REQUIRED", deduplicated=True)
        return replace(promised, final=self.fault.final or promised.final)


def fault_cells(kinds: Sequence[Kind] = KINDS) -> list[FaultCell]:
    """All of them; those that disturb others come last."""
    names = {kind.name for kind in kinds}
    found = [FaultCell(f, kind) for f in FAULTS for kind in f.kinds if kind.name in names]
    return sorted(found, key=lambda cell: cell.fault.alone)
