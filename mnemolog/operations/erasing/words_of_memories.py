"""Removal of the words of erased memories, and of the observations that they came from, from the log.

An embedded log is rewritten in place. On Kafka, the remaining data is sealed again, and the key that sealed the words
is destroyed.
"""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from projections.shard.ledger import decisions_in_steps
from projections.state.erased_words import ErasedWords
from projections.state.evolve import events_of
from projections.turns import TimeSlice, in_turns
from schemas import codec
from schemas.inputs.decoding import ForeignKey, observation_of_record
from schemas.inputs.input_events import InvalidEvent
from schemas.log import ERASED_VALUE
from schemas.messages.chain import hash_of, stored_hash
from schemas.messages.dead_letters import DeadLetter
from schemas.messages.decision import Decision
from schemas.messages.erasure import MemoryErased
from schemas.topics import DEAD_LETTERS, INBOX, INPUTS
from streams.sealing import sealed_record
from streams.transports.sqlite.rewriting import offsets_of, replace_records

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

    from mnemolog.log.sealing import Sealing
    from projections.partitions.shards import Shards
    from schemas.identity import Owner
    from schemas.log import Record, TrimmedLog
    from streams.sealing.replacements import Replacements
    from streams.transports.sqlite.log import SqliteLog

RECORDS_AT_ONCE: Final = 200
"""The number of records that are replaced in one transaction."""


class WordsOfMemories:
    """Finds the words of memories in a log, and removes them."""

    def __init__(self, sealing: Sealing, shards: Shards, reading: asyncio.Lock | None = None) -> None:
        """Take the sealing of the log, and the shards. `reading` is held while the log is read."""
        self._sealing = sealing
        self._shards = shards
        self._reading = reading or asyncio.Lock()

    async def remove(self, owner: Owner, events: Sequence[MemoryErased]) -> list[str]:
        """Remove the words of memories from the log; return the topics where they remain unencrypted.

        Repeating it changes nothing. Raises NotHeld, LogError.
        """
        raise NotImplementedError

    def _records(self, owner: Owner, topic: str, partition: int) -> AsyncIterator[Record]:
        """Yield an owner's records, except erased ones."""
        raise NotImplementedError

    async def letters(self, owner: Owner) -> list[DeadLetter]:
        """Return an owner's dead letters, which may contain words."""
        found = [self._message(r) async for r in self._records(owner, DEAD_LETTERS.name, self._shards.partition(owner))]
        return [one for one in found if isinstance(one, DeadLetter)]

    async def _words(self, owner: Owner, events: Sequence[MemoryErased]) -> ErasedWords:
        """Return the words to erase, as of all decisions so far; later decisions do not change the result."""
        await self._shards.come_to_end(owner)
        memory_ids = frozenset(event.memory_id for event in events)
        items, counted, versions = set[str](), set[int](), dict[str, int]()
        decisions = await in_turns(decisions_in_steps(lambda: self._shards.of(owner).ledger, owner))
        shard = self._shards.of(owner)
        before = shard.offset(shard.ledger_topic)  # without an await since, this is the end of what was read
        share = TimeSlice()
        for offset, decision in decisions:
            await share.pause()
            counted.add(offset)
            decided = events_of(decision)
            named = {one.memory_id for one in decision.outcomes} | {getattr(one, "memory_id", None) for one in decided}
            if not memory_ids.isdisjoint(named):
                items.add(decision.item_id)
            for event in decided:
                if isinstance(event, MemoryErased):
                    versions[event.memory_id] = decision.version
        return ErasedWords(
            memory_ids,
            frozenset(each for event in events for each in event.event_ids),
            frozenset(items),
            versions,
            frozenset(counted),
            before,
        )

    async def _places(self, owner: Owner) -> list[tuple[str, int]]:
        """Return the topics and partitions that may hold records of an owner.

        A dead letter is in the partition of its record, which a foreign partitioner may have chosen.
        """
        own = self._shards.partition(owner)
        letters = range(await self._sealing.log.partitions(DEAD_LETTERS.name))
        return [
            self._shards.resolve(owner).ledger_place,
            *((name, own) for name in _TOPICS),
            *((DEAD_LETTERS.name, partition) for partition in letters),
        ]

    @staticmethod
    def _message(record: Record) -> Any:  # noqa: ANN401 - of every class
        """Return a record's message; None if it cannot be decoded, since no memory can come from such a record."""
        try:
            return codec.decode(record.value)
        except codec.Undecodable:
            pass
        try:
            return observation_of_record(record)
        except (codec.Undecodable, InvalidEvent, ForeignKey):
            return None


