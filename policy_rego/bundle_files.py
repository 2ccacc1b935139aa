"""A policy bundle as it lies in a folder: read whole, bounded, immutable, named by its content."""

import os
import stat
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from types import MappingProxyType

from checkrein.contracts.codec import canonical, digest_of, json_object
from checkrein.errors import InputError
from checkrein.policy_rego.bundle_data import DATA_NAMES, merged, parsed

ENTRYPOINT_PATH = "checkrein/decision.rego"
"""Where the entrypoint lies in a bundle that does not bring a copy of its own."""

MAX_FILES = 512
"""Most files of a bundle, tests included."""

MAX_FILE_BYTES = 256 * 1024
"""Largest module."""

MAX_DATA_BYTES = 4 * 1024 * 1024
"""Largest data file, and the most that all data come to."""

MAX_TOTAL_BYTES = 8 * 1024 * 1024
"""Largest bundle."""

_OP = "policy.bundle"
_BESIDE = {".md", ".txt"}  # what people keep beside their rules; never read


@dataclass(frozen=True, slots=True)
class Bundle:
    """One policy bundle.

    Attributes:
        origin: where it came from, for messages.
        modules: path in the bundle to source; the entrypoint is always among them.
        tests: the `*_test.rego` files, which are no part of the version and never decide.
        data: canonical JSON text of the data document.
        data_paths: the data files, in the order in which they were merged.
        version: `sha256:` digest of modules and data.
    """

    origin: str
    modules: Mapping[str, str]
    tests: Mapping[str, str]
    data: str
    data_paths: tuple[str, ...]
    version: str


def entrypoint() -> str:
    """Source of the shipped entrypoint, `data.checkrein.decision`."""
    return (_shipped() / ENTRYPOINT_PATH).read_text(encoding="utf-8")


def shipped_bundle() -> Bundle:
    """Read the bundle that ships with Checkrein. Blocking."""
    return load_bundle(_shipped())


def load_bundle(folder: Path) -> Bundle:
    """Read a bundle folder. Blocking; nothing is compiled yet.

    Raises:
        InputError: the folder or a file of it cannot be used: missing, too large, no UTF-8, a
            link that leads out, a name that is no part of a bundle, a changed entrypoint.
    """
    texts = _texts(folder)
    rego = {path: text for path, text in texts.items() if path.endswith(".rego")}
    tests = {path: text for path, text in rego.items() if path.endswith("_test.rego")}
    modules = {path: text for path, text in rego.items() if path not in tests}
    data = [path for path in texts if Path(path).name in DATA_NAMES]
    for path in texts:
        if Path(path).name == ".manifest":
            _check_manifest(path, texts[path])
    return make_bundle(
        origin=str(folder), modules=modules, tests=tests, data={path: texts[path] for path in data}
    )


def make_bundle(
    *, origin: str, modules: Mapping[str, str], tests: Mapping[str, str], data: Mapping[str, str]
) -> Bundle:
    """Make a bundle of texts by path; the entrypoint is added where none is there.

    Raises:
        InputError: a changed entrypoint, data that cannot be read or that contradict each other.
    """
    document = merged({path: parsed(path, text) for path, text in sorted(data.items())})
    every = dict(sorted(_with_entrypoint(modules).items()))
    try:
        version = digest_of({"modules": every, "data": document})
        text = canonical(document).decode()
    except InputError as error:
        raise InputError(
            f"The data of the policy bundle {origin} cannot be used: {error} "
            "Write integers beyond 2**53-1 as text.",
            op=_OP,
            code="policy_invalid",
        ) from error
    return Bundle(
        origin=origin,
        modules=MappingProxyType(every),
        tests=MappingProxyType(dict(sorted(tests.items()))),
        data=text,
        data_paths=tuple(sorted(data)),
        version=version,
    )


def _shipped() -> Path:
    # The package is never imported from an archive: the worker is started by its file's path.
    return Path(str(files("checkrein.policy_rego"))) / "bundle"


