"""The two engines say the same, and the comparison would notice if they did not."""

import json
import subprocess
import sys
from pathlib import Path

from checkrein.contracts.decision import PolicyDecision, Verdict
from checkrein.evals.both_engines import bundle_of, opened
from checkrein.evals.nasty_answers import answers
from checkrein.evals.nasty_case import NastyCase, denying
from checkrein.evals.parity import (
    SEED,
    Comparison,
    compare,
    compare_generated,
    compare_recorded,
)
from checkrein.evals.parity_bundles import variants
from checkrein.evals.parity_inputs import Generator
from checkrein.evals.recorded_inputs import read_recorded

UNCHECKED = denying('not startswith(input.action.args.path, "/ws/")', head="")


async def test_generated_inputs_are_answered_alike(binary: Path) -> None:
    """A small part of `make parity`: every variant of the shipped bundle, edge values included."""
    found = await compare_generated(binary, 300, SEED)
    assert found.differences == []
    assert found.ok
    assert found.compared == 300
    assert set(found.verdicts) == set(Verdict)


async def test_a_difference_is_found_and_called_by_its_name(binary: Path) -> None:
    """With a rule that the lint would refuse, OPA grants more, and the comparison fails."""
    async with opened(bundle_of(UNCHECKED), binary) as engines:
        found = await compare("unchecked", engines, [NastyCase(0, "x", "rule", "").document()])
    assert (found.grants, found.ok) == (1, False)
    assert "GRANTS MORE" in found.text()
    assert "1 cases where one grants more" in found.text()


async def test_recorded_inputs_are_compared_line_by_line(binary: Path, tmp_path: Path) -> None:
    """What `checkrein policy parity INPUTS` is given: one decision input a line."""
    file = tmp_path / "inputs.jsonl"
    documents = list(Generator(7).documents(20))
    lines = [
        document.model_dump_json() for document in documents if "x" not in document.action.args
    ]
    file.write_text("\n".join(lines) + "\n\n", encoding="utf-8")
    found = await compare_recorded(binary, bundle_of(None), read_recorded(file))
    assert found.ok and found.compared == len(lines)


def decided(verdict: Verdict, reason: str = "fine", **more: object) -> PolicyDecision:
    """A decision as it is recorded."""
    return PolicyDecision.model_validate(
        {
            "decision": verdict,
            "reason_code": reason,
            "reasons": [reason],
            "policy_version": "v",
            "engine": "e",
            "input_ref": "r",
            **more,
        }
    )


def test_what_counts_as_granting_more() -> None:
    """Other limits are another grant; other reasons for a denial are not; late is not compared."""
    found = Comparison()
    found.add("same", decided(Verdict.ALLOW), decided(Verdict.ALLOW, engine="other"))
    found.add("reasons", decided(Verdict.DENY), decided(Verdict.DENY, "other"))
    assert (found.grants, len(found.differences), found.ok) == (0, 1, True)
    limited = [
        decided(Verdict.CONSTRAINED_ALLOW, constraints={"max_bytes": size}) for size in (1, 2)
    ]
    found.add("limits", limited[0], limited[1])
    found.add("one denies", decided(Verdict.DENY, "policy_error"), decided(Verdict.ALLOW))
    assert (found.grants, found.ok) == (2, False)
    late = Comparison()
    late.add("late", decided(Verdict.DENY, "policy_timeout"), decided(Verdict.DENY))
    assert (late.unasked, late.ok) == (1, False)


def test_the_same_seed_makes_the_same_inputs() -> None:
    """A difference that was found once can be found again, and other seeds look elsewhere."""

    def made(seed: int) -> list[str]:
        return [repr(document) for document in Generator(seed).documents(20)]

    assert made(1) == made(1) != made(2)
    assert len(variants()) >= 5 and len(answers()) > 20


def test_the_command_prints_counts_and_ends_with_0(binary: Path, tmp_path: Path) -> None:
    """As `make parity` calls it; here with three recorded inputs."""
    file = tmp_path / "inputs.jsonl"
    text = NastyCase(0, "x", "rule", "").document().model_dump_json()
    assert json.loads(text)
    file.write_text(f"{text}\n" * 3, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "checkrein.evals.parity", "--inputs", str(file)],
        env={"PATH": "/usr/bin:/bin", "OPA_BIN": str(binary)},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "3 inputs compared; same whole answer: 3 DENY" in done.stdout
    assert "0 cases where one grants more than the other" in done.stdout
