"""What files of the candidate must be: each kind passes, fails by name, and is never fooled."""

import hashlib
import json
import os
import struct
import zlib
from pathlib import Path
from typing import Any

import pytest
from judging import judged

from checkrein.adapters.artifact_verifier import ArtifactVerifier
from checkrein.adapters.command_runner import LocalCommandRunner
from checkrein.adapters.file_state_verifier import FileStateVerifier
from checkrein.adapters.json_schema_verifier import JsonSchemaVerifier
from checkrein.adapters.judged_apart import JudgedApart
from checkrein.adapters.text_match_verifier import TextMatchVerifier
from checkrein.adapters.verdicts import MAX_GAP
from checkrein.adapters.workspace import FolderWorkspace
from checkrein.contracts.check import UnchangedCheck
from checkrein.errors import InputError
from checkrein.ports.verifier import Examination, Verifier

APART = JudgedApart(LocalCommandRunner())
PERSON = {
    "type": "object",
    "required": ["name"],
    "properties": {"name": {"type": "string"}, "a/b": {"type": "integer"}},
}
PASS, FAIL, ERROR = "PASS", "FAIL", "ERROR"


@pytest.mark.parametrize(
    ("spec", "status", "told"),
    [
        ({"path": "a.txt"}, PASS, ""),
        ({"path": "a.txt", "equals": "one\ntwo\n"}, PASS, ""),
        ({"path": "a.txt", "contains": ["one", "two"], "lacks": ["three"]}, PASS, ""),
        ({"path": "a.txt", "sha256": hashlib.sha256(b"one\ntwo\n").hexdigest()}, PASS, ""),
        ({"path": "gone.txt", "exists": False}, PASS, ""),
        ({"path": "no/such/folder.txt", "exists": False}, PASS, ""),
        ({"path": "a.txt", "exists": False}, FAIL, "must not be"),
        ({"path": "link", "exists": False}, FAIL, "must not be"),
        ({"path": "gone.txt"}, FAIL, "does not exist"),
        ({"path": "folder"}, FAIL, "no regular file"),
        ({"path": "link"}, FAIL, "symbolic link"),
        ({"path": "through/secret.txt"}, FAIL, "symbolic link"),
        ({"path": "a.txt", "equals": "one\ntwo"}, FAIL, "byte for byte"),
        ({"path": "a.txt", "contains": ["two", "four"]}, FAIL, "contain 'four'"),
        ({"path": "a.txt", "lacks": ["two"]}, FAIL, "must not contain 'two'"),
        ({"path": "a.txt", "sha256": "0" * 64}, FAIL, "SHA-256"),
    ],
)
async def test_file_state(
    spec: dict[str, Any],
    status: str,
    told: str,
    candidate: Path,
    workspace: FolderWorkspace,
    tmp_path: Path,
) -> None:
    """Protects: a file counts only as what it is, never what a link of the model leads to."""
    (candidate / "a.txt").write_bytes(b"one\ntwo\n")
    (candidate / "folder").mkdir()
    (tmp_path / "secret.txt").write_text("outside")
    (candidate / "link").symlink_to(tmp_path / "secret.txt")
    (candidate / "through").symlink_to(tmp_path)
    result = await judged(FileStateVerifier(), candidate, workspace, {"file_state": spec})
    assert (result.status, result.kind, result.strength) == (status, "file_state", "state")
    assert told in result.gap
    assert "outside" not in result.gap and str(tmp_path) not in result.gap


@pytest.mark.parametrize("path", ["../secret.txt", "a/../../secret.txt", "a\\..\\b", "~/x"])
async def test_a_path_that_leads_out_never_passes(
    path: str, candidate: Path, workspace: FolderWorkspace
) -> None:
    """Protects: neither a file that is there nor one that must be absent is looked for outside."""
    for exists in (True, False):
        spec = {"file_state": {"path": path, "exists": exists}}
        result = await judged(FileStateVerifier(), candidate, workspace, spec)
        assert result.status == FAIL


@pytest.mark.parametrize(
    ("spec", "status"),
    [
        ({"equals": "Total:  42 EUR\n"}, PASS),
        ({"equals": "total: 42 eur", "ignoring": ["case", "space"]}, PASS),
        ({"equals": "total: 42 eur", "ignoring": ["case"]}, FAIL),
        ({"contains": "42 EUR"}, PASS),
        ({"contains": "42 eur"}, FAIL),
        ({"contains": "TOTAL: 42", "ignoring": ["case", "space"]}, PASS),
        ({"matches": r"Total:\s+\d+ EUR"}, PASS),
        ({"matches": r"^total: \d+ eur$", "ignoring": ["case", "space"]}, PASS),
        ({"matches": r"\d+ USD"}, FAIL),
        ({"matches": r"(unclosed"}, ERROR),
    ],
)
async def test_text_match(
    spec: dict[str, Any], status: str, candidate: Path, workspace: FolderWorkspace
) -> None:
    """Protects: only what the task says does not count is left out of a comparison."""
    (candidate / "out.txt").write_text("Total:  42 EUR\n")
    check = {"text_match": {"file": "out.txt", **spec}}
    result = await judged(TextMatchVerifier(APART), candidate, workspace, check)
    assert result.status == status, result.gap


