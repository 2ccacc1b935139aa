"""Whatever is done to an evidence folder afterwards is found, without the database."""

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import forged
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from checkrein.graph.evidence_check import check
from checkrein.graph.evidence_files import EVENTS, EVIDENCE, MANIFEST, lines

SAMPLED = 40
"""Positions of each larger file at which a byte is flipped."""


def findings(folder: Path) -> list[str]:
    """What the check finds, as lines for people."""
    return [str(finding) for finding in check(folder)]


@pytest.mark.shows(10)
def test_a_flipped_byte_anywhere_is_found(evidence: Path) -> None:
    """Protects: no byte of any file, the manifest included, can change unseen."""
    for name in forged.names(evidence):
        path = evidence / name
        data = path.read_bytes()
        step = 1 if name == MANIFEST else max(1, len(data) // SAMPLED)
        for place in {*range(0, len(data), step), len(data) - 1}:
            flipped = data[place] ^ (1 << place % 8)
            path.write_bytes(data[:place] + bytes([flipped]) + data[place + 1 :])
            found = check(evidence)
            assert found, f"byte {place} of {name} became {flipped}"
            assert name in {finding.file for finding in found} or name == MANIFEST
        path.write_bytes(data)
    assert findings(evidence) == []


@settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=150, deadline=None
)
@given(st.data())
def test_any_change_of_any_file_is_found(evidence: Path, data: st.DataObject) -> None:
    """Protects: bytes that are changed, cut out or put in are found wherever that is."""
    path = evidence / data.draw(st.sampled_from(forged.names(evidence)))
    whole = path.read_bytes()
    start = data.draw(st.integers(0, len(whole)))
    end = data.draw(st.integers(start, min(len(whole), start + 8)))
    middle = data.draw(st.binary(max_size=8))
    other = whole[:start] + middle + whole[end:]
    try:
        path.write_bytes(other)
        assert bool(check(evidence)) is (other != whole)
    finally:
        path.write_bytes(whole)


def test_a_file_that_is_gone_is_found(evidence: Path) -> None:
    """Protects: nothing can be left out."""
    for name in forged.names(evidence):
        data = (evidence / name).read_bytes()
        (evidence / name).unlink()
        assert check(evidence)[0].file == name
        (evidence / name).write_bytes(data)


@pytest.mark.parametrize(
    "name", ["more.txt", "artifacts/more.diff", ".hidden", "new/manifest.json"]
)
def test_a_file_that_was_added_is_found(evidence: Path, name: str) -> None:
    """Protects: nothing can be slipped in, wherever it is put."""
    (evidence / name).parent.mkdir(exist_ok=True)
    (evidence / name).write_text("x")
    assert [finding.file for finding in check(evidence)] == [name]
    forged.seal(evidence)
    assert findings(evidence) == [f"{name}: no event names it [closed]"]


def test_an_empty_folder_that_was_added_is_found(evidence: Path) -> None:
    """Protects: the folder is closed, even to what holds no bytes."""
    (evidence / "artifacts" / "later").mkdir()
    assert [finding.file for finding in check(evidence)] == ["artifacts/later"]


def test_swapped_files_are_found(evidence: Path) -> None:
    """Protects: each content stands under its own name."""
    files = [name for name in forged.names(evidence) if name != MANIFEST]
    for one, other in zip(files, files[1:], strict=False):
        first, second = evidence / one, evidence / other
        a, b = first.read_bytes(), second.read_bytes()
        first.write_bytes(b)
        second.write_bytes(a)
        assert {finding.file for finding in check(evidence)} == {one, other}
        first.write_bytes(a)
        second.write_bytes(b)


def test_links_pipes_and_folders_in_the_place_of_files_are_found(
    evidence: Path, tmp_path: Path
) -> None:
    """Protects: the check reads nothing outside the folder, and never hangs."""
    path = evidence / EVIDENCE
    elsewhere = tmp_path / "same.json"
    shutil.move(path, elsewhere)
    path.symlink_to(elsewhere)
    assert "symbolic link" in findings(evidence)[0]
    path.unlink()
    os.mkfifo(path)
    assert "no ordinary file" in findings(evidence)[0]
    path.unlink()
    path.mkdir()
    assert {finding.file for finding in check(evidence)} == {EVIDENCE}
    path.rmdir()
    manifest = evidence / MANIFEST
    manifest.unlink()
    os.mkfifo(manifest)
    assert [finding.file for finding in check(evidence)] == [MANIFEST]