class OverwrittenWords(WordsOfMemories):
    """Overwrites words in place in an embedded log."""

    def __init__(self, inner: SqliteLog, sealing: Sealing, shards: Shards, reading: asyncio.Lock | None = None) -> None:
        """Take the unsealed log (`inner`), and the rest as `WordsOfMemories` does."""
        super().__init__(sealing, shards, reading)
        self._inner = inner

    async def remove(self, owner: Owner, events: Sequence[MemoryErased]) -> list[str]:
        """See `WordsOfMemories.remove`: no words remain."""
        async with self._reading:
            words = await self._words(owner, events)
            for place in await self._places(owner):
                await self._overwrite(owner, *place, words)
        return []

    async def _overwrite(self, owner: Owner, topic: str, partition: int, words: ErasedWords) -> None:
        contents: dict[int, tuple[bytes | None, bytes]] = {}
        async for record in self._records(owner, topic, partition):
            message = self._message(record)
            if message is None:
                continue
            if words.is_whole(message):
                contents[record.position.offset] = None, ERASED_VALUE
            elif (without := words.without(message, record.position.offset)) is not message:
                contents[record.position.offset] = await self._as_it_lay(_replaced(record, message, without))
            if len(contents) >= RECORDS_AT_ONCE:
                await replace_records(self._inner, topic, partition, contents)
                contents = {}
        if contents:
            await replace_records(self._inner, topic, partition, contents)

    async def _as_it_lay(self, record: Record) -> tuple[bytes | None, bytes]:
        """Return the key and the value to store for a changed record: sealed if the original is."""
        place = record.position
        [lying] = await self._inner.read(place.topic, place.partition, place.offset, 1)
        if sealed_record.key_id_of(lying.value) is None:
            return record.key, record.value
        return None, (await self._sealing.log.sealed_forms([record]))[place.offset]

    async def _records(self, owner: Owner, topic: str, partition: int) -> AsyncIterator[Record]:
        """Yield the records of an owner that are not erased."""
        beginnings = [sealed_record.MARKER + key_id for key_id in self._sealing.keys.ring.ids_of(owner)]
        for offset in await offsets_of(self._inner, topic, partition, owner.key, beginnings):
            for record in await self._sealing.log.read(topic, partition, offset, 1):
                if record.position.offset == offset and not record.is_erased:
                    yield record


