import asyncio

import pytest
from async_cache import AsyncCache


def test_none_is_a_value_too():
    asked = []

    async def load(key):
        asked.append(key)

    async def thrice():
        cache = AsyncCache(load)
        return [await cache.get("a") for _ in range(3)]

    assert asyncio.run(thrice()) == [None, None, None]
    assert asked == ["a"]


def test_an_error_is_not_kept():
    answers = [OSError("down"), "up"]

    async def load(key):
        answer = answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    async def again():
        cache = AsyncCache(load)
        with pytest.raises(OSError):
            await cache.get("a")
        return await cache.get("a")

    assert asyncio.run(again()) == "up"
