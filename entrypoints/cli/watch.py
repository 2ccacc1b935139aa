"""What the event store reports, turned into the live view."""

import contextlib
from collections.abc import Mapping

from checkrein.contracts.budget import Budget, BudgetLimits, BudgetLine
from checkrein.contracts.event import BudgetSettled, Payload
from checkrein.entrypoints.cli.console import short
from checkrein.entrypoints.cli.lines import QUIET, told, waits_for
from checkrein.entrypoints.cli.live import Live

_WIDTH = 200


class Watch:
    """An observer of the event store that tells people what happens.

    Attributes:
        attempt_id: the attempt last heard of.
    """

    def __init__(self, live: Live) -> None:
        self._live = live
        self._limits: dict[Budget, int] = {}
        self._spent: dict[Budget, int] = {}
        self.attempt_id: str | None = None

    def __call__(self, attempt_id: str, payload: Payload) -> None:
        """Take one event. A fault of the view must not touch the work."""
        with contextlib.suppress(Exception):
            self._told(attempt_id, payload)

    def expect(self, limits: BudgetLimits) -> None:
        """Say what the budgets of an attempt are that does not exist yet."""
        self._limits = limits.amounts()

    def about(self, attempt_id: str, budgets: Mapping[Budget, BudgetLine]) -> None:
        """Say which attempt is meant, and what of its budgets is spent already."""
        if self.attempt_id != attempt_id:
            self._name(attempt_id)
        self._limits = {name: line.limit for name, line in budgets.items()}
        self._spent = {name: line.spent for name, line in budgets.items()}

    def waiting(self, text: str) -> None:
        """Say what is being waited for from now on."""
        self._live.waiting(text)

    def hush(self) -> None:
        """Say nothing any more: another view has the terminal from now on."""
        self._live.hush()

    def _told(self, attempt_id: str, payload: Payload) -> None:
        if self.attempt_id != attempt_id:
            self._name(attempt_id)
        self._live.waiting(waits_for(payload))
        if isinstance(payload, BudgetSettled):
            self._settle(payload.spent)
        elif not isinstance(payload, QUIET):
            self._live.line(f"  {short(told(payload), _WIDTH)}")

    def _name(self, attempt_id: str) -> None:
        self.attempt_id = attempt_id
        self._live.line(f"attempt {attempt_id}")

    def _settle(self, spent: Mapping[Budget, int]) -> None:
        for name, amount in spent.items():
            self._spent[name] = self._spent.get(name, 0) + amount
        used = [name for name in self._limits if self._spent.get(name)]
        if any(spent.values()) and used:
            lines = (f"{name} {self._spent[name]}/{self._limits[name]}" for name in used)
            self._live.line(f"  budgets: {', '.join(lines)}")
