import pytest
from frames import frame, unframed


@pytest.mark.parametrize("text", ["€ 5", "日本語", "🙂", "e\u0301", "a\u00a0b"])
def test_letters_of_any_size(text):
    assert list(unframed(frame(text) + frame(text))) == [text, text]


def test_the_header_counts_bytes():
    assert frame("€").startswith(b"3:")
