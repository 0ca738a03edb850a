"""Messages by their bytes, within a bound."""

from __future__ import annotations

from schemas.decoded_cache import Remembered


def test_what_is_remembered_again_takes_no_place_of_others() -> None:
    remembered = Remembered(max_bytes=10)
    remembered.put(b"first", "a message")
    for _ in range(9):
        remembered.put(b"other", "another")
    assert (remembered.get(b"first"), remembered.get(b"other")) == ("a message", "another")


def test_what_is_too_much_begins_anew() -> None:
    remembered = Remembered(max_bytes=10)
    remembered.put(b"first", "a message")
    remembered.put(b"second", "another")
    assert (remembered.get(b"first"), remembered.get(b"second")) == (None, "another")
