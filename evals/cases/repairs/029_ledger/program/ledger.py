"""Accounts, and money that moves between them, in cents."""


class Overdrawn(Exception):
    """There is not enough on the account."""


class Ledger:
    """Balances by name; what is unknown holds nothing."""

    def __init__(self, **balances: int) -> None:
        self._balances = dict(balances)
        self.history: list[str] = []

    def balance(self, name: str) -> int:
        return self._balances.get(name, 0)

    def transfer(self, source: str, target: str, cents: int) -> None:
        """Move money, or nothing at all.

        Raises:
            Overdrawn: the source has less than that.
            ValueError: the amount is not positive.
        """
        if cents <= 0:
            raise ValueError(f"{cents} cents cannot be moved")
        self._move(target, source, cents)
        self.history.append(f"{source} -> {target}: {cents}")

    def refund(self, source: str, target: str, cents: int) -> None:
        """Undo a transfer that went from source to target."""
        self._move(target, source, cents)
        self.history.append(f"{source} <- {target}: {cents}")

    def _move(self, payer: str, payee: str, cents: int) -> None:
        if self.balance(payer) < cents:
            raise Overdrawn(f"{payer} has {self.balance(payer)} cents")
        self._balances[payer] = self.balance(payer) - cents
        self._balances[payee] = self.balance(payee) + cents
