from datetime import date

import pytest
from stays import Stay, booked

MONDAY, TUESDAY, FRIDAY = date(2024, 7, 1), date(2024, 7, 2), date(2024, 7, 5)


def test_both_ends_are_days_of_the_stay():
    assert list(Stay(MONDAY, TUESDAY).days()) == [MONDAY, TUESDAY]


def test_stays_apart_do_not_overlap():
    assert not Stay(MONDAY, TUESDAY).overlaps(Stay(FRIDAY, FRIDAY))


def test_a_stay_within_another_overlaps():
    assert Stay(MONDAY, FRIDAY).overlaps(Stay(MONDAY, TUESDAY))


def test_nothing_is_booked_without_stays():
    assert booked([]) == 0


def test_an_end_before_the_beginning_is_refused():
    with pytest.raises(ValueError):
        Stay(TUESDAY, MONDAY)
