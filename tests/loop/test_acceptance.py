"""A person's signature under what was verified: the third finish, apart from the other two."""

import asyncio
from pathlib import Path
from typing import Any

import loops
import pytest

from checkrein.compose import Parts
from checkrein.contracts.approval import Approver
from checkrein.contracts.event import CandidateSealed, PauseRequested, Payload, UserAccepted
from checkrein.errors import ConflictError, InputError
from checkrein.graph.acceptance import accept
from checkrein.graph.evidence import export
from checkrein.graph.evidence_check import check
from checkrein.graph.report import Report, report
from checkrein.settings import Settings

ALICE = Approver(name="alice")
WRITE = loops.says("", loops.call("workspace.write_file", path="a.txt", content="two\n"))


def task(folder: Path, **fields: Any) -> Any:
    """A task whose write needs no approval."""
    roles = {"approver": ["bob"], "accepter": ["dora"]}
    return loops.contract(folder, [WRITE, loops.DONE], approvals={"roles": roles}, **fields)


async def sign(parts: Parts, what: str, who: Approver, note: str = "") -> Report:
    """Accept with the parts of an open harness."""
    return await accept(parts.events, parts.records, parts.front_door.opener, what, who, note)


@pytest.mark.shows(209)
async def test_three_finishes_are_three_facts(tmp_path: Path, settings: Settings) -> None:
    """Protects: each finish has its time and none implies the next; the chain stays whole."""
    async with loops.opened(settings) as (harness, parts):
        verified = await harness.run(task(tmp_path))
        told = verified.finishes
        assert told.protocol_final is not None
        assert told.task_accepted is not None
        assert told.protocol_final < told.task_accepted
        assert told.user_accepted == []
        signed = await sign(parts, verified.task_id, ALICE, "as I wanted it")
        (one,) = signed.finishes.user_accepted
        assert (one.by, one.authority, one.authenticated) == ("alice", "requester", False)
        assert one.at > told.task_accepted
        assert verified.verification is not None
        assert one.state_digest == verified.verification.state_digest
        assert (signed.status, signed.task_status) == ("CANDIDATE_VERIFIED", "VERIFIED")
        by_attempt = await sign(parts, verified.attempt_id[:13], Approver(name="dora"))
        assert [x.by for x in by_attempt.finishes.user_accepted] == ["alice", "dora"]
        assert (await loops.types(parts, verified.attempt_id))[-2:] == ["user_accepted"] * 2


@pytest.mark.shows(209)
async def test_a_model_that_stopped_is_not_accepted(tmp_path: Path, settings: Settings) -> None:
    """Protects: protocol final alone; nobody can sign what the verifier refused."""
    fails = task(tmp_path, success=[{"command": {"argv": ["false"]}}], budgets={"repairs": 0})
    async with loops.opened(settings) as (harness, parts):
        ended = await harness.run(fails)
        assert ended.finishes.protocol_final is not None
        assert ended.finishes.task_accepted is None
        with pytest.raises(ConflictError) as refused:
            await sign(parts, ended.task_id, ALICE)
        assert refused.value.code == "not_verified"


async def test_who_may_not_sign(tmp_path: Path, settings: Settings) -> None:
    """Protects: an approver is no accepter, nobody signs twice, and nobody is not somebody."""
    async with loops.opened(settings) as (harness, parts):
        done = await harness.run(task(tmp_path))
        codes = {"bob": "accepter_not_permitted", "anonymous": "identity_required"}
        for name, code in codes.items():
            with pytest.raises(InputError) as refused:
                await sign(parts, done.task_id, Approver(name=name))
            assert refused.value.code == code
        with pytest.raises(InputError) as refused:
            await sign(parts, done.task_id, Approver(name="alice", tenant="others"))
        assert refused.value.code == "other_tenant"
        await sign(parts, done.task_id, ALICE)
        with pytest.raises(ConflictError) as twice:
            await sign(parts, done.task_id, ALICE)
        assert twice.value.code == "accepted_already"


async def hash_of(parts: Parts, attempt_id: str) -> str:
    """The hash of the candidate that was sealed last."""
    told = await loops.payloads(parts, attempt_id)
    return [p for p in told if isinstance(p, CandidateSealed)][-1].candidate_hash


