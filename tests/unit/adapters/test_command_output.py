"""What a command printed: masked whatever pieces it comes in, and whole up to its bound."""

from pathlib import Path

import pytest

from checkrein.adapters.command_output import Mask, Output


@pytest.mark.parametrize("step", [1, 2, 3, 7, 1000])
def test_a_secret_in_pieces_is_masked(step: int) -> None:
    """Protects a secret that is printed letter by letter, next to one that is a part of it."""
    text = b"a-key-1234 key-1234-long key-123 key-1234"
    seen: list[bytes] = []
    mask = Mask(["key-1234", "key-1234-long", ""], seen.append)
    for at in range(0, len(text), step):
        mask.add(text[at : at + step])
    mask.close()
    assert b"".join(seen) == b"a-[secret] [secret] key-123 [secret]"


@pytest.mark.parametrize(("size", "over"), [(0, False), (100, False), (101, True), (5000, True)])
def test_the_whole_has_a_bound(size: int, over: bool, tmp_path: Path) -> None:
    """Protects the disk: beyond the bound nothing is written, and it is said that more came."""
    file = tmp_path / "whole"
    output = Output(most=40, whole_bytes=100, file=file.open("wb"), secrets=[])
    told: list[bool] = []
    output.on_over = lambda: told.append(True)
    for _ in range(size):
        output.add(b"x")
    output.close()
    assert file.stat().st_size == min(size, 100)
    assert (output.over, told) == (over, [True] if over else [])


def test_a_file_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    """Protects evidence: a full disk is a fault, and no shorter output."""
    output = Output(most=40, whole_bytes=100, file=open("/dev/full", "wb", 0), secrets=[])  # noqa: SIM115
    output.add(b"x")
    output.close()
    assert output.failed is not None
