"""demo: the main job from proposal to proof, killed and recovered on the way, by real processes.

Every step is a process of its own, as people would start them; this one only watches, and says
what is not as it should be.
"""

import asyncio
import contextlib
import json
import os
import shutil
import signal
import sys
import tempfile
import time
from dataclasses import dataclass, field
from importlib import resources, util
from pathlib import Path
from typing import Annotated, Any

import typer
import yaml

from checkrein.entrypoints.cli.console import out, shown
from checkrein.entrypoints.cli.exits import Exit
from checkrein.entrypoints.cli.opening import be_quiet
from checkrein.errors import InputError

PATIENCE_S = 90
"""Seconds after which a step that does not end has failed."""

SILENCE_S = 1.5
"""Seconds without a line after which something is said."""

_KILLED_AT = "after_file_write"


class DemoError(Exception):
    """A step was not as stated."""


@dataclass(frozen=True)
class Ended:
    """How a child process ended; `said` is the JSON object on its stdout."""

    code: int
    said: dict[str, Any]


def demo(
    keep: Annotated[
        bool, typer.Option("--keep", help="Leave the home folder with the database behind.")
    ] = False,
) -> int:
    """Run the example: propose, approve, kill, recover, verify, prove."""
    be_quiet()
    if util.find_spec("pytest") is None:
        raise InputError(
            "The example's verifier runs pytest, which is not installed. Install it with: "
            "pip install 'checkrein[demo]'",
            op="cli.demo",
            code="pytest_missing",
        )
    return asyncio.run(watched(Demo(_folder()), keep=keep))


def _folder() -> Path:
    """A folder of the demo's own.

    As root the database's server runs as another user, and opens every folder above its own: so
    it never lies below one that is closed to others, as root's home is.
    """
    from checkrein.settings import default_home

    base = Path(tempfile.gettempdir()).absolute()
    if os.geteuid() == 0 and not all(p.stat().st_mode & 0o001 for p in (base, *base.parents)):
        base = default_home().parent
    folder = Path(tempfile.mkdtemp(prefix="checkrein-demo-", dir=base))
    folder.chmod(0o755)
    return folder


async def watched(show: "Demo", *, keep: bool) -> int:
    """Run the demo, and leave nothing running behind."""
    whole = False
    try:
        await show.whole()
        whole = True
        return Exit.DONE
    except DemoError as error:
        show.say(f"NOT as it should be: {error}")
        return Exit.WRONG
    finally:
        with contextlib.suppress(DemoError):
            await show.child("db", "stop", "--json")
        if whole and not keep:
            await asyncio.to_thread(shutil.rmtree, show.home, ignore_errors=True)
        else:
            show.say(f"home, with database and working copy: {show.home}")
        if whole:
            show.say(f"evidence: {show.evidence}")


