"""What the verifiers of files, services and databases share: one shape of result, bounded words."""

from typing import Any, NoReturn

from checkrein.contracts.check import Check, Scalar, Strength, kind_of
from checkrein.contracts.codec import Frozen, visible
from checkrein.contracts.verification import CheckResult, CheckStatus
from checkrein.errors import InputError

MAX_GAP = 2000
"""Longest diagnostic that the model is shown, in characters."""

MAX_VALUE = 120
"""Characters of one value that a diagnostic repeats."""


class About(Frozen):
    """Which check a result is of."""

    kind: str
    name: str
    strength: Strength

    def passed(self, **measured: int) -> CheckResult:
        """It holds."""
        return self._result(CheckStatus.PASS, "", measured)

    def failed(self, gap: str, **measured: int) -> CheckResult:
        """It does not hold; `gap` says what is there instead."""
        return self._result(CheckStatus.FAIL, gap, measured)

    def error(self, problem: str) -> CheckResult:
        """It could not be looked at, which proves nothing; another round mends nothing."""
        return self._result(CheckStatus.ERROR, problem, {})

    def _result(self, status: CheckStatus, gap: str, measured: dict[str, int]) -> CheckResult:
        return CheckResult(
            kind=self.kind,
            name=self.name,
            status=status,
            gap=visible(gap)[:MAX_GAP],
            strength=self.strength,
            repairable=status is not CheckStatus.ERROR,
            measured=measured,
        )


def about(check: Check, name: str) -> About:
    """The kind and strength of a check, under the name that people know it by."""
    return About(kind=kind_of(check), name=visible(name)[:200], strength=check.strength)


def not_mine(version: str, check: object) -> NoReturn:
    """Refuse a check of another kind.

    Raises:
        InputError: always.
    """
    op = f"{version.partition('/')[0]}.verify"
    raise InputError(f"{version} cannot judge a {type(check).__name__}.", op=op)


def same(found: Any, wanted: Scalar) -> bool:
    """Whether two JSON scalars are equal. true is not 1, and "1" is not 1; 1 and 1.0 are equal."""
    if isinstance(found, bool) or isinstance(wanted, bool):
        return found is wanted
    numbers = isinstance(found, int | float) and isinstance(wanted, int | float)
    return found == wanted if numbers else type(found) is type(wanted) and found == wanted


def shown(value: Any) -> str:
    """One value in a diagnostic, however long it is."""
    text = visible(repr(value)[: MAX_VALUE * 4])
    return text if len(text) <= MAX_VALUE else f"{text[:MAX_VALUE]}..."
