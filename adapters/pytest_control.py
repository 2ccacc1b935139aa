"""A control: a test that must fail goes along with each run, to catch one that only says passed.

Code under test shares a process with the runner that judges it and can change what is reported:
by a hook, by patching pytest, by ending the process early. What turns failures into passes turns
this one as well, and what leaves it out is seen by its absence.
"""

import secrets
from dataclasses import dataclass, field
from pathlib import Path

from checkrein.adapters.junit_report import Ended, Report

_TEXT = """\
import unittest


def test_{name}():
    raise AssertionError("{word}")


class Test{name}(unittest.TestCase):
    def test_{name}(self):
        self.fail("{word}")
"""
# A function and a method: pytest calls them in two ways, and each can be replaced alone.
_FORMS = 2


@dataclass(frozen=True)
class Control:
    """One control. Its name and what it says are new each time.

    Code that runs in the same process and looks for it can find it.
    """

    name: str = field(default_factory=lambda: secrets.token_hex(8))
    word: str = field(default_factory=lambda: secrets.token_hex(16))

    @property
    def path(self) -> str:
        """Its file, relative to the copy; a folder with a dot is not collected by itself."""
        return f".checkrein-{self.name}/test_{self.name}.py"

    def lay(self, copy: Path) -> None:
        """Write it into a copy. Blocking."""
        file = copy / self.path
        file.parent.mkdir()
        file.write_text(_TEXT.format(name=self.name, word=self.word), encoding="utf-8")

    def taken_from(self, report: Report) -> bool:
        """Take it out of the report; whether it was there and failed as it must."""
        mine = [name for name in report.cases if name.name == f"test_{self.name}"]
        cases = [report.cases.pop(name) for name in mine]
        return len(cases) == _FORMS and all(
            case.ended is Ended.FAILED and self.word in case.message + case.said for case in cases
        )