@dataclass
class Demo:
    """One showing, in a folder of its own."""

    folder: Path
    began: float = field(default_factory=time.monotonic)
    _spoke: float = field(default_factory=time.monotonic)

    @property
    def home(self) -> Path:
        """CHECKREIN_HOME of every child."""
        return self.folder / "home"

    @property
    def evidence(self) -> Path:
        """Where the evidence goes; it stays there."""
        return self.folder / "evidence"

    def say(self, text: str) -> None:
        """One line, with the time that has passed."""
        self._line(f"[{time.monotonic() - self.began:5.1f} s] {text}")

    def _line(self, text: str) -> None:
        out(text)
        sys.stdout.flush()
        self._spoke = time.monotonic()

    async def _murmur(self, command: str) -> None:
        """Say something whenever nobody has for a while: a child that loads says nothing yet."""
        while True:
            await asyncio.sleep(SILENCE_S / 6)
            if time.monotonic() - self._spoke > SILENCE_S:
                self.say(f"... `checkrein {command}` is at work")

    async def whole(self) -> None:
        """All steps, each checked before the next."""
        task = Path(str(resources.files("checkrein.examples"))) / "price_repair" / "task.yaml"
        attempt, approval, workspace = await self._proposed(task)
        await self._approved(approval)
        before = (workspace / "pricing.py").read_bytes()
        await self._killed(attempt, workspace, before)
        task_id = await self._recovered(attempt)
        await self._proved(task_id)
        self._told(len(_turns(task)))

    async def _proposed(self, task: Path) -> tuple[str, str, Path]:
        self.say(f"1. A model works on {task}. What it proposes is judged by a policy.")
        ended = await self.child("run", str(task), "--json")
        _expect("the exit code of run", ended.code, int(Exit.SUSPENDED))
        _expect("the status", ended.said.get("status"), "WAITING_FOR_APPROVAL")
        _expect("the number of approvals asked for", len(ended.said.get("approvals", [])), 1)
        _expect("the effects so far", ended.said.get("effects"), {})
        request = ended.said["approvals"][0]
        self.say(f"WAITING_FOR_APPROVAL: {shown(request['capability'])} wants to change this:")
        for line in shown(request["preview"], lines=True).splitlines():
            self._line(f"          {line}")
        attempt, approval = ended.said["attempt_id"], request["approval_id"]
        return attempt, approval, Path(ended.said["workspace"])

    async def _approved(self, approval: str) -> None:
        self.say("2. bob approves it, in another process; nothing is held in memory meanwhile.")
        ended = await self.child("approve", approval, "--as", "bob", "--json")
        _expect("the exit code of approve", ended.code, int(Exit.DONE))
        _expect("the approval", ended.said.get("approval", {}).get("status"), "GRANTED")

    async def _killed(self, attempt: str, workspace: Path, before: bytes) -> None:
        self.say("3. It is resumed, and killed right after the file was written.")
        ended = await self.child("resume", attempt, "--json", failpoint=_KILLED_AT)
        _expect("how resume ended", ended.code, -signal.SIGKILL)
        if (workspace / "pricing.py").read_bytes() == before:
            raise DemoError("the file is not written although the process was killed after that.")
        self.say("killed by SIGKILL: the file is written, and the ledger has no receipt of it.")

    async def _recovered(self, attempt: str) -> str:
        self.say("4. A new process recovers it: it asks the target before it does anything.")
        ended = await self.child("recover", attempt, "--json")
        _expect("the status", ended.said.get("status"), "CANDIDATE_VERIFIED")
        _expect("the exit code of recover", ended.code, int(Exit.DONE))
        _expect("the effects", ended.said.get("effects"), {"COMMITTED": 1})
        self.say("CANDIDATE_VERIFIED, with exactly 1 committed effect.")
        return str(ended.said["task_id"])

    async def _proved(self, task_id: str) -> None:
        self.say("5. The evidence is exported, and verified without the database.")
        to = str(self.evidence)
        ended = await self.child("evidence", "export", task_id, "--out", to, "--json")
        _expect("the exit code of evidence export", ended.code, int(Exit.DONE))
        ended = await self.child("evidence", "verify", to, "--json")
        _expect("the exit code of evidence verify", ended.code, int(Exit.DONE))
        _expect("the findings", ended.said.get("findings"), [])
        self.say(f"whole: {ended.said['files']} files, root {ended.said['root']}")

    def _told(self, turns: int) -> None:
        """Tell the trace, as the evidence holds it, and check it for what was claimed."""
        from checkrein.contracts.event import Event
        from checkrein.graph.evidence_files import EVENTS
        from checkrein.graph.story import story

        text = (self.evidence / EVENTS).read_text(encoding="utf-8")
        events = [Event.model_validate_json(line) for line in text.split("\n") if line]
        self.say("What happened, from the trace:")
        for line in story(events):
            self._line(line)
        types = [event.type for event in events]
        _expect("action_deduplicated in the trace", types.count("action_deduplicated"), 1)
        _expect("how often the change was sent", types.count("effect_executing"), 1)
        _expect("receipts of the process that died", types.count("effect_committed"), 0)
        _expect("what the target was asked afterwards", types.count("effect_reconciled"), 1)
        _expect("calls of the model", types.count("model_requested"), turns)
        self.say(
            f"WAITING_FOR_APPROVAL, SIGKILL, action_deduplicated, CANDIDATE_VERIFIED; 1 committed "
            f"effect; the model was called {turns} times for {turns} turns."
        )

    async def child(self, *args: str, failpoint: str | None = None) -> Ended:
        """Run one command of the CLI in a process of its own, and show what it says meanwhile."""
        mine = {"CHECKREIN_HOME": str(self.home), "PYTHONUNBUFFERED": "1"}
        if failpoint is not None:
            mine["CHECKREIN_FAILPOINT"] = failpoint
            self.say(f"$ CHECKREIN_FAILPOINT={failpoint} checkrein {' '.join(args)}")
        else:
            self.say(f"$ checkrein {' '.join(args)}")
        others = {k: v for k, v in os.environ.items() if not k.startswith("CHECKREIN_")}
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-P", "-m", "checkrein.entrypoints.cli", *args),
            env=others | mine,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            limit=1 << 20,
        )
        murmur = asyncio.create_task(self._murmur(args[0]))
        try:
            async with asyncio.timeout(PATIENCE_S):
                said = await self._heard(process)
        except TimeoutError:
            raise DemoError(f"`checkrein {args[0]}` does not end in {PATIENCE_S} s.") from None
        finally:
            murmur.cancel()
            if process.returncode is None:
                process.kill()
                await process.wait()
        return Ended(process.returncode or 0, _object(args[0], said))

    async def _heard(self, process: asyncio.subprocess.Process) -> bytes:
        assert process.stdout is not None
        assert process.stderr is not None

        async def shown_on(stream: asyncio.StreamReader) -> None:
            async for line in stream:
                self._line(f"          {shown(line.decode('utf-8', 'replace').rstrip())}")

        said, _ = await asyncio.gather(process.stdout.read(), shown_on(process.stderr))
        await process.wait()
        return said


def _object(command: str, said: bytes) -> dict[str, Any]:
    """The one JSON object that a command prints; a killed one prints none."""
    if not said.strip():
        return {}
    try:
        found: dict[str, Any] = json.loads(said)
    except ValueError:
        raise DemoError(f"`checkrein {command} --json` printed no JSON.") from None
    if "error" in found:
        raise DemoError(f"`checkrein {command}` says: {shown(found['error']['message'])}")
    return found


def _turns(task: Path) -> list[Any]:
    """The turns of the example's script."""
    script = task.parent / "decisions.yaml"
    turns: list[Any] = yaml.safe_load(script.read_text(encoding="utf-8"))["turns"]
    return turns


def _expect(what: str, found: object, wanted: object) -> None:
    if found != wanted:
        raise DemoError(f"{what} should be {wanted!r}, and is {found!r}.")
