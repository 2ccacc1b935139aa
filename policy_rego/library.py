"""The rules that ship with Checkrein, for teams to compose a bundle of their own from.

Those of the shipped bundle are among them. A rule that is copied is the team's own from then on;
what it needs to know lies in data beside it, so that most teams change only that.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

import yaml

from checkrein.errors import InputError
from checkrein.policy_rego.json_shapes import is_object

PLACES = ("library", "bundle")
"""Folders of this package that hold rules; no name is in both."""

RULES = "checkrein/rules"
"""Where rules lie below such a folder, and in a team's bundle."""

_DATA = {"capabilities": "known"}  # the shipped bundle's own list, older than the library
_OP = "policy.add"


@dataclass(frozen=True, slots=True)
class LibraryRule:
    """One package of rules.

    Attributes:
        name: its package is checkrein.rules.<name>.
        title: what its METADATA calls it.
        files: path in a bundle to text: the rule, its tests, and its data where it has any.
    """

    name: str
    title: str
    files: dict[str, str]


def rules() -> list[LibraryRule]:
    """All rules, by name. Blocking."""
    root = Path(str(files("checkrein.policy_rego")))
    found = [
        _read(root / place, path.stem)
        for place in PLACES
        for path in (root / place / RULES).glob("*.rego")
        if not path.stem.endswith("_test")
    ]
    return sorted(found, key=lambda rule: rule.name)


async def add_to(folder: Path, names: Sequence[str]) -> list[Path]:
    """Copy rules with their tests and data into a bundle folder, and return the files.

    The folder is made where it is missing. No file is left behind unless all can be written.

    Raises:
        InputError: no such rule, a file is there already, or the folder cannot be used.
    """
    return await asyncio.to_thread(_add, folder, names)


def _add(folder: Path, names: Sequence[str]) -> list[Path]:
    known = {rule.name: rule for rule in rules()}
    unknown = [name for name in names if name not in known]
    if unknown or not names:
        what = f"There is no rule {unknown[0]!r}" if unknown else "No rule is named"
        raise InputError(
            f"{what}. There are: {', '.join(known)}.", op=_OP, code="rule_unknown", context={}
        )
    texts = {path: text for name in names for path, text in known[name].files.items()}
    written: list[Path] = []
    try:
        _check_free(folder, names, texts)
        for path, text in texts.items():
            place = folder / path
            place.parent.mkdir(parents=True, exist_ok=True)
            with place.open("x", encoding="utf-8") as file:
                file.write(text)
            written.append(place)
    except OSError as error:
        for place in written:
            place.unlink(missing_ok=True)
        raise _refused(folder, f"cannot be used ({error.strerror})") from error
    return written


def _check_free(folder: Path, names: Sequence[str], texts: dict[str, str]) -> None:
    """Refuse what would be overwritten, and a second package of one name wherever it lies."""
    if folder.exists() and not folder.is_dir():
        raise _refused(folder, "is no folder")
    for path in texts:
        if (folder / path).exists() or (folder / path).is_symlink():
            raise _refused(folder / path, "is there already, and nothing is overwritten")
    for name in names:
        line = f"package checkrein.rules.{name}"
        for place in sorted(folder.rglob("*.rego")):
            if line in place.read_text(encoding="utf-8", errors="replace").splitlines():
                raise _refused(place, f"is a {line} already")


def _read(place: Path, name: str) -> LibraryRule:
    paths = [f"{RULES}/{name}.rego", f"{RULES}/{name}_test.rego"]
    data = f"checkrein/{_DATA.get(name, name)}/data.json"
    if (place / data).is_file():
        paths.append(data)
    texts = {path: (place / path).read_text(encoding="utf-8") for path in paths}
    return LibraryRule(name=name, title=_title(texts[paths[0]]), files=texts)


def _title(text: str) -> str:
    """The title in the METADATA of the package, which are a rule's first lines."""
    head = text.partition("\npackage ")[0].removeprefix("# METADATA\n")
    said = yaml.safe_load("\n".join(line.removeprefix("#")[1:] for line in head.splitlines()))
    return str(said.get("title", "")) if is_object(said) else ""


def _refused(path: Path, why: str) -> InputError:
    return InputError(f"{path} {why}.", op=_OP, code="folder_unusable", context={"path": str(path)})
