"""The judge of a worker: it uses the built-in encoder and its heads, whichever encoder the memories have."""

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
    """Judges extractions. It starts a built-in encoder of its own only where the serving encoder is another one."""

    def __init__(self, serving: ServingEmbedder) -> None:
        self._serving = serving
        self._own: BuiltinEmbedder | None = None
        self.heads = heads.load()
        """The heads of the built-in encoder."""

    async def __call__(self, window: Window, extraction: Extraction) -> Extraction:
        """Return a model's extraction after judgement. Raises EmbedderUnavailable."""
        return await judged(window, extraction, self.embed, self.heads)

    async def embed(self, texts: Sequence[str]) -> Vectors:
        """Return the built-in encoder's vectors of texts. Raises EmbedderUnavailable."""
        serving = self._serving.current
        if isinstance(serving, BuiltinEmbedder):
            return await serving.embed(texts)
        self._own = self._own or BuiltinEmbedder()
        return await self._own.embed(texts)

    async def aclose(self) -> None:
        """Close the encoder that the judge started, if any."""
        if self._own is not None:
            await self._own.close()
