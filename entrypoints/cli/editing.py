"""The arguments of a request in the person's own editor."""

import json
import os
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from checkrein.contracts.folding import unfolded
from checkrein.contracts.secrets import masked
from checkrein.entrypoints.cli.opening import opened
from checkrein.errors import InputError

if TYPE_CHECKING:
    from checkrein.compose import Parts
    from checkrein.contracts.approval import ApprovalRequest
    from checkrein.entrypoints.cli.watch import Watch

_OP = "cli.edit"


def edited_arguments(approval_id: str) -> dict[str, Any]:
    """Open the editor with the arguments of a request, and read what was saved.

    Raises:
        InputError: there is no editor or no terminal, it failed, nothing was changed, or what was
            saved is no JSON object. The text is kept in that case, and its path is told.
    """

    async def work(parts: "Parts", watch: "Watch") -> "ApprovalRequest":
        return (await parts.records.approval(approval_id))[0]

    request = opened(work)
    return changed(request.args, title=f"{request.capability} on {request.resource}")


def changed(args: dict[str, Any], *, title: str) -> dict[str, Any]:
    """Let a person change arguments in their editor. Raises as `edited_arguments` does.

    What looks like a credential is masked there; where it is left so, it stays what it was.
    """
    named = os.environ.get("VISUAL") or os.environ.get("EDITOR")
    if not named or not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise InputError(
            "No editor can be opened: set EDITOR and use a terminal, or give --args or "
            "--args-file.",
            op=_OP,
            code="no_editor",
        )
    before = json.dumps(masked(args)[0], ensure_ascii=True, indent=2)
    # Private to this person; ASCII alone, so that no terminal obeys what stands in it.
    handle, path = tempfile.mkstemp(prefix="checkrein-edit-", suffix=".json")
    file = Path(path)
    with os.fdopen(handle, "w", encoding="utf-8") as writing:
        writing.write(f"{before}\n")
    print(f"{title!a}: change the arguments, save, and leave the editor.", file=sys.stderr)
    try:
        done = subprocess.run(  # noqa: S603 - the person's own editor, as their environment names it
            [*shlex.split(named), path], check=False
        )
    except (OSError, ValueError) as error:
        raise _refused(f"{named} cannot be run ({error})", file) from error
    if done.returncode != 0:
        raise _refused(f"{named} ended with {done.returncode}", file)
    try:
        value: Any = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise _refused(f"what was saved is no JSON ({error})", file) from error
    if not isinstance(value, dict):
        raise _refused("what was saved is no JSON object", file)
    file.unlink()
    wanted = unfolded(cast("dict[str, Any]", value), args)
    if wanted == args:
        raise InputError("Nothing was changed, and nothing was said.", op=_OP, code="unchanged")
    return wanted


def _refused(problem: str, file: Path) -> InputError:
    return InputError(
        f"{problem[0].upper()}{problem[1:]}. Nothing was said; your text is in {file}.",
        op=_OP,
        code="unusable_edit",
    )
