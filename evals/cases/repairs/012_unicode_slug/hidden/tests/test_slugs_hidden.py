import pytest
from slugs import slug


@pytest.mark.parametrize(
    ("title", "expected"),
    [("Ångström", "angstrom"), ("Señor Ñandú", "senor-nandu"), ("Žižek", "zizek"), ("ﬁne", "fine")],
)
def test_other_letters(title, expected):
    assert slug(title) == expected


def test_both_ways_to_write_a_letter_give_one_slug():
    assert slug("caf\u00e9") == slug("cafe\u0301") == "cafe"
