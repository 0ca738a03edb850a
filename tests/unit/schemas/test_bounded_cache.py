"""The values used most recently, within a bound of their size."""

from __future__ import annotations

from schemas.bounded_cache import BoundedCache


def test_what_is_put_again_takes_no_place_of_others() -> None:
    cache = BoundedCache[str, int](10)
    cache.put("first", 1, 5)
    for _ in range(9):
        cache.put("other", 2, 5)
    assert cache.values() == [1, 2]


def test_the_least_recently_used_makes_room() -> None:
    cache = BoundedCache[str, int](2)
    cache.put("first", 1)
    cache.put("second", 2)
    assert cache.get("first") == 1
    cache.put("third", 3)
    assert (cache.get("second"), cache.values(), len(cache)) == (None, [1, 3], 2)


def test_the_last_one_is_kept_whatever_its_size_but_nothing_at_a_bound_of_nothing() -> None:
    cache, none = BoundedCache[str, int](10), BoundedCache[str, int](0)
    for each in (cache, none):
        each.put("small", 1, 1)
        each.put("large", 2, 100)
    assert (cache.values(), none.values()) == ([2], [])


def test_what_is_removed_makes_room() -> None:
    cache = BoundedCache[str, int](10)
    cache.put("first", 1, 9)
    assert (cache.pop("first"), cache.pop("first")) == (1, None)
    cache.put("second", 2, 5)
    cache.put("third", 3, 5)
    assert cache.values() == [2, 3]
    cache.clear()
    assert cache.values() == []
