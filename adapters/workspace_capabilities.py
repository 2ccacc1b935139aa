"""The capabilities on workspace files, as one list.

`describe` judges nothing, so that the policy can; reading, preparing and sending go through the
path guard, which refuses what leads outside whatever the policy said.
"""

from collections.abc import Sequence

from checkrein.adapters.command_door import CommandDoor
from checkrein.adapters.workspace import FolderWorkspace
from checkrein.adapters.workspace_command import RunCommand
from checkrein.adapters.workspace_reads import ListFolder, ReadFile
from checkrein.adapters.workspace_writes import ApplyPatch, WriteFile
from checkrein.ports.artifact_store import ArtifactStore
from checkrein.ports.capability import Capability


def workspace_capabilities(
    workspace: FolderWorkspace,
    door: CommandDoor | None = None,
    artifacts: ArtifactStore | None = None,
    *,
    secrets: Sequence[str] = (),
) -> list[Capability]:
    """workspace.read, .list, .write_file, .apply_patch and .run_command.

    `door` is that of the last one; by default commands run on this machine without a sandbox.
    `artifacts` keeps whole outputs that are too long to be shown. `secrets`: names of those that
    the task lends to commands.
    """
    return [
        ReadFile(workspace),
        ListFolder(workspace),
        WriteFile(workspace),
        ApplyPatch(workspace),
        RunCommand(workspace, door or CommandDoor.local(), artifacts, secrets=secrets),
    ]
