"""The folder workspace and its two writes keep the promises of their ports and guarantees."""

from pathlib import Path
from typing import Literal

import pytest

from checkrein.adapters.workspace import FolderWorkspace
from checkrein.adapters.workspace_capabilities import workspace_capabilities
from checkrein.testing.conformance import compare_and_set_suite, workspace_suite
from checkrein.testing.conformance.target import Target
from checkrein.testing.conformance.workspace_suite import NOTES, Opened, furnish

MODES: list[Literal["copy", "in_place"]] = ["copy", "in_place"]
PATCH = "--- a/notes.txt\n+++ b/notes.txt\n@@ -1 +1 @@\n-note\n+{}\n"
CALLS = {
    "workspace.write_file": ({"content": "one"}, {"content": "other"}),
    "workspace.apply_patch": ({"patch": PATCH.format("one")}, {"patch": PATCH.format("other")}),
}


async def opened_in(
    tmp_path: Path, home: Path, mode: Literal["copy", "in_place"]
) -> FolderWorkspace:
    source = tmp_path / "furnished"
    source.mkdir()
    furnish(source)
    ref = await FolderWorkspace.create(source, mode, home=home, attempt_id="a1")
    return FolderWorkspace(ref, home=home, attempt_id="a1")


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("check", workspace_suite.CHECKS)
async def test_workspace_keeps_the_promises_of_the_port(
    check: str, mode: Literal["copy", "in_place"], tmp_path: Path, home: Path
) -> None:
    """Protects the completion gate, which knows the port alone."""
    workspace = await opened_in(tmp_path, home, mode)
    spare = tmp_path / "spare"
    spare.mkdir()
    await workspace_suite.CHECKS[check](Opened(workspace, Path(workspace.ref.root), spare))


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("check", compare_and_set_suite.CHECKS)
async def test_writes_keep_the_promises_of_compare_and_set(
    check: str, name: str, tmp_path: Path, home: Path
) -> None:
    """Protects the ledger, which repeats a send because of this guarantee."""
    workspace = await opened_in(tmp_path, home, "in_place")
    granted = {capability.spec.name: capability for capability in workspace_capabilities(workspace)}
    one, other = CALLS[name]
    target = Target(granted[name], {"path": NOTES, **one}, {"path": NOTES, **other})
    await compare_and_set_suite.CHECKS[check](target)
