"""JUnit XML, read as what it is: a file that a hostile process may have written.

The parser is the standard library's expat, as a stream and without a tree, so that depth costs
nothing. A report has no use for a document type: one that has any is refused at once, and with it
every entity that could grow or reach out. The packages for that (defusedxml, junitparser) refuse
less, or read unbounded.
"""

from collections import Counter
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple, NoReturn
from xml.parsers import expat

from checkrein.errors import InputError

MAX_REPORT = 32 << 20
"""Largest report that is read, in bytes."""

MAX_CASES = 200_000
"""Most test cases of one report."""

MAX_SAID = 8_000
"""Most characters that are kept of what one failure says: its end."""


class Ended(StrEnum):
    """How one test ended; worst last."""

    PASSED = "passed"
    SKIPPED = "skipped"
    FAILED = "failed"
    ERROR = "errors"


_WORST = tuple(Ended)
_ENDS = {"failure": Ended.FAILED, "error": Ended.ERROR, "skipped": Ended.SKIPPED}


class CaseName(NamedTuple):
    """What a report calls a test."""

    classname: str
    name: str


@dataclass
class Case:
    """One test. `said`: the failure's text, with its message before it."""

    ended: Ended = Ended.PASSED
    message: str = ""
    said: str = ""


class Report:
    """The tests of a report by name; of what is reported twice, the worst end counts."""

    def __init__(self) -> None:
        self.cases: dict[CaseName, Case] = {}

    def add(self, name: CaseName, case: Case) -> None:
        """Take one test in."""
        known = self.cases.get(name)
        if known is None or _WORST.index(case.ended) > _WORST.index(known.ended):
            self.cases[name] = case

    def counts(self) -> Counter[str]:
        """How many tests ended in each way."""
        return Counter({str(end): 0 for end in Ended}) + Counter(
            str(case.ended) for case in self.cases.values()
        )


def read_report(data: bytes) -> Report:
    """Read a report.

    Raises:
        InputError: it is too large, no well-formed XML, holds a document type, or is no report.
    """
    if len(data) > MAX_REPORT:
        raise _refused(f"it is larger than {MAX_REPORT >> 20} MiB")
    reading = _Reading()
    parser = expat.ParserCreate()
    parser.buffer_text = True
    parser.StartDoctypeDeclHandler = _no_doctype
    parser.StartElementHandler = reading.start
    parser.EndElementHandler = reading.end
    parser.CharacterDataHandler = reading.text
    try:
        parser.Parse(data, True)
    except expat.ExpatError as error:
        raise _refused(f"it is no well-formed XML ({error})") from error
    except (LookupError, ValueError) as error:  # an encoding that there is not, or not for XML
        raise _refused("it is in an encoding that cannot be read") from error
    return reading.report


class _Reading:
    """One pass over a report."""

    def __init__(self) -> None:
        self.report = Report()
        self._path: list[str] = []
        self._named = CaseName("", "")
        self._case: Case | None = None
        self._seen = 0

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        if not self._path and tag not in {"testsuites", "testsuite"}:
            raise _refused(f"its root is <{tag[:40]}>, not <testsuites> or <testsuite>")
        self._path.append(tag)
        if tag == "testcase":
            self._begin(attributes)
        elif self._case is not None and self._path[-2] == "testcase" and tag in _ENDS:
            ended = _ENDS[tag]
            if _WORST.index(ended) > _WORST.index(self._case.ended):
                self._case.ended = ended
                self._case.message = attributes.get("message", "")[:MAX_SAID]
                self._case.said = ""

    def _begin(self, attributes: dict[str, str]) -> None:
        self._seen += 1
        if self._case is not None:
            raise _refused("it holds a test case inside of a test case")
        if self._seen > MAX_CASES:
            raise _refused(f"it holds more than {MAX_CASES} test cases")
        name = attributes.get("name", "")
        if not name:
            raise _refused("it holds a test case without a name")
        self._named = CaseName(attributes.get("classname", ""), name)
        self._case = Case()

    def text(self, text: str) -> None:
        if self._case is not None and _ENDS.get(self._path[-1]) is self._case.ended:
            self._case.said = (self._case.said + text)[-MAX_SAID:]

    def end(self, tag: str) -> None:
        self._path.pop()
        if tag == "testcase" and self._case is not None:
            self.report.add(self._named, self._case)
            self._case = None


def _no_doctype(*declared: object) -> NoReturn:
    raise _refused("it declares a document type, which no test report needs")


def _refused(why: str) -> InputError:
    return InputError(f"The test report cannot be read: {why}.", op="junit.read", code="bad_report")
