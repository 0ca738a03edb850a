"""The serving embedder, which delegates to the current one. It may be replaced while the worker serves."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from projections.embedding.local import LocalEmbedder
from schemas import telemetry

if TYPE_CHECKING:
    from collections.abc import Sequence
    from contextlib import AbstractContextManager

    from projections.embedding.embedder import Embedder, Vectors


@dataclass(frozen=True, slots=True)
class View:
    """A question as an encoder sees it: its unit vector."""

    model: str
    vector: Vectors


class ServingEmbedder:
    """An embedder that delegates to the current one.

    From the end of `embed` to the caller's next await, `model` is the name of the one that computed the vectors.
    """

    def __init__(self, current: Embedder) -> None:
        self.current = current
        self.former: Embedder | None = None
        """The previous one, while a shared index may still hold its vectors; questions are then asked by both."""

    @property
    def model(self) -> str:
        """The name of the current model."""
        return self.current.model

    async def embed(self, texts: Sequence[str], *, urgent: bool = False) -> Vectors:
        """See `Embedder.embed`; if the embedder is replaced meanwhile, the texts are embedded again."""
        while True:
            asked = self.current
            with _span_of(asked):
                vectors = await asked.embed(texts, urgent=urgent)
            if asked is self.current:
                return vectors


async def load(embedder: Embedder) -> None:
    """Load the models that run on this machine; endpoints are not called. Raises EmbedderUnavailable."""
    if isinstance(embedder, ServingEmbedder):
        await load(embedder.current)
    elif isinstance(embedder, LocalEmbedder):
        await embedder.load()


async def views_of(embedder: Embedder, question: str) -> Sequence[View]:
    """Return an embedder's view of a question, during a switch also the former one's. Raises as `Embedder.embed`."""
    if not isinstance(embedder, ServingEmbedder):
        return [await _view(embedder, question)]
    current, former = embedder.current, embedder.former
    # The former first: an index that is switched between the two calls matches one of them.
    both = [current] if former is None or former is current else [former, current]
    return [await _view(one, question) for one in both]


def is_outdated(embedder: Embedder, views: Sequence[View]) -> bool:
    """Return whether another encoder has started to serve since these views of a question were computed.

    An index that was switched meanwhile does not have their vectors, so that its results may be empty.
    """
    return bool(views) and embedder.model not in {view.model for view in views}


async def _view(embedder: Embedder, question: str) -> View:
    with _span_of(embedder):
        return View(embedder.model, (await embedder.embed([question], urgent=True))[0])


def _span_of(embedder: Embedder) -> AbstractContextManager[telemetry.Span]:
    model = embedder.model
    asked = {"gen_ai.operation.name": "embeddings", "gen_ai.request.model": model}
    return telemetry.span(f"embeddings {model}", asked, kind="client")


def current(embedder: Embedder) -> Embedder:
    """Return the embedder that serves now."""
    return embedder.current if isinstance(embedder, ServingEmbedder) else embedder
