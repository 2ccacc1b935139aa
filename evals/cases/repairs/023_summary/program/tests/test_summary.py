from summary import Summary, by_day, summary


def test_a_list():
    assert summary([1, 2, 3]) == Summary(3, 2.0, 3, 2 / 3)


def test_a_generator():
    assert summary(n for n in [1, 2, 3]) == Summary(3, 2.0, 3, 2 / 3)


def test_nothing():
    assert summary([]) == Summary(0, 0.0, None, 0.0)


def test_days_apart():
    assert by_day([("mon", 1), ("tue", 5), ("mon", 3)])["mon"].mean == 2.0