async def test_the_database_keeps_signatures_in_their_place(
    tmp_path: Path, settings: Settings
) -> None:
    """Protects: after the end, alone, of the verified state, once; nothing else follows the end."""
    async with loops.opened(settings) as (harness, parts):
        done = await harness.run(task(tmp_path))
        assert done.verification is not None
        good = UserAccepted(
            state_digest=done.verification.state_digest,
            candidate_hash="sha256:" + "0" * 64,
            by="alice",
            authority="requester",
            authenticated=False,
        )
        true = good.model_copy(update={"candidate_hash": await hash_of(parts, done.attempt_id)})
        refused: list[list[Payload]] = [
            [good],
            [true.model_copy(update={"by": "mallory"})],
            [true.model_copy(update={"authority": "accepter"})],
            [PauseRequested(by="alice")],
            [good, PauseRequested(by="x")],
        ]
        for payloads in refused:
            with pytest.raises(ConflictError):
                await parts.events.append(done.attempt_id, payloads, fence=None)
        await parts.events.say("local", "user", "alice", granted=False, by="root", reason="left")
        with pytest.raises(ConflictError, match="alice is revoked"):
            await parts.events.append(done.attempt_id, [true], fence=None)
        await parts.events.say("local", "user", "alice", granted=True, by="root", reason="back")
        answers = await asyncio.gather(
            *(sign(parts, done.task_id, ALICE) for _ in range(3)), return_exceptions=True
        )
        assert sum(isinstance(one, Report) for one in answers) == 1, answers
        assert len((await report(parts.records, done.attempt_id)).finishes.user_accepted) == 1


@pytest.mark.shows(207)
async def test_evidence_of_a_moved_state_is_not_handed_out_as_if_it_stood(
    tmp_path: Path, settings: Settings
) -> None:
    """Protects: refused by default; where somebody wants it all the same, it says MOVED itself."""
    async with loops.opened(settings) as (harness, parts):
        done = await harness.run(task(tmp_path))
        stores = (parts.records, parts.events, parts.artifacts)
        opener = parts.front_door.opener
        stood = await export(*stores, done.task_id, tmp_path / "stood", opener=opener)
        assert '"state":"stands"' in (stood / "handover.json").read_text()
        (Path(done.workspace) / "a.txt").write_text("three\n")
        with pytest.raises(ConflictError) as refused:
            await export(*stores, done.task_id, tmp_path / "moved", opener=opener)
        assert refused.value.code == "state_moved"
        assert not (tmp_path / "moved").exists()
        moved = await export(
            *stores, done.task_id, tmp_path / "moved", opener=opener, although_moved=True
        )
        assert check(moved) == []
        assert "no longer what was verified" in (moved / "report.html").read_text()
        await asyncio.to_thread(Path(done.workspace).rename, tmp_path / "gone")
        lost = await export(*stores, done.task_id, tmp_path / "lost", opener=opener)
        assert check(lost) == []
        assert '"state":"unreachable"' in (lost / "handover.json").read_text()


async def test_a_hostile_text_stays_text(tmp_path: Path, settings: Settings) -> None:
    """Protects: neither goal, nor diff, nor a note can put anything into the page but words."""
    evil = "</title></pre><script>alert(1)</script><img src=x onerror=alert(2)>\u202e"
    turns = [loops.says(evil, loops.call("workspace.write_file", path="a.txt", content=evil))]
    contract = loops.contract(
        tmp_path, [*turns, loops.says(evil)], goal=f"goal {evil}", artifacts=["diff"]
    )
    async with loops.opened(settings) as (harness, parts):
        done = await harness.run(contract)
        await sign(parts, done.task_id, ALICE, evil)
        stores = (parts.records, parts.events, parts.artifacts)
        folder = await export(*stores, done.task_id, tmp_path / "out")
    page = (folder / "report.html").read_text()
    assert check(folder) == []
    assert "<script" not in page
    assert "<img" not in page
    assert "\u202e" not in page
    assert page.count("&lt;script&gt;") >= 4
