"""Erasure of a user, or of single memories, from everything that this installation holds.

Whatever of a user cannot be deleted can no longer be decrypted. The words of a memory are overwritten in an embedded
log. Kafka cannot rewrite records, so there what remains of the user is sealed again, and the former key is destroyed.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from contextlib import contextmanager
from dataclasses import asdict
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Final
from weakref import WeakValueDictionary

from mnemolog.log.clear_records import ClearRecords
from mnemolog.operations.erasing.memory_erasure import OverwrittenWords, ResealedWords
from mnemolog.operations.erasing.receipts import Erasure, Receipts, receipt_id_of
from mnemolog.operations.generations import Generations
from projections.blocking_work import run_in_thread
from projections.index.encoding import erase_from_files
from projections.state.erased_words import ErasedWords
from projections.state.evolve import events_of
from projections.state.memory import ACTIVE
from schemas.codec import decoded_cache
from schemas.identity import GLOBAL_USER, derived_id
from schemas.instant import instant
from schemas.log import Position
from schemas.messages.envelope import Envelope
from schemas.messages.erasure import Cut, EraseMemory, EraseUser, MemoryErased, UserErased
from schemas.messages.webhooks import WebhookRemoved
from schemas.topics import DEAD_LETTERS, INBOX, INPUTS, KEYS, LEDGER, WEBHOOKS
from streams.sealing.user_keys import INSTALLATION
from streams.transports.sqlite.log import SqliteLog
from streams.transports.sqlite.rewriting import clear_stale_bytes, empty_write_ahead_log, offsets_of, overwrite

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    from mnemolog.cluster.peers import WorkerAnswer
    from mnemolog.commands.commands import Commands
    from mnemolog.log.sealing import Sealing
    from mnemolog.operations.erasing.memory_erasure import WordsOfMemories
    from mnemolog.settings import Settings
    from mnemolog.webhooks.registered import Webhooks
    from projections.index.sync import IndexSync
    from projections.partitions.shards import Shards
    from projections.state.memory import Memory
    from schemas.identity import Owner
    from schemas.instant import Clock
    from schemas.log import TrimmedLog
    from streams.agents.observe import Observe

    AskOthers = Callable[[str, object, float | None], Awaitable[Sequence[WorkerAnswer]]]

log = logging.getLogger("mnemolog")
ASK_SECONDS: Final = 5.0
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


class Erasures:
    """Erases users and memories in this worker's partitions, previews erasures, and lists completed ones."""

    def __init__(  # noqa: PLR0913 - built once, at the composition root, all by name
        self,
        *,
        settings: Settings,
        inner: TrimmedLog,
        sealing: Sealing,
        shards: Shards,
        observe: Observe,
        commands: Commands,
        index_sync: IndexSync,
        ask_others: AskOthers,
        webhooks: Webhooks,
        clock: Clock,
        erase_from_built: Callable[[Owner], Awaitable[None]],
    ) -> None:
        """Take the unsealed log (`inner`), what seals it, and a way to ask the group's other workers.

        `erase_from_built` is the rebuilder's.
        """
        self._settings = settings
        self._inner = inner
        self._clear_records = ClearRecords(inner)
        self._sealing = sealing
        self._shards = shards
        self._observe = observe
        self._commands = commands
        self._index_sync = index_sync
        self._ask_others = ask_others
        self._webhooks = webhooks
        self._clock = clock
        self._erase_from_built = erase_from_built
        self._reading = asyncio.Lock()
        """Held while the log is read through for the words of memories."""
        self._of_owner: WeakValueDictionary[Owner, asyncio.Lock] = WeakValueDictionary()
        """Held while a user's words are removed from the log, or a user is erased.

        Otherwise records of the erased user would be sealed with the key of whoever returns, and two erasures of
        memories would restore each other's words.
        """
        self._at_work: Counter[Owner] = Counter()
        """How many erasures of each user are being asked for here."""
        secret = sealing.keys.derive("receipts") if sealing.keys.has_key(INSTALLATION) else None
        self.receipts = Receipts(settings.data_dir, secret)

    async def preview(self, owner: Owner) -> dict[str, Any]:
        """Return what an erasure would remove, and what would remain readable. Raises NotHeld, LogUnavailable."""
        in_clear = await self._in_clear(owner)
        state = self._shards.folded_state(owner)
        return {
            "user": owner.user_id,
            "events": self._shards.of(owner).observations.count_of(owner),
            "memories": len(state.memories),
            "generations": len(Generations(self._settings.data_dir).complete()),
            "index": sum(memory.status == ACTIVE for memory in state.memories.values()),
            "remains": self._remains(self._clock.now(), in_clear),
        }

    async def erase(self, owner: Owner, command_id: str, *, force: bool = False) -> dict[str, Any]:
        """Erase a user, and return the signed receipt; with `force` also one of whom nothing is known.

        Raises NotHeld, NothingKnown, ErasureRunning, NotErasedYet, ErasedBefore, LogError.

        From the cut on, new records are sealed with another key. What is accepted while this runs belongs to a new user
        with the same id, and survives the erasure.
        """
        with self._working(owner):
            return await self._erase(owner, command_id, force=force)

    async def _erase(self, owner: Owner, command_id: str, *, force: bool) -> dict[str, Any]:
        known = self._event(owner, command_id)  # a repeated request
        receipt_id = receipt_id_of(owner, command_id)
        if known is None:
            if any(one.receipt_id == receipt_id for one in self.receipts.kept()):
                raise ErasedBefore(
                    f"this erasure is complete (receipt {receipt_id}), and the user was erased again since: "
                    "use a new Idempotency-Key"
                )
            if not force and not await self._is_known(owner):
                raise NothingKnown(
                    f"nothing is known of the user {owner.user_id!r}{self._since(owner)}, so nothing was erased "
                    "and there is no receipt: look at the spelling, or erase with force (`--force`) what may still be "
                    "on its way"
                )
            async with self._lock_of(owner):
                await self._decide(owner, command_id)
            known = self._event(owner, command_id)
        if known is None:
            raise NotErasedYet("the erasure is accepted and not decided yet: ask again with the same Idempotency-Key")
        generations = await self._delete_beside(owner, known)
        await self._index_sync.flush_user(owner)
        listed = self.receipts.find(receipt_id)
        if listed is not None and listed.generations is not None:  # asked again: the same receipt
            generations = listed.generations
        erased_at, partition = str(instant(known.erased_at)), self._shards.partition(owner)
        receipt = {
            "user": owner.user_id,
            "events": known.observations,
            "memories": known.memories,
            "generations": generations,
            "index": known.active,
            "remains": self._remains(known.erased_at, await self._in_clear(owner)),
            "receipt_id": receipt_id,
            "erased_at": erased_at,
            "keys": [key_id.hex() for key_id in known.key_ids],
            "positions": [str(Position(cut.topic, partition, cut.before)) for cut in known.cut],
        }
        self.receipts.keep(
            Erasure(
                subject=self.receipts.subject(owner),
                tenant=owner.tenant,
                erased_at=erased_at,
                receipt_id=receipt_id,
                memories=known.memories,
                public_key=self.receipts.public_key,
                generations=generations,
            )
        )
        if listed is None:
            log.info("a user was erased: receipt %s", receipt_id)
        return self.receipts.sign(receipt)

    def _since(self, owner: Owner) -> str:
        """Return since when nothing is known of a user, where an erasure on the list says so."""
        subject = self.receipts.subject(owner)
        erased = max((one for one in self.receipts.kept() if one.subject == subject), key=_moment, default=None)
        return "" if erased is None else f" since the erasure of {erased.erased_at} (receipt {erased.receipt_id})"

    async def _is_known(self, owner: Owner) -> bool:
        """Return whether anything of a user is there to erase; what was erased before is not.

        Of who was never erased, a key or a record says that something was accepted, whatever became of it.
        """
        await self._shards.come_to_end(owner)
        partition = self._shards.partition(owner)
        for topic in INPUTS:  # what was accepted a moment ago counts
            await self._shards.up_to(topic.name, partition, await self._inner.end(topic.name, partition))
        shard, state = self._shards.of(owner), self._shards.folded_state(owner)
        if shard.observations.count_of(owner) or state.memories:
            return True
        items = [decision.item_type for _, decision in shard.ledger.decisions(owner)]
        if items:
            return any(one != EraseUser.__name__ for one in items)
        return self._sealing.keys.has_key(owner) or await self._has_records(owner)

    async def _has_records(self, owner: Owner) -> bool:
        """Return whether the log has records of a user in clear."""
        partition = self._shards.partition(owner)
        if not isinstance(self._inner, SqliteLog):
            return bool(await self._clear_records.topics_of(owner, partition))
        for topic in (*INPUTS, DEAD_LETTERS):
            if await offsets_of(self._inner, topic.name, partition, owner.key, ()):
                return True
        return False

    def preview_memory(self, owner: Owner, memory: Memory) -> dict[str, Any]:
        """Return what the erasure of a memory would remove. Raises NotHeld, NotRewritable."""
        self._words_of_memories()
        state = self._shards.state(owner)
        others = (one for one in state.memories.values() if one.memory_id != memory.memory_id)
        sources = frozenset(memory.event_ids)
        return {
            "user": owner.user_id,
            "memory_id": memory.memory_id,
            "event_ids": list(memory.event_ids),
            "kept": sorted(one.memory_id for one in others if not sources.isdisjoint(one.event_ids)),
            "events": self._count_of(owner, memory.event_ids),
            "memories": 1,
            "generations": len(Generations(self._settings.data_dir).complete()),
            "index": int(memory.status == ACTIVE),
            "remains": self._remains(self._clock.now()),
        }

    async def erase_memory(self, owner: Owner, memory_id: str, command_id: str) -> dict[str, Any]:
        """Erase a memory with its history and its observations, and return the signed receipt.

        For a memory that is erased already, return its receipt again. Raises NotHeld, NotRewritable, ErasureRunning,
        NotErasedYet, LogError.
        """
        [receipt] = await self.erase_memories(owner, {memory_id: command_id})
        return receipt

    async def erase_memories(self, owner: Owner, command_ids: Mapping[str, str]) -> list[dict[str, Any]]:
        """Erase memories, each with its own command, in one pass over the log; return their receipts in order.

        Raises as `erase_memory` does.
        """
        with self._working(owner):
            return await self._erase_memories(owner, command_ids)

    async def _erase_memories(self, owner: Owner, command_ids: Mapping[str, str]) -> list[dict[str, Any]]:
        words = self._words_of_memories()
        new = {one: command_id for one, command_id in command_ids.items() if self._memory_event(owner, one) is None}
        counts: dict[str, int] = {}
        if new:
            await self._decide_memories(owner, new, words, counts)
        known = [event for one in command_ids if (event := self._memory_event(owner, one)) is not None]
        if len(known) < len(command_ids):
            raise NotErasedYet("the erasure is accepted and not decided yet: ask again with the same Idempotency-Key")
        if not known:
            return []
        async with self._lock_of(owner):
            in_clear = await words.remove(owner, known)
        generations = await self._delete_beside_memories(owner, list(command_ids))
        listed = {one.receipt_id: one for one in self.receipts.kept()}
        receipts = [
            self._receipt(
                owner,
                event,
                in_clear=in_clear,
                generations=generations,
                count=counts.get(event.memory_id),
                listed=listed,
            )
            for event in known
        ]
        self.receipts.keep(
            *(
                Erasure(
                    subject=self.receipts.subject(owner, receipt["memory_id"]),
                    tenant=owner.tenant,
                    erased_at=receipt["erased_at"],
                    receipt_id=receipt["receipt_id"],
                    memories=1,
                    of_memory=True,
                    public_key=self.receipts.public_key,
                    generations=receipt["generations"],
                    events=receipt["events"],
                )
                for receipt in receipts
            )
        )
        for receipt in receipts:
            if receipt["receipt_id"] not in listed:
                log.info("a memory was erased: receipt %s", receipt["receipt_id"])
        return [self.receipts.sign(receipt) for receipt in receipts]

    def is_asked_for(self, owner: Owner) -> bool:
        """Tell whether somebody asks for an erasure of a user here, and will complete it."""
        return self._at_work[owner] > 0

    @contextmanager
    def _working(self, owner: Owner) -> Iterator[None]:
        self._at_work[owner] += 1
        try:
            yield
        finally:
            self._at_work[owner] -= 1
            if not self._at_work[owner]:
                del self._at_work[owner]

    def _lock_of(self, owner: Owner) -> asyncio.Lock:
        return self._of_owner.setdefault(owner, asyncio.Lock())

    def _receipt(
        self,
        owner: Owner,
        event: MemoryErased,
        *,
        in_clear: Sequence[str],
        generations: int,
        count: int | None,
        listed: Mapping[str, Erasure],
    ) -> dict[str, Any]:
        """Return a receipt to be signed; `listed` has what those that were given before counted.

        `count` of the events were found. Where a crash took that number away, it is that of their ids.
        """
        receipt_id = receipt_id_of(owner, event.envelope.event_id)
        before = listed.get(receipt_id)
        if before is not None:
            generations, count = before.generations or generations, before.events
        return {
            "user": owner.user_id,
            "memory_id": event.memory_id,
            "event_ids": event.event_ids,
            "kept": event.kept,
            "events": len(event.event_ids) if count is None else count,
            "memories": 1,
            "generations": generations,
            "index": int(event.was_active),
            "remains": self._remains(event.erased_at, in_clear),
            "receipt_id": receipt_id,
            "erased_at": str(instant(event.erased_at)),
            "keys": [],
            "positions": [],
        }

    async def _delete_beside_memories(self, owner: Owner, memory_ids: Sequence[str]) -> int:
        """Delete what is stored outside the active shards; return how many generations no longer have the memories."""
        generations = await self._delete_copies(owner, memory_ids)
        if isinstance(self._inner, SqliteLog):
            await clear_stale_bytes(self._inner)  # they are sealed with a key that stays in use
        await self._shards.of(owner).clear_deleted()
        await self._index_sync.flush_user(owner)
        return generations

    def _count_of(self, owner: Owner, event_ids: Sequence[str]) -> int:
        """Return how many of a user's events are found: others are past their retention, or went with a memory."""
        return len(self._shards.of(owner).observations.seen(owner, event_ids))

    async def _decide_memories(
        self, owner: Owner, item_ids: Mapping[str, str], words: WordsOfMemories, counts: dict[str, int]
    ) -> None:
        """Have memories erased; `counts` gets how many events of each were found before."""
        async with self._observe.erasing(owner):
            await self._sealing.log.settle(owner)
            await self._shards.come_to_end(owner)  # a memory that is not folded yet has no observations here
            letters, memories = await words.letters(owner), self._shards.state(owner).memories
            for memory_id, item_id in item_ids.items():
                memory = memories.get(memory_id)
                event_ids = list(memory.event_ids) if memory is not None else []
                counts[memory_id] = self._count_of(owner, event_ids)
                own = ErasedWords(frozenset({memory_id}), frozenset(event_ids))
                item = EraseMemory(
                    envelope=await self._commands.envelope(owner, item_id),
                    memory_id=memory_id,
                    event_ids=event_ids,
                    letters=sorted(letter.envelope.event_id for letter in letters if own.is_whole(letter)),
                )
                await self._commands.submit(item)

    def _memory_event(self, owner: Owner, memory_id: str) -> MemoryErased | None:
        """Return the decision about a memory's erasure; None if there is none yet."""
        found = self._shards.users.erased_memory(owner.tenant, memory_id)
        if found is None:
            return None
        decisions = self._shards.of(owner).ledger.decided(owner, found[1])
        events = (event for decision in decisions for event in events_of(decision))
        return next(event for event in events if isinstance(event, MemoryErased))

    def _words_of_memories(self) -> WordsOfMemories:
        if isinstance(self._inner, SqliteLog):
            return OverwrittenWords(self._inner, self._sealing, self._shards, self._reading)
        replacements = self._sealing.log.replacements
        if replacements is None or not self._settings.encrypts:
            raise NotRewritable(
                "Kafka cannot rewrite single records, and without encryption there is no key to destroy: "
                "forget the memory (without `forever`), or erase its user"
            )
        return ResealedWords(self._inner, self._sealing, replacements, self._shards, self._reading)

    async def _decide(self, owner: Owner, command_id: str) -> None:
        async with self._observe.erasing(owner):
            keys = self._sealing.keys
            await keys.follow()  # another worker may have created the first
            key_ids = keys.ids_of(owner)
            if self._settings.encrypts and key_ids:
                key_ids = await keys.renew(owner)
                await asyncio.sleep(keys.arrival_seconds)  # until nothing arrives any more that lies under an old key
            await self._sealing.log.settle(owner)
            item = EraseUser(
                envelope=await self._commands.envelope(owner, command_id),
                cut=await self._cut(owner),
                key_ids=list(key_ids),
                observations=self._shards.of(owner).observations.count_of(owner),
            )
            await self._commands.submit(item)

    def _event(self, owner: Owner, command_id: str) -> UserErased | None:
        """Return the event that a command led to; None if it is not decided yet."""
        decisions = self._shards.of(owner).ledger.decided(owner, command_id)
        events = (event for decision in decisions for event in events_of(decision))
        return next((event for event in events if isinstance(event, UserErased)), None)

    async def listed(self, tenant: str) -> dict[str, Any]:
        """Return the erasures of a tenant, and the key that checks their receipts. Raises PeerUnavailable, OSError."""
        await self.learn()
        public_key = self.receipts.public_key
        items = [
            {
                "receipt_id": one.receipt_id,
                "subject": one.subject,
                "erased_at": one.erased_at,
                "memories": one.memories,
                "public_key": one.public_key or public_key,
            }
            # By id within a moment, so that all workers list them in one order.
            for one in sorted(self.receipts.kept(), key=lambda one: (one.erased_at, one.receipt_id))
            if one.tenant == tenant
        ]
        return {"items": items, "public_key": public_key}

    async def listed_here(self) -> dict[str, Any]:
        """Return this worker's own list, for all tenants, as other workers ask for it."""
        return {"items": [asdict(one) for one in self.receipts.kept()]}

    async def learn(self) -> None:
        """Add the erasures on other workers' lists to this one, so that each survives the loss of a worker.

        Raises PeerUnavailable, OSError.
        """
        others = await self._ask_others("erasures", {}, ASK_SECONDS)
        self.receipts.keep(*(Erasure.of(one) for other in others for one in other.body["items"]))

    async def _cut(self, owner: Owner) -> list[Cut]:
        partition = self._shards.partition(owner)
        topics = [*(topic.name for topic in INPUTS), DEAD_LETTERS.name]
        return [Cut(topic=topic, before=await self._inner.end(topic, partition)) for topic in topics]

    async def _delete_beside(self, owner: Owner, event: UserErased) -> int:
        """Delete what is stored outside the active shards; return how many generations no longer have the user."""
        generations = await self._delete_copies(owner)
        await self._remove_webhooks(owner, event.erased_at)
        if isinstance(self._inner, SqliteLog):
            partition = self._shards.partition(owner)
            # The item and the decision of the erasure itself stay: whoever folds the log again needs them.
            [(offset, decision)] = [
                one for one in self._shards.of(owner).ledger.decisions(owner) if one[1].item_type == EraseUser.__name__
            ]
            own = [(INBOX.name, decision.item_offset), (LEDGER.name, offset)]
            for topic, before in [*((cut.topic, cut.before) for cut in event.cut), *own]:
                await overwrite(self._inner, topic, partition, owner.key, before)
            await self._inner.compact(KEYS.name)
            # A gap may hold a copy of the wrapped key, or of an unencrypted record.
            await clear_stale_bytes(self._inner)
        if (replacements := self._sealing.log.replacements) is not None:
            await replacements.trim(lambda *_: False)
        await self._shards.of(owner).clear_deleted()
        return generations

    async def _remove_webhooks(self, owner: Owner, erased_at: datetime) -> None:
        """Remove the webhooks about a user: they name the user. Those registered since the erasure stay."""
        await self._webhooks.follow()
        mine = [
            one
            for one in self._webhooks.of(owner.tenant)
            if one.user_id == owner.user_id and one.message.envelope.occurred_at <= erased_at
        ]
        if mine and isinstance(self._inner, SqliteLog):
            await overwrite(self._inner, WEBHOOKS.name, 0, owner.key, max(one.offset for one in mine) + 1)
        for one in mine:
            envelope = Envelope(
                event_id=derived_id("webhook-erased", one.webhook_id),
                tenant=owner.tenant,
                user_id=GLOBAL_USER,
                occurred_at=erased_at,
            )
            await self._webhooks.remove(WebhookRemoved(envelope=envelope, webhook_id=one.webhook_id))

    async def _delete_copies(self, owner: Owner, memory_ids: Sequence[str] | None = None) -> int:
        """Delete other generations, files set aside, and vectors of other encoders; return the number of generations.

        Also empty the write-ahead log of an embedded log, which may still have what was overwritten.
        """
        decoded_cache.clear()
        await self._erase_from_built(owner)
        data_dir = self._settings.data_dir
        generations = Generations(data_dir)
        old = [one for one in generations.complete() if one != generations.active]
        await run_in_thread(_delete_files, data_dir, [generations.folder(one) for one in old])
        await run_in_thread(erase_from_files, data_dir / "encodings", owner, memory_ids)
        if isinstance(self._inner, SqliteLog):
            await empty_write_ahead_log(self._inner)
        return 1 + len(old)

    async def _in_clear(self, owner: Owner) -> Sequence[str]:
        """Return the topics where a user's records were written unencrypted and stay; without encryption all do."""
        if self._settings.is_embedded or not self._settings.encrypts:
            return ()
        return await self._clear_records.topics_of(owner, self._shards.partition(owner))

    def _remains(self, erased_at: datetime, in_clear: Sequence[str] = ()) -> Sequence[dict[str, Any]]:
        """Return what can still be read, where, and until when (null: without end).

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
        if not self._sealing.keys.is_empty:
            gone = instant(erased_at + KEY_KEPT)
            found.append(
                {"where": "mnemolog.keys", "until": gone, "why": "the wrapped key, until compaction removes it"}
            )
        if not self._settings.encrypts:
            clear = "the log is not encrypted, and Kafka cannot delete single records"
            found += [{"where": topic.name, "until": None, "why": clear} for topic in (INBOX, LEDGER, DEAD_LETTERS)]
        return found


def _moment(erasure: Erasure) -> datetime:
    return erasure.moment


def _delete_files(data_dir: Path, folders: list[Path]) -> None:
    """Delete inactive generations, and files that were set aside or received."""
    shards = data_dir / "shards"
    for folder in folders:
        Generations(data_dir).drop(int(folder.name))
    for pattern in ("*/*.damaged", "*/*.copy"):
        for path in shards.glob(pattern):
            path.unlink(missing_ok=True)
