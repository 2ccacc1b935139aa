"""What one cell stands on: a database, a folder, a task, a target; and its processes."""

import asyncio
import json
import uuid
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from checkrein.contracts.check import CommandCheck, UnchangedCheck
from checkrein.contracts.task import ApprovalRules, TaskContract, WorkspaceSpec
from checkrein.crash_targets import Opened, Place, arranged, opened
from checkrein.evals.crash_arena import Arena
from checkrein.evals.crash_children import Child
from checkrein.evals.crash_fault_matrix import FaultCell
from checkrein.evals.crash_matrix import FILE, SQL_ROW, SQL_SAME, Cell, Kind
from checkrein.evals.crash_process import APPROVER, Facts, Order, Verb, seen_by

ANY = Cell | FaultCell

_USAGE = {"input_tokens": 10, "output_tokens": 5}
_KEPT = "kept.txt"


class Written:
    """Counts how often the workspace's file was written: each write makes another inode."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._seen = [path.stat().st_ino]

    def look(self) -> int:
        """How many writes there were, by what was there whenever somebody looked."""
        inode = self._path.stat().st_ino
        if inode != self._seen[-1]:
            self._seen.append(inode)
        return len(self._seen) - 1


@dataclass
class Ground:
    """One cell's own things.

    Attributes:
        died: what was wrong with how processes ended.
        seen: statuses that all its processes were told.
    """

    arena: Arena
    cell: ANY
    folder: Path
    url: str
    place: Place
    target: Opened
    before: int
    written: Written
    died: list[str] = field(default_factory=list[str])
    seen: list[str] = field(default_factory=list[str])

    def begin(self, verb: Verb, *, busy: bool = False, **more: Any) -> Child:
        """Let a new process begin."""
        order = Order(
            id=0,
            verb=verb,
            home=self.folder / "home",
            database_url=self.url,
            durability=self.cell.durability,
            target=self.place.model_copy(update={"busy_once": busy}),
            task=self.folder / "contract.json",
            result=self.folder / f"{uuid.uuid4().hex}.json",
            happened=self.cell.boundary.happened and self.cell.kind.sends,
            **more,
        )
        return self.arena.children.begin(order)

    async def killed(self, child: Child) -> None:
        """Wait for a process to be killed by its failpoint."""
        code = await self._end(child)
        if code != -9:
            self.died.append(
                f"the process with {child.order.failpoint} was not killed there: {self.why(child)}"
                if code is not None
                else f"the process with {child.order.failpoint} did not end"
            )

    async def stopped(self, child: Child) -> bool:
        """Wait for a process to be frozen by its failpoint."""
        _, rest = await asyncio.wait(
            [asyncio.ensure_future(child.stopped.wait()), asyncio.ensure_future(child.ended())],
            return_when=asyncio.FIRST_COMPLETED,
        )
        frozen = child.stopped.is_set()
        if not frozen:
            self.died.append(f"it was not frozen at {child.order.failpoint}: {self.why(child)}")
        for task in rest:
            task.cancel()
        return frozen

    async def told(self, child: Child) -> Facts:
        """Wait for a process's own end; what it found."""
        code = await self._end(child)
        if code != 0 or not child.order.result.exists():
            self.died.append(f"a process ended with {code}: {self.why(child)}")
            return Facts()
        return Facts.model_validate_json(child.order.result.read_bytes())

    async def _end(self, child: Child) -> int | None:
        code = await child.ended()
        self.written.look()
        seen = seen_by(child.order)
        self.seen += seen.read_text(encoding="utf-8").splitlines() if seen.exists() else []
        return code

    def why(self, child: Child) -> str:
        """What a process wrote to stderr, its last line first."""
        said = Path(f"{child.order.result}.err")
        lines = said.read_text(encoding="utf-8").split("\n") if said.exists() else []
        return (
            " | ".join(line.strip() for line in lines[::-1] if line.strip())[:600] or "in silence"
        )

    async def effects(self) -> int | None:
        """How many effects the target has counted since the cell began; None: it cannot."""
        if self.place.of == "file":
            return self.written.look()
        count = self.target.count
        return None if count is None else await count() - self.before

    def model_calls(self) -> list[str]:
        """What the scripted model itself counted, over all processes."""
        log = self.folder / "calls.log"
        return log.read_text(encoding="utf-8").splitlines() if log.exists() else []


@asynccontextmanager
async def ground(arena: Arena, cell: ANY, payments: str | None = None) -> AsyncGenerator[Ground]:
    """Make one cell's things; `payments`: another payment service than the arena's."""
    name = f"cell_{uuid.uuid4().hex[:16]}"
    folder = arena.folder / name
    work = folder / "workspace"
    await asyncio.to_thread(work.mkdir, parents=True)
    for file, text in (("a.txt", "one\n"), (_KEPT, "kept\n")):
        (work / file).write_text(text, encoding="utf-8")
    async with arena.database(name) as url:
        place = place_of(cell.kind, payments or arena.payments, url, str(work), name)
        await arranged(place)
        async with opened(place) as target:
            # The account that this process counts is the one that the cell's processes find.
            place = place.model_copy(update={"environment": dict(target.environment)})
            before = 0 if target.count is None else await target.count()
            contract = _contract(arena, cell, folder, target)
            text = contract.model_dump_json()
            (folder / "contract.json").write_text(text, encoding="utf-8")
            yield Ground(arena, cell, folder, url, place, target, before, Written(work / "a.txt"))


def place_of(kind: Kind, payments: str, url: str, work: str, namespace: str) -> Place:
    """Where the target of a kind is."""
    if kind.named:
        return Place(of="object", at=kind.named, guarantee=kind.guarantee, lookup=kind.lookup)
    if kind.name == FILE.name:
        return Place(of="file", at=work)
    if kind.name in {SQL_ROW.name, SQL_SAME.name}:
        return Place(of="row" if kind.name == SQL_ROW.name else "same_transaction", at=url)
    return Place(
        of="http",
        at=payments,
        namespace=namespace,
        guarantee=kind.guarantee,
        lookup=kind.lookup,
    )


def _contract(arena: Arena, cell: ANY, folder: Path, target: Opened) -> TaskContract:
    """One turn of two actions, the write and a read; then the claim that all is done."""
    turns: list[dict[str, Any]] = [
        {
            "text": "I change it, and look.",
            "calls": [
                {"name": target.name, "args": target.args},
                {"name": "workspace.read", "args": {"path": _KEPT}},
            ],
            "usage": _USAGE,
        },
        {"text": "It is done.", "calls": [], "usage": _USAGE},
    ]
    script = folder / "decisions.yaml"
    # JSON is YAML; it says exactly what is meant.
    text = json.dumps({"version": 1, "calls_log": "calls.log", "turns": turns})
    script.write_text(text, encoding="utf-8")
    full = isinstance(cell, FaultCell) and cell.fault.final is not None
    check = CommandCheck.model_validate({"command": {"argv": ["true"]}})
    return TaskContract(
        goal="Make one effect.",
        requested_by="alice",
        model=f"scripted:{script}",
        workspace=WorkspaceSpec(path=str(folder / "workspace"), mode="in_place"),
        policy=str(arena.policy),
        capabilities=[target.name, "workspace.read"],
        approvals=ApprovalRules(roles={"approver": [APPROVER]}),
        success=[check if full else UnchangedCheck(unchanged=[_KEPT])],
    )
