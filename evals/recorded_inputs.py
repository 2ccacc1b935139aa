"""Decision inputs that were recorded: one JSON document a line, by itself or in a decision log."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from checkrein.contracts.codec import canonical, json_object
from checkrein.contracts.decision import DecisionInput
from checkrein.errors import InputError
from checkrein.evals.both_engines import is_object, read_input

_OP = "parity.inputs"


@dataclass(frozen=True, slots=True)
class RecordedInputs:
    """The inputs of one file.

    Attributes:
        lines: what to call each input, and the input as canonical JSON.
        unwritten: how many lines of a log hold no input, since none could be written then.
    """

    lines: tuple[tuple[str, str], ...]
    unwritten: int

    def documents(self) -> Iterator[tuple[str, DecisionInput]]:
        """Each input with its name, one after the other."""
        for name, text in self.lines:
            yield name, DecisionInput.model_validate_json(text, strict=False)


def read_recorded(file: Path) -> RecordedInputs:
    """Read inputs as they are, or lines of a decision log such as `checkrein policy log`. Blocking.

    Raises:
        InputError: no_inputs, the file cannot be read or holds none; policy_input_invalid, a line
            is no decision input. The message names file and line.
    """
    try:
        raw = file.read_bytes()
    except OSError as error:
        raise _none(file, f"cannot be read ({error.strerror})") from error
    lines: list[tuple[str, str]] = []
    unwritten = 0
    # Not splitlines: text inside of JSON may hold other ends of lines.
    for number, line in enumerate(raw.split(b"\n"), start=1):
        if not line.strip():
            continue
        name = f"{file}:{number}"
        text = _input_of(line, name)
        if text is None:
            unwritten += 1
        else:
            lines.append((name, text))
    if not lines:
        raise _none(file, "holds no decision input")
    return RecordedInputs(tuple(lines), unwritten)


def _input_of(line: bytes, name: str) -> str | None:
    """The input on one line; None for an entry of a log that holds none."""
    try:
        value = json_object(line, op=_OP)
    except InputError as error:
        raise _wrong(name, f"cannot be read. {error}") from error
    # No decision input has a member of this name, and every entry of a log has.
    if "input" not in value:
        return read_input(line, where=name)
    inner = value["input"]
    if inner is None:
        return None
    if not is_object(inner):
        raise _wrong(name, "is no decision input: its member `input` is no object.")
    try:
        text = canonical(inner)
    except InputError as error:
        raise _wrong(name, f"cannot be read. {error}") from error
    return read_input(text, where=name)


def _none(file: Path, why: str) -> InputError:
    return InputError(
        f"{file} {why}. `checkrein policy log > FILE` writes one with what was recorded.",
        op=_OP,
        code="no_inputs",
        context={"path": str(file)},
    )


def _wrong(name: str, why: str) -> InputError:
    return InputError(f"{name} {why}", op=_OP, code="policy_input_invalid", context={"path": name})
