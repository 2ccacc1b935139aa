import pytest
from lookup import Settings


@pytest.mark.parametrize("value", ["", False, 0, 0.0, [], {}])
def test_every_falsy_value_is_one(value):
    assert Settings({"a": value}, {"a": "lower"}).get("a", "default") == value


def test_a_flag_that_is_off_wins_over_one_below():
    assert not Settings({"debug": False}, {"debug": True}).flag("debug")


def test_a_nested_empty_text():
    assert Settings({"log": {"prefix": ""}}).get("log.prefix", ">") == ""
