"""The erasure of memories: their words and those that they came from leave an embedded log, and all else stays."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from projections.state.erased_words import ErasedWords
from projections.state.evolve import events_of
from schemas import codec
from schemas.inputs.decoding import ForeignKey, observation_of_record
from schemas.inputs.input_events import InvalidEvent
from schemas.log import ERASED_VALUE
from schemas.messages.dead_letters import DeadLetter
from schemas.topics import DEAD_LETTERS, INBOX, INPUTS
from streams.sealing import sealed_record
from streams.transports.sqlite.rewriting import offsets_of, replace_records

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

    from mnemolog.log.sealing import Sealing
    from projections.partitions.shards import Shards
    from schemas.identity import Owner
    from schemas.log import Record
    from schemas.messages.decision import Decision
    from schemas.messages.erasure import MemoryErased
    from streams.transports.sqlite.log import SqliteLog

RECORDS_AT_ONCE: Final = 200
"""Replaced in one transaction."""


class WordsOfMemories:
    """Finds and overwrites what an embedded log has of a memory's words."""

    def __init__(self, inner: SqliteLog, sealing: Sealing, shards: Shards) -> None:
        """Take the log as it lies (`inner`), and what seals it."""
        self._inner = inner
        self._sealing = sealing
        self._shards = shards

    async def letters(self, owner: Owner) -> list[DeadLetter]:
        """Return an owner's dead letters, which may hold words."""
        found = [self._message(r) async for r in self._records(owner, DEAD_LETTERS.name, self._shards.partition(owner))]
        return [one for one in found if isinstance(one, DeadLetter)]

    async def overwrite(self, owner: Owner, events: Sequence[MemoryErased]) -> None:
        """Overwrite the words of some memories in every record of the owner's, each at its offset.

        It goes through the log once, and can be done again.
        """
        memory_ids = frozenset(event.memory_id for event in events)
        topic, partition = self._shards.ledger_of(owner)
        decisions = self._shards.of(owner).ledger.decisions(owner)
        items = frozenset(
            decision.item_id
            for _, decision in decisions
            if not memory_ids.isdisjoint({one.memory_id for one in decision.outcomes} | _memories_of(decision))
        )
        words = ErasedWords(memory_ids, frozenset(each for event in events for each in event.event_ids), items)
        own = self._shards.partition(owner)
        places = [(topic, partition), *((name, own) for name in _TOPICS)]
        for place in places:
            await self._overwrite(owner, *place, words)

    async def _overwrite(self, owner: Owner, topic: str, partition: int, words: ErasedWords) -> None:
        contents: dict[int, tuple[bytes | None, bytes]] = {}
        async for record in self._records(owner, topic, partition):
            message = self._message(record)
            if message is None:
                continue
            if words.is_whole(message):
                contents[record.position.offset] = None, ERASED_VALUE
            elif (without := words.without(message)) is not message:
                contents[record.position.offset] = await self._as_it_lay(replace(record, value=codec.encode(without)))
            if len(contents) >= RECORDS_AT_ONCE:
                await replace_records(self._inner, topic, partition, contents)
                contents = {}
        if contents:
            await replace_records(self._inner, topic, partition, contents)

    async def _as_it_lay(self, record: Record) -> tuple[bytes | None, bytes]:
        """Return the key and the value of a record that was changed: sealed where it lies sealed."""
        place = record.position
        [lying] = await self._inner.read(place.topic, place.partition, place.offset, 1)
        if sealed_record.key_id_of(lying.value) is None:
            return record.key, record.value
        return None, (await self._sealing.log.sealed_forms([record]))[place.offset]

    async def _records(self, owner: Owner, topic: str, partition: int) -> AsyncIterator[Record]:
        """Yield the records of an owner that say something."""
        beginnings = [sealed_record.MARKER + key_id for key_id in self._sealing.keys.ids_of(owner)]
        for offset in await offsets_of(self._inner, topic, partition, owner.key, beginnings):
            for record in await self._sealing.log.read(topic, partition, offset, 1):
                if record.position.offset == offset and not record.is_erased:
                    yield record

    @staticmethod
    def _message(record: Record) -> Any:  # noqa: ANN401 - of every class
        """Return what a record says; None for what cannot be read, which no memory came from."""
        try:
            return codec.decode(record.value)
        except codec.Undecodable:
            pass
        try:
            return observation_of_record(record)
        except (codec.Undecodable, InvalidEvent, ForeignKey):
            return None


_TOPICS: Final = (*(topic.name for topic in INPUTS), INBOX.name, DEAD_LETTERS.name)


def _memories_of(decision: Decision) -> set[str | None]:
    return {getattr(event, "memory_id", None) for event in events_of(decision)}
