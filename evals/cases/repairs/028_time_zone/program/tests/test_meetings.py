from datetime import datetime, timezone

import pytest
from meetings import Meeting, clash, due, zone


def test_due_in_one_zone():
    stand_up = Meeting("stand-up", datetime(2024, 5, 6, 9, 0, tzinfo=timezone.utc))
    assert due([stand_up], datetime(2024, 5, 6, 9, 10, tzinfo=timezone.utc)) == ["stand-up"]
    assert due([stand_up], datetime(2024, 5, 6, 9, 30, tzinfo=timezone.utc)) == []


def test_due_on_the_other_side_of_the_world():
    tokyo = Meeting("tokyo", datetime(2024, 5, 6, 9, 0, tzinfo=zone(9)))
    assert due([tokyo], datetime(2024, 5, 6, 0, 5, tzinfo=timezone.utc)) == ["tokyo"]


def test_meetings_at_the_same_time_clash():
    at = datetime(2024, 5, 6, 9, 0, tzinfo=zone(2))
    assert clash(Meeting("a", at), Meeting("b", at))


def test_a_time_without_a_zone_is_refused():
    with pytest.raises(ValueError):
        Meeting("when?", datetime(2024, 5, 6))