def _with_entrypoint(modules: Mapping[str, str]) -> dict[str, str]:
    ours = entrypoint()
    copies = [path for path, text in modules.items() if text == ours]
    if len(copies) > 1:
        raise _refused(copies[1], "is a second copy of the entrypoint", "Delete one of them.")
    if copies:
        return dict(modules)
    if ENTRYPOINT_PATH in modules:
        raise _refused(
            ENTRYPOINT_PATH,
            "differs from the entrypoint that Checkrein ships",
            "Delete it: the right one is added when the bundle is loaded. Rules of your own "
            "belong in packages checkrein.rules.<name>.",
        )
    return {**modules, ENTRYPOINT_PATH: ours}


def _texts(folder: Path) -> dict[str, str]:
    if not folder.is_dir():
        what = "is no folder" if folder.exists() else "does not exist"
        raise InputError(
            f"The policy bundle {folder} {what}. Name a folder that holds .rego files.",
            op=_OP,
            code="policy_missing",
            context={"path": str(folder)},
        )
    texts: dict[str, str] = {}
    total = 0
    for path, place in _files(folder):
        if len(texts) >= MAX_FILES:
            raise _refused(path, f"is one file more than the {MAX_FILES} of a bundle", "")
        raw = _bytes(path, place)
        total += len(raw)
        if total > MAX_TOTAL_BYTES:
            raise _refused(path, f"makes the bundle larger than {MAX_TOTAL_BYTES} bytes", "")
        try:
            texts[path] = raw.decode("utf-8")
        except UnicodeDecodeError as error:
            raise _refused(
                path, f"is no UTF-8 text (byte {error.start})", "Save it as UTF-8."
            ) from error
    if not any(path.endswith(".rego") for path in texts):
        raise InputError(
            f"The policy bundle {folder} holds no .rego file. Nothing would ever be allowed; "
            "name the folder that holds the rules.",
            op=_OP,
            code="policy_missing",
            context={"path": str(folder)},
        )
    return texts


def _files(folder: Path) -> Iterator[tuple[str, Path]]:
    """Path in the bundle and on disk of every file that counts, sorted."""
    root = folder.resolve()

    def stop(error: OSError) -> None:
        raise _refused(str(error.filename), f"cannot be read ({error.strerror})", "") from error

    for current, folders, names in os.walk(folder, onerror=stop):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in folders:
            place = Path(current, name)
            if place.is_symlink():
                raise _refused(
                    place.relative_to(folder).as_posix(),
                    "is a link to a folder, which is not followed",
                    "Put the files themselves there.",
                )
        for name in sorted(names):
            place = Path(current, name)
            path = place.relative_to(folder).as_posix()
            if _counts(path, name):
                if not place.resolve().is_relative_to(root):
                    raise _refused(path, "is a link that leads out of the bundle", "Copy the file.")
                yield path, place


def _counts(path: str, name: str) -> bool:
    """Whether a file is part of the bundle. A rule that is passed over would deny nothing."""
    if name.startswith("."):
        if name.lower().endswith(".rego"):
            raise _refused(path, "is a hidden rule file", "Rename or delete it.")
        return name == ".manifest"
    if name.endswith(".rego") or name in DATA_NAMES:
        return True
    if Path(name).suffix.lower() in _BESIDE or name == "LICENSE":
        return False
    raise _refused(
        path,
        "is no part of a policy bundle",
        "A bundle holds *.rego, data.json or data.yaml, and .manifest; move other files away.",
    )


def _bytes(path: str, place: Path) -> bytes:
    limit = MAX_DATA_BYTES if place.name in DATA_NAMES else MAX_FILE_BYTES
    try:
        # A pipe or device would block, so it is never opened.
        if not stat.S_ISREG(place.stat().st_mode):
            raise _refused(path, "is no regular file", "")
        with place.open("rb") as file:
            raw = file.read(limit + 1)
    except OSError as error:
        raise _refused(path, f"cannot be read ({error.strerror})", "") from error
    if len(raw) > limit:
        raise _refused(path, f"is larger than {limit} bytes", "Split it.")
    return raw


def _check_manifest(path: str, text: str) -> None:
    try:
        json_object(text, op=_OP)
    except InputError as error:
        raise _refused(path, "is no JSON object", "Mend or delete it.") from error


def _refused(path: str, why: str, advice: str) -> InputError:
    return InputError(
        f"Policy bundle: {path} {why}.{' ' + advice if advice else ''}",
        op=_OP,
        code="policy_invalid",
        context={"path": path},
    )
