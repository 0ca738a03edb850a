"""Messages by their bytes, within a bound."""

from __future__ import annotations

from schemas.decoded_cache import DecodedCache


def test_what_is_put_again_takes_no_place_of_others() -> None:
    cache = DecodedCache(max_bytes=10)
    cache.put(b"first", "a message")
    for _ in range(9):
        cache.put(b"other", "another")
    assert (cache.get(b"first"), cache.get(b"other")) == ("a message", "another")


def test_what_is_too_much_begins_anew() -> None:
    cache = DecodedCache(max_bytes=10)
    cache.put(b"first", "a message")
    cache.put(b"second", "another")
    assert (cache.get(b"first"), cache.get(b"second")) == (None, "another")
