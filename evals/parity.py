"""The embedded engine and a real OPA, asked the same: neither may grant what the other does not.

    python -m checkrein.evals.parity [--quick] [--seed N] [--inputs FILE] [--bundle DIR]
                                     [--golib DIR]

Prints counts and every difference; ends with 1 if one engine grants more than the other, and with
0 otherwise. FILE holds one decision input a line, or is what `checkrein policy log` wrote;
`checkrein policy parity` is the command for that. With --golib OPA's Go engine in this process
takes the server's place. Without either nothing is compared and the end is 2.
"""

import argparse
import asyncio
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from checkrein.contracts.decision import DecisionInput, PolicyDecision, Reserved, Verdict
from checkrein.errors import CheckreinError, EnvironmentFault
from checkrein.evals import opa_binary
from checkrein.evals.both_engines import (
    Bundle,
    Engines,
    Oracle,
    RealOpa,
    bundle_of,
    checked,
    load_bundle,
    opened,
)
from checkrein.evals.go_engine import go_oracle
from checkrein.evals.parity_bundles import library_words, variants
from checkrein.evals.parity_inputs import Generator
from checkrein.evals.parity_nasty import compare_nasty
from checkrein.evals.recorded_inputs import RecordedInputs, read_recorded

COUNT = 10_000
QUICK = 500
SEED = 20_261_130
MOST_SHOWN = 200

_ORDER = (Verdict.DENY, Verdict.REQUIRE_APPROVAL, Verdict.CONSTRAINED_ALLOW, Verdict.ALLOW)
_UNASKED = {Reserved.POLICY_UNAVAILABLE, Reserved.POLICY_TIMEOUT, Reserved.POLICY_REVISION_MISMATCH}


@dataclass
class Comparison:
    """What was compared.

    Attributes:
        verdicts: how often each verdict came from both.
        words: how often both gave a reason code or a limit.
        differences: one line for each input that was answered in two ways.
        grants: how many of those let something happen that the other engine does not.
        unasked: how often an engine was late or out of reach, so that nothing was compared.
    """

    compared: int = 0
    verdicts: Counter[str] = field(default_factory=Counter[str])
    words: Counter[str] = field(default_factory=Counter[str])
    differences: list[str] = field(default_factory=list[str])
    grants: int = 0
    unasked: int = 0

    def add(self, name: str, embedded: PolicyDecision, opa: PolicyDecision) -> None:
        """Compare the two whole answers to one input."""
        self.compared += 1
        if {embedded.reason_code, opa.reason_code} & _UNASKED:
            self.unasked += 1
            self.differences.append(f"{name}: not compared: {_told(embedded)} | {_told(opa)}")
            return
        ours, theirs = _whole(embedded), _whole(opa)
        if ours == theirs:
            self.verdicts[embedded.decision] += 1
            self.words.update((*embedded.reasons, *embedded.constraints))
            return
        grants = not (embedded.denies and opa.denies)
        self.grants += grants
        mark = "GRANTS MORE" if grants else "both deny"
        self.differences.append(f"{name}: {mark}: embedded {_told(embedded)} | OPA {_told(opa)}")

    def merge(self, other: "Comparison") -> None:
        """Add what another comparison found."""
        self.compared += other.compared
        self.verdicts.update(other.verdicts)
        self.words.update(other.words)
        self.differences += other.differences
        self.grants += other.grants
        self.unasked += other.unasked

    @property
    def ok(self) -> bool:
        """Whether neither engine grants more, and each input was really compared."""
        return self.grants == 0 and self.unasked == 0 and self.compared > 0

    def text(self) -> str:
        """The result for people."""
        shown = self.differences[:MOST_SHOWN]
        more = len(self.differences) - len(shown)
        counts = ", ".join(f"{count} {verdict}" for verdict, count in sorted(self.verdicts.items()))
        lines = [
            *shown,
            *([f"and {more} more differences"] if more else []),
            f"{self.compared} inputs compared; same whole answer: {counts or 'none'}",
            f"{len(self.differences)} differ, {self.unasked} could not be compared",
            f"{self.grants} cases where one grants more than the other",
        ]
        return "\n".join(lines)


