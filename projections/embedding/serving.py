"""The serving embedder: whichever the worker uses now. Another one may take its place while the worker serves."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from projections.embedding.languages import LanguageEmbedder, View
from projections.embedding.local import LocalEmbedder
from schemas import telemetry

if TYPE_CHECKING:
    from collections.abc import Sequence
    from contextlib import AbstractContextManager

    from projections.embedding.embedder import Embedder, Vectors


class ServingEmbedder:
    """Passes on to the current embedder. From the end of `embed` to the caller's next await, `model` is its name."""

    def __init__(self, current: Embedder) -> None:
        self.current = current
        self.former: Embedder | None = None
        """The one before, while an index that workers share may still hold its vectors: questions are asked by both."""

    @property
    def model(self) -> str:
        """The current one's name."""
        return self.current.model

    async def embed(self, texts: Sequence[str], *, urgent: bool = False) -> Vectors | Sequence[Vectors]:
        """As of Embedder; texts that were asked of one that no longer serves are asked again."""
        while True:
            asked = self.current
            with _span_of(asked):
                vectors = await asked.embed(texts, urgent=urgent)
            if asked is self.current:
                return vectors


async def load(embedder: Embedder) -> None:
    """Have what computes on this machine load its models; endpoints are not asked. Raises EmbedderUnavailable."""
    if isinstance(embedder, ServingEmbedder):
        await load(embedder.current)
    elif isinstance(embedder, LanguageEmbedder):
        await asyncio.gather(*map(load, embedder.encoders))
    elif isinstance(embedder, LocalEmbedder):
        await embedder.load()


async def views_of(embedder: Embedder, question: str) -> Sequence[View]:
    """Return how a question is asked in each space of an embedder. Raises EmbedderUnavailable, EmbedderRefused."""
    if not isinstance(embedder, ServingEmbedder):
        return await _views(embedder, question)
    current, former = embedder.current, embedder.former
    # The former first: an index that is switched between the two has what one of them asks for.
    both = [current] if former is None or former is current else [former, current]
    return [view for one in both for view in await _views(one, question)]


def is_outdated(embedder: Embedder, views: Sequence[View]) -> bool:
    """Return whether another encoder has begun to serve since a question was turned into these views.

    An index that was switched meanwhile has no vectors of theirs, so what it found may be nothing.
    """
    return bool(views) and embedder.model not in {view.model for view in views}


async def _views(embedder: Embedder, question: str) -> Sequence[View]:
    with _span_of(embedder):
        if isinstance(embedder, LanguageEmbedder):
            return await embedder.views(question)
        return [View(embedder.model, (await embedder.embed([question], urgent=True))[0])]


def _span_of(embedder: Embedder) -> AbstractContextManager[telemetry.Span]:
    """Return the span of texts that an embedder turns into vectors."""
    model = embedder.model
    asked = {"gen_ai.operation.name": "embeddings", "gen_ai.request.model": model}
    return telemetry.span(f"embeddings {model}", asked, kind="client")


def multilingual(embedder: Embedder) -> Embedder:
    """Return the encoder that serves for all languages: of one for each language, the one that they share."""
    current = embedder.current if isinstance(embedder, ServingEmbedder) else embedder
    return current.shared if isinstance(current, LanguageEmbedder) else current
