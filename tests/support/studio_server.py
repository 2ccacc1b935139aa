"""LangGraph's own dev server as a child process, with people who can sign in to it."""

import hashlib
import json
import os
import shutil
import socket
import subprocess
import sys
import time
import uuid
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
from langgraph_sdk import get_client
from langgraph_sdk.client import LangGraphClient
from project_files import ROOT
from refunding import BOOK

from checkrein.settings import Settings

PEOPLE = {"alice": "local", "bob": "local", "carol": "local", "dave": "local", "mallory": "other"}
"""Who can sign in, and for which tenant. The price repair lets bob and carol approve."""

START_S = 60.0

_HEAD = """
version: 1
goal: Write what is asked for.
requested_by: nobody
model: scripted:decisions.yaml
workspace: {path: workspace}
capabilities: [workspace.write_file]
approvals: {roles: {approver: [bob, carol]}}
success:
  - command: {argv: [python, -c, "open('one.txt')"]}
budgets: {repairs: 0}
"""

_WRITE_ONE = """
version: 1
turns:
  - text: One file.
    calls:
      - {name: workspace.write_file, args: {path: one.txt, content: "1"}}
    usage: {input_tokens: 10, output_tokens: 10}
  - text: It is written.
    usage: {input_tokens: 10, output_tokens: 10}
"""

_REFUND = """
version: 1
turns:
  - text: I refund it.
    calls:
      - {name: orders.refund, args: {order: "17", cents: 500, lines: [1, 2]}}
    usage: {input_tokens: 10, output_tokens: 10}
  - text: It is refunded.
    usage: {input_tokens: 10, output_tokens: 10}
"""

TASKS = {
    "one_write": (
        _HEAD.replace("approvals: {", "approvals: {separation_of_duty: true, "),
        _WRITE_ONE,
    ),
    "refund": (
        _HEAD.replace("workspace.write_file", "orders.refund").replace("open('one.txt')", "pass")
        + f"policy: {ROOT / 'tests' / 'support' / 'bundles' / 'ask_all'}\n",
        _REFUND,
    ),
    "two_writes": (
        _HEAD,
        """
version: 1
turns:
  - text: Two files, in one turn.
    calls:
      - {name: workspace.write_file, args: {path: one.txt, content: "1"}}
      - {name: workspace.write_file, args: {path: two.txt, content: "2"}}
    usage: {input_tokens: 10, output_tokens: 10}
  - text: Both are written.
    usage: {input_tokens: 10, output_tokens: 10}
""",
    ),
    "question": (
        _HEAD,
        """
version: 1
turns:
  - text: I do not know what to write.
    calls:
      - {name: ask_user, args: {question: "Which word?"}}
    usage: {input_tokens: 10, output_tokens: 10}
  - text: Then nothing is to be written.
    usage: {input_tokens: 10, output_tokens: 10}
""",
    ),
}
"""Name of a task's folder to its task file and its script."""


def token_of(person: str) -> str:
    """The token of one of PEOPLE; of anybody else, one that no server knows."""
    return f"token-of-{person}"


def write_tokens(file: Path) -> None:
    """Write the server's file of tokens."""
    known = {
        hashlib.sha256(token_of(person).encode()).hexdigest(): {"person": person, "tenant": tenant}
        for person, tenant in PEOPLE.items()
    }
    file.write_text(json.dumps(known))


def lay_tasks(folder: Path) -> None:
    """The tasks that people may name: the price repair, and those of TASKS."""
    shutil.copytree(ROOT / "examples" / "price_repair", folder / "price_repair", dirs_exist_ok=True)
    for name, (head, turns) in TASKS.items():
        place = folder / name
        (place / "workspace").mkdir(parents=True, exist_ok=True)
        (place / "task.yaml").write_text(head)
        (place / "decisions.yaml").write_text(turns)


