"""Arguments and options that several commands share."""

from pathlib import Path
from typing import Annotated

import typer

Json = Annotated[
    bool, typer.Option("--json", help="Print one JSON object on stdout and nothing else there.")
]
AttemptId = Annotated[
    str, typer.Argument(metavar="ATTEMPT", help="An attempt's id, or an unambiguous beginning.")
]
ApprovalId = Annotated[
    str, typer.Argument(metavar="ID", help="An approval's id, as `checkrein approvals` lists it.")
]
NamedWho = Annotated[
    str | None,
    typer.Option(
        "--as",
        metavar="WHO",
        help="Who says so, where no token does: stored as asserted, not as authenticated.",
    ),
]
TokenFile = Annotated[
    Path | None,
    typer.Option(
        "--token-file",
        metavar="FILE",
        help="Holds a token (`checkrein token issue`) that proves who says so; else "
        "CHECKREIN_TOKEN does.",
    ),
]
MaybeWho = Annotated[
    str | None,
    typer.Option("--as", metavar="WHO", help="Who says so; else the user of this process."),
]
Reason = Annotated[
    str, typer.Option("--reason", metavar="TEXT", help="Why; the model is told as well.")
]
MaybeReason = Annotated[str, typer.Option("--reason", metavar="TEXT", help="Why, for the record.")]