async def compare(name: str, engines: Engines, documents: Iterable[DecisionInput]) -> Comparison:
    """Ask both engines about each document."""
    found = Comparison()
    for number, document in enumerate(documents):
        embedded, opa = await engines.both(document)
        found.add(f"{name} {number}", embedded, opa)
    return found


async def compare_generated(oracle: Oracle | Path, count: int, seed: int) -> Comparison:
    """The shipped bundle and its variants with generated inputs, an equal share for each."""
    found = Comparison()
    bundles = variants()
    for number, (name, bundle) in enumerate(bundles.items()):
        share = count // len(bundles) + (number < count % len(bundles))
        async with opened(bundle, oracle) as engines:
            documents = Generator(seed + number).documents(share)
            part = await compare(name, engines, documents)
        _say(f"{name}: {part.compared} inputs, {len(part.differences)} differ")
        found.merge(part)
    return found


async def compare_recorded(
    oracle: Oracle | Path,
    bundle: Bundle,
    recorded: RecordedInputs,
    progress: Callable[[int], None] = lambda done: None,
) -> Comparison:
    """A bundle with recorded inputs.

    Raises:
        InputError: the bundle has an error, so that it would not decide anything.
        EnvironmentFault: an engine cannot be used.
    """
    await checked(bundle)
    found = Comparison()
    async with opened(bundle, oracle) as engines:
        for name, document in recorded.documents():
            embedded, opa = await engines.both(document)
            found.add(name, embedded, opa)
            progress(found.compared)
    return found


async def _everything(oracle: Oracle, count: int, seed: int) -> Comparison:
    found = Comparison()
    nasty = await compare_nasty(oracle)
    for name, embedded, opa in nasty.answers:
        found.add(f"nasty: {name}", embedded, opa)
    for line in nasty.kept_out:
        _say(line)
    _say(f"nasty cases: {found.compared} compared, {len(nasty.kept_out)} kept out before")
    generated = await compare_generated(oracle, count, seed)
    words = library_words()
    silent = sorted(words - set(generated.words))
    never = f"; never: {', '.join(silent)}" if silent else ""
    _say(f"library: {len(words) - len(silent)} of {len(words)} reason codes and limits{never}")
    found.merge(generated)
    return found


def _whole(decision: PolicyDecision) -> dict[str, object]:
    """All that a decision says; who gave it and how fast is another matter."""
    return decision.model_dump(exclude={"engine", "duration_ms", "message"})


def _told(decision: PolicyDecision) -> str:
    terms = decision.approval.model_dump() if decision.approval else ""
    return f"{decision.decision} {decision.reasons} {decision.constraints or ''} {terms}".strip()


def real_opa() -> RealOpa:
    """The OPA of this machine: OPA_BIN, else that on PATH, else that below .opa. Blocking.

    Raises:
        EnvironmentFault: there is none, or OPA_BIN names none; the message says how to get one.
    """
    binary = opa_binary.found()
    if binary is None:
        raise EnvironmentFault(opa_binary.HOW, op="parity.oracle", code="no_opa")
    return RealOpa(binary)


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def main(arguments: Sequence[str] | None = None) -> int:
    """Compare, and print."""
    parser = argparse.ArgumentParser(prog="python -m checkrein.evals.parity")
    parser.add_argument("--quick", action="store_true", help=f"{QUICK} generated inputs")
    parser.add_argument("--inputs", type=Path, help="recorded inputs, one JSON document a line")
    parser.add_argument("--bundle", type=Path, help="the bundle for them; else the shipped one")
    parser.add_argument("--golib", type=Path, help="OPA's Go engine from here, not a server")
    parser.add_argument("--seed", type=int, default=SEED)
    given = parser.parse_args(arguments)
    try:
        oracle: Oracle = real_opa() if given.golib is None else go_oracle(given.golib)
        if given.inputs is not None:
            bundle = load_bundle(given.bundle) if given.bundle else bundle_of(None)
            found = asyncio.run(compare_recorded(oracle, bundle, read_recorded(given.inputs)))
        else:
            count = QUICK if given.quick else COUNT
            found = asyncio.run(_everything(oracle, count, given.seed))
    except CheckreinError as error:
        _say(str(error))
        return 2
    print(found.text())
    return 0 if found.ok else 1


if __name__ == "__main__":
    sys.exit(main())
