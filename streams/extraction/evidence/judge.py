"""The built-in encoder and its heads, whatever encoder the memories have: what tells how surely something lasts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from projections.embedding import heads
from projections.embedding.builtin import BuiltinEmbedder
from streams.extraction.evidence.judgement import judged

if TYPE_CHECKING:
    from collections.abc import Sequence

    from projections.embedding.embedder import Vectors
    from projections.embedding.serving import ServingEmbedder
    from streams.extraction.protocol import Extraction, Window


class Judge:
    """Judges extractions. It starts an encoder of its own only where the serving one is another than the built-in."""

    def __init__(self, serving: ServingEmbedder) -> None:
        """Take the embedder that serves."""
        self._serving = serving
        self._own: BuiltinEmbedder | None = None
        self.heads = heads.load()
        """Of the built-in encoder."""

    async def __call__(self, window: Window, extraction: Extraction) -> Extraction:
        """Return a model's extraction as it is judged. Raises EmbedderUnavailable."""
        return await judged(window, extraction, self.embed, self.heads)

    async def embed(self, texts: Sequence[str]) -> Vectors:
        """Return the built-in encoder's vectors. Raises EmbedderUnavailable."""
        serving = self._serving.current
        if isinstance(serving, BuiltinEmbedder):
            return await serving.embed(texts)
        self._own = self._own or BuiltinEmbedder()
        return await self._own.embed(texts)

    async def aclose(self) -> None:
        """Close the encoder that it started, if any."""
        if self._own is not None:
            await self._own.close()
