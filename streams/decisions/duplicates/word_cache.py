"""A cache of the words of texts, bounded by its size in memory: a text may have 64 KiB."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

MAX_BYTES: Final = 64 << 20
"""The size of one cache: about 16,000 texts of one sentence."""
_WORD_BYTES: Final = 80
"""The approximate size of a short word and its place in a tuple or set."""

Words = TypeVar("Words", bound="Collection[str]")


class WordCache(Generic[Words]):
    """A function that returns and caches the words of a text; at `max_bytes` the cache starts empty again.

    It is thread-safe, but two threads may compute the same words twice.
    """

    def __init__(self, words_of: Callable[[str], Words], max_bytes: int = MAX_BYTES) -> None:
        """Take the function whose results are cached."""
        self._words_of = words_of
        self._max_bytes = max_bytes
        self._words: dict[str, Words] = {}
        self._bytes = 0

    def known(self, text: str) -> Words | None:
        """Return the cached words of a text, or None; nothing is computed or cached."""
        return self._words.get(text)

    def __call__(self, text: str) -> Words:
        """Return the words of a text."""
        found = self._words.get(text)
        if found is None:
            found = self._words_of(text)
            size = 4 * len(text) + _WORD_BYTES * (len(found) + 1)
            if self._bytes + size > self._max_bytes:
                self._words, self._bytes = {}, 0
            if size <= self._max_bytes:
                self._words[text] = found
                self._bytes += size
        return found
