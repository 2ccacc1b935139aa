from datetime import date

from stays import Stay, booked


def test_a_stay_of_one_day():
    day = date(2024, 2, 29)
    assert list(Stay(day, day).days()) == [day]


def test_over_the_end_of_a_month():
    stay = Stay(date(2024, 2, 27), date(2024, 3, 2))
    assert [day.day for day in stay.days()] == [27, 28, 29, 1, 2]


def test_a_shared_last_day_is_an_overlap():
    first = Stay(date(2024, 1, 1), date(2024, 1, 5))
    assert first.overlaps(Stay(date(2024, 1, 5), date(2024, 1, 9)))


def test_days_are_booked_once():
    first = Stay(date(2024, 1, 1), date(2024, 1, 3))
    assert booked([first, Stay(date(2024, 1, 3), date(2024, 1, 4))]) == 4
