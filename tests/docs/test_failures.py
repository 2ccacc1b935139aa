"""docs/failures.md against the code: rows with their tests, words with their tables, defaults."""

import re
from pathlib import Path

import failing
import pytest

from checkrein.contracts import retrying
from checkrein.contracts.attempt import AttemptStatus
from checkrein.contracts.progress import LADDER, ProgressRules, Signal

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "failures.md").read_text("utf-8")


def test_every_row_of_the_failure_table_is_a_test() -> None:
    """Protects: the table says nothing that no run has shown."""
    rows = re.findall(r"^\| [^|]+ \| [^|]+ \| `(\w+)` \|$", PAGE, re.MULTILINE)
    assert rows == list(failing.ROWS)


@pytest.mark.shows(196, 197)
def test_other_words_are_those_of_the_tables() -> None:
    """Protects: states of other systems map to ours as the page says, and none of ours is lost."""
    text = PAGE[PAGE.index("<!-- words -->") : PAGE.index("<!-- /words -->")]
    parts = [
        dict(re.findall(r"^\| ([A-Z_]+) \| ([A-Z_, ]+) \|$", p, re.M)) for p in text.split("\n\n")
    ]
    tables = [retrying.AGENT_LOOP, retrying.DURABLE_TASK, retrying.RUN_END]
    assert parts == [
        {word: ", ".join(sorted(map(str, ours))) for word, ours in table.items()}
        for table in tables
    ]
    for table in tables[:2]:
        mapped = [status for ours in table.values() for status in ours]
        assert sorted(mapped) == sorted(AttemptStatus)


def test_signals_and_rungs_with_their_defaults() -> None:
    """Protects: the numbers on the page are those that hold."""
    signals = dict(re.findall(r"^\| `(\w+)` \| [^|]+ \| `(\w+: \d+)` \|$", PAGE, re.MULTILINE))
    assert set(signals) == {str(signal) for signal in Signal}
    rules = ProgressRules().model_dump()
    for named in [*signals.values(), *re.findall(r"`((?:patience|calm|polls): \d+)`", PAGE)]:
        name, number = named.split(": ")
        assert rules[name] == int(number)
    rungs = re.findall(r"^\| `(\w+)` \| [^|]+ \|$", PAGE, re.MULTILINE)
    assert rungs == [str(rung) for rung in LADDER]
