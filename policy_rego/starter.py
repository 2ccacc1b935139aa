"""A first bundle of one's own: rules, data and tests to go on from."""

import asyncio
from importlib.resources import files
from pathlib import Path

from checkrein.errors import InputError


async def start(folder: Path) -> list[Path]:
    """Write the starter bundle into a new or empty folder, and return the files.

    Raises:
        InputError: the folder holds something already, or cannot be written.
    """
    return await asyncio.to_thread(write_starter, folder)


def write_starter(folder: Path) -> list[Path]:
    """As `start`; it blocks."""
    try:
        if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
            raise _refused(folder, "is there already and not empty. Name a new folder")
        written: list[Path] = []
        for path, text in _texts().items():
            place = folder / path
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(text, encoding="utf-8")
            written.append(place)
    except OSError as error:
        raise _refused(folder, f"cannot be written ({error.strerror})") from error
    return written


def _texts() -> dict[str, str]:
    root = Path(str(files("checkrein.policy_rego"))) / "starter"
    return {
        place.relative_to(root).as_posix(): place.read_text(encoding="utf-8")
        for place in sorted(root.rglob("*"))
        if place.is_file()
    }


def _refused(folder: Path, why: str) -> InputError:
    return InputError(
        f"{folder} {why}.", op="policy.init", code="folder_unusable", context={"path": str(folder)}
    )
