"""The docker backend's words, asked of a real program that stands in the engine's place.

No engine runs where this suite does; `checkrein doctor` says so of the backend.
"""

import json
import os
import stat
from pathlib import Path

import pytest
from pydantic import SecretStr

from checkrein.adapters.command_docker import DockerCommandRunner
from checkrein.adapters.throw_away import throw_away_folder
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
elif sys.argv[1] == "ps":
    {listed}
"""


class Engine:
    """A program called docker that writes down what it is asked."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "bin"
        self.folder.mkdir()
        self.log = folder / "log"
        self.becomes()

    def becomes(
        self, run: str = "sys.exit(0)", version: str = "print('27.1')", listed: str = "pass"
    ) -> None:
        program = self.folder / "docker"
        program.write_text(FAKE.format(log=str(self.log), run=run, version=version, listed=listed))
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


def labels(run: list[str]) -> dict[str, str]:
    """The labels among the words of a `docker run`."""
    words = [word for n, word in enumerate(run) if run[n - 1] == "--label"]
    return dict(word.split("=", 1) for word in words)


@pytest.mark.shows(268)
async def test_containers_of_a_killed_harness_are_removed(engine: Engine, folder: Path) -> None:
    """Protects the machine: a container does not end with its harness; one in use is left."""
    held = Confinement(timeout_s=20, writable=folder)
    await engine.runner().run(["true"], cwd=folder, confinement=held)
    own = labels(engine.asked[0])
    gone = Path(own["checkrein.held"])
    assert not os.path.exists(gone), "its harness is done with it"  # noqa: ASYNC240 - one look
    async with throw_away_folder("run") as used:
        engine.becomes(listed=f"print('a1 {gone}'); print('b2 {used}'); print('c3 ')")
        assert (await engine.runner().offer()).lack == ""
    listing, removed = engine.asked[-2:]
    assert listing[0] == "ps"
    assert f"label=checkrein.place={own['checkrein.place']}" in listing
    assert removed == ["rm", "--force", "a1"]


async def test_an_engine_that_lists_nothing_is_still_one(engine: Engine) -> None:
    """Protects the offer: what was left is looked for again, and is no reason to refuse work."""
    engine.becomes(listed="sys.exit(1)")
    assert (await engine.runner().offer()).lack == ""
    assert [words[0] for words in engine.asked] == ["version", "ps"]
