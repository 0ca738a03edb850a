"""Reembedding: another encoder's vectors are made beside those that serve, compared with them, and switched to.

The log stays as it is, and so do decisions and digests: an encoding (`projections/index/encoding.py`) is what searches
read instead of the log's vectors. What is formed after the switch is embedded by the new encoder and logged so.
"""

from __future__ import annotations

import asyncio
import logging
import time
from contextlib import asynccontextmanager
from dataclasses import dataclass
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import orjson

from projections.embedding.embedder import EmbedderRefused, EmbedderUnavailable, EmbedderUnusable
from projections.index.embedded.index import EmbeddedIndex
from projections.index.encoding import Encoding
from projections.index.entries import entries_of
from projections.queries.search import IndexSearch, Question

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Sequence
    from datetime import datetime
    from pathlib import Path

    from projections.embedding.embedder import ClosableEmbedder, Embedder
    from projections.embedding.serving import ServingEmbedder
    from projections.index.protocol import IndexQuery, Legs
    from projections.index.sync import IndexSync
    from projections.partitions.shards import Shards
    from projections.state.memory import Memory
    from schemas.identity import Owner

BATCH: Final = 64
SAMPLE: Final = 16
"""Texts that a forecast embeds, after one that loads the model."""
FILL_EVERY_SECONDS: Final = 2.0
_DEPTHS: Final = (5, 10)
log = logging.getLogger("mnemolog.reembedding")


class ReembedRefused(Exception):
    """Reembedding is not possible now: the message says why."""


@dataclass(frozen=True, slots=True)
class LabelledQuestion:
    """A question whose answer is known: memories, or the events that they are from."""

    owner: Owner
    query: str
    expected: frozenset[str]


@dataclass(slots=True)
class Progress:
    """How far a reembedding has come, in memories."""

    encoder: str
    done: int = 0
    total: int = 0
    seconds: float = 0.0


