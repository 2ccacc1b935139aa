"""Evidence of what was accepted and committed: two traces, one story, and each tampering found."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import forged
import jsonschema
import pytest
from command_line import CommandLine

from checkrein.contracts.codec import canonical, digest_of
from checkrein.contracts.event import Event
from checkrein.contracts.evidence import EvidencePackage
from checkrein.graph.evidence_attestation import PREDICATE, STATEMENT
from checkrein.graph.evidence_check import check
from checkrein.graph.evidence_files import (
    ATTESTATION,
    COMMIT_EVENTS,
    EVENTS,
    EVIDENCE,
    HANDOVER,
    MANIFEST,
    REPORT,
    Manifest,
    lines,
)
from checkrein.graph.trace_rules import grade

# As the specification of in-toto's Statement v1 and ResourceDescriptor v1 says.
STATEMENT_SCHEMA: dict[str, Any] = {
    "type": "object",
    "required": ["_type", "subject", "predicateType"],
    "properties": {
        "_type": {"const": "https://in-toto.io/Statement/v1"},
        "subject": {
            "type": "array",
            "minItems": 1,
            "items": {
                "type": "object",
                "required": ["digest"],
                "properties": {
                    "name": {"type": "string", "minLength": 1},
                    "uri": {"type": "string"},
                    "digest": {
                        "type": "object",
                        "minProperties": 1,
                        "additionalProperties": {"type": "string", "pattern": "^[0-9a-f]+$"},
                    },
                },
            },
        },
        "predicateType": {"type": "string", "pattern": "^[a-zA-Z][a-zA-Z0-9+.-]*:"},
        "predicate": {"type": "object"},
    },
}


def read_package(folder: Path) -> EvidencePackage:
    """The package of a folder."""
    return EvidencePackage.model_validate_json((folder / EVIDENCE).read_bytes())


def read_manifest(folder: Path) -> Manifest:
    """The manifest of a folder."""
    return Manifest.model_validate_json((folder / MANIFEST).read_bytes())


def rules(folder: Path) -> set[tuple[str, str]]:
    """What the check finds: in which file, by which rule."""
    return {(finding.file.partition(":")[0], finding.rule) for finding in check(folder)}


@pytest.mark.shows(209, 220, 222)
def test_three_finishes_and_the_commit_are_facts_of_their_own(
    committed: Path, evidence: Path
) -> None:
    """Protects: model, verifier, person and authority each stand with their own time and name."""
    assert check(committed) == []
    found, before = read_package(committed), read_package(evidence)
    told = found.finishes
    assert told.protocol_final is not None
    assert told.task_accepted is not None
    (signed,) = told.user_accepted
    assert told.protocol_final < told.task_accepted < signed.at
    assert (signed.by, signed.authority, signed.note) == ("alice", "requester", "as I wanted it")
    assert before.finishes.user_accepted == []
    assert (before.final_commit, before.task.status) == (None, "VERIFIED")
    made = found.final_commit
    assert made is not None
    assert made.attempt.commit is not None
    assert (made.attempt.commit.by, found.task.status) == ("bob", "COMPLETED")
    assert made.effects[0].outcome is not None
    assert made.effects[0].to_version == found.candidate.state_digest  # type: ignore[union-attr]
    assert made.approvals[0].grants[0].approver == "carol"
    assert made.lineage[0].approval_ids == [made.approvals[0].request.approval_id]
    assert [(file.path, file.after) for file in found.changed] == [
        ("a.txt", found.effects[0].to_version)
    ]


def test_a_flipped_byte_in_each_kind_of_file_is_found(committed: Path) -> None:
    """Protects: the commit's trace, the page, the statement and the rest are all sealed."""
    kinds = {name.split("/")[0]: name for name in forged.names(committed)}
    assert {"commit", ATTESTATION, REPORT, HANDOVER, EVENTS, EVIDENCE, MANIFEST} <= set(kinds)
    for name in kinds.values():
        path = committed / name
        data = path.read_bytes()
        path.write_bytes(data[:-9] + bytes([data[-9] ^ 1]) + data[-8:])
        assert check(committed), name
        path.write_bytes(data)


