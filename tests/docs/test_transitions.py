"""The drawn tables of transitions are the tables in force."""

import transitions


def test_the_page_is_fresh() -> None:
    """Protects: the drawings that people read from growing old."""
    assert transitions.main(["--check"]) == 0
