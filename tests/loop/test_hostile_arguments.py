"""Arguments that break parsers, stores and engines: one answer for each, and the run goes on."""

import json
from pathlib import Path

import pytest
from loops import ALLOW_ALL, BUNDLES, DONE, call, contract, opened, payloads, says

from checkrein.contracts.attempt import AttemptStatus
from checkrein.contracts.event import Observed
from checkrein.errors import InputError
from checkrein.settings import Settings

WRITE = "workspace.write_file"

HOSTILE = {
    "a surrogate": '{"path": "a.txt", "content": "\\ud800"}',
    "a surrogate in a name": '{"path": "a.txt", "content": "x", "\\udfff": 1}',
    "a NUL": '{"path": "a\\u0000.txt", "content": "x"}',
    "10,000 deep": '{"path": "a.txt", "content": ' + "[" * 10_000 + "]" * 10_000 + "}",
    "10,000 objects deep": '{"path": ' + '{"a":' * 10_000 + "1" + "}" * 10_000 + "}",
    "5 MB": json.dumps({"path": "a.txt", "content": "x" * 5_000_000}),
    "a number beyond all bounds": '{"path": "a.txt", "content": 1e999}',
    "not a number": '{"path": "a.txt", "content": NaN}',
    "no object": '["a.txt"]',
    "half of it": '{"path": "a.txt", "cont',
}


@pytest.mark.parametrize("name", HOSTILE)
async def test_it_is_answered_and_the_run_goes_on(
    name: str, tmp_path: Path, settings: Settings
) -> None:
    """Protects: nothing runs, the model is told what to mend, and its next call works."""
    turns = [
        says("", {"name": WRITE, "args": HOSTILE[name]}),
        says("", call(WRITE, path="b.txt", content="fine\n")),
        DONE,
    ]
    task = contract(tmp_path, turns, policy=ALLOW_ALL)
    async with opened(settings) as (harness, parts):
        report = await harness.run(task)
        seen = [
            p.observation
            for p in await payloads(parts, report.attempt_id)
            if isinstance(p, Observed)
        ]
    assert report.status is AttemptStatus.CANDIDATE_VERIFIED
    assert report.effects == {"COMMITTED": 1}
    assert [o.status for o in seen][1:] == ["ok"]
    assert seen[0].status in {"invalid", "denied", "failed"}
    assert seen[0].diagnostics is not None
    assert seen[0].diagnostics.advice
    assert len(seen[0].model_dump_json()) < 20_000


async def test_a_policy_that_calls_itself_is_refused_before_anything_is_stored(
    tmp_path: Path, settings: Settings
) -> None:
    """Protects: such a bundle never decides anything, and says where it calls itself."""
    task = contract(tmp_path, [DONE], policy=BUNDLES.parents[1] / "policy/bundles/recursion")
    async with opened(settings) as (harness, parts):
        with pytest.raises(InputError, match="recursi") as refused:
            await harness.run(task)
        assert await parts.records.attempts() == []
    assert refused.value.code == "policy_invalid"
