"""The capabilities on workspace files, as one list.

`describe` judges nothing, so that the policy can; reading, preparing and sending go through the
path guard, which refuses what leads outside whatever the policy said.
"""

from checkrein.adapters.workspace import FolderWorkspace
from checkrein.adapters.workspace_reads import ListFolder, ReadFile
from checkrein.adapters.workspace_writes import ApplyPatch, WriteFile
from checkrein.ports.capability import Capability


def workspace_capabilities(workspace: FolderWorkspace) -> list[Capability]:
    """workspace.read, workspace.list, workspace.write_file and workspace.apply_patch."""
    return [
        ReadFile(workspace),
        ListFolder(workspace),
        WriteFile(workspace),
        ApplyPatch(workspace),
    ]