class ResealedWords(WordsOfMemories):
    """Seals the remaining data of a user with a new key, and destroys the old ones, on a log like Kafka's.

    A crash loses nothing: the original records are read until the old keys are destroyed, and by then all replacements
    are durable. A repeat begins with another new key.
    """

    def __init__(
        self,
        inner: TrimmedLog,
        sealing: Sealing,
        replacements: Replacements,
        shards: Shards,
        reading: asyncio.Lock | None = None,
    ) -> None:
        """Take the unsealed log (`inner`), the replacements of its records, and the rest as `WordsOfMemories` does."""
        super().__init__(sealing, shards, reading)
        self._inner = inner
        self._replacements = replacements

    async def remove(self, owner: Owner, events: Sequence[MemoryErased]) -> list[str]:
        """See `WordsOfMemories.remove`. Records of other programs, and unencrypted ones, remain."""
        while True:
            async with self._reading:
                in_clear, is_sealed = await self._said(owner, await self._words(owner, events))
            # If an earlier key still exists, a sealing was interrupted. Its replacements may be under that key,
            # superseded by what was read here.
            if not is_sealed and len(self._sealing.keys.ring.ids_of(owner)) < 2:  # noqa: PLR2004 - there is no earlier one
                return in_clear
            await self._seal_anew(owner, events)

    async def _said(self, owner: Owner, words: ErasedWords) -> tuple[list[str], bool]:
        """Return the topics where the words are unencrypted, and whether an existing key can decrypt any elsewhere."""
        in_clear: list[str] = []
        is_sealed = False
        for topic, partition in await self._places(owner):
            async for record, key_id in self._with_keys(owner, topic, partition):
                if self._without(record, words) is record:
                    continue
                if key_id is not None:
                    is_sealed = True
                elif topic not in in_clear:
                    in_clear.append(topic)
        return in_clear, is_sealed

    async def _seal_anew(self, owner: Owner, events: Sequence[MemoryErased]) -> None:
        keys = self._sealing.keys
        former = frozenset(await keys.renew(owner))
        await asyncio.sleep(keys.arrival_seconds)  # until no more records under an old key can arrive
        await self._sealing.log.settle(owner)
        async with self._reading:
            # Only now, because the words depend on which of the decisions that arrived meanwhile are valid.
            words = await self._words(owner, events)
            places = await self._places(owner)
            for topic, partition in places:
                await self._replace(owner, topic, partition, words, former)
        self._shards.of(owner)  # raises NotHeld: another worker then does it
        await keys.destroy(former)
        earliest = {place: await self._inner.earliest(*place) for place in places}
        await self._replacements.trim(lambda topic, number, offset: offset < earliest.get((topic, number), 0))

    async def _replace(
        self, owner: Owner, topic: str, partition: int, words: ErasedWords, former: frozenset[bytes]
    ) -> None:
        """Seal again the remaining data of an owner's records under former keys."""
        some: list[Record] = []
        async for record, key_id in self._with_keys(owner, topic, partition):
            if key_id in former and (kept := self._without(record, words)) is not None:
                some.append(kept)
            if len(some) >= RECORDS_AT_ONCE:
                await self._put(owner, some)
                some = []
        await self._put(owner, some)

    async def _put(self, owner: Owner, records: list[Record]) -> None:
        self._shards.of(owner)
        if records:
            await self._replacements.put(owner, records)

    def _without(self, record: Record, words: ErasedWords) -> Record | None:
        """Return a record without the words: the same record if it has none, None if nothing would remain."""
        message = self._message(record)
        if message is None:
            return record
        if words.is_whole(message):
            return None
        without = words.without(message, record.position.offset)
        return record if without == message else _replaced(record, message, without)

    async def _records(self, owner: Owner, topic: str, partition: int) -> AsyncIterator[Record]:
        async for record, _ in self._with_keys(owner, topic, partition):
            yield record

    async def _with_keys(self, owner: Owner, topic: str, partition: int) -> AsyncIterator[tuple[Record, bytes | None]]:
        """Yield an owner's records, except erased ones, each with the id of its key; None if unencrypted."""
        log, keys = self._sealing.log, self._sealing.keys
        await self._replacements.follow()
        start, end = await self._inner.earliest(topic, partition), await self._inner.end(topic, partition)
        while start < end and (lying := await self._inner.read(topic, partition, start, RECORDS_AT_ONCE)):
            own = frozenset(keys.ring.ids_of(owner))
            for one in lying:
                key_id = sealed_record.key_id_of(one.value)
                if key_id is not None and keys.ring.is_destroyed(key_id):
                    key_id = self._replacements.key_of(one.position)
                    if key_id is None:
                        continue
                if key_id not in own if key_id is not None else one.key != owner.key:
                    continue
                record = await log.open(one)
                if record.key == owner.key and not record.is_erased:
                    yield record, key_id
            start = lying[-1].position.offset + 1


def _replaced(record: Record, message: object, without: Any) -> Record:  # noqa: ANN401 - of every class
    """Return a record without the words. A decision keeps the hash to which the next one is linked."""
    if isinstance(message, Decision) and message.previous is not None and message.replaced is None:
        without = replace(without, replaced=hash_of(record.value) + stored_hash(record))
    return replace(record, value=codec.encode(without))


_TOPICS: Final = (*(topic.name for topic in INPUTS), INBOX.name)
