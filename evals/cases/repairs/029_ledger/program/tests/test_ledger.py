import pytest
from ledger import Ledger


def test_money_moves_from_source_to_target():
    ledger = Ledger(ann=50, bob=50)
    ledger.transfer("ann", "bob", 20)
    assert (ledger.balance("ann"), ledger.balance("bob")) == (30, 70)


def test_a_refund_gives_it_back():
    ledger = Ledger(ann=0, bob=20)
    ledger.refund("ann", "bob", 20)
    assert ledger.balance("ann") == 20


def test_nothing_is_lost():
    ledger = Ledger(ann=50, bob=50)
    ledger.transfer("ann", "bob", 20)
    assert ledger.balance("ann") + ledger.balance("bob") == 100


def test_amounts_are_positive():
    with pytest.raises(ValueError):
        Ledger(ann=1).transfer("ann", "bob", 0)
