"""Reembedding: another encoder's vectors are made beside those that serve, compared with them, and switched to.

The log stays as it is, and so do decisions and digests: an encoding (`projections/index/encoding.py`) is what searches
read instead of the log's vectors. What is formed after the switch is embedded by the new encoder and logged so.
"""

from __future__ import annotations

import asyncio
import logging
import time
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, Final

import orjson

from mnemolog.log.private_files import FOLDER_MODE
from mnemolog.operations.encoder_comparison import Recalls, ask
from projections.embedding.choice import EmbedderUnusable
from projections.embedding.embedder import EmbedderRefused, EmbedderUnavailable
from projections.embedding.stored_vector import vector_bytes
from projections.index.encoding import Encoding
from projections.index.protocol import IndexUnavailable
from projections.partitions.assignment import NotHeld
from projections.shard.errors import ShardUnavailable, advise_on_failure

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Container, Iterator, Mapping, Sequence
    from datetime import datetime
    from pathlib import Path

    from mnemolog.operations.encoder_comparison import LabelledQuestion
    from projections.embedding.embedder import ClosableEmbedder, Embedder
    from projections.embedding.serving import ServingEmbedder
    from projections.index.sync import IndexSync
    from projections.partitions.shards import Shards
    from projections.state.memory import Memory
    from schemas.identity import Owner

BATCH: Final = 64
SAMPLE: Final = 16
"""Texts that a forecast embeds, after one that loads the model."""
FILL_EVERY_SECONDS: Final = 2.0
log = logging.getLogger("mnemolog.reembedding")


class ReembedRefused(Exception):
    """Reembedding is not possible now: the message says why."""


@dataclass(slots=True)
class Progress:
    """How far a reembedding has come, in memories."""

    encoder: str
    done: int = 0
    total: int = 0
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class _Begun:
    """A switch that is begun, and what it goes back to when the shared index does not get there."""

    generation: int
    switches: int
    former: str
    embedder: Embedder
    encoding: Encoding | None


