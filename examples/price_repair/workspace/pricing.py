"""Prices as people write them."""

import re
from decimal import Decimal

_PRICE = re.compile(r"\d+(?:\.\d+)?")


def parse_price(text: str) -> Decimal:
    """Return the amount of a price such as "12.5"; raise ValueError for anything else."""
    match = _PRICE.fullmatch(text.strip())
    if match is None:
        raise ValueError(f"not a price: {text!r}")
    return Decimal(match[0])
