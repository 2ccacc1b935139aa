"""A bundle written out for OPA: with the entrypoint, without tests, named by its content."""

from collections.abc import Sequence
from pathlib import Path

from checkrein.contracts.codec import canonical
from checkrein.errors import InputError
from checkrein.policy_rego.bundle_files import Bundle

_OP = "policy.export"


def export_bundle(
    bundle: Bundle, folder: Path, *, revision: str | None = "", roots: Sequence[str] = ("",)
) -> None:
    """Write a bundle into a new folder, for `opa build --bundle` or `opa run --bundle`. Blocking.

    Args:
        revision: what OPA reports; left alone the bundle's version, None leaves it without one.
        roots: what the bundle owns; no other bundle of a server may bring anything below.

    Raises:
        InputError: something lies in the folder, or it cannot be written.
    """
    named = bundle.version if revision == "" else revision
    manifest = {"roots": list(roots), **({} if named is None else {"revision": named})}
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if any(folder.iterdir()):
            raise InputError(
                f"The folder {folder} is not empty. Name one that is, or a new one.",
                op=_OP,
                code="folder_taken",
                context={"path": str(folder)},
            )
        for path, text in bundle.modules.items():
            place = folder / path
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(text, encoding="utf-8")
        (folder / "data.json").write_text(bundle.data, encoding="utf-8")
        (folder / ".manifest").write_bytes(canonical(manifest))
    except OSError as error:
        raise InputError(
            f"The bundle cannot be written to {folder}: {error.strerror}.",
            op=_OP,
            code="folder_unusable",
            context={"path": str(folder)},
        ) from error