def _commit_events(folder: Path, change: forged.Change) -> None:
    """Forge the commit's own trace, with a chain that is whole again; the rest stays."""
    path = folder / COMMIT_EVENTS
    events = [Event.model_validate_json(x) for x in path.read_text().splitlines()]
    path.write_bytes(lines(forged.changed(events, change)))
    forged.seal(folder)


def _other_commit(folder: Path) -> None:
    """Tell another story of the commit, and make all of the folder agree with it."""
    path = folder / COMMIT_EVENTS
    events = [Event.model_validate_json(x) for x in path.read_text().splitlines()]
    events = forged.changed(
        events, lambda p: _with(p, "approval_decided", reason="I looked at each line")
    )
    path.write_bytes(lines(events))
    forged.agreed(folder)


def _with(payloads: list[dict[str, Any]], kind: str, **changed: Any) -> list[dict[str, Any]]:
    return [p | changed if p["type"] == kind else p for p in payloads]


def _by_eve(payloads: list[dict[str, Any]]) -> list[dict[str, Any]]:
    started = payloads[0]
    commit = started["attempt"]["commit"] | {"by": "eve"}
    return [started | {"attempt": started["attempt"] | {"commit": commit}}, *payloads[1:]]


def _of_another(payloads: list[dict[str, Any]]) -> list[dict[str, Any]]:
    started = payloads[0]
    commit = started["attempt"]["commit"] | {"attempt_id": "another"}
    return [started | {"attempt": started["attempt"] | {"commit": commit}}, *payloads[1:]]


def _forged_commit(folder: Path, change: forged.Change) -> None:
    """Forge the commit's trace, and make all of the folder agree with it."""
    path = folder / COMMIT_EVENTS
    events = forged.read_events(folder, COMMIT_EVENTS)
    path.write_bytes(lines(forged.changed(events, change)))
    forged.agreed(folder)


