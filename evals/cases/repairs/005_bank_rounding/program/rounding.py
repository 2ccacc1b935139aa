"""Cents, rounded as banks do: half a cent goes to the even neighbour."""

from decimal import ROUND_HALF_EVEN, Decimal

CENT = Decimal("0.01")


def to_cents(amount: Decimal | str) -> Decimal:
    """An amount in whole cents."""
    return Decimal(str(round(float(amount), 2))).quantize(CENT, ROUND_HALF_EVEN)


def net_and_tax(gross: Decimal | str, percent: int) -> tuple[Decimal, Decimal]:
    """What of a gross amount is net and what is tax; together they are the gross amount."""
    whole = to_cents(gross)
    net = to_cents(whole * 100 / (100 + percent))
    return net, whole - net


def total(amounts: list[str]) -> Decimal:
    """The sum of amounts, each rounded by itself, as on a bill."""
    return sum((to_cents(amount) for amount in amounts), Decimal("0.00"))
