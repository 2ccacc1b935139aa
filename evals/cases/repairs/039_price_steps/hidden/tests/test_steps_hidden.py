import pytest
from steps import PriceList, Step


@pytest.mark.parametrize(
    ("quantity", "cents"), [(9, 100), (10, 90), (99, 90), (100, 75), (101, 75)]
)
def test_around_every_step(quantity, cents):
    prices = PriceList([Step(1, 100), Step(10, 90), Step(100, 75)])
    assert prices.unit_price(quantity) == cents


def test_steps_of_one_piece():
    prices = PriceList([Step(1, 30), Step(2, 20), Step(3, 10)])
    assert [prices.unit_price(n) for n in (1, 2, 3, 4)] == [30, 20, 10, 10]
