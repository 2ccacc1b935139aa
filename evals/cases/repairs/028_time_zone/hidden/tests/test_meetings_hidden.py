from datetime import datetime, timezone

from meetings import Meeting, clash, due, zone


def test_west_of_greenwich_too():
    lima = Meeting("lima", datetime(2024, 5, 5, 22, 0, tzinfo=zone(-5)))
    assert due([lima], datetime(2024, 5, 6, 3, 1, tzinfo=timezone.utc)) == ["lima"]


def test_now_may_be_in_any_zone():
    utc = Meeting("utc", datetime(2024, 5, 6, 12, 0, tzinfo=timezone.utc))
    assert due([utc], datetime(2024, 5, 6, 14, 15, tzinfo=zone(2))) == ["utc"]


def test_equal_clocks_in_two_zones_do_not_clash():
    berlin = Meeting("berlin", datetime(2024, 5, 6, 9, 0, tzinfo=zone(2)))
    oslo = Meeting("lisbon", datetime(2024, 5, 6, 9, 0, tzinfo=zone(1)))
    assert not clash(berlin, oslo)
