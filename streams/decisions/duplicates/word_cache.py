"""A cache of the words of texts, bounded by its size in memory: a text may have 64 KiB."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Generic, TypeVar

from schemas.bounded_cache import BoundedCache

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

MAX_BYTES: Final = 64 << 20
"""The size of one cache: about 16,000 texts of one sentence."""
_WORD_BYTES: Final = 80
"""The approximate size of a short word and its place in a tuple or set."""

Words = TypeVar("Words", bound="Collection[str]")


class WordCache(Generic[Words]):
    """A function that returns and caches the words of a text; two threads may compute the same words twice."""

    def __init__(self, words_of: Callable[[str], Words], max_bytes: int = MAX_BYTES) -> None:
        self._words_of = words_of
        self._cached: BoundedCache[str, Words] = BoundedCache(max_bytes)
        self.known: Final = self._cached.get

    def __call__(self, text: str) -> Words:
        """Return the words of a text."""
        if (found := self.known(text)) is None:
            found = self._words_of(text)
            self._cached.put(text, found, 4 * len(text) + _WORD_BYTES * (len(found) + 1))
        return found