async def test_a_text_that_is_made_to_hang_a_pattern_ends_as_error(
    candidate: Path, workspace: FolderWorkspace
) -> None:
    """Protects the gate: it answers in time, and no process goes on trying."""
    (candidate / "out.txt").write_text("a" * 64 + "!")
    verifier = TextMatchVerifier(JudgedApart(LocalCommandRunner(), deadline_s=1))
    check = {"text_match": {"file": "out.txt", "matches": "(a+)+$"}}
    result = await judged(verifier, candidate, workspace, check)
    assert (result.status, result.repairable) == (ERROR, False)
    assert "within 1 s" in result.gap


async def test_a_binary_file_is_no_text(candidate: Path, workspace: FolderWorkspace) -> None:
    """Protects: nothing is matched in what was guessed from bytes."""
    (candidate / "out.txt").write_bytes(b"Total\xff")
    check = {"text_match": {"file": "out.txt", "contains": "Total"}}
    result = await judged(TextMatchVerifier(APART), candidate, workspace, check)
    assert (result.status, "byte 5" in result.gap) == (FAIL, True)


@pytest.mark.parametrize(
    ("content", "status", "told"),
    [
        ('{"name": "Ada"}', PASS, ""),
        ('{"name": 7, "a/b": "x"}', FAIL, "- /name: 7 is not of type 'string'"),
        ('{"name": "A", "a/b": "x"}', FAIL, "- /a~1b:"),
        ("[]", FAIL, "(the whole)"),
        ("", FAIL, "no JSON"),
        ('{"name": "A", "name": "B"}', FAIL, "names one member twice"),
        ('{"name": NaN}', FAIL, "NaN"),
        ("[" * 100_000, FAIL, "nested too deep"),
    ],
)
async def test_json_schema(
    content: str, status: str, told: str, candidate: Path, workspace: FolderWorkspace
) -> None:
    """Protects: a gap names where in the document, and what is wrong there."""
    (candidate / "p.json").write_text(content)
    check = {"json_schema": {"file": "p.json", "against": PERSON}}
    result = await judged(JsonSchemaVerifier(APART), candidate, workspace, check)
    assert (result.status, told in result.gap) == (status, True), result.gap


@pytest.mark.parametrize(
    "schema",
    [
        {"$ref": "https://example.com/schema.json"},
        {"properties": {"a": {"$dynamicRef": "file:///etc/passwd"}}},
        {"$schema": "http://json-schema.org/draft-07/schema#"},
        {"type": "no-such-type"},
        {"pattern": "("},
        {"$ref": "#/nowhere"},
    ],
)
async def test_a_schema_that_cannot_be_used_proves_nothing(
    schema: dict[str, Any], candidate: Path, workspace: FolderWorkspace
) -> None:
    """Protects: nothing is fetched, and a broken check is never a pass nor the model's fault."""
    (candidate / "p.json").write_text('"text"')
    check = {"json_schema": {"file": "p.json", "against": schema}}
    result = await judged(JsonSchemaVerifier(APART), candidate, workspace, check)
    assert (result.status, result.repairable) == (ERROR, False), result.gap


async def test_a_schema_lies_beside_the_task_and_its_folder_is_not_told(
    candidate: Path, workspace: FolderWorkspace, tmp_path: Path
) -> None:
    """Protects: a copy of the schema that the model made in the workspace counts nothing."""
    own = tmp_path / "person.json"
    own.write_text(json.dumps(PERSON))
    (candidate / "person.json").write_text("{}")
    (candidate / "p.json").write_text("{}")
    check = {"json_schema": {"file": "p.json", "against": str(own)}}
    result = await judged(JsonSchemaVerifier(APART), candidate, workspace, check)
    assert (result.status, "'name' is a required property" in result.gap) == (FAIL, True)
    own.unlink()
    gone = await judged(JsonSchemaVerifier(APART), candidate, workspace, check)
    assert (gone.status, str(tmp_path) in gone.gap) == (ERROR, False)


async def test_a_pattern_of_a_schema_cannot_hang_the_gate(
    candidate: Path, workspace: FolderWorkspace
) -> None:
    """Protects against the second way in for a text that is made for an expression."""
    (candidate / "p.json").write_text(json.dumps("a" * 64 + "!"))
    verifier = JsonSchemaVerifier(JudgedApart(LocalCommandRunner(), deadline_s=2))
    check = {"json_schema": {"file": "p.json", "against": {"pattern": "^(a+)+$"}}}
    assert (await judged(verifier, candidate, workspace, check)).status == ERROR


def chunk(name: bytes, body: bytes) -> bytes:
    data = name + body
    return struct.pack(">I", len(body)) + data + struct.pack(">I", zlib.crc32(data))


PNG = (
    b"\x89PNG\r\n\x1a\n"
    + chunk(b"IHDR", struct.pack(">IIBBBBB", 1, 1, 8, 0, 0, 0, 0))
    + chunk(b"IDAT", zlib.compress(b"\0\0"))
    + chunk(b"IEND", b"")
)
PDF = b"%PDF-1.4\n1 0 obj\n<<>>\nendobj\nstartxref\n9\n%%EOF\n"
BOMB = '<!DOCTYPE x [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;">]><x>&b;</x>'


