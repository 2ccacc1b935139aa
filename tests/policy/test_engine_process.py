"""The worker is ours to end, ends with us, and learns nothing that it does not need."""

import asyncio
import gc
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from checkrein.contracts.decision import Reserved
from checkrein.errors import EnvironmentFault
from checkrein.policy_rego import engine_process
from checkrein.policy_rego.engine_process import EngineProcess
from checkrein.policy_rego.worker import MAX_FRAME_BYTES

SLOW = """package x
y if {
    some a in numbers.range(1, 100000)
    some b in numbers.range(1, 100000)
    a + b < 0
}
"""
PROC = Path("/proc/self/environ")
LOAD = {"do": "load", "modules": [["x.rego", SLOW]], "data": "{}", "coverage": False}


def is_running(pid: int) -> bool:
    """Whether a process is there and no mere zombie."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8")
    except (FileNotFoundError, ProcessLookupError):
        return False
    return stat.rpartition(")")[2].split()[0] != "Z"


async def test_closing_waits_for_the_end() -> None:
    """No process and no pipe is left behind; a second close is harmless."""
    engine = await EngineProcess.start()
    pid = engine.pid
    await engine.close()
    await engine.close()
    assert not engine.usable
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


@pytest.mark.parametrize("steps", range(1, 12))
def test_broken_off_it_leaves_nothing(steps: int) -> None:
    """Protects a cancelled run: no process and no open pipe outlives it, wherever it is caught."""

    async def used() -> None:
        engine = await EngineProcess.start()
        await engine.close()

    async def broken_off(task: asyncio.Task[None]) -> None:
        for _ in range(steps):
            await asyncio.sleep(0)
        task.cancel()
        await asyncio.wait([task])

    async def at_start() -> None:
        await broken_off(asyncio.create_task(used()))

    async def at_the_end() -> None:
        engine = await EngineProcess.start()
        await broken_off(asyncio.create_task(engine.close()))

    for where in (at_start, at_the_end):
        asyncio.run(where())
        gc.collect()  # an open transport warns as it is collected
        assert not _children()


def _children() -> list[int]:
    found = subprocess.run(
        ["pgrep", "-P", str(os.getpid()), "-f", str(engine_process.WORKER)],
        capture_output=True,
        text=True,
        check=False,
    )
    return [int(one) for one in found.stdout.split()]


async def test_deadline_kills() -> None:
    """The engine cannot be interrupted from inside, so the process goes."""
    engine = await EngineProcess.start()
    assert "fault" not in await engine.ask(LOAD, limit_s=10)
    with pytest.raises(EnvironmentFault) as late:
        await engine.ask({"do": "eval", "query": "data.x.y", "input": "{}"}, limit_s=0.3)
    assert late.value.code == Reserved.POLICY_TIMEOUT
    assert not engine.usable
    await engine.close()


async def test_dead_worker_is_told_and_not_waited_for() -> None:
    """A closed pipe is an answer of its own."""
    engine = await EngineProcess.start()
    os.kill(engine.pid, signal.SIGKILL)
    with pytest.raises(EnvironmentFault, match="signal 9") as dead:
        await engine.ask(LOAD, limit_s=10)
    assert dead.value.code == Reserved.POLICY_UNAVAILABLE
    await engine.close()


async def test_unknown_request_ends_the_worker() -> None:
    """A worker of another version is not worked with."""
    engine = await EngineProcess.start()
    with pytest.raises(EnvironmentFault, match="unknown request"):
        await engine.ask({"do": "something else"}, limit_s=10)
    assert not engine.usable
    await engine.close()


async def test_evaluation_before_a_bundle_is_a_fault() -> None:
    """Nothing is loaded yet: there is no answer, and certainly no permission."""
    engine = await EngineProcess.start()
    reply = await engine.ask({"do": "eval", "query": "data.x.y", "input": "{}"}, limit_s=10)
    assert reply["fault"] == "input"
    await engine.close()


async def test_missing_program_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """An interpreter that is gone, and a worker without its engine, say what to do."""
    monkeypatch.setattr(sys, "executable", str(tmp_path / "gone"))
    with pytest.raises(EnvironmentFault, match="cannot be started"):
        await EngineProcess.start()
    monkeypatch.undo()
    no_engine = tmp_path / "worker.py"
    no_engine.write_text(f"import sys\nsys.exit({engine_process.NO_ENGINE})\n")
    monkeypatch.setattr(engine_process, "WORKER", no_engine)
    engine = await EngineProcess.start()
    with pytest.raises(EnvironmentFault, match="pip install gordon-to-regorus"):
        await engine.ask(LOAD, limit_s=10)
    await engine.close()


async def test_nonsense_from_the_worker_is_refused(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """An answer that is too large, no JSON, or another question's is no answer."""
    for body, why in (
        ("b'\\xff\\xff\\xff\\xff'", "larger than"),
        ("b'\\0\\0\\0\\2[]'", "no JSON"),
        ("b'\\0\\0\\0\\x08{\"id\":7}'", "out of turn"),
        ("b'\\0\\0'", "exit code 0"),
    ):
        worker = tmp_path / "worker.py"
        worker.write_text(f"import os\nos.write(1, {body})\nos.read(0, 4)\n")
        monkeypatch.setattr(engine_process, "WORKER", worker)
        engine = await EngineProcess.start()
        with pytest.raises(EnvironmentFault, match=why):
            await engine.ask(LOAD, limit_s=10)
        assert not engine.usable
        await engine.close()


