from stock import everywhere, report

STOCK = {"north": {"nails": 10, "screws": 3}, "south": {"screws": 8}}


def test_one_line_for_each_warehouse():
    assert len(report(STOCK)) == 2


def test_a_line_begins_with_its_warehouse():
    assert report(STOCK) == ["north: 13, short of screws", "south: 8"]


def test_an_empty_warehouse():
    assert report({"west": {}}) == ["west: 0"]


def test_all_together():
    assert everywhere(STOCK) == {"nails": 10, "screws": 11}
