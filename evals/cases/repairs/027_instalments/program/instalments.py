"""Plans by which a debt is paid off; amounts come and go as decimals of a currency unit."""


def instalments(debt: float, rate: float) -> list[float]:
    """Equal payments, and a smaller last one where that is needed; to the cent.

    Raises:
        ValueError: nothing would ever be paid.
    """
    if rate <= 0:
        raise ValueError("the rate must be more than nothing")
    payments: list[float] = []
    rest = debt
    while rest > 0.0:
        payment = min(rate, rest)
        payments.append(payment)
        rest -= payment
    return payments


def plan(debt: float, rate: float) -> str:
    """The plan as people read it."""
    payments = instalments(debt, rate)
    return f"{len(payments)} payments, the last of {payments[-1]:.2f}" if payments else "paid"
