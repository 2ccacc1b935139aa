"""The README tells what the code does today."""

import re
from pathlib import Path
from typing import Any

import loops
import pytest
from project_files import ROOT

from checkrein.contracts.attempt import AttemptStatus
from checkrein.graph.build import build, mermaid
from checkrein.settings import Settings
from checkrein.testing.scripted_model import ScriptedChatModel

README = (ROOT / "README.md").read_text(encoding="utf-8")


def block(language: str) -> str:
    """The README's first block of a language."""
    found = re.search(rf"^```{language}\n(.*?)^```", README, re.MULTILINE | re.DOTALL)
    assert found is not None
    return found.group(1)


@pytest.mark.shows(28)
def test_the_picture_is_the_compiled_graph() -> None:
    """Protects: the picture of the graph from growing old."""
    assert block("mermaid").strip() == mermaid(build(None)).strip()  # type: ignore[arg-type]


def test_it_is_short() -> None:
    """Protects: a README that is read to its end."""
    assert len(README.splitlines()) <= 150


async def test_the_python_example_runs(
    tmp_path: Path, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Protects: the ten lines that a newcomer copies, with the policy beside them."""
    (tmp_path / "policy").mkdir()
    (tmp_path / "policy" / "orders.rego").write_text(block("rego"), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    for name, value in {
        "CHECKREIN_HOME": str(settings.home),
        "CHECKREIN_DATABASE_URL": settings.database_url or "",
    }.items():
        monkeypatch.setenv(name, value)
    turns = [loops.says("I look.", loops.call("orders.lookup", order_id="7")), loops.DONE]
    task = loops.contract(tmp_path, turns, policy=None, capabilities=["orders.lookup"])
    names: dict[str, Any] = {}
    exec(block("python"), names)  # noqa: S102 - our own README
    model = ScriptedChatModel.load(tmp_path / "decisions.yaml")
    await names["main"](model, task.model_copy(update={"model": None}))
    async with loops.opened(settings) as (harness, parts):
        (attempt,) = await parts.records.attempts()
        report = await harness.status(attempt.attempt_id)
    assert report.status is AttemptStatus.CANDIDATE_VERIFIED
    assert report.effects == {}