def _of_another_state(payloads: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """A commit whose gate looked at another state than was verified."""
    other = "sha256:" + "1" * 64
    for p in payloads:
        if p["type"] == "candidate_sealed":
            hashes = [artifact["hash"] for artifact in p["artifacts"]]
            p |= {"state_digest": other}
            p |= {"candidate_hash": digest_of([p["summary"], other, hashes])}
        elif p["type"] == "verification_started":
            p |= {"state_digest": other}
        elif p["type"] == "verification_finished":
            p["result"] |= {"state_digest": other}
    return payloads


def _commit_as_work(folder: Path) -> None:
    (folder / COMMIT_EVENTS).rename(folder / EVENTS)
    forged.agreed(folder)


FORGERIES: dict[str, Callable[[Path], None]] = {
    "the page": lambda f: _write(f, REPORT, lambda x: x.replace(b"carol", b"alice")),
    "the statement": lambda f: _write(f, ATTESTATION, lambda x: x.replace(b"PASS", b"FAIL")),
    "that the state stood": lambda f: forged.edit_json(
        f, HANDOVER, lambda x: x.update(state="unreachable")
    ),
    "who accepted": lambda f: forged.edit_json(
        f, EVIDENCE, lambda x: x["finishes"]["user_accepted"][0].update(by="mallory")
    ),
    "when the model stopped": lambda f: forged.edit_json(
        f, EVIDENCE, lambda x: x["finishes"].update(protocol_final=None)
    ),
    "who committed": lambda f: _commit_events(f, _by_eve),
    "what was committed": lambda f: _commit_events(f, _of_another),
    "the end of the commit": lambda f: _commit_events(f, lambda p: p[:-1]),
    "the order of the commit": lambda f: _commit_events(
        f, lambda p: [*p[:-3], p[-2], p[-3], p[-1]]
    ),
    "the act of the commit": lambda f: _forged_commit(
        f,
        lambda p: [
            x
            for x in p
            if x["type"].startswith(
                ("task_", "attempt_", "context_", "model_", "candidate_", "ver")
            )
        ],
    ),
    "the state of the commit": lambda f: _forged_commit(f, _of_another_state),
    "a commit as the work": _commit_as_work,
    "the commit is left out": lambda f: _without(f, COMMIT_EVENTS),
    "the page is left out": lambda f: _without(f, REPORT),
    "the statement is left out": lambda f: _without(f, ATTESTATION),
    "the handover is left out": lambda f: _without(f, HANDOVER),
    "another attempt's trace as the commit": lambda f: _write(
        f, COMMIT_EVENTS, lambda _: (f / EVENTS).read_bytes()
    ),
    "the commit's trace as the attempt's": lambda f: _write(
        f, EVENTS, lambda _: (f / COMMIT_EVENTS).read_bytes()
    ),
}


def _write(folder: Path, name: str, change: Callable[[bytes], bytes]) -> None:
    path = folder / name
    data = path.read_bytes()
    assert change(data) != data
    path.write_bytes(change(data))
    forged.seal(folder)


def _without(folder: Path, name: str) -> None:
    (folder / name).unlink()
    forged.seal(folder)


@pytest.mark.shows(10, 207)
@pytest.mark.parametrize("what", FORGERIES)
def test_each_forgery_is_found_though_the_manifest_fits(committed: Path, what: str) -> None:
    """Protects: whoever seals the folder anew still has to tell one story in all its files."""
    FORGERIES[what](committed)
    assert check(committed) != []


def test_the_manifest_binds_the_chain_of_the_commit(committed: Path, evidence: Path) -> None:
    """Protects: under one head of the work, the story of its commit can be no other one."""
    manifest = read_manifest(committed)
    assert manifest.commit_head is not None
    assert read_manifest(evidence).commit_head is None
    heads = {manifest.head.hash, manifest.commit_head.hash}
    assert check(committed, heads) == []
    assert {x.rule for x in check(committed, {manifest.head.hash})} == {"noted"}

    _other_commit(committed)
    other = read_manifest(committed)
    assert (other.head, check(committed)) == (manifest.head, [])
    assert other.commit_head != manifest.commit_head
    assert {(x.file, x.rule) for x in check(committed, heads)} == {
        (MANIFEST, "noted"),
        (COMMIT_EVENTS, "noted"),
    }


def test_a_commit_that_was_taken_out_is_missed(committed: Path) -> None:
    """Protects: who noted both ends finds that one story of two is gone, whatever fits the rest."""
    noted = read_manifest(committed)
    heads = {head.hash for head in noted.heads.values()}
    (committed / COMMIT_EVENTS).unlink()
    forged.agreed(committed)
    assert (read_manifest(committed).head, check(committed)) == (noted.head, [])
    assert [(x.file, x.rule) for x in check(committed, heads)] == [(MANIFEST, "noted")]


@pytest.mark.parametrize("head", [None, {"seq": 1, "hash": "sha256:" + "0" * 64}])
def test_the_commit_head_agrees_with_the_chain(committed: Path, head: Any) -> None:
    """Protects: what stands to be compared is the end of the chain that is there."""
    value = json.loads((committed / MANIFEST).read_bytes()) | {"commit_head": head}
    (committed / MANIFEST).write_bytes(canonical(value))
    assert rules(committed) == {(MANIFEST, "chain")}


def test_a_huge_file_is_named_and_not_read(committed: Path) -> None:
    """Protects: a folder of somebody else cannot use up the memory of whoever checks it."""
    with (committed / REPORT).open("r+b") as file:
        file.truncate(1 << 40)
    assert rules(committed) == {(REPORT, "sealed")}


def test_a_signature_is_bound_to_what_was_verified(committed: Path) -> None:
    """Protects: a person who may not sign, another state, a second time: each named by its rule."""
    whole = committed.with_name("whole")
    shutil.copytree(committed, whole)
    for changed in (
        {"by": "mallory"},
        {"state_digest": "sha256:" + "1" * 64},
        {"authenticated": False, "authority": "accepter"},
    ):
        shutil.rmtree(committed)
        shutil.copytree(whole, committed)
        forged.forge(committed, lambda p, c=changed: _with(p, "user_accepted", **c))  # type: ignore[misc]
        assert (EVENTS, "accepted_after_verified") in rules(committed), changed
    shutil.rmtree(committed)
    shutil.copytree(whole, committed)
    forged.forge(committed, lambda p: [*p, p[-1]])
    assert (EVENTS, "accepted_after_verified") in rules(committed)


def test_the_statement_is_one_of_in_toto(committed: Path) -> None:
    """Protects: other tools read who was attested what: each changed file, and the whole tree."""
    statement = json.loads((committed / ATTESTATION).read_bytes())
    # The stubs of jsonschema leave a type open here; pyright reports that, not ours.
    valid = jsonschema.Draft202012Validator(STATEMENT_SCHEMA).is_valid  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
    assert valid(statement)
    assert (statement["_type"], statement["predicateType"]) == (STATEMENT, PREDICATE)
    found = read_package(committed)
    assert found.candidate is not None
    assert statement["subject"] == [
        {
            "name": "a.txt",
            "digest": {"sha256": str(found.changed[0].after).removeprefix("sha256:")},
        },
        {
            "name": "workspace",
            "digest": {"checkrein_tree_v1": found.candidate.state_digest.removeprefix("sha256:")},
        },
    ]
    assert statement["predicate"]["evidence"]["head"] == found.head.hash


def test_the_page_is_closed_and_names_everybody(committed: Path) -> None:
    """Protects: a page without scripts or requests, that answers who, which, what and why."""
    page = (committed / REPORT).read_text()
    assert "<script" not in page
    assert "default-src &#x27;none&#x27;" in page
    assert "http://" not in page
    assert "https://" not in page
    for word in ("alice", "bob", "carol", "it is right", "as I wanted it", "COMMITTED", "+two"):
        assert word in page, word


@pytest.mark.shows(220)
def test_lineage_walks_from_the_folder_alone(committed: Path) -> None:
    """Protects: from any effect to its approval, policy, input and context, without a database."""
    alone = CommandLine({"PATH": ""})
    walked = alone("evidence", "lineage", committed, "--json").json["effects"]
    assert [walk["resource"].partition(":")[0] for walk in walked] == ["file", "folder"]
    for walk in walked:
        assert [step["what"] for step in walk["steps"]] == [
            "receipt",
            "action",
            "approval",
            "policy",
            "context",
            "input",
            "input",
        ]
        assert all(step["ref"] for step in walk["steps"])
    for_people = alone("evidence", "lineage", committed)
    assert "bob (approver): approve, name asserted" in for_people.out
    (committed / REPORT).unlink()
    assert alone("evidence", "lineage", committed).code == 1


def test_verify_tells_the_finishes_and_the_commit(committed: Path) -> None:
    """Protects: people and programs see three finishes and who committed, apart from each other."""
    alone = CommandLine({"PATH": ""})
    told = alone("evidence", "verify", committed, "--json").json
    assert told["finishes"]["user_accepted"][0]["by"] == "alice"
    assert told["task_status"] == "COMPLETED"
    for_people = alone("evidence", "verify", committed)
    assert "by alice (asserted) as I wanted it" in for_people.out
    assert "by bob" in for_people.out
    assert "stands when it was exported" in for_people.out
    assert told["commit_head"] in for_people.out
    noted = [word for name in ("head", "commit_head") for word in ("--head", told[name])]
    assert alone("evidence", "verify", committed, *noted).code == 0
    wrong = alone("evidence", "verify", committed, *noted[:2])
    assert (wrong.code, "was not noted" in wrong.out) == (1, True)


def test_a_canonical_handover_only(committed: Path) -> None:
    """Protects: one form of each file, so that one digest stands for it."""
    value = json.loads((committed / HANDOVER).read_bytes())
    (committed / HANDOVER).write_bytes(canonical(value) + b"\n")
    forged.seal(committed)
    assert rules(committed) == {(HANDOVER, "canonical")}


def test_a_commit_is_verified_by_the_state_that_it_hands_over(committed: Path) -> None:
    """Protects: a look at another state proves nothing of what was to be handed over."""
    events = [
        Event.model_validate_json(x) for x in (committed / COMMIT_EVENTS).read_text().splitlines()
    ]

    def another(payloads: list[dict[str, Any]]) -> list[dict[str, Any]]:
        started = payloads[0]
        commit = started["attempt"]["commit"] | {"state_digest": "sha256:" + "1" * 64}
        return [started | {"attempt": started["attempt"] | {"commit": commit}}, *payloads[1:]]

    assert grade(events) == []
    faults = grade(forged.changed(events, another))
    assert "verified_by_evidence" in {fault.rule for fault in faults}
