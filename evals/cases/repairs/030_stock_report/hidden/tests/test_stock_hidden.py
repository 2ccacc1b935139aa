from stock import report


def test_many_items_and_many_short():
    stock = {"a": {"z": 1, "y": 2, "x": 9}, "b": {"x": 0}, "c": {"w": 5}}
    assert report(stock) == ["a: 12, short of y, z", "b: 0, short of x", "c: 5"]


def test_an_item_that_is_called_like_a_warehouse():
    assert report({"north": {"north": 7}, "south": {"north": 1}}, least=2) == [
        "north: 7",
        "south: 1, short of north",
    ]
