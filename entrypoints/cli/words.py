"""Words that a person gives on the command line: read strictly, before anything is opened."""

import re
from datetime import UTC, datetime

from checkrein.errors import InputError

_AGO = re.compile(r"([1-9][0-9]{0,5})([smhd])")
_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86_400}
_NAME = re.compile(r"[\w.@+-]{1,128}")


def person(name: str, where: str = "--as") -> str:
    """A person's or tenant's name as contracts write it.

    Raises:
        InputError: it is empty, too long, or holds anything but letters, digits and . @ + - _
    """
    if not _NAME.fullmatch(name):
        whose = "a person" if where == "--as" else "one"
        raise _refused(where, f"names {whose} by letters, digits and . @ + - _, at most 128")
    return name


def myself() -> str:
    """The name of whoever runs this process, where it can be written in a record."""
    import getpass

    try:
        name = getpass.getuser()
    except (KeyError, OSError):
        return "local"
    return name if _NAME.fullmatch(name) else "local"


def someone(given: str | None) -> str:
    """The person that `--as` names, else whoever runs this process."""
    return myself() if given is None else person(given)


def said(text: str, where: str) -> str:
    """Text that is stored as somebody's word.

    Raises:
        InputError: it is empty, or no valid Unicode text.
    """
    if not text.strip():
        raise _refused(where, "is empty; say something")
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise _refused(where, "is no valid UTF-8 text") from error
    return text


def identifier(text: str, where: str) -> str:
    """An id, or the beginning of one. Ids are letters, digits, - and _.

    Raises:
        InputError: it cannot be one.
    """
    if not re.fullmatch(r"[A-Za-z0-9_-]{1,64}", text):
        raise _refused(where, "is no id; `checkrein status` and `checkrein approvals` list them")
    return text


def since(text: str | None, op: str) -> tuple[datetime | None, float | None]:
    """The moment that --since names: a date, or how many seconds ago.

    Raises:
        InputError: it is neither.
    """
    if text is None:
        return None, None
    ago = _AGO.fullmatch(text)
    if ago is not None:
        return None, float(int(ago[1]) * _SECONDS[ago[2]])
    try:
        moment = datetime.fromisoformat(text)
    except ValueError as error:
        raise InputError(
            f"--since {text[:40]!r} is neither a time such as 30m, 12h or 7d nor a date such as "
            "2026-11-30.",
            op=op,
            code="unusable_argument",
        ) from error
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)), None


def _refused(where: str, problem: str) -> InputError:
    return InputError(f"{where} {problem}.", op="cli.words", code="unusable_argument")
