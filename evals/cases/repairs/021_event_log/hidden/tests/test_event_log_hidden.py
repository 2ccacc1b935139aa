from event_log import Entry, EventLog


def test_listeners_hear_of_their_own_log_only():
    heard = []
    first, second = EventLog(), EventLog()
    first.listen(heard.append)
    second.write("elsewhere")
    assert heard == []


def test_two_logs_count_apart():
    first, second = EventLog(), EventLog()
    assert [first.write("a").number, second.write("b").number] == [1, 1]


def test_entries_that_are_given_are_taken_over():
    assert len(EventLog([Entry(1, "old")])) == 1
