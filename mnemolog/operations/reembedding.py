"""Reembedding: another encoder's vectors are compared with the serving ones, and switched to.

The log stays unchanged, and so do decisions and digests: searches read an encoding (`projections/index/encoding.py`)
instead of the log's vectors. Memories formed after the switch are embedded by the new encoder, and logged with its
vectors.
"""

from __future__ import annotations

import asyncio
import logging
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import orjson

from mnemolog.log.private_files import FOLDER_MODE
from mnemolog.operations.encoder_comparison import Recalls, ask
from mnemolog.operations.encoding_builder import EncodingBuilder, ReembedRefused
from projections.embedding.choice import EmbedderUnusable
from projections.embedding.embedder import EmbedderRefused, EmbedderUnavailable
from projections.index.protocol import IndexUnavailable
from projections.shard.errors import ShardUnavailable, advise_on_failure

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from datetime import datetime
    from pathlib import Path

    from mnemolog.operations.encoder_comparison import LabelledQuestion
    from projections.embedding.embedder import ClosableEmbedder, Embedder
    from projections.embedding.serving import ServingEmbedder
    from projections.index.encoding import Encoding
    from projections.index.sync import IndexSync
    from projections.partitions.shards import Shards
    from schemas.identity import Owner

FILL_EVERY_SECONDS: Final = 2.0
log = logging.getLogger("mnemolog.reembedding")


@dataclass(frozen=True, slots=True)
class _Begun:
    """A switch in progress, and the former state to return to if the shared index does not switch."""

    generation: int
    switches: int
    former: str
    embedder: Embedder
    encoding: Encoding | None


