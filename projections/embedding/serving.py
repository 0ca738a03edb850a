"""The serving embedder: whichever the worker uses now. Another one may take its place while the worker serves."""

from __future__ import annotations

from typing import TYPE_CHECKING

from projections.embedding.languages import LanguageEmbedder, View

if TYPE_CHECKING:
    from collections.abc import Sequence

    from projections.embedding.embedder import Embedder, Vectors


class ServingEmbedder:
    """Passes on to the current embedder. From the end of `embed` to the caller's next await, `model` is its name."""

    def __init__(self, current: Embedder) -> None:
        self.current = current

    @property
    def model(self) -> str:
        """The current one's name."""
        return self.current.model

    async def embed(self, texts: Sequence[str], *, urgent: bool = False) -> Vectors | Sequence[Vectors]:
        """As of Embedder; texts that were asked of one that no longer serves are asked again."""
        while True:
            asked = self.current
            vectors = await asked.embed(texts, urgent=urgent)
            if asked is self.current:
                return vectors


async def views_of(embedder: Embedder, question: str) -> Sequence[View]:
    """Return how a question is asked in each space of an embedder. Raises EmbedderUnavailable, EmbedderRefused."""
    current = embedder.current if isinstance(embedder, ServingEmbedder) else embedder
    if isinstance(current, LanguageEmbedder):
        return await current.views(question)
    return [View(current.model, (await current.embed([question], urgent=True))[0])]
