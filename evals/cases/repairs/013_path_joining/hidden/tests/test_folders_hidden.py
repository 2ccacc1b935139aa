import pytest
from folders import OutsideError, inside


@pytest.mark.parametrize("path", ["../database", "../data.bak/x", "../data2", "/srv/data_old"])
def test_other_siblings_are_refused(path):
    with pytest.raises(OutsideError):
        inside("/srv/data", path)


def test_the_folder_itself_is_inside():
    assert inside("/srv/data", ".") == "/srv/data"


def test_the_root_holds_everything():
    assert inside("/", "etc/hosts") == "/etc/hosts"
