"""Runs pytest on a candidate. A program of its own, started as `python -I pytest_judge.py ...`.

`-I` keeps the candidate's folder, its sitecustomize and the environment out of how Python starts.
pytest and the plugins that are named are imported before the candidate's folder can be imported
from, so that nothing in it stands in for them. When pytest has said how it ended, the process ends
at once: nothing that was registered to run later can touch the report.

Arguments: the names of plugins, `--`, then pytest's own arguments.
"""

import importlib
import os
import sys

import pytest


class Once:
    """A file that is named, and lies in a folder that is named as well, is one: it runs once.

    pytest is told to keep such doubles, since it would otherwise drop the file for the folder, and
    pass over it where the folder's walk does. What holds state fails when it runs a second time.
    """

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Keep one of each, at the place of the first."""
        items[:] = {item.nodeid: item for item in items}.values()


def main(plugins: list[str], arguments: list[str]) -> int:
    """Run pytest with the working folder importable, as `python -m pytest` has it."""
    for plugin in plugins:
        importlib.import_module(plugin)
    sys.path.insert(0, os.getcwd())
    return int(pytest.main(arguments, [Once()]))


if __name__ == "__main__":
    split = sys.argv.index("--")
    status = main(sys.argv[1:split], sys.argv[split + 1 :])
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)
