import pytest
from tokenizer import tokens


def texts(source):
    return [token.text for token in tokens(source)]


def test_names_numbers_and_marks():
    assert texts("size = -12;") == ["size", "=", "-12", ";"]


def test_one_string():
    assert texts('title = "a b"') == ["title", "=", '"a b"']


def test_two_strings_on_a_line():
    assert texts('join("a", "b")') == ["join", "(", '"a"', ",", '"b"', ")"]


def test_what_is_no_token_is_refused():
    with pytest.raises(SyntaxError, match="at 2"):
        list(tokens("a $"))
