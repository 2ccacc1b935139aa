"""What the words of a supervisor amount to: how a command ended, or why nobody can say."""

import os
import signal

from checkrein.adapters.command_order import Order
from checkrein.adapters.command_scratch import SEARCH_PATH
from checkrein.contracts.codec import visible
from checkrein.errors import EnvironmentFault
from checkrein.ports.command_runner import CommandResult, Ending

_OP = "command.run"
_BY_SIGNAL = {int(signal.SIGXCPU): Ending.CPU_LIMIT, int(signal.SIGXFSZ): Ending.FILE_LIMIT}


def result_of(
    order: Order,
    told: dict[str, int],
    breach: Ending | None,
    outputs: tuple[bytes, bytes],
    duration_s: float,
) -> CommandResult:
    """The command's result, or the fault that kept it from having one.

    Args:
        order: what was run.
        told: numbers by words, of the supervisor and of what runs inside a sandbox.
        breach: the limit of ours for which it was ended.
        outputs: what is kept of standard output and error.
        duration_s: how long it took.

    Raises:
        EnvironmentFault: program_missing, or what else went wrong with what runs commands.
    """
    program = visible(order.argv[0])
    if "left" in told:
        raise _fault(
            "process_not_ended",
            f"{told['left']} processes of {program!r} could not be ended. "
            "Look for processes that hang in the kernel or run as another user.",
        )
    met = _limits_met(told)
    if breach is not None:
        code, ended_by = None, breach
        met.insert(0, breach)
    else:
        code = _exit_code(order, told, outputs[1], out_of_memory=Ending.MEMORY_LIMIT in met)
        ended_by = _ended_by(code, met)
    return CommandResult(
        argv=order.argv,
        exit_code=code,
        stdout=outputs[0],
        stderr=outputs[1],
        duration_s=duration_s,
        ended_by=ended_by,
        limits_met=met,
        backend=order.backend,
        isolated=order.isolated,
        root=order.root,
    )


def _limits_met(told: dict[str, int]) -> list[Ending]:
    found: list[Ending] = []
    if told.get("killed_for_memory"):
        found.append(Ending.MEMORY_LIMIT)
    if told.get("forks_refused"):
        found.append(Ending.PROCESS_LIMIT)
    by_signal = _BY_SIGNAL.get(told.get("signal", 0))
    return found if by_signal is None else [*found, by_signal]


def _ended_by(code: int | None, met: list[Ending]) -> Ending:
    if code == 0 or not met:
        return Ending.SIGNAL if code is not None and code < 0 else Ending.EXIT
    return met[0]


def _exit_code(
    order: Order, told: dict[str, int], stderr: bytes, *, out_of_memory: bool
) -> int | None:
    program = visible(order.argv[0])
    if "exit" in told:
        return told["exit"]
    if "signal" in told:
        return -told["signal"]
    if "failed" in told:
        raise _missing(order, told)
    if out_of_memory and "begun" in told:
        return None  # what watched over it inside was ended as well
    tail = visible(stderr[-400:].decode("utf-8", "replace").strip())
    if order.sandbox and "begun" not in told:
        raise _fault(
            "sandbox_broken",
            f"The sandbox ({order.backend}) of {program!r} could not be set up, so nothing ran: "
            f"{tail or 'it gave no reason'}. `checkrein doctor` looks for the cause.",
            retryable=True,
        )
    if order.sandbox:
        raise _fault(
            "sandbox_lost",
            f"The sandbox ({order.backend}) of {program!r} ended before it did "
            f"(status {told.get('sandbox')}). {tail}",
            retryable=True,
        )
    raise _fault(
        "supervisor_lost",
        f"The process that watched over {program!r} ended before it did. {tail}",
    )


def _missing(order: Order, told: dict[str, int]) -> EnvironmentFault:
    why = os.strerror(told["failed"])
    if order.sandbox and "begun" not in told:
        return _fault(
            "sandbox_broken",
            f"The sandbox ({order.backend}) cannot be started: {why}. `checkrein doctor` looks "
            "for the cause.",
            retryable=True,
        )
    return _fault(
        "program_missing",
        f"The program {visible(order.argv[0])!r} cannot be run: {why}. Install it "
        f"where it is looked for ({SEARCH_PATH}), or name its full path.",
    )


def _fault(code: str, message: str, *, retryable: bool = False) -> EnvironmentFault:
    return EnvironmentFault(message, op=_OP, code=code, retryable=retryable)
