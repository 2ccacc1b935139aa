"""The capabilities on workspace files, as one list.

`describe` judges nothing, so that the policy can; reading, preparing and sending go through the
path guard, which refuses what leads outside whatever the policy said.
"""

from collections.abc import Sequence

from checkrein.adapters.command_runner import LocalCommandRunner
from checkrein.adapters.workspace import FolderWorkspace
from checkrein.adapters.workspace_command import RunCommand
from checkrein.adapters.workspace_reads import ListFolder, ReadFile
from checkrein.adapters.workspace_writes import ApplyPatch, WriteFile
from checkrein.ports.capability import Capability
from checkrein.ports.command_runner import CommandRunner


def workspace_capabilities(
    workspace: FolderWorkspace,
    runner: CommandRunner | None = None,
    *,
    offline: bool = False,
    secrets: Sequence[str] = (),
) -> list[Capability]:
    """workspace.read, .list, .write_file, .apply_patch and .run_command.

    `runner` is the door of the last one; by default commands run on this machine. `offline`: the
    task is `network: none`, so that commands are cut off whatever the policy says. `secrets`: names
    of those that the task lends to commands.
    """
    return [
        ReadFile(workspace),
        ListFolder(workspace),
        WriteFile(workspace),
        ApplyPatch(workspace),
        RunCommand(workspace, runner or LocalCommandRunner(), offline=offline, secrets=secrets),
    ]
