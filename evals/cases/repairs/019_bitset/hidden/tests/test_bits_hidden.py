from bits import Bits


def test_what_is_no_member_can_be_discarded():
    bits = Bits([1, 2])
    bits.discard(7)
    assert list(bits) == [1, 2]


def test_difference():
    assert list(Bits(range(8)) - Bits([2, 4, 6])) == [0, 1, 3, 5, 7]


def test_far_beyond_a_machine_word():
    bits = Bits([1, 100, 200])
    bits.discard(100)
    assert list(bits) == [1, 200]
