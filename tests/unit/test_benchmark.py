"""The benchmark's own arithmetic and its script; measuring is `make bench`, no test."""

import asyncio
import random

import pytest

from checkrein.evals import benchmark, benchmark_report
from checkrein.evals.benchmark_runs import CONTENT_BYTES, Case, Sample, Usage, content, script


def sample(seconds: float, stored: int, transactions: int = 100) -> Sample:
    return Sample(seconds, Usage(transactions, 1024 * 100, stored, 0))


def results() -> dict[Case, list[Sample]]:
    return {
        Case("ours", "allowed", "exit", 20): [sample(1.0, 20 * 1024)],
        Case("ours", "allowed", "exit", 100): [
            sample(9.0, 100 * 1024),
            sample(1.0, 100 * 1024),
            sample(2.0, 100 * 1024),
        ],
        Case("ours", "allowed", "sync", 100): [sample(4.0, 100 * 1024)],
        Case("theirs", "allowed", "sync", 20): [sample(1.0, 20 * 1024)],
        Case("theirs", "allowed", "sync", 100): [sample(4.0, 300 * 1024, transactions=200)],
        Case("theirs", "allowed", "exit", 100): [sample(0.5, 1024)],
    }


def test_content_has_its_size_and_differs() -> None:
    rng = random.Random(1)
    one, other = content(rng), content(rng)
    assert len(one.encode()) == len(other.encode()) == CONTENT_BYTES
    assert one != other


def test_the_script_has_one_turn_for_each_action_and_one_that_ends() -> None:
    made = script(20, "write_file", "one")
    assert [len(turn.calls) for turn in made.turns] == [1] * 20 + [0]
    assert made == script(20, "write_file", "one")
    assert made != script(20, "write_file", "two")


def test_a_line_is_the_median_per_action() -> None:
    found = benchmark_report.lines(results())
    line = found[Case("ours", "allowed", "exit", 100)]
    assert (line.runs, line.milliseconds, line.per_second) == (3, 20.0, 50.0)
    assert (line.transactions, line.wal_bytes, line.stored_bytes) == (1.0, 1024.0, 1024.0)


def test_only_crash_safe_modes_are_compared() -> None:
    found = benchmark_report.lines(results())
    fastest = benchmark_report.fastest(found, "theirs", "allowed", 100)
    assert fastest == Case("theirs", "allowed", "sync", 100)
    assert "| allowed | 100     | exit / sync   | 2.00  | 0.50 " in benchmark_report.ratios(found)


def test_aims() -> None:
    found = benchmark_report.lines(results())
    assert benchmark_report.aims(found) == {
        "faster_at_100_allowed": True,
        "bytes_per_action_flat": True,
    }
    assert benchmark_report.growth(found) == [
        ("ours allowed exit", 20, 100, 1.0),
        ("theirs allowed sync", 20, 100, 3.0),
    ]
    assert benchmark_report.document(found, {"cores": 2})["aims"]["faster_at_100_allowed"]


def test_the_table_names_every_case() -> None:
    table = benchmark_report.table(benchmark_report.lines(results()))
    assert len(table.splitlines()) == len(results()) + 2
    assert "theirs exit" in table


def test_the_plan_follows_the_command_line() -> None:
    plan, for_programs = benchmark.plan_of(["--quick", "--only", "ours", "--json"])
    assert for_programs
    assert plan == benchmark.Plan({20: 1, 100: 1}, ("ours",))
    assert [case.durability for case in plan.cases("asked", 20)] == ["sync", "async", "exit"]


def test_an_unknown_side_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        benchmark.plan_of(["--only", "others"])
    assert ended.value.code == 2
    assert "--only" in capsys.readouterr().err


@pytest.mark.slow
def test_both_sides_play_to_the_end() -> None:
    """Two actions each, on a server of its own, in every mode."""
    found = benchmark_report.lines(
        asyncio.run(benchmark.measured(benchmark.Plan({2: 1}, ("ours", "theirs"))))
    )
    assert len(found) == 10
    assert all(line.transactions > 0 and line.wal_bytes > 0 for line in found.values())
