from event_log import Entry, EventLog


def test_numbers_count_on():
    log = EventLog([Entry(1, "begun")])
    assert log.write("went on").number == 2


def test_tags():
    log = EventLog([])
    log.write("slow", "warning")
    log.write("fine")
    assert [entry.text for entry in log.tagged("warning")] == ["slow"]


def test_a_new_log_is_empty():
    EventLog().write("in the first")
    assert len(EventLog()) == 0


def test_listeners_hear_of_entries():
    heard = []
    log = EventLog([], [heard.append])
    log.write("now")
    assert [entry.text for entry in heard] == ["now"]