class Reembedder:
    """Makes and compares encodings of this worker's memories, and lets one serve."""

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
        self.finished: Progress | None = None
        """The share that was made last, which counts while other workers make theirs."""
        self.active = configured
        """The setting of the encoder that serves."""
        self.switches = 0
        """How many switches all workers had made when this encoder began to serve; 0 for EMBEDDING_MODEL itself."""
        self._prepared: Encoding | None = None
        """Vectors that an index is made of, before their encoder serves."""
        self._begun: _Begun | None = None
        self._retired: list[Encoding] = []
        """Encodings that serve no more. They are closed at the end: somebody may be reading one, or writing it."""

    # -- what serves

    def open(self) -> None:
        """Let serve what was active when the worker ended, unless EMBEDDING_MODEL has been changed since.

        Where that cannot be used, or the file of its vectors not be opened, EMBEDDING_MODEL serves.
        """
        try:
            found = orjson.loads((self._folder / "active").read_bytes())
        except (FileNotFoundError, orjson.JSONDecodeError):
            found = {}
        wanted = (
            found.get("encoder", self._configured) if found.get("configured") == self._configured else self._configured
        )
        try:
            embedder = self._embedder(wanted)
            self._shards.encoding = self._existing(embedder)
        except (EmbedderUnusable, ShardUnavailable) as error:
            log.error("the active encoder cannot be used, EMBEDDING_MODEL serves: %s", error)  # noqa: TRY400 - it says all
            wanted, embedder, found = self._configured, self._serving.current, {}
            with suppress(ShardUnavailable):
                self._shards.encoding = self._existing(embedder)
        self.active, self._serving.current = wanted, embedder
        self.switches = found.get("switches", 0) if found.get("configured") == self._configured else 0

    async def run(self) -> None:
        """Embed what comes without a vector of the active encoder, as long as an encoding serves."""
        while True:
            await asyncio.sleep(FILL_EVERY_SECONDS)
            encoding = self._shards.encoding
            if encoding is None or self._running.locked():
                continue
            try:
                if not await self._missing(encoding) or encoding is not self._shards.encoding:
                    continue  # it lacks nothing, or another one serves by now
                async with self._alone(self.active):
                    made = await self._fill(self._serving.current, encoding)
            except (EmbedderUnavailable, EmbedderRefused, ReembedRefused, ShardUnavailable) as error:
                log.warning("memories without a vector of the active encoder wait: %s", error)
            else:
                self._mark_dirty(made)
                await self._index_sync.switch()

    async def close(self) -> None:
        """Close the files and the encoders that were made here."""
        self.drop_prepared()
        if self._begun is not None and self._begun.encoding is not None:
            self._begun.encoding.close()
        for encoding in self._retired:
            encoding.close()
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

        Raises EmbedderUnavailable, EmbedderRefused, EmbedderUnusable.
        """
        embedder = self._embedder(encoder)
        is_new = not self._path(embedder).exists()
        encoding = self._open(embedder)
        try:
            texts = [m.content for _, memories in await self._missing(encoding) for m in memories]
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
            "model": embedder.model,
            "memories": len(texts),
            "characters": characters,
            "tokens": tokens,
            "seconds": seconds,
        }

    async def build(self, encoder: str, go_on: Callable[[], None] = lambda: None) -> dict[str, Any]:
        """Make what an encoder lacks of vectors; what was made before, also by a build that ended early, is kept.

        `go_on` is called before each batch and raises what ends it. Raises ReembedRefused, and as `forecast`. The
        worker serves all the while, by the encoder that is active.
        """
        embedder = self._embedder(encoder)
        async with self._alone(encoder):
            begin, serving = time.monotonic(), self._shards.encoding
            encoding = serving if serving is not None and serving.model == embedder.model else self._open(embedder)
            try:
                made = await self._fill(embedder, encoding, encoder, go_on)
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

    async def compare(self, encoder: str, questions: Sequence[LabelledQuestion], now: datetime) -> Recalls:
        """Return what of the expected the active encoder finds, and another one that has been built. Raises as `build`.

        Only questions of users that this worker decides about are asked.
        """
        await self.build(encoder)
        mine = {place: one for place, one in enumerate(questions) if self._shards.counts(one.owner)}
        found = []
        for name in (self.active, encoder):
            embedder = self._embedder(name)
            encoding = self._existing(embedder)
            try:
                found.append(await ask(self._shards, embedder, encoding, mine, now))
            finally:
                if encoding is not None:
                    encoding.close()
        return Recalls(self.active, encoder, *found)

    # -- the switch, which a rebuild makes on all workers

    @property
    def configured(self) -> str:
        """EMBEDDING_MODEL: what was activated counts for workers that have the same."""
        return self._configured

    def served(self) -> dict[str, Any]:
        """Return what other workers hear: the setting, what serves instead of it, and after how many switches."""
        begun = self._begun
        active = self.active if begun is None else begun.former
        return {"configured": self._configured, "active": active, "switches": self.switches}

    async def prepare(self, encoder: str, go_on: Callable[[], None]) -> Encoding:
        """Make what is missing of an encoder's vectors, and return them: an index is made of them. Raises as `build`.

        They stay open until `drop_prepared`.
        """
        await self.build(encoder, go_on)
        self.drop_prepared()
        self._prepared = self._open(self._embedder(encoder))
        return self._prepared

    async def refresh(self, go_on: Callable[[], None]) -> None:
        """Embed what was formed since `prepare`, and have the index hold it. Raises as `build`, IndexUnavailable."""
        if (encoding := self._prepared) is None:
            return
        made = await self._fill(self._made_by(encoding), encoding, go_on=go_on)
        self._mark_dirty(made)
        await self._index_sync.flush()

    async def begin(self, encoder: str, generation: int, switches: int) -> None:
        """Let an encoder serve whose vectors were prepared; beginning again changes nothing.

        Where workers share an index, questions are asked by both encoders from now on, until `settle` finds which of
        their vectors that index has. Else it serves at once, for good. Raises ReembedRefused, ShardUnavailable: then
        what served goes on serving.
        """
        if self._begun is not None and self._begun.generation == generation:
            return
        encoding = self._prepared
        if encoding is None:
            raise ReembedRefused("its vectors are not made here any more: reembed again")
        if self._index_sync.generations is None:
            self._write_active(encoder, switches)
        self._prepared = None
        begun = _Begun(generation, switches, self.active, self._serving.current, self._shards.encoding)
        # No await: a search finds all of the one encoder, or all of the other.
        self._shards.encoding, self._serving.current, self.active = encoding, self._embedder(encoder), encoder
        if self._index_sync.generations is None:
            self._end(begun)
        else:
            self._begun, self._serving.former = begun, begun.embedder

    async def settle(self) -> None:
        """End what was begun: the encoder serves for good where the shared index has its vectors, else the former one.

        While the index is away, or the disk does not take it, both go on being asked.
        """
        generations = self._index_sync.generations
        if (begun := self._begun) is None or generations is None:
            return
        try:
            searched, _ = await generations.known()
            is_for_good = searched == begun.generation
            if is_for_good:
                self._write_active(self.active, begun.switches)
            # Also where it had no encoding: what was formed meanwhile has the other encoder's vectors in the log.
            former = begun.encoding if is_for_good else begun.encoding or self._open(begun.embedder)
        except (IndexUnavailable, ShardUnavailable) as error:
            log.warning("whether %s serves for good is settled later: %s", self.active, error)
            return
        self._begun = self._serving.former = None
        if is_for_good:
            self._end(begun)
            return
        encoding = self._shards.encoding
        self._shards.encoding, self._serving.current, self.active = former, begun.embedder, begun.former
        if encoding is not None:
            self._retired.append(encoding)
        # What was written meanwhile has the other encoder's vectors.
        self._mark_dirty({o: list(self._shards.state(o).memories) for o in self._shards.users.owners()})

    def drop_prepared(self) -> None:
        """Close what was prepared and does not serve; its file stays."""
        prepared, self._prepared = self._prepared, None
        if prepared is not None:
            prepared.close()

    async def catch_up(self, others: Sequence[Mapping[str, Any]]) -> None:
        """Let serve what the other workers have switched to without this one, by what each said it `served`.

        What this worker has no vectors of yet is found by words, and where the index is shared by what others wrote.
        Raises EmbedderUnusable, ShardUnavailable.
        """
        await self.settle()
        alike = [one for one in others if one["configured"] == self._configured]
        if self._begun is not None or not alike:
            return
        latest = max(alike, key=lambda one: (one["switches"], one["active"]))
        if latest["switches"] <= self.switches:
            return
        encoder, former = latest["active"], self._shards.encoding
        embedder = self._embedder(encoder)
        encoding = self._open(embedder)
        try:
            self._write_active(encoder, latest["switches"])
        except ShardUnavailable:
            encoding.close()
            raise
        begun = _Begun(0, latest["switches"], self.active, self._serving.current, former)
        self._shards.encoding, self._serving.current, self.active = encoding, embedder, encoder
        self._end(begun)
        await self._index_sync.switch()

    def _end(self, begun: _Begun) -> None:
        """End a switch whose encoder serves for good."""
        self.switches = begun.switches
        if begun.encoding is not None:
            self._retired.append(begun.encoding)
        log.info("%s serves now", self.active)

    def _mark_dirty(self, made: Mapping[Owner, Sequence[str]]) -> None:
        for owner, ids in made.items():
            self._index_sync.mark_dirty(owner, ids)

    # -- parts

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
        """Open an encoder's vectors, none where there are none yet. Raises ShardUnavailable."""
        return Encoding(self._path(embedder), embedder.model)

    def _existing(self, embedder: Embedder) -> Encoding | None:
        """Open an encoder's vectors; None where none were made. Raises ShardUnavailable."""
        return self._open(embedder) if self._path(embedder).exists() else None

    def _made_by(self, encoding: Encoding) -> Embedder:
        return next(one for one in self._embedders.values() if one.model == encoding.model)

    async def _missing(self, encoding: Encoding) -> list[tuple[Owner, list[Memory]]]:
        """Return what an encoding lacks of the shards held; global memories, which each worker has, are among it."""
        lacking = []
        for shard in self._shards.all():
            for owner in shard.ledger.owners():
                if shard.retired:
                    break  # it has moved: another worker makes what its users lack
                if memories := encoding.missing(owner, shard.ledger.state(owner).memories.values()):
                    lacking.append((owner, memories))
                await asyncio.sleep(0)
        return lacking

    async def _fill(
        self,
        embedder: Embedder,
        encoding: Encoding,
        encoder: str = "",
        go_on: Callable[[], None] = lambda: None,
    ) -> dict[Owner, list[str]]:
        """Embed what an encoding lacks, until it lacks nothing; return which memories that were."""
        made: dict[Owner, list[str]] = {}
        begin, done = time.monotonic(), 0
        self._progress = progress = Progress(encoder or self.active)
        try:
            while missing := await self._missing(encoding):  # more may have been formed meanwhile
                progress.total = done + sum(len(memories) for _, memories in missing)
                for owner, memories in missing:
                    for part in _batches(memories):
                        go_on()
                        vectors = await embedder.embed([memory.content for memory in part])
                        stored = [vector_bytes(vector) for vector in vectors]
                        known = self._known(owner)  # what was erased meanwhile is not written again
                        kept = [
                            (one, vector) for one, vector in zip(part, stored, strict=True) if one.memory_id in known
                        ]
                        encoding.put(owner, kept)
                        made.setdefault(owner, []).extend(memory.memory_id for memory, _ in kept)
                        done += len(part)
                        progress.done, progress.seconds = done, time.monotonic() - begin
            self.finished = progress
        finally:
            self._progress = None
        return made

    def _known(self, owner: Owner) -> Container[str]:
        """Return the ids of an owner's memories; none where another worker holds them by now."""
        try:
            return self._shards.state(owner).memories
        except NotHeld:
            return ()

    def _write_active(self, encoder: str, switches: int) -> None:
        """Have an encoder serve also after a restart. Raises ShardUnavailable: then the one before does."""
        beside = self._folder / "active.new"
        content = orjson.dumps({"configured": self._configured, "encoder": encoder, "switches": switches})
        with advise_on_failure(self._folder):
            self._folder.mkdir(FOLDER_MODE, parents=True, exist_ok=True)
            beside.write_bytes(content)
            beside.replace(self._folder / "active")


def _batches(memories: Sequence[Memory]) -> Iterator[Sequence[Memory]]:
    for start in range(0, len(memories), BATCH):
        yield memories[start : start + BATCH]


def _tokens(text: str) -> int:
    """Estimate the tokens of a text: one for each character beyond Latin scripts, one for four others, and two ends."""
    wide = sum(letter >= "\u2e80" for letter in text)
    return 2 + wide + (len(text) - wide + 3) // 4
