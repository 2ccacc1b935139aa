import pytest
from semver import Version, newest


def test_ten_comes_after_nine():
    assert newest(["1.9.0", "1.10.0", "1.2.3"]) == "1.10.0"


def test_a_release_comes_after_its_candidates():
    assert Version("1.0.0-rc.1") < Version("1.0.0")


def test_words_are_ordered_by_their_letters():
    assert Version("1.0.0-alpha") < Version("1.0.0-beta")


def test_build_metadata_does_not_count():
    assert Version("1.0.0+a") == Version("1.0.0+b")


@pytest.mark.parametrize("text", ["1.0", "v1.0.0", "1.0.0-"])
def test_what_is_no_version(text):
    with pytest.raises(ValueError):
        Version(text)
