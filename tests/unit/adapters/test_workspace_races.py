"""Nobody wins a race against the path guard, whichever capability of the workspace it is.

Once with an enemy who acts before each single call into the file system, one after the other, and
once with a process that swaps a thousand times while the capability is used.
"""

import itertools
import tempfile
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from swapping import ATTACKS, ONLY_OUTSIDE, SECRET, Steps, World, swapper

from checkrein.adapters.command_door import CommandDoor
from checkrein.adapters.workspace import FolderWorkspace
from checkrein.adapters.workspace_capabilities import workspace_capabilities
from checkrein.contracts.codec import digest
from checkrein.contracts.effect import EffectStatus, Outcome
from checkrein.contracts.environment import Offer, offered
from checkrein.errors import CapabilityError, EnvironmentFault
from checkrein.ports.capability import Capability, Permit
from checkrein.ports.command_runner import CommandResult, Confinement, Ending

SWAPS = 1_000
NEW = "new by the harness\n"
PATCH = "@@ -1,3 +1,3 @@\n one\n-two\n+new by the harness\n three\n"

Operation = Callable[["Bench"], Awaitable[Any]]


class Bench:
    """A workspace with an enemy, and what is done in it."""

    def __init__(self, world: World, workspace: FolderWorkspace) -> None:
        self.world = world
        self.workspace = workspace
        found = workspace_capabilities(workspace, door())
        self.capabilities = {one.spec.name: one for one in found}
        self._numbers = itertools.count()

    def capability(self, name: str) -> Capability:
        return self.capabilities[f"workspace.{name}"]

    async def sent(self, name: str, **args: Any) -> Outcome:
        """Prepare a write and send it."""
        one = self.capability(name)
        prepared = await one.prepare(args)
        number = next(self._numbers)
        permit = Permit(effect_id=f"eff_{number}", key="k", operation_hash="h", fence=1)
        return await one.send(prepared, permit, _ours)

    async def copied(self) -> str:
        """The digest of a copy, together with all that is in it."""
        with tempfile.TemporaryDirectory() as folder:
            target = Path(folder) / "copy"
            said = await self.workspace.copy_to(target)
            return said + held(target)


class Reader:
    """A runner that reads all that lies where it would run."""

    async def run(
        self,
        argv: list[str],
        *,
        cwd: Path,
        confinement: Confinement,
        stdin: bytes = b"",
        keep: Path | None = None,
    ) -> CommandResult:
        said = held(cwd).encode()
        return CommandResult(
            argv=argv, exit_code=0, stdout=said, stderr=b"", ended_by=Ending.EXIT, duration_s=0.0
        )

    async def offer(self) -> Offer:
        return offered("local", "", set(), ["none", "host"])


def door() -> CommandDoor:
    """The door to that runner."""
    offer = offered("local", "", set(), ["none", "host"])
    return CommandDoor(Reader(), offer, Confinement(timeout_s=600))


def held(folder: Path) -> str:
    """Every name below a folder, with the content of the files; links stay links."""
    found: list[str] = []
    for path in sorted(folder.rglob("*")):
        plain = path.is_file() and not path.is_symlink()
        found.append(f"{path.name}:{path.read_text(errors='replace') if plain else ''}")
    return "\n".join(found)


async def _ours() -> bool:
    return True


OPERATIONS: dict[str, Operation] = {
    "read": lambda b: b.capability("read").read({"path": "src/app.py"}, {}),
    "list": lambda b: b.capability("list").read({"path": "src"}, {}),
    "describe": lambda b: b.capability("read").describe({"path": "src/deep/x.txt"}),
    "describe_list": lambda b: b.capability("list").describe({"path": "src"}),
    "write_file": lambda b: b.sent("write_file", path="src/app.py", content=NEW),
    "write_new_file": lambda b: b.sent("write_file", path="src/made/new.txt", content=NEW),
    "apply_patch": lambda b: b.sent("apply_patch", path="src/app.py", patch=PATCH),
    "run_command": lambda b: b.sent("run_command", argv=["ls"], folder="src"),
    "version": lambda b: b.workspace.version("src/app.py"),
    "settled_version": lambda b: b.workspace.settled_version("src/app.py"),
    "digest": lambda b: b.workspace.digest(),
    "copy_to": lambda b: b.copied(),
    "diff": lambda b: b.workspace.diff(),
    "changed": lambda b: b.workspace.changed(["**"]),
}


