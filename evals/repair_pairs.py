"""Real bugs of the repair evaluation: pairs of source packages, fetched when it runs.

The package index is the one that pip is configured for on this machine. What cannot be fetched is
reported as such, never as passed.
"""

import asyncio
import os
import shutil
import sys
import tarfile
from pathlib import Path
from typing import NamedTuple

from pydantic import Field

from checkrein.contracts.codec import Frozen
from checkrein.errors import CheckreinError, EnvironmentFault
from checkrein.evals.repair_cases import CASES, MAX_YAML, TESTS, Repair
from checkrein.evals.repair_split import Split, mended
from checkrein.schema_faults import read_model
from checkrein.strict_yaml import read_yaml

FETCH_LIMIT_S = 240
MAX_BYTES = 64 * 1024 * 1024
"""Most bytes that an archive may unpack to."""


class Release(Frozen):
    """One source archive."""

    version: str = Field(pattern=r"^[0-9][0-9.]*$")
    sha256: str = Field(pattern=r"^[0-9a-f]{64}$")


class Pair(Frozen):
    """The release with a bug and the one that mended it."""

    package: str = Field(pattern=r"^[a-z][a-z0-9_]*$")
    source: str = Field(pattern=r"^(\.|[a-z]+)$")
    goal: str
    before: Release
    after: Release

    @property
    def name(self) -> str:
        """How the report calls it."""
        return f"{self.package} {self.before.version} to {self.after.version}"


class _File(Frozen):
    pairs: list[Pair]


class Fetched(NamedTuple):
    """A pair as a repair; None and why, where it could not be made one."""

    repair: Repair | None
    why: str


def pairs() -> list[Pair]:
    """All pairs of cases/repair_pairs.yaml."""
    file = CASES.parent / "repair_pairs.yaml"
    document = read_yaml(file, what="list of pairs", op="repairs.pairs", max_bytes=MAX_YAML)
    return read_model(document, _File).pairs


async def fetched(pair: Pair, folder: Path) -> Fetched:
    """Fetch both releases and make a repair of them, in a folder of its own."""
    try:
        before = await _unpacked(pair.package, pair.before, folder)
        after = await _unpacked(pair.package, pair.after, folder)
        split = Split(
            program=folder / "program",
            mended=folder / "mended",
            trial=folder / "trial",
            hidden=folder / "hidden",
        )
        await asyncio.to_thread(_lay_out, pair, before, after, split)
        repair, why = await mended(pair.name, pair.goal, split)
    except (CheckreinError, OSError, tarfile.TarError) as error:
        return Fetched(None, str(error)[:500])
    return Fetched(repair, why)


async def _unpacked(package: str, release: Release, folder: Path) -> Path:
    """The folder of an unpacked release, whose archive is the one that is meant."""
    place = folder / f"{package}-{release.version}"
    await asyncio.to_thread(place.mkdir, parents=True)
    await _download(package, release, place)
    archives = list(place.glob("*.tar.gz"))
    if len(archives) != 1:
        raise EnvironmentFault(f"{package} has no source archive there.", op="repairs.fetch")
    await asyncio.to_thread(extract, archives[0], place / "source")
    (inner,) = (place / "source").iterdir()
    return inner


async def _download(package: str, release: Release, place: Path) -> None:
    wanted = place / "requirements.txt"
    line = f"{package}=={release.version} --hash=sha256:{release.sha256}\n"
    await asyncio.to_thread(wanted.write_text, line, encoding="utf-8")
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check"),
        *("--no-input", "--no-deps", "--no-binary", package, "--require-hashes"),
        *("--requirement", str(wanted), "--dest", str(place)),
        env={**os.environ, "PYTHONWARNINGS": "ignore"},
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
        start_new_session=True,
    )
    try:
        async with asyncio.timeout(FETCH_LIMIT_S):
            out, _ = await process.communicate()
    except TimeoutError as error:
        raise EnvironmentFault(
            f"{package} {release.version} was not fetched within {FETCH_LIMIT_S} s",
            op="repairs.fetch",
        ) from error
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    if process.returncode != 0:
        lines = [line for line in out.decode("utf-8", "replace").splitlines() if line.strip()]
        said = next((line for line in lines if line.startswith("ERROR")), "pip gave no reason")
        raise EnvironmentFault(
            f"{package} {release.version} cannot be fetched: {said[:300]}", op="repairs.fetch"
        )


def extract(archive: Path, target: Path) -> None:
    """Unpack an archive into a new folder, and nowhere else.

    Raises:
        EnvironmentFault: it is too large, or this Python cannot do it safely.
        tarfile.TarError: something in it would lie elsewhere.
    """
    if not hasattr(tarfile, "data_filter"):
        raise EnvironmentFault(
            "This Python cannot unpack archives safely; use 3.11.4 or newer.", op="repairs.unpack"
        )
    with tarfile.open(archive, "r:gz") as opened:
        if sum(member.size for member in opened) > MAX_BYTES:
            raise EnvironmentFault(f"{archive.name} is too large to unpack.", op="repairs.unpack")
        opened.extractall(target, filter="data")


def _lay_out(pair: Pair, before: Path, after: Path, split: Split) -> None:
    """Both sources, each with the tests of the later release."""
    for source, target in ((before, split.program), (after, split.mended)):
        shutil.copytree(source / pair.source / pair.package, target / pair.package)
        shutil.copytree(after / TESTS, target / TESTS)
