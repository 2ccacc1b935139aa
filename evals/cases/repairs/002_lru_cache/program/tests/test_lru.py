import pytest
from lru import LruCache


def test_the_oldest_entry_goes_first():
    cache = LruCache(2)
    for key in "abc":
        cache.put(key, key.upper())
    assert "a" not in cache
    assert cache.get("c") == "C"


def test_reading_keeps_an_entry():
    cache = LruCache(2)
    cache.put("a", 1)
    cache.put("b", 2)
    cache.get("a")
    cache.put("c", 3)
    assert "a" in cache
    assert "b" not in cache


def test_a_missing_key_gives_the_default():
    assert LruCache(1).get("nothing", 7) == 7


def test_capacity_zero_is_refused():
    with pytest.raises(ValueError):
        LruCache(0)
