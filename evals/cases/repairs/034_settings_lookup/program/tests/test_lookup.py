from lookup import Settings


def test_the_first_layer_counts():
    assert Settings({"port": 1}, {"port": 2}).get("port") == 1


def test_dots_lead_inside():
    assert Settings({"http": {"port": 80}}).get("http.port") == 80


def test_zero_is_a_value():
    assert Settings({"retries": 0}).get("retries", 3) == 0


def test_what_is_not_set():
    assert Settings({}, {"a": 1}).get("b", "default") == "default"


def test_null_is_not_set():
    assert Settings({"a": None}, {"a": 5}).get("a") == 5


def test_flags():
    assert Settings({"debug": True}).flag("debug")
    assert not Settings().flag("debug")