@pytest.mark.parametrize(
    ("media_type", "data", "status", "told"),
    [
        ("application/json", b'{"a": 1}', PASS, ""),
        ("application/json", b"{a: 1}", FAIL, "no JSON"),
        ("application/sarif+json", b"[]", PASS, ""),
        ("image/png", PNG, PASS, ""),
        ("image/png", PNG[:-6], FAIL, "cut off"),
        ("image/png", PNG.replace(b"IDAT", b"IDAX"), FAIL, "checksum"),
        ("image/png", b"<html>", FAIL, "begin as a PNG"),
        ("application/pdf", PDF, PASS, ""),
        ("application/pdf", PDF[:20], FAIL, "no end"),
        ("application/pdf", b"<html></html>", FAIL, "begin as a PDF"),
        ("text/csv", b"a,b\n1,2\n", PASS, ""),
        ("text/csv", b"a,b\n1,2,3\n", FAIL, "line 2 has 3 fields"),
        ("text/csv", b'a,b\n"1,2\n', FAIL, "line"),
        ("text/html", b"<!DOCTYPE html>\n<html></html>", PASS, ""),
        ("text/html", b"just words", FAIL, "begin as HTML"),
        ("application/xml", b"<a><b/></a>", PASS, ""),
        ("application/xml", b"<a><b></a>", FAIL, "no XML"),
        ("image/svg+xml", BOMB.encode(), FAIL, "entities"),
        ("text/plain", "für alle\n".encode(), PASS, ""),
        ("text/plain", b"a\0b", FAIL, "NUL"),
        ("text/plain", b"", FAIL, "at least 1"),
        ("application/octet-stream", b"\0\1", PASS, ""),
    ],
)
async def test_artifact(
    media_type: str,
    data: bytes,
    status: str,
    told: str,
    candidate: Path,
    workspace: FolderWorkspace,
) -> None:
    """Protects: a name is no content; a file that only claims its type is no artifact."""
    (candidate / "out").write_bytes(data)
    check = {"artifact": {"path": "out", "media_type": media_type}}
    result = await judged(ArtifactVerifier(APART), candidate, workspace, check)
    assert (result.status, told in result.gap) == (status, True), result.gap
    if status == PASS:
        looked = media_type != "application/octet-stream"
        assert result.measured == {"bytes": len(data), "type_looked_at": looked}


async def test_an_artifact_has_its_size_and_its_schema(
    candidate: Path, workspace: FolderWorkspace
) -> None:
    """Protects: too small, too large and wrongly made are three gaps, each said by name."""
    (candidate / "out.json").write_text('{"name": 1}')
    made: dict[str, Any] = {"path": "out.json", "media_type": "application/json"}
    for more, told in (
        ({"min_bytes": 1000}, "at least 1000"),
        ({"max_bytes": 3}, "at most 3"),
        ({"against": PERSON}, "- /name"),
    ):
        result = await judged(
            ArtifactVerifier(APART), candidate, workspace, {"artifact": made | more}
        )
        assert (result.status, told in result.gap) == (FAIL, True), result.gap
    gone = {"artifact": made | {"path": "gone.json"}}
    result = await judged(ArtifactVerifier(APART), candidate, workspace, gone)
    assert (result.status, "does not exist" in result.gap) == (FAIL, True)


async def test_a_pipe_does_not_hang_a_check(candidate: Path, workspace: FolderWorkspace) -> None:
    """Protects the gate from a file that never ends."""
    os.mkfifo(candidate / "out")
    check = {"artifact": {"path": "out", "media_type": "text/plain"}}
    result = await judged(ArtifactVerifier(APART), candidate, workspace, check)
    assert (result.status, "no regular file" in result.gap) == (FAIL, True)


async def test_a_gap_is_bounded(candidate: Path, workspace: FolderWorkspace) -> None:
    """Protects the context from a flood that a candidate was made to cause."""
    (candidate / "p.json").write_text(json.dumps(["x" * 10_000] * 500))
    check = {"json_schema": {"file": "p.json", "against": {"items": {"type": "integer"}}}}
    result = await judged(JsonSchemaVerifier(APART), candidate, workspace, check)
    assert (result.status, len(result.gap) <= MAX_GAP) == (FAIL, True)
    assert result.measured == {"problems": 20}


@pytest.mark.parametrize(
    "verifier",
    [
        FileStateVerifier(),
        TextMatchVerifier(APART),
        JsonSchemaVerifier(APART),
        ArtifactVerifier(APART),
    ],
)
async def test_another_kind_is_refused(
    verifier: Verifier, candidate: Path, workspace: FolderWorkspace
) -> None:
    """Protects against a wiring that hands a check to whoever stands first."""
    check = UnchangedCheck(unchanged=["a"])
    assert not verifier.judges(check)
    with pytest.raises(InputError, match="cannot judge"):
        await verifier.verify(check, Examination.model_construct(copy_root=candidate), workspace)