def test_both_ends_agree_about_the_largest_frame() -> None:
    """The worker imports nothing of ours, so the number stands in both files."""
    assert MAX_FRAME_BYTES == engine_process.MAX_FRAME_BYTES


def place_of(engine: EngineProcess) -> Path:
    """Where the kernel shows the environment that the worker was started with."""
    return Path(f"/proc/{engine.pid}/environ")


@pytest.mark.skipif(not PROC.exists(), reason="reads /proc, which only Linux has")
async def test_worker_sees_none_of_our_secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its environment holds what a dynamic loader needs, and nothing else."""
    monkeypatch.setenv("CHECKREIN_DATABASE_URL", "postgresql://user:secret@host/db")
    engine = await EngineProcess.start()
    await engine.ask(LOAD, limit_s=10)
    environment = (await asyncio.to_thread(place_of(engine).read_bytes)).split(b"\0")
    names = {entry.partition(b"=")[0].decode() for entry in environment if entry}
    assert names <= {"PATH", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "SYSTEMROOT", "RUST_BACKTRACE"}
    assert b"RUST_BACKTRACE=0" in environment
    await engine.close()


PARENT = """
import asyncio, sys
from checkrein.policy_rego.engine_process import EngineProcess

async def main():
    engine = await EngineProcess.start()
    await engine.ask({load}, limit_s=10)
    print(engine.pid, flush=True)
    if {busy}:
        await engine.ask({{"do": "eval", "query": "data.x.y", "input": "{{}}"}}, limit_s=1)
    await asyncio.sleep(60)

asyncio.run(main())
"""


@pytest.mark.skipif(not PROC.exists(), reason="reads /proc, which only Linux has")
@pytest.mark.parametrize("busy", [False, True])
def test_worker_ends_with_its_parent(busy: bool) -> None:
    """Killed outright, the parent closes nothing; even a worker that evaluates must end."""
    code = PARENT.format(load=LOAD, busy=busy)
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE) as parent:
        assert parent.stdout is not None
        pid = int(parent.stdout.readline())
        time.sleep(0.2)
        parent.kill()
    end = time.monotonic() + 20
    while is_running(pid) and time.monotonic() < end:
        time.sleep(0.05)
    assert not is_running(pid)


async def test_round_trip_is_cheap() -> None:
    """A decision must cost little beside what it decides about: the median of a round trip."""
    engine = await EngineProcess.start()
    text = "package x\ny := input.a\n"
    await engine.ask({**LOAD, "modules": [["x.rego", text]]}, limit_s=10)
    times: list[float] = []
    for number in range(200):
        started = asyncio.get_running_loop().time()
        request = {"do": "eval", "query": "data.x.y", "input": f'{{"a":{number}}}'}
        reply = await engine.ask(request, limit_s=10)
        times.append(asyncio.get_running_loop().time() - started)
        assert f'"value": {number}' in reply["result"]
    await engine.close()
    assert sorted(times)[100] < 0.05
