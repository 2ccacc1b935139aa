import pytest
from pages import page


def test_a_full_page():
    found = page(range(20), 2)
    assert list(found.items) == list(range(10, 20))
    assert not found.has_next


def test_the_rest_has_a_page_of_its_own():
    found = page(range(21), 3)
    assert list(found.items) == [20]
    assert found.has_previous


def test_an_empty_list_has_one_page():
    assert (page([], 1).of, list(page([], 1).items)) == (1, [])


def test_page_zero_is_refused():
    with pytest.raises(IndexError):
        page(range(5), 0)
