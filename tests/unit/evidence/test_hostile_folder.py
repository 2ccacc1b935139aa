"""A folder from somebody who wants a false one to pass: its form, its names and its places."""

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import forged
import pytest

from checkrein.contracts.codec import canonical, digest
from checkrein.graph.evidence_check import check
from checkrein.graph.evidence_files import (
    CHECKPOINT,
    EVENTS,
    EVIDENCE,
    HANDOVER,
    MANIFEST,
    root_of,
    seal_of,
)
from checkrein.graph.evidence_files import Manifest as Sealed


def _doubled(data: bytes) -> bytes:
    """The first member twice: readers differ in which of the two they take."""
    name, _, _ = data[1:].partition(b":")
    return b"{" + name + b":null," + data[1:]


FORMS: dict[str, Callable[[bytes], bytes]] = {
    "a mark of byte order": lambda data: b"\xef\xbb\xbf" + data,
    "UTF-16": lambda data: data.decode().encode("utf-16"),
    "an escaped letter": lambda data: b'{"\\u00%02x' % data[2] + data[3:],
    "a space": lambda data: data.replace(b":", b": ", 1),
    "an end of line": lambda data: data + b"\n",
    "a member twice": _doubled,
    "a second value": lambda data: data + data,
    "a NUL": lambda data: data + b"\0",
    "nothing": lambda data: b"",
    "too deep": lambda data: b"[" * 200_000,
}


@pytest.mark.parametrize("name", [EVIDENCE, CHECKPOINT, HANDOVER, MANIFEST, EVENTS])
@pytest.mark.parametrize("form", FORMS)
def test_there_is_one_form_of_each_file(evidence: Path, name: str, form: str) -> None:
    """Protects: no reader sees something else in a file than the check did."""
    path = evidence / name
    whole = path.read_bytes()
    other = FORMS[form](whole)
    assert other != whole
    path.write_bytes(other)
    if name != MANIFEST:
        forged.seal(evidence)
    assert {finding.file.partition(":")[0] for finding in check(evidence)} & {name, MANIFEST}


def _listed(folder: Path, name: str, data: bytes) -> None:
    """List one more file in a manifest that agrees with itself."""
    old = Sealed.model_validate_json((folder / MANIFEST).read_bytes())
    files = {**old.files, name: seal_of(data)}
    made = old.model_copy(update={"files": files, "root": root_of(files)})
    (folder / MANIFEST).write_bytes(canonical(made.model_dump(mode="json")))


@pytest.mark.parametrize(
    "name", ["../outside", "/etc/hostname", "artifacts/../more", "./more", "artifacts//more", ""]
)
def test_a_manifest_reaches_nothing_outside(evidence: Path, name: str) -> None:
    """Protects: what it lists must be a file of the folder, by the one name that it has."""
    for place in (evidence.parent / "outside", evidence / "more"):
        place.write_bytes(b"x")
    _listed(evidence, name, b"x")
    assert {finding.rule for finding in check(evidence)} == {"closed"}
    assert name in {finding.file for finding in check(evidence)}


def test_a_linked_folder_is_not_entered(evidence: Path, tmp_path: Path) -> None:
    """Protects: nothing of another place counts as part of the folder."""
    shutil.move(evidence / "artifacts", tmp_path / "elsewhere")
    (evidence / "artifacts").symlink_to(tmp_path / "elsewhere")
    found = check(evidence)
    assert "symbolic link" in found[0].problem
    assert {finding.rule for finding in found} == {"closed"}


def test_a_folder_that_is_too_deep_is_named(evidence: Path) -> None:
    """Protects: nobody stops the check by a folder that no path reaches to its end."""
    here = os.open(evidence, os.O_RDONLY)
    for _ in range(30):
        os.mkdir("d" * 200, dir_fd=here)
        below = os.open("d" * 200, os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = below
    os.close(here)
    (finding,) = check(evidence)
    assert finding.rule == "readable"


def test_a_package_of_another_run_is_not_mixed_in(evidence: Path, committed: Path) -> None:
    """Protects: files of an earlier export of the same task do not stand in for later ones."""
    for name in forged.names(evidence):
        if (evidence / name).read_bytes() == (committed / name).read_bytes() or name == MANIFEST:
            continue
        whole = (committed / name).read_bytes()
        (committed / name).write_bytes((evidence / name).read_bytes())
        forged.seal(committed)
        found = check(committed)
        assert found or name == HANDOVER, name
        (committed / name).write_bytes(whole)


def test_an_event_twice_or_out_of_place_is_found(evidence: Path) -> None:
    """Protects: each event has its own place, whatever number it bears."""
    text = (evidence / EVENTS).read_bytes()
    rows = text.splitlines(keepends=True)
    renumbered = json.loads(rows[6]) | {"seq": 6}
    for other in (
        [*rows[:6], rows[5], *rows[6:]],
        [*rows[:5], rows[6], rows[5], *rows[7:]],
        [*rows[:6], canonical(renumbered) + b"\n", *rows[7:]],
        rows[1:],
    ):
        (evidence / EVENTS).write_bytes(b"".join(other))
        forged.seal(evidence)
        assert "chain" in {finding.rule for finding in check(evidence)}
    assert digest(text) != digest(b"".join(rows[1:]))
