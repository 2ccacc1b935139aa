"""A policy may allow everything: the executor still has no way out of the workspace."""

import json
from pathlib import Path
from typing import Any

import loops
import pytest

from checkrein.contracts.event import Observed
from checkrein.settings import Settings

OUTSIDE = [
    "../secret.txt",
    "/etc/hostname",
    "link/secret.txt",
    "..%2fsecret.txt",
    "a/../../secret.txt",
]


@pytest.mark.shows(390, 403)
@pytest.mark.parametrize("path", OUTSIDE)
async def test_nothing_outside_is_read_or_written(
    path: str, tmp_path: Path, settings: Settings
) -> None:
    """Protects: what the policy permits and what the executor can do are two things."""
    (tmp_path / "workspace").mkdir()
    (tmp_path / "workspace" / "link").symlink_to(tmp_path)
    patch = "@@ -1 +1 @@\n-s\n+m\n"
    turns = [
        loops.says("", loops.call("workspace.read", path=path)),
        loops.says("", loops.call("workspace.write_file", path=path, content="mine")),
        loops.says("", loops.call("workspace.apply_patch", path=path, patch=patch)),
        loops.DONE,
    ]
    task = loops.contract(tmp_path, turns)
    async with loops.opened(settings) as (harness, parts):
        report = await harness.run(task)
        secret = Path(report.workspace).parent / "secret.txt"
        told: list[Any] = [
            p.observation
            for p in await loops.payloads(parts, report.attempt_id)
            if isinstance(p, Observed)
        ]
        assert report.effects.get("COMMITTED", 0) == 0
        assert [o.status for o in told] == ["failed"] * 3
        assert not secret.exists()
        assert "mine" not in json.dumps([o.structured_result for o in told])
