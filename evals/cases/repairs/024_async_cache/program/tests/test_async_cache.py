import asyncio

from async_cache import AsyncCache


class Loader:
    def __init__(self):
        self.asked = []

    async def __call__(self, key):
        self.asked.append(key)
        await asyncio.sleep(0)
        return key.upper()


def test_the_first_time():
    assert asyncio.run(AsyncCache(Loader()).get("a")) == "A"


def test_the_second_time():
    async def twice():
        load = Loader()
        cache = AsyncCache(load)
        return await cache.get("a"), await cache.get("a"), load.asked

    assert asyncio.run(twice()) == ("A", "A", ["a"])


def test_many():
    assert asyncio.run(AsyncCache(Loader()).many("a", "b")) == {"a": "A", "b": "B"}
