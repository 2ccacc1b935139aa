"""Secrets of a folder: lent from files that nobody else can read, and from nothing else."""

import copy
import os
import pickle
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from pydantic import SecretStr

from checkrein.adapters.secret_folder import FolderSecrets
from checkrein.errors import EnvironmentFault
from checkrein.ports.secrets import MAX_TTL_S, SecretLease

VALUE = "correct horse"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    place = tmp_path / "secrets"
    place.mkdir(mode=0o700)
    return place


def put(folder: Path, name: str = "pay_key", content: bytes = VALUE.encode() + b"\n") -> Path:
    path = folder / name
    path.touch(mode=0o600)
    path.write_bytes(content)
    return path


async def lease(folder: Path | None, name: str = "pay_key", ttl_s: float = 60) -> SecretLease:
    broker = FolderSecrets(folder)
    return await broker.lease(name, purpose="to pay", action_id="act_1", ttl_s=ttl_s)


async def refused(folder: Path | None, name: str = "pay_key", ttl_s: float = 60) -> str:
    with pytest.raises(EnvironmentFault) as caught:
        await lease(folder, name, ttl_s)
    assert caught.value.code == "secret_unavailable"
    told = f"{caught.value!r} {caught.value} {caught.value.__cause__} {caught.value.context}"
    assert "horse" not in told
    return str(caught.value)


async def test_it_is_lent_until_a_time(folder: Path) -> None:
    """Protects the record: what it says of a lease is what the holder has."""
    put(folder)
    lent = await lease(folder)
    assert lent.value.get_secret_value() == VALUE
    assert (lent.name, lent.purpose, lent.action_id) == ("pay_key", "to pay", "act_1")
    assert timedelta(0) < lent.expires_at - datetime.now(UTC) <= timedelta(seconds=60)
    lent.release()
    lent.release()
    with pytest.raises(EnvironmentFault, match="is over"):
        _ = lent.value


async def test_it_ends_by_itself(folder: Path) -> None:
    """Protects: a lease that nobody gives back is over at its time."""
    put(folder)
    lent = await lease(folder, ttl_s=1e-6)
    with pytest.raises(EnvironmentFault, match="is over"):
        _ = lent.value


def test_a_release_is_told_once() -> None:
    """Protects the store that a lease came from, which ends it there."""
    told: list[str] = []
    lent = SecretLease(
        "a",
        SecretStr(VALUE),
        purpose="",
        action_id="",
        expires_at=datetime.now(UTC) + timedelta(minutes=1),
        on_release=lambda: told.append("ended"),
    )
    lent.release()
    lent.release()
    assert told == ["ended"]


async def test_no_text_of_a_lease_shows_it(folder: Path) -> None:
    """Protects logs, tracebacks and checkpoints."""
    put(folder)
    lent = await lease(folder)
    assert "horse" not in f"{lent!r} {lent} {lent.value!r} {lent.value}"
    for store in (pickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises(TypeError, match="never stored"):
            store(lent)


async def test_each_lease_reads_anew(folder: Path) -> None:
    """Protects rotation: the next action has the new value."""
    put(folder)
    await lease(folder)
    put(folder, content=b"another value")
    assert (await lease(folder)).value.get_secret_value() == "another value"


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o660, 0o644])
async def test_a_file_that_others_can_read(folder: Path, mode: int) -> None:
    """Protects from secrets that are none."""
    path = put(folder)
    path.chmod(mode)
    assert f"chmod 600 {path}" in await refused(folder)


async def test_a_folder_that_others_can_write_to(folder: Path) -> None:
    """Protects from values that somebody else put there."""
    put(folder)
    os.chmod(folder, 0o777)  # noqa: S103 - that is what is refused
    assert f"chmod 700 {folder}" in await refused(folder)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file to somebody else")
async def test_a_file_of_somebody_else(folder: Path) -> None:
    """Protects from values that somebody else can change."""
    os.chown(put(folder), 12345, 12345)
    assert "belongs to another user" in await refused(folder)


async def test_links_and_what_is_no_file(folder: Path, tmp_path: Path) -> None:
    """Protects other files: a link in the folder lends nothing, and a pipe does not hang."""
    target = put(tmp_path, "elsewhere")
    (folder / "pay_key").symlink_to(target)
    assert "no link" in await refused(folder)
    os.mkfifo(folder / "pipe", 0o600)
    assert "no plain file" in await refused(folder, "pipe")
    (folder / "sub").mkdir()
    assert "no plain file" in await refused(folder, "sub")
    (tmp_path / "to_folder").symlink_to(folder)
    assert "no link" in await refused(tmp_path / "to_folder")


@pytest.mark.parametrize("name", ["../pay_key", "a/b", ".hidden", "PAY_KEY", "", "a" * 65, "a\n"])
async def test_names_are_names(folder: Path, name: str) -> None:
    """Protects every other file of the machine."""
    assert "no name of a secret" in await refused(folder, name)


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"short", "fewer characters"),
        (b"x" * 40_000, "more characters"),
        (b"x" * 900_000, "more characters"),
        (b"correct horse \xff", "no UTF-8"),
        (b"correct horse\0", "NUL"),
        (b"[secret pay_key]", "told from its name"),
        (b"secret pay_key", "told from its name"),
    ],
)
async def test_values_that_could_not_be_masked(folder: Path, content: bytes, why: str) -> None:
    """Protects the outputs of commands, in which such a value could not be found again."""
    put(folder, content=content)
    assert why in await refused(folder)


async def test_what_is_not_there(folder: Path) -> None:
    """Protects the person who set it up: the message says what to do."""
    assert f"no file {folder / 'pay_key'}" in await refused(folder)
    assert "CHECKREIN_SECRETS" in await refused(None)
    put(folder)
    assert "more than 900 s" in await refused(folder, ttl_s=MAX_TTL_S + 1)
