"""An embedder on this machine, which computes in a separate process and needs no server and no key."""

from __future__ import annotations

import asyncio
from collections import deque
from typing import TYPE_CHECKING

import numpy as np

from projections.embedding.encoder_process import BATCH_CHARACTERS, BATCH_TEXTS, RUNS_AHEAD, EncoderProcess, Request
from projections.embedding.long_texts import beginning
from schemas.bounded_cache import BoundedCache

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from projections.embedding.embedder import Vectors

_CACHED_CHARACTERS = 500


class LocalEmbedder:
    """An embedder on this machine. A text's vector does not depend on the other texts in a call (to 1e-6).

    It computes in a child process, which loads the model at first use (a second or two, 150 MB for the built-in one), a
    few texts at a time: the event loop stays free, and a query waits for at most one small run, not for a whole import.
    Only the first 2,000 characters of a long text are read. Texts of concurrent calls are computed together, which
    takes half as long as one by one.
    """

    def __init__(
        self,
        model: str,
        process: EncoderProcess,
        *,
        query_prefix: str = "",
        passage_prefix: str = "",
        dimensions: int = 0,
        cached_texts: int = 1024,
    ) -> None:
        """`model` names the vectors. `dimensions` is their length, if known before the first answer.

        `cached_texts` is the number of short texts whose vectors are cached, 2 kB each; queries are often repeated.
        """
        self._model = model
        self._prefixes = {True: query_prefix, False: passage_prefix}
        self._dimensions = dimensions
        self._cache: BoundedCache[str, Vectors] = BoundedCache(cached_texts)
        self.process = process

    @property
    def model(self) -> str:
        """The model's name, which accompanies every vector."""
        return self._model

    async def embed(self, texts: Sequence[str], *, urgent: bool = False) -> Vectors:
        """Return float32 unit vectors, shape (len(texts), dimensions). Texts may be of any length.

        Raises EmbedderUnavailable after `close`, or if the child process died several times over the texts.
        """
        if prefix := self._prefixes[urgent]:
            texts = [prefix + text for text in texts]
        known = {text: vector for text in texts if (vector := self._cache.get(text)) is not None}
        missing = [text for text in dict.fromkeys(texts) if text not in known]
        known.update(zip(missing, await self._encoded(missing, urgent=urgent), strict=True))
        for text, vector in known.items():
            if len(text) <= _CACHED_CHARACTERS:
                self._cache.put(text, vector)
        if known:
            self._dimensions = len(next(iter(known.values())))
        rows = np.empty((len(texts), self._dimensions), dtype=np.float32)
        for row, text in zip(rows, texts, strict=True):
            row[:] = known[text]
        return rows

    async def load(self) -> None:
        """Load the model of the child process now, not at the first question. Raises EmbedderUnavailable."""
        await self.embed(["."], urgent=True)

    async def close(self) -> None:
        """End the child process."""
        await self.process.close()

    async def _encoded(self, texts: list[str], *, urgent: bool) -> list[Vectors]:
        """Encode a few texts at a time, one part ahead, so that other requests are served in between."""
        loop = asyncio.get_running_loop()
        asked: deque[asyncio.Future[Vectors]] = deque()
        found: list[Vectors] = []
        try:
            for part, characters in _parts(texts):
                asked.append(loop.create_future())
                self.process.ask(Request(part, characters, urgent, asked[-1]))
                if len(asked) == RUNS_AHEAD:
                    found.extend(await asked.popleft())
            while asked:
                found.extend(await asked.popleft())
        finally:
            for vectors in asked:
                vectors.cancel()
        return found


def _parts(texts: Iterable[str]) -> Iterator[tuple[list[str], int]]:
    """Yield batches that fit one run, each with the number of its characters in NFKC."""
    part: list[str] = []
    total = 0
    for text in texts:
        read, characters = beginning(text)
        if part and (len(part) == BATCH_TEXTS or total + characters > BATCH_CHARACTERS):
            yield part, total
            part, total = [], 0
        part.append(read)
        total += characters
    if part:
        yield part, total
