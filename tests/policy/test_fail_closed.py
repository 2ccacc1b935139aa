"""Whatever goes wrong between an action and an answer denies, with a reason of its own."""

import asyncio
import os
import signal
import time
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from checkrein.contracts.decision import DecisionInput, PolicyDecision, Reserved, Verdict
from checkrein.errors import InputError
from checkrein.policy_rego.bundle_files import ENTRYPOINT_PATH, Bundle, load_bundle, make_bundle
from checkrein.policy_rego.embedded import EmbeddedPolicy
from checkrein.policy_rego.engine_process import EngineProcess

Make = Callable[..., DecisionInput]
PolicyOf = Callable[..., Awaitable[EmbeddedPolicy]]


def denied_as(decision: PolicyDecision) -> str:
    """The reason code of a denial that carries nothing else."""
    assert decision.decision is Verdict.DENY
    assert (decision.constraints, decision.approval) == ({}, None)
    assert decision.reasons == [decision.reason_code]
    return decision.reason_code


def with_entrypoint_of(folder: Path) -> Bundle:
    """A bundle past the loader, which would refuse its entrypoint."""
    harmless = make_bundle(origin=str(folder), modules={}, tests={}, data={})
    text = (folder / ENTRYPOINT_PATH).read_text(encoding="utf-8")
    return replace(harmless, modules={ENTRYPOINT_PATH: text})


@pytest.mark.shows(56)
@pytest.mark.parametrize(
    ("answer", "code"),
    [
        ("undefined", Reserved.POLICY_UNDEFINED),
        ("maybe", Reserved.POLICY_OUTPUT_INVALID),
        ("null", Reserved.POLICY_OUTPUT_INVALID),
        ("truth", Reserved.POLICY_OUTPUT_INVALID),
        ("text", Reserved.POLICY_OUTPUT_INVALID),
    ],
)
async def test_no_answer_and_an_unknown_one_deny(
    policy_of: PolicyOf, document: Make, bundles: Path, answer: str, code: Reserved
) -> None:
    """Undefined is no permission, and neither is a word or a type that nobody knows."""
    bundle = with_entrypoint_of(bundles / f"entrypoint_{answer}")
    policy = await policy_of(bundle, checked=False)
    decision = await policy.decide(document(paths=["src/a.py"]))
    assert denied_as(decision) == code
    assert decision.message


async def test_conflicting_answers_deny(policy_of: PolicyOf, document: Make, bundles: Path) -> None:
    """Two values of one rule: neither of them is picked. Other actions are judged as before."""
    policy = await policy_of(load_bundle(bundles / "conflict"))
    decision = await policy.decide(document(paths=["src/a.py"]))
    assert denied_as(decision) == Reserved.POLICY_ERROR
    assert "checkrein/rules/conflict.rego:" in str(decision.message)
    assert (await policy.decide(document("workspace.list"))).decision is Verdict.ALLOW


async def test_error_inside_a_deny_rule_denies(
    policy_of: PolicyOf, document: Make, bundles: Path
) -> None:
    """A rule that could not be evaluated counts as one that denies; its value is not told."""
    policy = await policy_of(load_bundle(bundles / "wrong_type"))
    decision = await policy.decide(document(args={"amount": "1,000 s3cret"}))
    assert denied_as(decision) == Reserved.POLICY_ERROR
    assert "s3cret" not in str(decision.message)
    assert (await policy.decide(document(args={"amount": "7"}))).decision is Verdict.ALLOW


@pytest.mark.shows(56)
async def test_late_answer_denies_and_the_next_is_in_time(
    policy_of: PolicyOf, document: Make, bundles: Path
) -> None:
    """The deadline is hard: the worker is killed, and another one answers the next question."""
    policy = await policy_of(load_bundle(bundles / "slow"), deadline_s=1.0)
    before = policy.engine_pid
    started = time.monotonic()
    late = await policy.decide(document(paths=["src/a.py"]))
    assert denied_as(late) == Reserved.POLICY_TIMEOUT
    assert time.monotonic() - started < 5
    assert policy.engine_pid is None
    assert (await policy.decide(document("workspace.list"))).decision is Verdict.ALLOW
    assert policy.engine_pid not in {None, before}


async def test_waiting_behind_a_slow_question_counts(
    policy_of: PolicyOf, document: Make, bundles: Path
) -> None:
    """The deadline counts from the call, so that nobody waits longer behind another's question."""
    policy = await policy_of(load_bundle(bundles / "slow"), deadline_s=1.0)
    slow = asyncio.create_task(policy.decide(document(paths=["src/a.py"])))
    await asyncio.sleep(0.1)
    started = time.monotonic()
    quick = await policy.decide(document("workspace.list"))
    assert time.monotonic() - started < 5
    assert quick.decision is Verdict.ALLOW or denied_as(quick) == Reserved.POLICY_TIMEOUT
    assert denied_as(await slow) == Reserved.POLICY_TIMEOUT


async def test_worker_killed_in_the_middle_denies_and_is_replaced(
    policy_of: PolicyOf, document: Make, bundles: Path
) -> None:
    """A crash of the native engine looks like this: the answer never comes, the pipe closes."""
    policy = await policy_of(load_bundle(bundles / "slow"), deadline_s=30.0)
    asked = asyncio.create_task(policy.decide(document(paths=["src/a.py"])))
    await asyncio.sleep(0.3)
    assert policy.engine_pid is not None
    os.kill(policy.engine_pid, signal.SIGSEGV)
    decision = await asked
    assert denied_as(decision) == Reserved.POLICY_UNAVAILABLE
    assert "signal 11" in str(decision.message)
    assert (await policy.decide(document("workspace.list"))).decision is Verdict.ALLOW


