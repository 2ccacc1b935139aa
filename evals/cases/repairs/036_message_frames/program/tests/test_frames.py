import pytest
from frames import FrameError, frame, unframed


def test_a_plain_message():
    assert frame("hello") == b"5:hello"


def test_letters_of_two_bytes():
    assert list(unframed(frame("größe") + frame("ok"))) == ["größe", "ok"]


def test_an_empty_message():
    assert list(unframed(frame("") + frame("a:b"))) == ["", "a:b"]


def test_a_frame_that_is_cut_off():
    with pytest.raises(FrameError):
        list(unframed(b"9:short"))
