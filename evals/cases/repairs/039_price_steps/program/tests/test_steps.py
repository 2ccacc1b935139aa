import pytest
from steps import PriceList, Step

PRICES = PriceList([Step(1, 100), Step(10, 90), Step(100, 75)])


def test_between_the_steps():
    assert [PRICES.unit_price(n) for n in (1, 5, 11, 99, 500)] == [100, 100, 90, 90, 75]


def test_a_step_begins_with_its_quantity():
    assert PRICES.unit_price(10) == 90


def test_a_total():
    assert PRICES.total(20) == 1800


def test_nothing_cannot_be_ordered():
    with pytest.raises(ValueError):
        PRICES.unit_price(0)


def test_steps_must_grow():
    with pytest.raises(ValueError):
        PriceList([Step(1, 5), Step(1, 4)])
