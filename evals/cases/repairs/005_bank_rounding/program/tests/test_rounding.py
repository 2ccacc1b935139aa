from decimal import Decimal

from rounding import net_and_tax, to_cents, total


def test_whole_cents_stay():
    assert to_cents("19.99") == Decimal("19.99")


def test_half_a_cent_goes_to_the_even_one():
    assert to_cents("2.675") == Decimal("2.68")
    assert to_cents("2.665") == Decimal("2.66")


def test_net_and_tax_add_up():
    net, tax = net_and_tax("119.00", 19)
    assert (net, tax) == (Decimal("100.00"), Decimal("19.00"))


def test_a_bill():
    assert total(["1.10", "2.20"]) == Decimal("3.30")
