"""policy docs: a page about a bundle's rules, made from the rules themselves."""

import asyncio
from pathlib import Path
from typing import Annotated

import typer

from checkrein.entrypoints.cli.console import out, shown
from checkrein.entrypoints.cli.exits import Exit
from checkrein.entrypoints.cli.live import Live
from checkrein.entrypoints.cli.opening import be_quiet
from checkrein.errors import InputError


def docs(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="The bundle's folder.")],
    file: Annotated[
        Path | None, typer.Option("--out", metavar="FILE", help="Write the page to a file.")
    ] = None,
    check: Annotated[
        bool, typer.Option("--check", help="Write nothing; exit code 1 unless FILE is up to date.")
    ] = False,
) -> int:
    """Write a Markdown page about the rules, from their METADATA and tests."""
    if check and file is None:
        raise InputError("--check needs --out FILE, the page to check.", op="policy.docs")
    be_quiet()
    with Live("the policy engine"):
        from checkrein.policy_rego import authoring

        page = asyncio.run(authoring.documented(folder))
    if file is None:
        out(page.rstrip("\n"))
        return Exit.DONE
    try:
        if check:
            return _checked(folder, file, page)
        file.write_text(page, encoding="utf-8")
    except OSError as error:
        raise InputError(
            f"{file} cannot be used: {error.strerror}.",
            op="policy.docs",
            code="file_unusable",
            context={"path": str(file)},
        ) from error
    out(f"written: {shown(file)}")
    return Exit.DONE


def _checked(folder: Path, file: Path, page: str) -> Exit:
    if file.is_file() and file.read_text(encoding="utf-8") == page:
        out(f"up to date: {shown(file)}")
        return Exit.DONE
    out(f"{shown(file)} is not what the rules say.")
    out(f"next: checkrein policy docs {shown(folder)} --out {shown(file)}")
    return Exit.WRONG
