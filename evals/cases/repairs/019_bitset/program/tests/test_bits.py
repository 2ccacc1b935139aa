from bits import Bits


def test_members_in_order():
    assert list(Bits([5, 0, 3])) == [0, 3, 5]


def test_one_member_goes():
    bits = Bits([0, 3])
    bits.discard(3)
    assert list(bits) == [0]


def test_the_others_stay_at_both_ends():
    bits = Bits([0, 3, 5])
    bits.discard(3)
    assert list(bits) == [0, 5]


def test_union():
    assert list(Bits([1]) | Bits([2])) == [1, 2]


def test_how_many():
    assert len(Bits([1, 1, 8])) == 2
