import pytest
from pages import page, page_count


@pytest.mark.parametrize(
    ("items", "size", "pages"),
    [(1, 10, 1), (10, 10, 1), (11, 10, 2), (20, 10, 2), (29, 10, 3), (3, 1, 3)],
)
def test_how_many_pages(items, size, pages):
    assert page_count(items, size) == pages


def test_no_empty_page_at_the_end():
    with pytest.raises(IndexError):
        page(range(30), 4)
