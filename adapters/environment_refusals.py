"""What a person is told where a machine has less than a task's environment asks for."""

from collections.abc import Sequence

from checkrein.contracts.environment import Concession
from checkrein.errors import InputError

_OP = "environment.choose"
_MEANS: dict[Concession, str] = {
    "local": "`--environment local --as WHO` runs commands on this machine without a sandbox, as "
    "the user of this process",
    "narrow": "`--environment narrow --as WHO` goes on without all that needs commands",
}


def missing(told: Sequence[str], *, narrow: bool) -> InputError:
    """Nothing is started. `told`: what is missing, a line for each backend."""
    why = " Its checks under success run commands, so that it cannot be narrowed." if narrow else ""
    return InputError(
        f"This machine lacks what the task's environment needs, and nothing was started.{why}"
        f"{_lines(told)}\nInstall what is missing, name another backend, or ask for less.",
        op=_OP,
        code="environment_missing",
    )


def question(told: Sequence[str], choices: Sequence[Concession]) -> InputError:
    """Nothing is started before a person has agreed to less."""
    ways = "".join(f"\n  {_MEANS[choice]}" for choice in choices)
    return InputError(
        "This machine lacks what the task's environment needs, and the task wants a person to "
        f"decide. Nothing was started.{_lines(told)}\nInstall what is missing, or start it again "
        f"with the word of a person:{ways}",
        op=_OP,
        code="environment_asks",
        context={"choices": list(choices)},
    )


def hidden_in_reach(why: str) -> InputError:
    """Nothing is started. `why`: why there is no sandbox."""
    return InputError(
        "The task hides tests and grants commands, and without a sandbox those could read the "
        f"tests. Nothing was started. {why}\nOr take `workspace.run_command` out of the task, or "
        "accept that they lie within reach: `environment: {backends: [local], network: host}`.",
        op=_OP,
        code="hidden_in_reach",
    )


def _lines(told: Sequence[str]) -> str:
    return "".join(f"\n  {line}" for line in told)
