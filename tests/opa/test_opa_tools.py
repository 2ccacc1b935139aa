"""A bundle folder is OPA's own: its tools take the shipped one and an export as they are."""

import json
import subprocess
from pathlib import Path

import pytest

from checkrein.evals.both_engines import export_bundle, shipped_bundle

ROOT = Path(__file__).parents[2]
SHIPPED = ROOT / "policy_rego" / "bundle"
SCHEMA = ROOT / "docs" / "schemas" / "decision_input.v1.schema.json"


def ran(*line: str | Path) -> subprocess.CompletedProcess[str]:
    """Run one of OPA's tools."""
    return subprocess.run(line, capture_output=True, text=True, timeout=60, check=False)


@pytest.mark.parametrize(
    "tool",
    [
        ("check", "--strict"),
        ("check", "--strict", "--bundle"),
        ("check", "--strict", "--schema", SCHEMA),
        ("test", "--fail-on-empty"),
        ("fmt", "--list", "--fail"),
    ],
    ids=lambda tool: " ".join(str(part) for part in tool[:3]),
)
def test_the_shipped_bundle_passes(binary: Path, tool: tuple[str | Path, ...]) -> None:
    """What policy authors run in their own pipelines agrees with what we ship."""
    done = ran(binary, *tool, SHIPPED)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_published_schema_finds_a_misspelt_input(binary: Path, tmp_path: Path) -> None:
    """The exported JSON Schema is one that OPA's own type check can use."""
    rule = 'deny contains {"reason_code": "x"} if input.action.capablity == "a"'
    (tmp_path / "x.rego").write_text(f"package checkrein.rules.x\n\n{rule}\n", encoding="utf-8")
    done = ran(binary, "check", "--schema", SCHEMA, tmp_path)
    assert done.returncode == 1
    assert "undefined ref: input.action.capablity" in done.stderr


def test_an_export_is_built_under_its_content_hash(binary: Path, tmp_path: Path) -> None:
    """`opa build` keeps the revision that the export's manifest holds."""
    bundle = shipped_bundle()
    export_bundle(bundle, tmp_path / "policy")
    archive = tmp_path / "bundle.tar.gz"
    done = ran(binary, "build", "--bundle", tmp_path / "policy", "--output", archive)
    assert done.returncode == 0, done.stderr
    shown = ran(binary, "inspect", "--format", "json", archive)
    assert json.loads(shown.stdout)["manifest"]["revision"] == bundle.version
