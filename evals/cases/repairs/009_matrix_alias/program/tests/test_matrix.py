import pytest
from matrix import identity, multiply, transpose


def test_a_row_times_a_column():
    assert multiply([[1, 2, 3]], [[4], [5], [6]]) == [[32]]


def test_two_by_two():
    assert multiply([[1, 2], [3, 4]], [[5, 6], [7, 8]]) == [[19, 22], [43, 50]]


def test_transposing_twice():
    assert transpose(transpose([[1, 2, 3], [4, 5, 6]])) == [[1, 2, 3], [4, 5, 6]]


def test_sizes_must_fit():
    with pytest.raises(ValueError):
        multiply([[1, 2]], [[1, 2]])


def test_identity():
    assert identity(2) == [[1, 0], [0, 1]]
