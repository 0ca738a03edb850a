"""Encodings: vectors of this worker's memories by other encoders, in addition to the serving vectors."""

from __future__ import annotations

import asyncio
import time
from contextlib import asynccontextmanager
from dataclasses import dataclass
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, Final

from projections.embedding.stored_vector import vector_bytes
from projections.index.encoding import Encoding
from projections.partitions.assignment import NotHeld

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Container, Iterator, Sequence
    from pathlib import Path

    from projections.embedding.embedder import ClosableEmbedder, Embedder
    from projections.partitions.shards import Shards
    from projections.state.memory import Memory
    from schemas.identity import Owner

BATCH: Final = 64
SAMPLE: Final = 16
"""The number of texts that a forecast embeds, after one that loads the model."""


class ReembedRefused(Exception):
    """Reembedding is not possible now: the message says why."""


@dataclass(slots=True)
class Progress:
    """The progress of a reembedding, in memories."""

    encoder: str
    done: int = 0
    total: int = 0
    seconds: float = 0.0


class EncodingBuilder:
    """Computes vectors of this worker's memories by any encoder, each in its own file, for one encoder at a time."""

    def __init__(
        self, folder: Path, make: Callable[[str], ClosableEmbedder], known: dict[str, Embedder], shards: Shards
    ) -> None:
        """`make` builds the embedder of a setting that is not `known`."""
        self._folder = folder
        self._make = make
        self._embedders = dict(known)
        self._shards = shards
        self._made: list[ClosableEmbedder] = []
        self._running = asyncio.Lock()
        self._encoder = ""
        """The encoder at work; several callers may wait to complete the vectors of the same one."""
        self.progress: Progress | None = None
        self.finished: Progress | None = None
        """The share that was completed last, which counts while other workers compute theirs."""

    async def close(self) -> None:
        """Close the encoders that were created here."""
        for embedder in self._made:
            await embedder.close()

    async def forecast(self, encoder: str) -> dict[str, Any]:
        """Return the cost of a reembedding: memories, characters, tokens and seconds, estimated from a sample of texts.

        Raises EmbedderUnavailable, EmbedderRefused, EmbedderUnusable.
        """
        embedder = self.embedder(encoder)
        is_new = not self._path(embedder).exists()
        encoding = self.open(embedder)
        try:
            texts = [m.content for _, memories in await self.missing(encoding) for m in memories]
        finally:
            encoding.close()
            if is_new:
                encoding.path.unlink()
        characters, tokens = sum(map(len, texts)), sum(map(_tokens, texts))
        seconds = 0.0
        if texts:
            await embedder.embed(texts[:1])
            # Made unique, because an embedder may cache recent texts.
            sample = [f"{text} {time.monotonic_ns()}" for text in texts[:: len(texts) // SAMPLE + 1]]
            begin = time.monotonic()
            await embedder.embed(sample)
            seconds = (time.monotonic() - begin) * characters / max(1, sum(map(len, sample)))
        return {
            "encoder": encoder,
            "model": embedder.model,
            "memories": len(texts),
            "characters": characters,
            "tokens": tokens,
            "seconds": seconds,
        }

    async def build(self, encoder: str, go_on: Callable[[], None] = lambda: None) -> dict[str, Any]:
        """Compute the missing vectors of an encoder; existing ones, also from an interrupted build, are kept.

        `go_on` is called ahead of each batch, and raises to end the build. Raises ReembedRefused, and as `forecast`.
        The worker keeps serving with the active encoder.
        """
        embedder = self.embedder(encoder)
        async with self.alone(encoder):
            begin, serving = time.monotonic(), self._shards.encoding
            encoding = serving if serving is not None and serving.model == embedder.model else self.open(embedder)
            try:
                made = await self.fill(embedder, encoding, encoder, go_on)
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

    @property
    def is_running(self) -> bool:
        """Whether vectors are being computed."""
        return self._running.locked()

    @asynccontextmanager
    async def alone(self, encoder: str) -> AsyncIterator[None]:
        """Wait for an earlier run of the same encoder, whose caller may have gone. Raises ReembedRefused."""
        if self._running.locked() and self._encoder != encoder:
            raise ReembedRefused("another reembedding is running already: wait until it is done")
        async with self._running:
            self._encoder = encoder
            try:
                yield
            finally:
                self._encoder = ""

    def embedder(self, encoder: str) -> Embedder:
        """Return the embedder of a setting. Raises EmbedderUnusable."""
        if encoder not in self._embedders:
            made = self._make(encoder)
            self._made.append(made)
            self._embedders[encoder] = made
        return self._embedders[encoder]

    def _path(self, embedder: Embedder) -> Path:
        name = blake2b(embedder.model.encode(), digest_size=8).hexdigest()
        return self._folder / f"{name}.sqlite3"

    def open(self, embedder: Embedder) -> Encoding:
        """Open an encoder's vectors, empty if none exist yet. Raises ShardUnavailable."""
        return Encoding(self._path(embedder), embedder.model)

    def existing(self, embedder: Embedder) -> Encoding | None:
        """Open an encoder's vectors; None if none exist. Raises ShardUnavailable."""
        return self.open(embedder) if self._path(embedder).exists() else None

    def made_by(self, encoding: Encoding) -> Embedder:
        """Return the embedder that computes an encoding's vectors."""
        return next(one for one in self._embedders.values() if one.model == encoding.model)

    async def missing(self, encoding: Encoding) -> list[tuple[Owner, list[Memory]]]:
        """Return the memories of the held shards that an encoding lacks; each worker has the global ones too."""
        lacking = []
        for shard in self._shards.all():
            for owner in shard.ledger.owners():
                if shard.retired:
                    break  # it has moved: another worker computes the vectors of its users
                if memories := encoding.missing(owner, shard.ledger.state(owner).memories.values()):
                    lacking.append((owner, memories))
                await asyncio.sleep(0)
        return lacking

    async def fill(
        self,
        embedder: Embedder,
        encoding: Encoding,
        encoder: str,
        go_on: Callable[[], None] = lambda: None,
    ) -> dict[Owner, list[str]]:
        """Embed the memories that an encoding lacks, until it lacks none; return their ids."""
        made: dict[Owner, list[str]] = {}
        begin, done = time.monotonic(), 0
        self.progress = progress = Progress(encoder)
        try:
            while lacking := await self.missing(encoding):  # more may have been formed meanwhile
                progress.total = done + sum(len(memories) for _, memories in lacking)
                for owner, memories in lacking:
                    for part in _batches(memories):
                        go_on()
                        vectors = await embedder.embed([memory.content for memory in part])
                        stored = [vector_bytes(vector) for vector in vectors]
                        known = self._known(owner)  # memories that were erased meanwhile are not written again
                        kept = [
                            (one, vector) for one, vector in zip(part, stored, strict=True) if one.memory_id in known
                        ]
                        encoding.put(owner, kept)
                        made.setdefault(owner, []).extend(memory.memory_id for memory, _ in kept)
                        done += len(part)
                        progress.done, progress.seconds = done, time.monotonic() - begin
            self.finished = progress
        finally:
            self.progress = None
        return made

    def _known(self, owner: Owner) -> Container[str]:
        """Return the ids of an owner's memories; none if another worker now holds them."""
        try:
            return self._shards.state(owner).memories
        except NotHeld:
            return ()


def _batches(memories: Sequence[Memory]) -> Iterator[Sequence[Memory]]:
    for start in range(0, len(memories), BATCH):
        yield memories[start : start + BATCH]


def _tokens(text: str) -> int:
    """Estimate the tokens of a text: one for each wide character, one for four others, and two for the ends."""
    wide = sum(letter >= "\u2e80" for letter in text)
    return 2 + wide + (len(text) - wide + 3) // 4