class Reembedder:
    """Lets an encoding of this worker's memories serve, and compares another one with it."""

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
        """Take the setting of `serving`, as `configured`; `make` builds an embedder of another setting."""
        self._folder = folder
        self._configured = configured
        self.builder = EncodingBuilder(folder, make, {configured: serving.current}, shards)
        self._serving = serving
        self._shards = shards
        self._index_sync = index_sync
        self.active = configured
        """The setting of the encoder that serves."""
        self.switches = 0
        """The number of switches by all workers when this encoder began to serve; 0 for EMBEDDING_MODEL itself."""
        self._prepared: Encoding | None = None
        """Vectors from which an index is built, while their encoder does not serve yet."""
        self._begun: _Begun | None = None
        self._retired: list[Encoding] = []
        """Encodings that no longer serve. They are closed at the end, because a task may still read or write one."""

    # -- what serves

    def open(self) -> None:
        """Let the encoder serve that was active when the worker ended, unless EMBEDDING_MODEL has changed since.

        If that encoder cannot be used, or the file of its vectors cannot be opened, EMBEDDING_MODEL serves.
        """
        try:
            found = orjson.loads((self._folder / "active").read_bytes())
        except (FileNotFoundError, orjson.JSONDecodeError):
            found = {}
        wanted = (
            found.get("encoder", self._configured) if found.get("configured") == self._configured else self._configured
        )
        try:
            embedder = self.builder.embedder(wanted)
            self._shards.encoding = self.builder.existing(embedder)
        except (EmbedderUnusable, ShardUnavailable) as error:
            log.error("the active encoder cannot be used, EMBEDDING_MODEL serves: %s", error)  # noqa: TRY400 - it says all
            wanted, embedder, found = self._configured, self._serving.current, {}
            with suppress(ShardUnavailable):
                self._shards.encoding = self.builder.existing(embedder)
        self.active, self._serving.current = wanted, embedder
        self.switches = found.get("switches", 0) if found.get("configured") == self._configured else 0

    async def run(self) -> None:
        """Embed memories without a vector of the active encoder, while an encoding serves."""
        while True:
            await asyncio.sleep(FILL_EVERY_SECONDS)
            encoding = self._shards.encoding
            if encoding is None or self.builder.is_running:
                continue
            try:
                if not await self.builder.missing(encoding) or encoding is not self._shards.encoding:
                    continue  # it lacks nothing, or another one serves now
                async with self.builder.alone(self.active):
                    made = await self.builder.fill(self._serving.current, encoding, self.active)
            except (EmbedderUnavailable, EmbedderRefused, ReembedRefused, ShardUnavailable) as error:
                log.warning("memories without a vector of the active encoder wait: %s", error)
            else:
                self._mark_dirty(made)
                await self._index_sync.switch()

    async def close(self) -> None:
        """Close the files and the encoders that were created here."""
        self.drop_prepared()
        if self._begun is not None and self._begun.encoding is not None:
            self._begun.encoding.close()
        for encoding in self._retired:
            encoding.close()
        if self._shards.encoding is not None:
            self._shards.encoding.close()
            self._shards.encoding = None
        await self.builder.close()

    # -- requests of operators

    def report(self) -> dict[str, Any]:
        """Return the serving encoder, and the progress of a running reembedding."""
        running = None
        if (at := self.builder.progress) is not None:
            rest = at.seconds / at.done * (at.total - at.done) if at.done else None
            running = {"encoder": at.encoder, "done": at.done, "total": at.total, "remaining_seconds": rest}
        return {
            "active": self.active,
            "model": self._serving.model,
            "configured": self._configured,
            "is_encoding": self._shards.encoding is not None,
            "running": running,
        }

    async def compare(self, encoder: str, questions: Sequence[LabelledQuestion], now: datetime) -> Recalls:
        """Return the recalls of the active encoder and of another one, which is built first. Raises as `build`.

        Only the questions of users that this worker decides about are used.
        """
        await self.builder.build(encoder)
        mine = {place: one for place, one in enumerate(questions) if self._shards.counts(one.owner)}
        found = []
        for name in (self.active, encoder):
            embedder = self.builder.embedder(name)
            encoding = self.builder.existing(embedder)
            try:
                found.append(await ask(self._shards, embedder, encoding, mine, now))
            finally:
                if encoding is not None:
                    encoding.close()
        return Recalls(self.active, encoder, *found)

    # -- the switch, which a rebuild makes on all workers

    @property
    def configured(self) -> str:
        """EMBEDDING_MODEL: an activation applies to workers with the same value."""
        return self._configured

    def served(self) -> dict[str, Any]:
        """Return the report to other workers: the setting, the encoder serving instead, and its count of switches."""
        begun = self._begun
        active = self.active if begun is None else begun.former
        return {"configured": self._configured, "active": active, "switches": self.switches}

    async def prepare(self, encoder: str, go_on: Callable[[], None]) -> Encoding:
        """Compute an encoder's missing vectors, and return them, to build an index from them. Raises as `build`.

        They stay open until `drop_prepared`.
        """
        await self.builder.build(encoder, go_on)
        self.drop_prepared()
        self._prepared = self.builder.open(self.builder.embedder(encoder))
        return self._prepared

    async def refresh(self, go_on: Callable[[], None]) -> None:
        """Embed the memories formed since `prepare`, and add them to the index. Raises as `build`, IndexUnavailable."""
        if (encoding := self._prepared) is None:
            return
        made = await self.builder.fill(self.builder.made_by(encoding), encoding, self.active, go_on)
        self._mark_dirty(made)
        await self._index_sync.flush()

    async def begin(self, encoder: str, generation: int, switches: int) -> None:
        """Let an encoder serve whose vectors were prepared; beginning again changes nothing.

        If workers share an index, both encoders embed the questions from now on, until `settle` finds which vectors
        that index has. Otherwise, the encoder serves permanently at once. Raises ReembedRefused, ShardUnavailable; the
        former encoder then keeps serving.
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
        # No await, so that a search uses only one of the encoders.
        self._shards.encoding, self._serving.current, self.active = encoding, self.builder.embedder(encoder), encoder
        if self._index_sync.generations is None:
            self._end(begun)
        else:
            self._begun, self._serving.former = begun, begun.embedder

    async def settle(self) -> None:
        """Complete a switch: the encoder serves permanently if the shared index has its vectors, else the former one.

        While the index or the disk is unavailable, both stay in use.
        """
        generations = self._index_sync.generations
        if (begun := self._begun) is None or generations is None:
            return
        try:
            searched, _ = await generations.known()
            is_for_good = searched == begun.generation
            if is_for_good:
                self._write_active(self.active, begun.switches)
            # Also if it had no encoding: memories formed meanwhile have the other encoder's vectors in the log.
            former = begun.encoding if is_for_good else begun.encoding or self.builder.open(begun.embedder)
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
        # Memories written meanwhile have the other encoder's vectors.
        self._mark_dirty({o: list(self._shards.state(o).memories) for o in self._shards.users.owners()})

    def drop_prepared(self) -> None:
        """Close prepared vectors that do not serve; their file stays."""
        prepared, self._prepared = self._prepared, None
        if prepared is not None:
            prepared.close()

    async def catch_up(self, others: Sequence[Mapping[str, Any]]) -> None:
        """Let the encoder serve to which the other workers have switched without this one, as each has `served` it.

        Memories without vectors here are found by words, or with a shared index, by the vectors that others wrote.
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
        embedder = self.builder.embedder(encoder)
        encoding = self.builder.open(embedder)
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
        """Complete a switch whose encoder serves permanently."""
        self.switches = begun.switches
        if begun.encoding is not None:
            self._retired.append(begun.encoding)
        log.info("%s serves now", self.active)

    def _mark_dirty(self, made: Mapping[Owner, Sequence[str]]) -> None:
        for owner, ids in made.items():
            self._index_sync.mark_dirty(owner, ids)

    def _write_active(self, encoder: str, switches: int) -> None:
        """Make an encoder serve also after a restart. Raises ShardUnavailable; the former one then does."""
        beside = self._folder / "active.new"
        content = orjson.dumps({"configured": self._configured, "encoder": encoder, "switches": switches})
        with advise_on_failure(self._folder):
            self._folder.mkdir(FOLDER_MODE, parents=True, exist_ok=True)
            beside.write_bytes(content)
            beside.replace(self._folder / "active")
