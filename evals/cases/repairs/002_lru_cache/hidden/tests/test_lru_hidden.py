from lru import LruCache


def test_reading_the_newest_changes_no_order():
    cache = LruCache(2)
    cache.put("a", 1)
    cache.put("b", 2)
    cache.get("b")
    cache.put("c", 3)
    assert "a" not in cache
    assert "b" in cache


def test_a_falsy_value_is_kept_by_reading_too():
    cache = LruCache(2)
    cache.put("zero", 0)
    cache.put("one", 1)
    assert cache.get("zero") == 0
    cache.put("two", 2)
    assert "zero" in cache


def test_reading_what_is_not_there_stores_nothing():
    cache = LruCache(2)
    cache.get("a")
    assert len(cache) == 0
