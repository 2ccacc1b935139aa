"""What lies in which warehouse."""

from collections.abc import Mapping

Stock = Mapping[str, Mapping[str, int]]
"""Warehouse -> item -> how many."""


def report(stock: Stock, least: int = 5) -> list[str]:
    """A line for each warehouse: how much it holds, and what runs short there."""
    lines: list[str] = []
    for name, items in stock.items():
        total = 0
        short: list[str] = []
        for name, count in items.items():
            total += count
            if count < least:
                short.append(name)
        line = f"{name}: {total}"
        if short:
            line += f", short of {', '.join(sorted(short))}"
        lines.append(line)
    return lines


def everywhere(stock: Stock) -> dict[str, int]:
    """How many there are of each item, all warehouses together."""
    totals: dict[str, int] = {}
    for items in stock.values():
        for item, count in items.items():
            totals[item] = totals.get(item, 0) + count
    return totals
