"""What a command printed: whole up to its bound."""

from pathlib import Path

import pytest

from checkrein.adapters.command_output import Output


@pytest.mark.parametrize(("size", "over"), [(0, False), (100, False), (101, True), (5000, True)])
def test_the_whole_has_a_bound(size: int, over: bool, tmp_path: Path) -> None:
    """Protects the disk: beyond the bound nothing is written, and it is said that more came."""
    file = tmp_path / "whole"
    output = Output(most=40, whole_bytes=100, file=file.open("wb"), secrets={})
    told: list[bool] = []
    output.on_over = lambda: told.append(True)
    for _ in range(size):
        output.add(b"x")
    output.close()
    assert file.stat().st_size == min(size, 100)
    assert (output.over, told) == (over, [True] if over else [])


def test_a_file_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    """Protects evidence: a full disk is a fault, and no shorter output."""
    output = Output(most=40, whole_bytes=100, file=open("/dev/full", "wb", 0), secrets={})  # noqa: SIM115
    output.add(b"x")
    output.close()
    assert output.failed is not None