@dataclass
class StudioServer:
    """`langgraph dev` on a port of its own; `folder` keeps its log and what it remembers."""

    folder: Path
    settings: Settings
    failpoint: str = ""
    port: int = 0
    process: subprocess.Popen[bytes] | None = field(default=None, repr=False)

    @property
    def url(self) -> str:
        """Where it listens."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def book(self) -> Path:
        """What orders.refund writes; a line for each refund."""
        return self.folder / "refunds.jsonl"

    def client(self, person: str | None, **headers: str) -> LangGraphClient:
        """A client that signs in as the person, or as nobody."""
        if person is not None:
            headers["Authorization"] = f"Bearer {token_of(person)}"
        return get_client(url=self.url, api_key=None, headers=headers)

    async def send(
        self, person: str | None, method: str, path: str, body: Any = None, **headers: str
    ) -> httpx.Response:
        """One bare request, as any program can send it."""
        if person is not None:
            headers["Authorization"] = f"Bearer {token_of(person)}"
        async with httpx.AsyncClient(base_url=self.url, timeout=30) as client:
            return await client.request(method, path, json=body, headers=headers)

    async def run(self, person: str | None, thread: str, **body: Any) -> httpx.Response:
        """Start a run on a thread and wait for its end or pause."""
        body = {"assistant_id": "checkrein", **body}
        return await self.send(person, "POST", f"/threads/{thread}/runs/wait", body)

    async def by_sdk(self, person: str, thread: str, **body: Any) -> dict[str, Any]:
        """The same through LangGraph's SDK; an error of the run is raised."""
        async with self.client(person) as client:
            runs: Any = client.runs  # its types are partly unknown
            return dict(await runs.wait(thread, "checkrein", **body))

    async def begin(self, person: str, task: str) -> str:
        """Make a thread and run a task on it until it pauses; returns the thread's id."""
        thread = str(uuid.uuid4())
        async with self.client(person) as client:
            await client.threads.create(thread_id=thread)
        await self.by_sdk(person, thread, input={"task": task})
        return thread

    def start(self) -> None:
        """Start it and wait until it answers."""
        lay_tasks(self.folder / "tasks")
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        tokens = self.folder / "tokens.json"
        write_tokens(tokens)
        environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(self.folder),
            "CHECKREIN_HOME": str(self.settings.home),
            "CHECKREIN_DATABASE_URL": self.settings.database_url or "",
            "CHECKREIN_TASKS": str(self.folder / "tasks"),
            "CHECKREIN_STUDIO_TOKENS": str(tokens),
            "CHECKREIN_FAILPOINT": self.failpoint,
            "CHECKREIN_CAPABILITIES": "refunding:refund",
            "PYTHONPATH": str(ROOT / "tests" / "support"),
            BOOK: str(self.book),
            "LANGGRAPH_CLI_NO_ANALYTICS": "1",
            "LANGGRAPH_NO_VERSION_CHECK": "1",
            "LANGSMITH_TRACING": "false",
            # Whatever reaches for the network fails at once.
            "HTTP_PROXY": "http://127.0.0.1:9",
            "HTTPS_PROXY": "http://127.0.0.1:9",
            "NO_PROXY": "127.0.0.1,localhost",
        }
        argv = [sys.executable, "-m", "langgraph_cli", "dev", "--port", str(self.port)]
        argv += ["--no-browser", "--no-reload", "--config", str(ROOT / "langgraph.json")]
        with (self.folder / "server.log").open("ab") as log:
            self.process = subprocess.Popen(
                argv,
                cwd=self.folder,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
            )
        self._wait()

    def stop(self) -> None:
        """End it in order."""
        if self.process is not None:
            self.process.terminate()
            try:
                self.process.wait(timeout=20)
            except subprocess.TimeoutExpired:
                self.kill()
            self.process = None

    def kill(self) -> None:
        """End it as a power cut would."""
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process = None

    def _wait(self) -> None:
        assert self.process is not None
        end = time.monotonic() + START_S
        while time.monotonic() < end and self.process.poll() is None:
            try:
                if httpx.get(self.url + "/ok", timeout=5).status_code == 200:
                    return
            except httpx.TransportError:
                pass
            time.sleep(0.1)
        log = (self.folder / "server.log").read_text(errors="replace")
        self.kill()
        raise AssertionError(f"langgraph dev did not start:\n{log[-4000:]}")
