"""The common parts of erasures: their collaborators, the copies to delete outside the log, and what remains.

Data of a user that cannot be deleted can no longer be decrypted. The words of a memory are overwritten in an embedded
log. Kafka cannot rewrite records, so the user's remaining records are sealed again, and the former key is destroyed.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from contextlib import contextmanager
from dataclasses import InitVar, dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final
from weakref import WeakValueDictionary

from mnemolog.log.clear_records import ClearRecords
from mnemolog.operations.erasing.receipts import Receipts
from mnemolog.operations.generations import Generations
from projections.blocking_work import run_in_thread
from projections.index.encoding import erase_from_files
from schemas.codec import decoded_cache
from schemas.instant import instant
from schemas.topics import DEAD_LETTERS, INBOX, INPUTS, LEDGER
from streams.transports.sqlite.log import SqliteLog
from streams.transports.sqlite.rewriting import empty_write_ahead_log

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator, Sequence
    from datetime import datetime

    from mnemolog.commands.commands import Commands
    from mnemolog.log.sealing import Sealing
    from mnemolog.settings import Settings
    from projections.index.sync import IndexSync
    from projections.partitions.shards import Shards
    from schemas.identity import Owner
    from schemas.instant import Clock
    from schemas.log import TrimmedLog
    from streams.agents.erasure_gate import ErasureGate

KEY_KEPT: Final = timedelta(days=1)
"""How long Kafka may keep a destroyed key before compaction removes it (`max.compaction.lag.ms`)."""


class NotErasedYet(Exception):
    """The erasure is in the log, but not decided yet: repeat the request with the same Idempotency-Key."""


class ErasedBefore(Exception):
    """An erasure is repeated, but its user was erased again since: a user who returned must be left alone."""


class NothingKnown(Exception):
    """Nothing is known of the user: there is nothing to erase, and nothing that a receipt could say."""


class NotRewritable(Exception):
    """Single records of this log cannot be changed; the text says what to do instead."""


class Copies:
    """The data of users outside the log and the active shards: other generations, files set aside, vectors."""

    def __init__(
        self, settings: Settings, inner: TrimmedLog, erase_from_built: Callable[[Owner], Awaitable[None]]
    ) -> None:
        """`erase_from_built` is the rebuilder's."""
        self._folder = settings.data_dir
        self._inner = inner
        self._erase_from_built = erase_from_built
        self.generations = Generations(settings.data_dir)

    async def delete(self, owner: Owner, memory_ids: Sequence[str] | None = None) -> int:
        """Delete other generations, files set aside, and vectors of other encoders; return the number of generations.

        Also empty the write-ahead log of an embedded log, which may still contain overwritten data.
        """
        decoded_cache.clear()
        await self._erase_from_built(owner)
        old = [one for one in self.generations.complete() if one != self.generations.active]
        await run_in_thread(self._delete_files, old)
        await run_in_thread(erase_from_files, self._folder / "encodings", owner, memory_ids)
        if isinstance(self._inner, SqliteLog):
            await empty_write_ahead_log(self._inner)
        return 1 + len(old)

    def _delete_files(self, generations: Sequence[int]) -> None:
        """Delete inactive generations, and files that were set aside or received."""
        for generation in generations:
            self.generations.drop(generation)
        for pattern in ("*/*.damaged", "*/*.copy"):
            for path in (self._folder / "shards").glob(pattern):
                path.unlink(missing_ok=True)


class Remains:
    """The data of a user, or of a memory, that can still be read after an erasure."""

    def __init__(self, settings: Settings, inner: TrimmedLog, sealing: Sealing, shards: Shards) -> None:
        self._settings = settings
        self._sealing = sealing
        self._shards = shards
        self._clear_records = ClearRecords(inner)

    async def topics_in_clear(self, owner: Owner) -> Sequence[str]:
        """Return the topics of a log like Kafka's that have unencrypted records of a user."""
        return await self._clear_records.topics_of(owner, self._shards.partition(owner))

    async def in_clear(self, owner: Owner) -> Sequence[str]:
        """Return the topics where a user's records were written unencrypted and stay; none without encryption."""
        if self._settings.is_embedded or not self._settings.encrypts:
            return ()
        return await self.topics_in_clear(owner)

    def listed(self, erased_at: datetime, in_clear: Sequence[str] = ()) -> Sequence[dict[str, Any]]:
        """Return the data that can still be read, with the place, and the time until when (null: without end).

        `in_clear`: topics in which unencrypted records, or words, were found.
        """
        vectors = "deleted vectors, without words, in the index's own files until it compacts them"
        elsewhere = [{"where": "index", "until": None, "why": vectors}] if self._settings.index != "embedded" else []
        if self._settings.is_embedded:
            return elsewhere
        days = self._settings.retention_days
        end = instant(erased_at + timedelta(days=days)) if days else None
        why = "what other programs published there unencrypted, or before encryption was on, until its retention ends"
        found = [*elsewhere, *({"where": topic.name, "until": end, "why": why} for topic in INPUTS)]
        before = "written before encryption was on, and Kafka cannot delete single records"
        inputs = {topic.name for topic in INPUTS}
        found += [{"where": name, "until": None, "why": before} for name in in_clear if name not in inputs]
        if not self._sealing.keys.ring.is_empty:
            gone = instant(erased_at + KEY_KEPT)
            found.append(
                {"where": "mnemolog.keys", "until": gone, "why": "the wrapped key, until compaction removes it"}
            )
        if not self._settings.encrypts:
            clear = "the log is not encrypted, and Kafka cannot delete single records"
            found += [{"where": topic.name, "until": None, "why": clear} for topic in (INBOX, LEDGER, DEAD_LETTERS)]
        return found


@dataclass(kw_only=True)
class ErasureParts:
    """The common parts of the erasures of users and of memories, in one worker."""

    settings: Settings
    inner: TrimmedLog
    """The unsealed log."""
    sealing: Sealing
    shards: Shards
    gate: ErasureGate
    commands: Commands
    index_sync: IndexSync
    clock: Clock
    erase_from_built: InitVar[Callable[[Owner], Awaitable[None]]]
    """The rebuilder's method."""

    def __post_init__(self, erase_from_built: Callable[[Owner], Awaitable[None]]) -> None:
        self.receipts = Receipts(self.settings.data_dir, self.sealing.keys.ring.derive("receipts"))
        self.copies = Copies(self.settings, self.inner, erase_from_built)
        self.remains = Remains(self.settings, self.inner, self.sealing, self.shards)
        self._of_owner: WeakValueDictionary[Owner, asyncio.Lock] = WeakValueDictionary()
        self._at_work: Counter[Owner] = Counter()
        """The number of current requests here to erase each user."""

    def is_asked_for(self, owner: Owner) -> bool:
        """Return whether a current request here erases a user, and will complete the erasure."""
        return self._at_work[owner] > 0

    @contextmanager
    def asked_for(self, owner: Owner) -> Iterator[None]:
        """Mark an erasure of a user as requested within the block."""
        self._at_work[owner] += 1
        try:
            yield
        finally:
            self._at_work[owner] -= 1
            if not self._at_work[owner]:
                del self._at_work[owner]

    def lock_of(self, owner: Owner) -> asyncio.Lock:
        """Return the lock that is held while a user's words are removed from the log, or the user is erased.

        Otherwise, records of the erased user could be sealed with the key of a user who returns, and two erasures of
        memories could restore each other's words.
        """
        return self._of_owner.setdefault(owner, asyncio.Lock())
