"""The cache of words: what is asked again is not computed again, and the memory it takes is bounded."""

from __future__ import annotations

import tracemalloc

from streams.decisions.duplicates.similarity import keywords
from streams.decisions.duplicates.word_cache import WordCache


def test_the_words_of_a_text_are_computed_once():
    asked: list[str] = []

    def words(text: str) -> tuple[str, ...]:
        asked.append(text)
        return tuple(text.split())

    cache = WordCache(words)
    assert [cache("a b"), cache("a b"), cache("")] == [("a", "b"), ("a", "b"), ()]
    assert asked == ["a b", ""]


def test_words_that_are_known_are_given_without_computing_any():
    cache = WordCache(lambda text: tuple(text.split()))
    assert cache.known("a b") is None
    assert (cache("a b"), cache.known("a b"), cache.known("c")) == (("a", "b"), ("a", "b"), None)


def test_long_texts_do_not_fill_the_memory():
    cache = WordCache(keywords, max_bytes=1 << 20)
    tracemalloc.start()
    for n in range(20):
        text = "".join(chr(0x4E00 + (n * 7_919 + k * k) % 20_000) for k in range(2_000))
        assert cache(text) == keywords(text)
    kept, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert kept < 4 << 20  # 20 of them are over 5 MB