EDITS: dict[str, Callable[[Any], None]] = {
    "who approved": lambda x: x["approvals"][0]["grants"][0].update(approver="mallory"),
    "that a name was only asserted": lambda x: x["approvals"][0]["grants"][0].update(
        authenticated=True
    ),
    "what was shown": lambda x: x["approvals"][0]["request"].update(preview="harmless"),
    "an approval": lambda x: x["approvals"].clear(),
    "an effect": lambda x: x["effects"].clear(),
    "an effect's status": lambda x: x["effects"][0].update(status="NOT_APPLIED"),
    "one more effect": lambda x: x["effects"].append(dict(x["effects"][0], effect_id="eff_x")),
    "an effect's receipt": lambda x: x["effects"][0]["outcome"].update(version="sha256:other"),
    "a decision": lambda x: x["actions"][1]["decisions"][0].update(decision="ALLOW"),
    "the goal": lambda x: x["contract"].update(goal="something else"),
    "who asked": lambda x: x["task"].update(requested_by="mallory"),
    "the task's status": lambda x: x["task"].update(status="COMPLETED"),
    "the attempt's status": lambda x: x["attempt"].update(status="FAILED"),
    "the claim": lambda x: x["candidate"].update(summary="more was done"),
    "the verified state": lambda x: x["verification"].update(state_digest="sha256:" + "0" * 64),
    "an exit code": lambda x: x["verification"]["checks"][0].update(exit_code=None),
    "the policy": lambda x: x.update(policies=["sha256:" + "0" * 64]),
    "the lineage": lambda x: x["lineage"][0].update(approval_ids=[]),
    "what was spent": lambda x: x["usage"].update(model_tokens=1),
    "an artifact's size": lambda x: x["artifacts"][0].update(size=1),
    "the final commit": lambda x: x.update(final_commit="done"),
    "the head": lambda x: x["head"].update(seq=1),
}


@pytest.mark.parametrize("what", EDITS)
def test_evidence_cannot_be_edited_together_with_its_manifest(evidence: Path, what: str) -> None:
    """Protects: a package that is sealed anew still has to agree with the chain of events."""
    forged.edit_json(evidence, EVIDENCE, EDITS[what])
    found = check(evidence)
    assert {finding.file for finding in found} == {EVIDENCE}
    assert {finding.rule for finding in found} <= {"agrees", "readable"}


def test_a_package_in_another_form_is_found(evidence: Path) -> None:
    """Protects: there is one form of each package, so that one digest stands for it."""
    value = json.loads((evidence / EVIDENCE).read_bytes())
    (evidence / EVIDENCE).write_text(json.dumps(value, indent=1))
    forged.seal(evidence)
    assert [finding.rule for finding in check(evidence)] == ["canonical"]


@pytest.mark.parametrize("name", ["state_version", "event_offset", "workspace_ref"])
def test_the_checkpoint_must_agree_too(evidence: Path, name: str) -> None:
    """Protects: checkpoint.json is what the events amount to."""
    forged.edit_json(evidence, "checkpoint.json", lambda x: x.update({name: 1}))
    assert {finding.file for finding in check(evidence)} == {"checkpoint.json"}


@pytest.mark.parametrize("kind", ["artifacts", "contexts", "model_outputs", "decision_inputs"])
def test_what_events_name_by_digest_cannot_be_replaced(evidence: Path, kind: str) -> None:
    """Protects: diff, contexts, raw outputs and decision inputs are those of the run."""
    path = min((evidence / kind).iterdir())
    path.write_bytes(path.read_bytes()[::-1])
    forged.seal(evidence)
    # The page shows the diff, and is then another one too.
    found = {(x.file, x.rule) for x in check(evidence)} - {("report.html", "agrees")}
    assert found == {(str(path.relative_to(evidence)), "agrees")}


def test_an_event_edited_alone_breaks_the_chain(evidence: Path) -> None:
    """Protects: a payload cannot be changed without its hash, nor a hash without the next."""
    events = forged.read_events(evidence)
    for place in (0, len(events) // 2, len(events) - 1):
        text = events[place].payload.replace("1", "2", 1)
        edited = [*events]
        edited[place] = events[place].model_copy(update={"payload": text})
        (evidence / EVENTS).write_bytes(lines(edited))
        forged.seal(evidence)
        assert f"{EVENTS}:{place + 1}" in {x.file for x in check(evidence) if x.rule == "chain"}


@pytest.mark.shows(399)
def test_without_its_trace_a_right_result_is_no_evidence(evidence: Path) -> None:
    """Protects: a verdict without the record of how it came about proves nothing."""
    (evidence / EVENTS).unlink()
    forged.seal(evidence)
    assert json.loads((evidence / EVIDENCE).read_bytes())["verification"]["status"] == "PASS"
    assert findings(evidence) == [f"{EVENTS}: every package has it [complete]"]


def test_a_cut_tail_is_found(evidence: Path) -> None:
    """Protects: the end of a trace cannot be taken away."""
    events = forged.read_events(evidence)
    (evidence / EVENTS).write_bytes(lines(events[:-1]))
    forged.seal(evidence)
    assert (MANIFEST, "chain") in {(finding.file, finding.rule) for finding in check(evidence)}
    forged.forge(evidence, lambda payloads: payloads)
    assert [finding.rule for finding in check(evidence)] == ["ended"]
