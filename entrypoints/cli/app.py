"""The whole command line: which commands there are, and how each of them ends."""

import contextlib
import os
import sys
import traceback
from collections.abc import Callable, Sequence
from typing import Annotated, Any

import typer

from checkrein import __version__
from checkrein.entrypoints.cli import (
    answers,
    approvals_report,
    attempts,
    attempts_report,
    authority,
    budget,
    conformance,
    crashtest,
    database,
    delivering,
    doctor,
    drawing,
    effects,
    evidence,
    exits,
    finishing,
    inbox,
    judging,
    mcp,
    people,
    policies,
    project,
    tokens,
    tracing,
)
from checkrein.entrypoints.cli.console import (
    ReaderGone,
    error_json,
    fail,
    failure_json,
    make_streams_safe,
)
from checkrein.entrypoints.cli.identity import refuse_tokens
from checkrein.entrypoints.cli.opening import InterruptedWork, debugging
from checkrein.errors import CheckreinError

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    help="Checkrein: a model proposes; ordinary code decides, executes, records and judges.",
    epilog=exits.MEANINGS,
)


def demo(
    keep: Annotated[
        bool, typer.Option("--keep", help="Leave the home folder with the database behind.")
    ] = False,
) -> int:
    """Run the example: propose, approve, kill, recover, verify, prove."""
    from checkrein.entrypoints.cli import demo as showing

    return showing.demo(keep=keep)


COMMANDS: tuple[Callable[..., int], ...] = (
    project.init,
    attempts.run,
    attempts.resume,
    attempts.recover,
    attempts.retry,
    attempts.status,
    attempts_report.attempts_report,
    people.approvals,
    approvals_report.approvals_report,
    answers.approve,
    answers.reject,
    answers.edit,
    answers.respond,
    inbox.inbox,
    people.answer,
    judging.judge,
    finishing.accept,
    finishing.commit,
    people.pause,
    people.cancel,
    delivering.deliver,
    authority.revoke,
    authority.grant,
    authority.revocations,
    effects.effects,
    effects.reconcile,
    crashtest.crashtest,
    doctor.doctor,
    drawing.graph,
    demo,
)
GROUPS = {
    "trace": tracing.app,
    "evidence": evidence.app,
    "policy": policies.app,
    "mcp": mcp.app,
    "db": database.app,
    "token": tokens.app,
    "budget": budget.app,
    "conformance": conformance.app,
}

for command in COMMANDS:
    app.command()(command)
for name, group in GROUPS.items():
    app.add_typer(group, name=name)


def _version(asked: bool) -> None:
    if asked:
        print(f"checkrein {__version__}")
        raise typer.Exit


@app.callback()
def _whole(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    """Options that stand before any command."""


def run_command_line(args: Sequence[str]) -> int:
    """Run one command and return its exit code; an error is told once, in one place."""
    make_streams_safe()
    as_json = "--json" in args
    try:
        refuse_tokens(args)
        code: Any = app(args=list(args), prog_name="checkrein", standalone_mode=False)
        sys.stdout.flush()
        if code == exits.Exit.INTERRUPTED:
            raise InterruptedWork
        return int(code or 0)
    except (ReaderGone, BrokenPipeError):
        # The reader has gone, as `head` does. Python must not find out again as it ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 128 + 13
    except Exception as error:  # every fault becomes one message and one exit code
        failure, exit_code = _ending(error, args)
        if debugging():
            traceback.print_exc()
        with contextlib.suppress(ReaderGone):
            fail(failure, as_json=as_json)
        return int(exit_code)


def _ending(error: Exception, args: Sequence[str]) -> tuple[dict[str, Any], exits.Exit]:
    """What is told about an error, and the exit code that goes with it."""
    if isinstance(error, InterruptedWork):
        text, steps = "Interrupted.", []
        if error.command is not None:
            text, steps = (
                f"{text} What was stored stands; go on with: {error.command}",
                [error.command],
            )
        return failure_json(
            text, "interrupted", "cli", True, {"next": steps}
        ), exits.Exit.INTERRUPTED
    if isinstance(error, CheckreinError):
        code = exits.of_error(error)
        if code is not exits.Exit.FAULT:
            return error_json(error), code
    # Typer's own errors of usage; their class has no public name.
    format_message = getattr(error, "format_message", None)
    if format_message is not None:
        name = " ".join(["checkrein", *_command(args)])
        text = f"{format_message().rstrip('.')}. See: {name} --help"
        if type(error).__name__ == "NoArgsIsHelpError":
            text = f"No command is given.\n\n{format_message()}"
        return failure_json(text, "usage", "cli"), exits.Exit.UNUSABLE
    return _fault(error), exits.Exit.FAULT


def _fault(error: Exception) -> dict[str, Any]:
    context = error.context if isinstance(error, CheckreinError) else {}
    attempt_id = context.get("attempt_id")
    go_on = f" Go on with: checkrein recover {attempt_id}." if attempt_id else ""
    text = (
        f"A fault of Checkrein, not of yours: {type(error).__name__}: {str(error).rstrip('.')}."
        f"{go_on} CHECKREIN_DEBUG=1 shows where it happened."
    )
    return failure_json(text, "internal", "cli", False, context)


def _command(args: Sequence[str]) -> list[str]:
    """The words of a command line that name the command."""
    names = {command.__name__.replace("_", "-") for command in COMMANDS}
    found = [word for word in args[:1] if word in names]
    if args and args[0] in GROUPS:
        inner = GROUPS[args[0]].registered_commands
        names = {command.callback.__name__ for command in inner if command.callback is not None}
        found = [args[0], *(word for word in args[1:2] if word in names)]
    return found