def test_every_capability_of_the_workspace_is_raced() -> None:
    """Protects the next capability, which must take its place above."""
    names = {one.spec.name.removeprefix("workspace.") for one in workspace_capabilities(Any, None)}  # type: ignore[arg-type] # only the specs are looked at
    assert names <= OPERATIONS.keys()


@pytest.fixture
async def bench(tmp_path: Path) -> Bench:
    """A world, and a workspace in place in it."""
    world = World(tmp_path / "world")
    home = tmp_path / "home"
    ref = await FolderWorkspace.create(world.root, "in_place", home=home, attempt_id="a1")
    return Bench(world, FolderWorkspace(ref, home=home, attempt_id="a1", lock_wait_s=5))


async def ended(bench: Bench, operation: Operation) -> Any:
    """The result, or the clear error; anything else goes on."""
    try:
        return await operation(bench)
    except (CapabilityError, EnvironmentFault) as error:
        assert str(error)
        return error


def check(bench: Bench, result: Any, before: list[Any]) -> None:
    """Nothing of outside was shown, and nothing there was touched; what is claimed is so."""
    shown = f"{result!r} {result}"
    assert SECRET not in shown
    assert ONLY_OUTSIDE not in shown
    assert digest((bench.world.outside / "app.py").read_bytes()) not in shown
    assert bench.world.outside_now() == before
    left = [
        *bench.world.root.rglob(".checkrein-tmp-*"),
        *bench.world.away.rglob(".checkrein-tmp-*"),
    ]
    assert left == []
    if isinstance(result, Outcome) and result.status is EffectStatus.COMMITTED:
        claimed = result.version
        files = [*bench.world.root.rglob("*"), *bench.world.away.rglob("*")]
        plain = [f for f in files if f.is_file() and not f.is_symlink()]
        assert not claimed or claimed in {digest(f.read_bytes()) for f in plain}


# All pairs take minutes; these few, one for each way in and out, run every time.
_ALWAYS = {
    ("folder to link", "read"),
    ("folder to link", "list"),
    ("folder to link", "write_new_file"),
    ("folder to link", "settled_version"),
    ("file to link", "write_file"),
    ("file to link", "diff"),
    ("file to pipe", "digest"),
    ("folder moved away", "apply_patch"),
}


def _pairs() -> list[Any]:
    """Each attack on each operation; all but a few are left to `make test-slow`."""
    return [
        pytest.param(
            attack,
            name,
            marks=[] if (attack, name) in _ALWAYS else [pytest.mark.slow],
            id=f"{attack.replace(' ', '_')}-{name}",
        )
        for attack in ATTACKS
        for name in OPERATIONS
    ]


@pytest.mark.shows(247, 267)
@pytest.mark.parametrize(("way", "name"), _pairs())
async def test_an_enemy_before_each_single_step(
    way: str, name: str, bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Protects: there is no step between check and use at which a swap leads outside."""
    world, operation, attack = bench.world, OPERATIONS[name], ATTACKS[way]
    before = world.outside_now()
    steps = Steps(monkeypatch)

    async def attacked(at: int, back_after: int | None) -> int:
        todo = {at: lambda: attack.do(world)}
        if back_after is not None:
            todo[at + back_after] = lambda: attack.undo(world)
        steps.start(todo)
        result = await ended(bench, operation)
        taken = steps.stop()
        check(bench, result, before)
        attack.undo(world)
        world.fill()
        return taken

    at = 0
    while at < await attacked(at, back_after=1):
        await attacked(at, back_after=None)
        at += 1
    assert at > 3


@pytest.mark.shows(247, 267)
@pytest.mark.slow
@pytest.mark.parametrize("kind", ["folder", "file"])
@pytest.mark.parametrize("name", OPERATIONS)
async def test_a_thousand_swaps(name: str, kind: str, bench: Bench) -> None:
    """Protects: a process that swaps all the time never gets a byte in or out."""
    before = bench.world.outside_now()
    enemy = swapper(bench.world, kind, SWAPS)
    uses = 0
    try:
        while enemy.poll() is None or uses == 0:
            result = await ended(bench, OPERATIONS[name])
            assert SECRET not in f"{result!r} {result}"
            assert ONLY_OUTSIDE not in f"{result!r} {result}"
            uses += 1
    finally:
        enemy.kill()
        assert enemy.wait() == 0
    assert bench.world.outside_now() == before
