import pytest
from folders import OutsideError, inside, relative


def test_a_file_in_the_folder():
    assert inside("/srv/data", "a/../b.txt") == "/srv/data/b.txt"


def test_the_way_up_is_refused():
    with pytest.raises(OutsideError):
        inside("/srv/data", "../../etc/passwd")


def test_a_sibling_with_a_longer_name_is_refused():
    with pytest.raises(OutsideError):
        inside("/srv/data", "../data-old/x.txt")


def test_as_seen_from_the_folder():
    assert relative("/srv/data/", "a/./b") == "a/b"
