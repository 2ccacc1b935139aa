import pytest
from ledger import Ledger, Overdrawn


def test_the_source_must_have_it():
    ledger = Ledger(ann=10, bob=100)
    with pytest.raises(Overdrawn, match="ann"):
        ledger.transfer("ann", "bob", 20)
    assert (ledger.balance("ann"), ledger.balance("bob")) == (10, 100)
    assert ledger.history == []


def test_the_target_may_be_new():
    ledger = Ledger(ann=10)
    ledger.transfer("ann", "cid", 10)
    assert (ledger.balance("ann"), ledger.balance("cid")) == (0, 10)


def test_a_refund_undoes_a_transfer():
    ledger = Ledger(ann=10, bob=5)
    ledger.transfer("ann", "bob", 7)
    ledger.refund("ann", "bob", 7)
    assert (ledger.balance("ann"), ledger.balance("bob")) == (10, 5)
