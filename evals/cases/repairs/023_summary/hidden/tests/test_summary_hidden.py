from summary import summary


def test_negative_numbers_from_a_generator():
    assert summary(n for n in [-5, -3]) == (2, -4.0, -3, 1.0)


def test_equal_values_count_each():
    assert summary(n for n in [2, 2, 2, 6]) == (4, 3.0, 6, 1.5)


def test_any_other_iterator():
    assert summary(map(float, ["4", "8"])).spread == 2.0
    assert summary(iter([2, 4])).largest == 4


def test_an_empty_generator():
    assert summary(n for n in ()) == (0, 0.0, None, 0.0)
