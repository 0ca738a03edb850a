"""Erasures of single memories from everything that this installation holds."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Any

from mnemolog.operations.erasing.erasure import NotErasedYet, NotRewritable
from mnemolog.operations.erasing.receipts import Erasure, receipt_id_of
from mnemolog.operations.erasing.words_of_memories import OverwrittenWords, ResealedWords
from projections.state.erased_words import ErasedWords
from projections.state.evolve import events_of
from projections.state.memory import ACTIVE
from schemas.instant import instant
from schemas.messages.erasure import EraseMemory, MemoryErased
from streams.transports.sqlite.log import SqliteLog
from streams.transports.sqlite.rewriting import clear_stale_bytes

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from mnemolog.operations.erasing.erasure import ErasureParts
    from mnemolog.operations.erasing.words_of_memories import WordsOfMemories
    from projections.state.memory import Memory
    from schemas.identity import Owner

log = logging.getLogger("mnemolog")


class MemoryErasures:
    """Erases memories of users of this worker's partitions, with the observations that they came from."""

    def __init__(self, parts: ErasureParts) -> None:
        self._parts = parts
        self._reading = asyncio.Lock()
        """Held while the log is searched for the words of memories."""

    def preview(self, owner: Owner, memory: Memory) -> dict[str, Any]:
        """Return what the erasure of a memory would remove. Raises NotHeld, NotRewritable."""
        self._words()
        state = self._parts.shards.state(owner)
        others = (one for one in state.memories.values() if one.memory_id != memory.memory_id)
        sources = frozenset(memory.event_ids)
        return {
            "user": owner.user_id,
            "memory_id": memory.memory_id,
            "event_ids": list(memory.event_ids),
            "kept": sorted(one.memory_id for one in others if not sources.isdisjoint(one.event_ids)),
            "events": self._count_of(owner, memory.event_ids),
            "memories": 1,
            "generations": len(self._parts.copies.generations.complete()),
            "index": int(memory.status == ACTIVE),
            "remains": self._parts.remains.listed(self._parts.clock.now()),
        }

    async def erase(self, owner: Owner, memory_id: str, command_id: str) -> dict[str, Any]:
        """Erase a memory with its history and its observations, and return the signed receipt.

        For a memory that is erased already, return its receipt again. Raises NotHeld, NotRewritable, ErasureRunning,
        NotErasedYet, LogError.
        """
        [receipt] = await self.erase_all(owner, {memory_id: command_id})
        return receipt

    async def erase_all(self, owner: Owner, command_ids: Mapping[str, str]) -> list[dict[str, Any]]:
        """Erase memories, each with its own command, in one pass over the log; return their receipts in order.

        Raises as `erase` does.
        """
        with self._parts.asked_for(owner):
            return await self._erase(owner, command_ids)

    async def _erase(self, owner: Owner, command_ids: Mapping[str, str]) -> list[dict[str, Any]]:
        words = self._words()
        new = {one: command_id for one, command_id in command_ids.items() if self._event(owner, one) is None}
        counts: dict[str, int] = {}
        if new:
            await self._decide(owner, new, words, counts)
        known = [event for one in command_ids if (event := self._event(owner, one)) is not None]
        if len(known) < len(command_ids):
            raise NotErasedYet("the erasure is accepted and not decided yet: ask again with the same Idempotency-Key")
        if not known:
            return []
        async with self._parts.lock_of(owner):
            in_clear = await words.remove(owner, known)
        generations = await self._delete_beside(owner, list(command_ids))
        listed = {one.receipt_id: one for one in self._parts.receipts.kept()}
        receipts = [self._receipt(event, in_clear, generations, counts.get(event.memory_id), listed) for event in known]
        signed = self._parts.receipts.give(owner, receipts)
        for receipt in receipts:
            if receipt["receipt_id"] not in listed:
                log.info("a memory was erased: receipt %s", receipt["receipt_id"])
        return signed

    def _receipt(
        self,
        event: MemoryErased,
        in_clear: Sequence[str],
        generations: int,
        count: int | None,
        listed: Mapping[str, Erasure],
    ) -> dict[str, Any]:
        """Return an unsigned receipt; `listed` has the earlier receipts, whose counts it repeats.

        `count` is the number of events found. If a crash has lost it, the number of event ids is used.
        """
        owner = event.envelope.owner
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
            "remains": self._parts.remains.listed(event.erased_at, in_clear),
            "receipt_id": receipt_id,
            "erased_at": str(instant(event.erased_at)),
            "keys": [],
            "positions": [],
        }

    async def _delete_beside(self, owner: Owner, memory_ids: Sequence[str]) -> int:
        """Delete the copies outside the active shards; return how many generations no longer have the memories."""
        generations = await self._parts.copies.delete(owner, memory_ids)
        if isinstance(self._parts.inner, SqliteLog):
            await clear_stale_bytes(self._parts.inner)  # they are sealed with a key that stays in use
        await self._parts.shards.of(owner).clear_deleted()
        await self._parts.index_sync.flush_user(owner)
        return generations

    def _count_of(self, owner: Owner, event_ids: Sequence[str]) -> int:
        """Return how many of a user's events are found; others are past their retention, or erased with a memory."""
        return len(self._parts.shards.of(owner).observations.seen(owner, event_ids))

    async def _decide(
        self, owner: Owner, item_ids: Mapping[str, str], words: WordsOfMemories, counts: dict[str, int]
    ) -> None:
        """Make the erasures of memories decided; `counts` gets the number of events that each had beforehand."""
        async with self._parts.gate.erasing(owner):
            await self._parts.sealing.log.settle(owner)
            await self._parts.shards.come_to_end(owner)  # a memory that is not folded yet has no observations here
            letters, memories = await words.letters(owner), self._parts.shards.state(owner).memories
            for memory_id, item_id in item_ids.items():
                memory = memories.get(memory_id)
                event_ids = list(memory.event_ids) if memory is not None else []
                counts[memory_id] = self._count_of(owner, event_ids)
                own = ErasedWords(frozenset({memory_id}), frozenset(event_ids))
                item = EraseMemory(
                    envelope=await self._parts.commands.envelope(owner, item_id),
                    memory_id=memory_id,
                    event_ids=event_ids,
                    letters=sorted(letter.envelope.event_id for letter in letters if own.is_whole(letter)),
                )
                await self._parts.commands.submit(item)

    def _event(self, owner: Owner, memory_id: str) -> MemoryErased | None:
        """Return the decision about a memory's erasure; None if there is none yet."""
        found = self._parts.shards.users.erased_memory(owner.tenant, memory_id)
        if found is None:
            return None
        decisions = self._parts.shards.of(owner).ledger.decided(owner, found[1])
        events = (event for decision in decisions for event in events_of(decision))
        return next(event for event in events if isinstance(event, MemoryErased))

    def _words(self) -> WordsOfMemories:
        if isinstance(self._parts.inner, SqliteLog):
            return OverwrittenWords(self._parts.inner, self._parts.sealing, self._parts.shards, self._reading)
        replacements = self._parts.sealing.log.replacements
        if replacements is None or not self._parts.settings.encrypts:
            raise NotRewritable(
                "Kafka cannot rewrite single records, and without encryption there is no key to destroy: "
                "forget the memory (without `forever`), or erase its user"
            )
        return ResealedWords(self._parts.inner, self._parts.sealing, replacements, self._parts.shards, self._reading)
