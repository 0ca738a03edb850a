"""What every embedder must do. An adapter's test inherits EmbedderSuite and supplies the fixture `embedder`."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import numpy as np
import pytest

if TYPE_CHECKING:
    from projections.embedding.embedder import ClosableEmbedder


class EmbedderSuite:
    @pytest.fixture
    def embedder(self) -> ClosableEmbedder:
        raise NotImplementedError

    async def test_each_text_becomes_a_float32_vector_of_unit_length(self, embedder: ClosableEmbedder):
        vectors = await embedder.embed(["我喜欢喝咖啡", "I like coffee", "x"])
        assert vectors.dtype == np.float32
        assert vectors.shape == (3, vectors.shape[1])
        np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-6)

    async def test_vectors_come_in_the_order_of_their_texts_with_repeats(self, embedder: ClosableEmbedder):
        texts = [f"note {n % 70}" for n in range(150)]
        together = await embedder.embed(texts)
        assert len(together) == 150
        np.testing.assert_array_equal(together[:70], together[70:140])
        for n in (0, 69, 71, 149):
            np.testing.assert_allclose((await embedder.embed([texts[n]]))[0], together[n], atol=1e-5)

    async def test_the_same_text_has_the_same_vector_and_another_text_another(self, embedder: ClosableEmbedder):
        first, again, other = await embedder.embed(["a quiet morning", "a quiet morning", "二〇二六年的账单"])
        np.testing.assert_array_equal(first, again)
        assert float(first @ other) < 0.95

    @pytest.mark.parametrize("text", ["", " ", "🙂", "\x00", "咖啡" * 3000, "word " * 1200, "x" * 6000, "\ud83d cut"])
    async def test_any_text_has_a_vector(self, embedder: ClosableEmbedder, text):
        vectors = await embedder.embed([text, "beside it"])
        np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-6)

    async def test_no_texts_are_no_vectors(self, embedder: ClosableEmbedder):
        before = await embedder.embed([])
        assert before.shape[0] == 0
        some = await embedder.embed(["x"])
        assert (await embedder.embed([])).shape == (0, some.shape[1])

    async def test_calls_at_the_same_time_do_not_mix(self, embedder: ClosableEmbedder):
        texts = [f"person {n} lives in house {n * n}" for n in range(12)]
        alone = await embedder.embed(texts)
        together = await asyncio.gather(*(embedder.embed([text]) for text in texts))
        np.testing.assert_allclose(np.concatenate(together), alone, atol=1e-5)

    async def test_the_caller_may_change_what_it_got(self, embedder: ClosableEmbedder):
        first = await embedder.embed(["mine"])
        kept = first.copy()
        first[:] = 0
        np.testing.assert_array_equal(await embedder.embed(["mine"]), kept)

    async def test_it_has_a_name(self, embedder: ClosableEmbedder):
        assert embedder.model
        assert embedder.model == embedder.model.strip()