async def test_cancelled_question_leaves_no_answer_behind(
    policy_of: PolicyOf, document: Make, bundles: Path
) -> None:
    """A late answer must never be taken for the answer to the next question."""
    policy = await policy_of(load_bundle(bundles / "slow"), deadline_s=30.0)
    asked = asyncio.create_task(policy.decide(document(paths=["src/a.py"])))
    await asyncio.sleep(0.2)
    asked.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asked
    decision = await policy.decide(document("workspace.list"))
    assert decision.reasons == ["quick"]


async def test_many_questions_at_once_get_their_own_answers(
    shipped: EmbeddedPolicy, document: Make
) -> None:
    """One worker, one question at a time: no answer reaches another one's asker."""
    paths = ["src/a.py", "tests/a.py", ".git/x", "src/b.py"] * 25
    asked = [document("workspace.write_file", [path]) for path in paths]
    decisions = await asyncio.gather(*(shipped.decide(one) for one in asked))
    for path, decision in zip(paths, decisions, strict=True):
        expected = Verdict.REQUIRE_APPROVAL if path.startswith("src") else Verdict.DENY
        assert decision.decision is expected


@pytest.mark.parametrize(
    "args",
    [
        {"text": "\ud800"},
        {"\udfff": 1},
        {"text": "a\x00b"},
        {"number": 2**53},
        {"number": float("nan")},
        {"number": float("inf")},
        {"bytes": b"raw"},
        {"set": {1}},
    ],
    ids=str,
)
async def test_what_json_cannot_hold_never_reaches_the_engine(
    shipped: EmbeddedPolicy, document: Make, args: dict[str, Any]
) -> None:
    """A lone surrogate crashes the engine's own reading of Python values; it never gets there."""
    asked = document(paths=["src/a.py"], args=args)
    with pytest.raises(InputError):
        shipped.input_text(asked)
    decision = await shipped.decide(asked)
    assert denied_as(decision) == Reserved.POLICY_INPUT_INVALID
    assert decision.input_ref == ""


async def test_deep_and_large_input_denies(shipped: EmbeddedPolicy, document: Make) -> None:
    """Depth and size are bounded before anything recurses or copies."""
    deep: list[Any] = []
    for _ in range(100_000):
        deep = [deep]
    asked = document(paths=["src/a.py"], args={"deep": deep})
    assert denied_as(await shipped.decide(asked)) == Reserved.POLICY_INPUT_INVALID
    asked = document(paths=["src/a.py"], args={"text": "x" * (8 * 1024 * 1024)})
    assert denied_as(await shipped.decide(asked)) == Reserved.POLICY_INPUT_INVALID
    while deep:  # taken apart by hand: the interpreter would recurse
        deep = deep.pop()


async def test_large_input_within_bounds_is_judged(shipped: EmbeddedPolicy, document: Make) -> None:
    """Five megabytes of argument are judged like five bytes."""
    decision = await shipped.decide(document(paths=["src/a.py"], args={"text": "é" * 2_500_000}))
    assert decision.decision is Verdict.ALLOW


async def test_refused_input_is_never_judged_by_the_previous_one(bundles: Path) -> None:
    """The engine keeps its last input when it refuses one; nothing may be evaluated then."""
    bundle = load_bundle(bundles / "allow_all")
    engine = await EngineProcess.start()
    request: dict[str, object] = {
        "do": "load",
        "modules": [list(item) for item in bundle.modules.items()],
        "data": bundle.data,
        "coverage": False,
    }
    assert "fault" not in await engine.ask(request, limit_s=10)
    query = {"do": "eval", "query": "data.checkrein.decision.decision"}
    allowed = await engine.ask({**query, "input": "{}"}, limit_s=10)
    assert '"ALLOW"' in allowed["result"]
    for broken in ("", "{", '{"a": NaN}', '{"a": "\\ud800"}', "[" * 200 + "]" * 200):
        refused = await engine.ask({**query, "input": broken}, limit_s=10)
        assert refused["fault"] == "input"
        assert "result" not in refused
    await engine.close()


async def test_closed_policy_denies(shipped: EmbeddedPolicy, document: Make) -> None:
    """Nothing starts again behind a close, which may come twice."""
    await shipped.close()
    await shipped.close()
    decision = await shipped.decide(document(paths=["src/a.py"]))
    assert denied_as(decision) == Reserved.POLICY_UNAVAILABLE
    assert shipped.engine_pid is None


def test_another_event_loop_is_denied(bundles: Path, document: Make) -> None:
    """Pipes belong to the loop that opened them; on another one there is a denial, not a hang."""
    bundle = load_bundle(bundles / "allow_all")
    with asyncio.Runner() as first, asyncio.Runner() as second:
        policy = first.run(EmbeddedPolicy.load(bundle))
        decision = second.run(policy.decide(document()))
        assert denied_as(decision) == Reserved.POLICY_UNAVAILABLE
        assert first.run(policy.decide(document())).decision is Verdict.ALLOW
        first.run(policy.close())


async def test_bundle_that_does_not_load_denies(policy_of: PolicyOf, document: Make) -> None:
    """Even a bundle that nobody checked and that does not compile never allows."""
    bundle = make_bundle(origin="broken", modules={"x.rego": "package x\n("}, tests={}, data={})
    policy = await policy_of(bundle, checked=False)
    decision = await policy.decide(document(paths=["src/a.py"]))
    assert denied_as(decision) == Reserved.POLICY_UNAVAILABLE
    assert decision.policy_version == bundle.version
