"""The docker backend's words, asked of a real program that stands in the engine's place.

No engine runs where this suite does; `checkrein doctor` says so of the backend.
"""

import json
import stat
from pathlib import Path

import pytest
from pydantic import SecretStr

from checkrein.adapters.command_docker import DockerCommandRunner
from checkrein.errors import EnvironmentFault, InputError
from checkrein.ports.command_runner import Confinement, Ending, Mount

PINNED = "python@sha256:" + "0" * 64
FAKE = """#!/usr/bin/env python3
import json, os, sys, time
with open({log!r}, "a") as log:
    log.write(json.dumps([sys.argv[1:], sorted(os.environ)]) + "\\n")
if sys.argv[1] == "run":
    print("out")
    {run}
elif sys.argv[1] == "version":
    {version}
"""


class Engine:
    """A program called docker that writes down what it is asked."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "bin"
        self.folder.mkdir()
        self.log = folder / "log"
        self.becomes()

    def becomes(self, run: str = "sys.exit(0)", version: str = "print('27.1')") -> None:
        program = self.folder / "docker"
        program.write_text(FAKE.format(log=str(self.log), run=run, version=version))
        program.chmod(program.stat().st_mode | stat.S_IXUSR | stat.S_IXGRP | stat.S_IXOTH)

    @property
    def asked(self) -> list[list[str]]:
        return [json.loads(line)[0] for line in self.log.read_text().splitlines()]

    @property
    def path(self) -> str:
        return f"{self.folder}:/usr/local/bin:/usr/bin:/bin"

    def runner(self, image: str | None = PINNED) -> DockerCommandRunner:
        return DockerCommandRunner(image=image, path=self.path)


@pytest.fixture
def engine(tmp_path: Path) -> Engine:
    return Engine(tmp_path)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "own"
    (made / "src").mkdir(parents=True)
    return made


@pytest.mark.shows(260)
async def test_a_container_is_asked_for_with_every_bound(engine: Engine, folder: Path) -> None:
    """Protects: no network, no rights, a read-only root, limits, its own folder, a name."""
    held = Confinement(
        timeout_s=20,
        network="none",
        writable=folder,
        memory_bytes=64 << 20,
        processes=50,
        cpu_s=9,
        mounts=[Mount(source=folder, target="/mnt/data")],
        secrets={"pay_key": SecretStr("value-of-it")},
    )
    done = await engine.runner().run(["sh", "-c", "x"], cwd=folder / "src", confinement=held)
    run, removed = engine.asked
    text = " ".join(run)
    for words in (
        "run --rm --interactive --init --pull never --name checkrein-",
        "--network none --read-only --cap-drop ALL --security-opt no-new-privileges",
        "--pids-limit 50",
        f"--memory {64 << 20} --memory-swap {64 << 20}",
        "--ulimit cpu=9",
        f"type=bind,source={folder},target=/workspace",
        f"type=bind,source={folder},target=/mnt/data,readonly",
        "--workdir /workspace/src",
        "--env PAY_KEY",
        f"--entrypoint sh {PINNED} -c x",
    ):
        assert words in text
    assert "value-of-it" not in text, "a secret is no argument, which everybody can read"
    assert run[run.index("--user") + 1].split(":")[0] != "0"
    assert removed == ["rm", "--force", run[run.index("--name") + 1]]
    assert (done.stdout, done.backend, done.root) == (b"out\n", "docker", "/workspace")


@pytest.mark.parametrize("image", [None, "python", "python:3.12", "python@sha256:12", "-v /:/x"])
async def test_a_tag_is_refused(image: str | None, engine: Engine, folder: Path) -> None:
    """Protects: what a name means tomorrow, nobody has looked at."""
    with pytest.raises(InputError) as caught:
        await engine.runner(image).run(
            ["true"], cwd=folder, confinement=Confinement(timeout_s=5, writable=folder)
        )
    assert caught.value.code == "image_not_pinned"
    assert not engine.log.exists()


async def test_time_that_is_over_removes_the_container(engine: Engine, folder: Path) -> None:
    """Protects the machine: the command line's end is not the container's."""
    engine.becomes(run="time.sleep(60)")
    held = Confinement(timeout_s=1, writable=folder)
    done = await engine.runner().run(["true"], cwd=folder, confinement=held)
    assert (done.ended_by, done.exit_code) == (Ending.TIME_LIMIT, None)
    run, removed = engine.asked
    assert removed == ["rm", "--force", run[run.index("--name") + 1]]


@pytest.mark.parametrize(
    ("run", "code", "ended_by"),
    [("sys.exit(3)", 3, Ending.EXIT), ("sys.exit(137)", -9, Ending.SIGNAL)],
)
async def test_statuses_and_signals_are_told_apart(
    run: str, code: int, ended_by: Ending, engine: Engine, folder: Path
) -> None:
    """Protects the record: docker tells a signal as a status."""
    engine.becomes(run=run)
    held = Confinement(timeout_s=20, writable=folder)
    done = await engine.runner().run(["true"], cwd=folder, confinement=held)
    assert (done.exit_code, done.ended_by) == (code, ended_by)


@pytest.mark.shows(268)
@pytest.mark.parametrize(
    ("run", "code"),
    [
        ("sys.stderr.write('docker: no such image'); sys.exit(125)", "sandbox_broken"),
        ("sys.stderr.write('docker: exec: not found'); sys.exit(127)", "program_missing"),
    ],
)
async def test_a_container_that_never_ran_is_a_fault(
    run: str, code: str, engine: Engine, folder: Path
) -> None:
    """Protects verdicts: docker's own failure is not the command's."""
    engine.becomes(run=run)
    with pytest.raises(EnvironmentFault) as caught:
        await engine.runner().run(
            ["x"], cwd=folder, confinement=Confinement(timeout_s=20, writable=folder)
        )
    assert caught.value.code == code
    assert caught.value.retryable is (code == "sandbox_broken")


async def test_an_engine_that_does_not_answer_is_no_backend(engine: Engine, tmp_path: Path) -> None:
    """Protects choosing: a command line without an engine runs nothing."""
    offer = await engine.runner().offer()
    assert (offer.version, offer.lack, offer.tested) == ("27.1", "", False)
    engine.becomes(version="sys.stderr.write('Cannot connect'); sys.exit(1)")
    assert "no docker engine answers (Cannot connect)" in (await engine.runner().offer()).lack
    missing = DockerCommandRunner(path=str(tmp_path))
    assert "docker is not on the PATH" in (await missing.offer()).lack