class Reembedder:
    """Makes, compares and activates encodings of this worker's memories."""

    def __init__(
        self,
        *,
        folder: Path,
        configured: str,
        make: Callable[[str], ClosableEmbedder],
        serving: ServingEmbedder,
        shards: Shards,
        index_sync: IndexSync,
    ) -> None:
        """Take the setting by which `serving` was made, as `configured`; `make` makes an embedder of another one."""
        self._folder = folder
        self._configured = configured
        self._make = make
        self._serving = serving
        self._shards = shards
        self._index_sync = index_sync
        self._embedders: dict[str, Embedder] = {configured: serving.current}
        self._made: list[ClosableEmbedder] = []
        self._running = asyncio.Lock()
        self._encoder = ""
        """Whose vectors are being made; several may wait to make what is left of the same."""
        self._progress: Progress | None = None
        self.active = configured
        """The setting of the encoder that serves."""

    # -- what serves

    def open(self) -> None:
        """Let serve what was active when the worker ended, unless EMBEDDING_MODEL has been changed since."""
        try:
            found = orjson.loads((self._folder / "active").read_bytes())
        except (FileNotFoundError, orjson.JSONDecodeError):
            found = {}
        wanted = (
            found.get("encoder", self._configured) if found.get("configured") == self._configured else self._configured
        )
        try:
            embedder = self._embedder(wanted)
        except EmbedderUnusable as error:
            log.error("the active encoder cannot be used, EMBEDDING_MODEL serves: %s", error)  # noqa: TRY400 - it says all
            wanted, embedder = self._configured, self._serving.current
        self.active, self._serving.current = wanted, embedder
        if self._path(embedder).exists():
            self._shards.encoding = self._open(embedder)

    async def run(self) -> None:
        """Embed what comes without a vector of the active encoder, as long as an encoding serves."""
        while True:
            await asyncio.sleep(FILL_EVERY_SECONDS)
            encoding = self._shards.encoding
            if encoding is None or self._running.locked() or not any(self._missing(encoding)):
                continue
            async with self._alone(self.active):
                try:
                    made = await self._fill(self._serving.current, encoding)
                except (EmbedderUnavailable, EmbedderRefused) as error:
                    log.warning("memories without a vector of the active encoder wait: %s", error)
                else:
                    for owner, ids in made.items():
                        self._index_sync.mark_dirty(owner, ids)
                    await self._index_sync.switch()

    async def close(self) -> None:
        """Close the file and the encoders that were made here."""
        if self._shards.encoding is not None:
            self._shards.encoding.close()
            self._shards.encoding = None
        for embedder in self._made:
            await embedder.close()

    # -- what operators ask

    def report(self) -> dict[str, Any]:
        """Return which encoder serves, and how far a running reembedding is."""
        running = None
        if (at := self._progress) is not None:
            rest = at.seconds / at.done * (at.total - at.done) if at.done else None
            running = {"encoder": at.encoder, "done": at.done, "total": at.total, "remaining_seconds": rest}
        return {
            "active": self.active,
            "model": self._serving.model,
            "configured": self._configured,
            "is_encoding": self._shards.encoding is not None,
            "running": running,
        }

    async def forecast(self, encoder: str) -> dict[str, Any]:
        """Return what reembedding would take: memories, characters, tokens and seconds, by a sample of texts.

        Raises ReembedRefused, EmbedderUnavailable, EmbedderRefused, EmbedderUnusable.
        """
        self._require_one_worker()
        embedder = self._embedder(encoder)
        is_new = not self._path(embedder).exists()
        encoding = self._open(embedder)
        try:
            texts = [m.content for _, memories in self._missing(encoding) for m in memories]
        finally:
            encoding.close()
            if is_new:
                encoding.path.unlink()
        characters, tokens = sum(map(len, texts)), sum(map(_tokens, texts))
        seconds = 0.0
        if texts:
            await embedder.embed(texts[:1])
            # Marked, because an embedder may remember what it was asked a moment ago.
            sample = [f"{text} {time.monotonic_ns()}" for text in texts[:: len(texts) // SAMPLE + 1]]
            begin = time.monotonic()
            await embedder.embed(sample)
            seconds = (time.monotonic() - begin) * characters / max(1, sum(map(len, sample)))
        return {
            "encoder": encoder,
            "memories": len(texts),
            "characters": characters,
            "tokens": tokens,
            "seconds": seconds,
        }

    async def build(self, encoder: str) -> dict[str, Any]:
        """Make what an encoder lacks of vectors; what was made before, also by a build that ended early, is kept.

        Raises as `forecast`. The worker serves all the while, by the encoder that is active.
        """
        self._require_one_worker()
        embedder = self._embedder(encoder)
        async with self._alone(encoder):
            begin, serving = time.monotonic(), self._shards.encoding
            encoding = serving if serving is not None and serving.model == embedder.model else self._open(embedder)
            try:
                made = await self._fill(embedder, encoding, encoder)
            finally:
                if encoding is not serving:
                    encoding.close()
            size = encoding.path.stat().st_size
            seconds = round(time.monotonic() - begin, 3)
            memories = sum(map(len, made.values()))
            return {
                "encoder": encoder,
                "model": embedder.model,
                "memories": memories,
                "seconds": seconds,
                "bytes": size,
            }

    async def activate(self, encoder: str) -> dict[str, Any]:
        """Make what is missing and let an encoder serve from now on, also after a restart. Raises as `forecast`.

        The one before is switched back to in the same way: only what was formed meanwhile is embedded.
        """
        built = await self.build(encoder)
        embedder = self._embedder(encoder)
        async with self._alone(encoder):
            encoding, before = self._open(embedder), self._shards.encoding
            await self._fill(embedder, encoding)
            # What follows has no await: a search finds all of the one encoder, or all of the other.
            self._shards.encoding, self._serving.current, self.active = encoding, embedder, encoder
            self._write_active(encoder)
            if before is not None:
                before.close()
            await self._index_sync.switch()
        log.info("%s serves now", encoder)
        return built

    async def compare(self, encoder: str, questions: Sequence[LabelledQuestion], now: datetime) -> dict[str, Any]:
        """Return what of the expected the active encoder finds, and another one that has been built. Raises as `build`.

        Recall at 5 and 10, 0 to 1: the mean share of what a question expects. `differing` has the questions, by their
        place, whose recall at 5 is not the same.
        """
        await self.build(encoder)
        found = {}
        for name in (self.active, encoder):
            embedder = self._embedder(name)
            encoding = self._open(embedder) if self._path(embedder).exists() else None
            try:
                found[name] = await self._ask(embedder, encoding, questions, now)
            finally:
                if encoding is not None:
                    encoding.close()
        before, after = found[self.active], found[encoder]
        differing = [n for n, pair in enumerate(zip(before, after, strict=True)) if pair[0][0] != pair[1][0]]
        return {
            "questions": len(questions),
            "active": _summary(self.active, before),
            "other": _summary(encoder, after),
            "differing": differing,
        }

    # -- parts

    def _require_one_worker(self) -> None:
        if not self._shards.assignment.is_settled or len(self._shards.held()) < self._shards.partitions:
            raise ReembedRefused(
                "this worker holds some of the partitions only: reembedding needs one worker so far; change "
                "MNEMOLOG_EMBEDDING_MODEL on all of them instead, and what is formed from then on has the new vectors"
            )

    @asynccontextmanager
    async def _alone(self, encoder: str) -> AsyncIterator[None]:
        """Wait for whoever makes the same encoder's vectors, whose caller may have gone. Raises ReembedRefused."""
        if self._running.locked() and self._encoder != encoder:
            raise ReembedRefused("another reembedding is running already: wait until it is done")
        async with self._running:
            self._encoder = encoder
            try:
                yield
            finally:
                self._encoder = ""

    def _embedder(self, encoder: str) -> Embedder:
        if encoder not in self._embedders:
            made = self._make(encoder)
            self._made.append(made)
            self._embedders[encoder] = made
        return self._embedders[encoder]

    def _path(self, embedder: Embedder) -> Path:
        name = blake2b(embedder.model.encode(), digest_size=8).hexdigest()
        return self._folder / f"{name}.sqlite3"

    def _open(self, embedder: Embedder) -> Encoding:
        return Encoding(self._path(embedder), embedder.model)

    def _missing(self, encoding: Encoding) -> Iterator[tuple[Owner, list[Memory]]]:
        for owner in self._shards.owners():
            if memories := encoding.missing(owner, self._shards.state(owner).memories.values()):
                yield owner, memories

    async def _fill(self, embedder: Embedder, encoding: Encoding, encoder: str = "") -> dict[Owner, list[str]]:
        """Embed what an encoding lacks, until it lacks nothing; return which memories that were."""
        made: dict[Owner, list[str]] = {}
        begin, done = time.monotonic(), 0
        self._progress = progress = Progress(encoder or self.active)
        try:
            while missing := list(self._missing(encoding)):  # more may have been formed meanwhile
                progress.total = done + sum(len(memories) for _, memories in missing)
                for owner, memories in missing:
                    for part in _batches(memories):
                        vectors = await embedder.embed([memory.content for memory in part])
                        stored = [np.asarray(vector, "<f4").tobytes() for vector in vectors]
                        encoding.put(owner, zip(part, stored, strict=True))
                        made.setdefault(owner, []).extend(memory.memory_id for memory in part)
                        done += len(part)
                        progress.done, progress.seconds = done, time.monotonic() - begin
        finally:
            self._progress = None
        return made

    async def _ask(
        self, embedder: Embedder, encoding: Encoding | None, questions: Sequence[LabelledQuestion], now: datetime
    ) -> list[tuple[float, float, float]]:
        """Return for each question its recall at both depths, and the seconds that it took."""
        search = IndexSearch(self._shards, _FreshIndex(self._shards, encoding), embedder)
        results = []
        for question in questions:
            begin = time.monotonic()
            asked = Question(text=question.query, limit=max(_DEPTHS))
            pool = await search.pool(question.owner, asked, await search.views(question.query), now=now)
            best = [found.memory for found in pool.best(max(_DEPTHS))]
            names = [{memory.memory_id, *memory.source_ids} for memory in best]
            shares = [len(question.expected & set[str]().union(*names[:k])) / len(question.expected) for k in _DEPTHS]
            results.append((shares[0], shares[1], time.monotonic() - begin))
        return results

    def _write_active(self, encoder: str) -> None:
        beside = self._folder / "active.new"
        beside.write_bytes(orjson.dumps({"configured": self._configured, "encoder": encoder}))
        beside.replace(self._folder / "active")


class _FreshIndex:
    """An index of an encoding, made from the shards for one comparison."""

    def __init__(self, shards: Shards, encoding: Encoding | None) -> None:
        self._shards = shards
        self._encoding = encoding
        self._indexes: dict[Owner, EmbeddedIndex] = {}

    async def search(self, owner: Owner, query: IndexQuery) -> Legs:
        """Search a user's memories."""
        if owner not in self._indexes:
            entries = entries_of(owner, self._shards.of(owner).ledger, self._encoding)
            self._indexes[owner] = EmbeddedIndex(lambda _tenant, _user: entries)
        return await self._indexes[owner].search(query)

    def mark_dirty(self, owner: Owner, ids: Iterable[str]) -> None:
        """Forget what was made of the user's memories: they have changed."""
        del ids
        self._indexes.pop(owner, None)


def _batches(memories: Sequence[Memory]) -> Iterator[Sequence[Memory]]:
    for start in range(0, len(memories), BATCH):
        yield memories[start : start + BATCH]


def _tokens(text: str) -> int:
    """Estimate the tokens of a text: one for each character beyond Latin scripts, one for four others, and two ends."""
    wide = sum(letter >= "\u2e80" for letter in text)
    return 2 + wide + (len(text) - wide + 3) // 4


def _summary(encoder: str, results: Sequence[tuple[float, float, float]]) -> dict[str, Any]:
    five, ten, seconds = (float(np.mean(column)) for column in zip(*results, strict=True))
    return {"encoder": encoder, "recall_at_5": five, "recall_at_10": ten, "milliseconds": round(1000 * seconds, 1)}
