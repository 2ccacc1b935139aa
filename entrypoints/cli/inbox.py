"""inbox: what waits for approval, on a terminal, answered by keys."""

import sys
from typing import TYPE_CHECKING

from checkrein.entrypoints.cli.exits import Exit
from checkrein.entrypoints.cli.identity import claim
from checkrein.entrypoints.cli.opening import opened
from checkrein.entrypoints.cli.options import Json, NamedWho, TokenFile
from checkrein.errors import InputError

if TYPE_CHECKING:
    from checkrein.compose import Parts
    from checkrein.entrypoints.cli.watch import Watch

_ON_SIGTERM = 128 + 15


def inbox(
    who: NamedWho = None,
    token_file: TokenFile = None,
    json: Json = False,
) -> int:
    """Answer what waits for approval: a list that refreshes, previews, and keys to answer by.

    With --json it lists as `checkrein approvals --json` does, and ends.
    """
    if json:
        from checkrein.entrypoints.cli.people import approvals

        return approvals(None, json=True)
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise InputError(
            "The inbox needs a terminal for its keys and its screen. In a script, list by "
            "`checkrein approvals --json`, and answer by `checkrein approve`, `reject`, `edit` and "
            "`respond`.",
            op="cli.inbox",
            code="no_terminal",
        )
    by = claim(who, token_file)

    async def work(parts: "Parts", watch: "Watch") -> bool:
        from checkrein.entrypoints.cli.inbox_desk import Desk
        from checkrein.entrypoints.cli.inbox_terminal import Terminal

        person = await by.proved(parts, "approve")
        watch.hush()
        with Terminal() as terminal:
            return await Desk(parts, by, person, terminal).attended()

    return Exit.DONE if opened(work) else _ON_SIGTERM
