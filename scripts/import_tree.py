"""Lay .import_tree/checkrein out as links, so that static tools see the installed names."""

import os
import shutil
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def wanted(root: Path) -> dict[str, Path]:
    """Name below `checkrein` -> what it stands for, by the package-dir table of pyproject.toml."""
    config = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))
    folders: dict[str, str] = config["tool"]["setuptools"]["package-dir"]
    links = {entry.name: entry for entry in (root / folders.pop("checkrein")).iterdir()}
    links |= {name.split(".")[1]: root / folder for name, folder in folders.items()}
    links.pop("__pycache__", None)
    return links


def main(root: Path = ROOT) -> None:
    """Rebuild the tree if anything in it is missing, foreign or points elsewhere."""
    top = root / ".import_tree" / "checkrein"
    links = {name: os.path.relpath(to, top) for name, to in wanted(root).items()}
    if top.is_dir():
        found = {e.name: os.readlink(e) if e.is_symlink() else "" for e in top.iterdir()}
        if found == links:
            return
    shutil.rmtree(top.parent, ignore_errors=True)
    top.mkdir(parents=True)
    for name, target in links.items():
        (top / name).symlink_to(target)


if __name__ == "__main__":
    main()
