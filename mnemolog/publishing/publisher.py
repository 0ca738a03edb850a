"""The publisher: compares events with those that the log holds, and appends the new ones."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from contextlib import AbstractContextManager, AsyncExitStack, asynccontextmanager, nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from mnemolog.publishing.recent_events import Unfolded
from mnemolog.publishing.utterances import Utterances
from schemas import codec
from schemas.inputs.decoding import digest_of
from schemas.log import NewRecord
from schemas.messages.observations import ArticleInferred, ScreenshotAnalysed, SessionEnded, TurnRecorded
from schemas.topics import ARTICLES, CONVERSATIONS, INPUTS, SCREENSHOTS, Topic

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence

    from mnemolog.publishing.recent_events import EventName
    from mnemolog.publishing.utterances import Conversation
    from projections.partitions.shards import Shards
    from schemas.identity import Owner
    from schemas.log import Log, Position
    from schemas.messages.observations import Observation

    Accepted: TypeAlias = dict[EventName, tuple[bytes, Position]]
    """Digest and position of events that the log holds."""


@dataclass(frozen=True, slots=True)
class AcceptedEvent:
    """An event that the log holds."""

    event_id: str
    position: Position
    is_new: bool = True
    """Whether it was not accepted before."""


class Conflict(Exception):
    """Events of the request have ids that were accepted with another body.

    `places` are their places in the request, each with the position of the other event: None if that is in the request.
    """

    def __init__(self, places: Mapping[int, Position | str | None]) -> None:
        super().__init__(f"{len(places)} event ids were accepted before with another body")
        self.places = places


def topic_of(message: Observation) -> Topic:
    """Return the topic that an observation travels on."""
    match message:
        case TurnRecorded() | SessionEnded():
            return CONVERSATIONS
        case ScreenshotAnalysed():
            return SCREENSHOTS
        case ArticleInferred():
            return ARTICLES


def headers_of(message: Observation) -> tuple[tuple[str, bytes], ...]:
    """Return the CloudEvents headers of a message."""
    envelope = message.envelope
    return (
        ("ce_id", envelope.event_id.encode()),
        ("ce_type", type(message).__name__.encode()),
        ("ce_source", b"mnemolog"),
        ("ce_time", envelope.occurred_at.isoformat().encode()),
    )


def record_of(message: Observation, partition: int) -> NewRecord:
    """Return an observation as it is appended to its owner's partition."""
    value = codec.encode_cached(message)  # the shard folds it next, and observe reads it
    owner = message.envelope.owner
    return NewRecord(
        topic=topic_of(message).name, partition=partition, key=owner.key, value=value, headers=headers_of(message)
    )


class Publisher:
    """Appends new events. It returns when the log has acknowledged them: there is no queue in memory."""

    def __init__(
        self,
        log: Log,
        shards: Shards,
        priority: Callable[[int], AbstractContextManager[object]] = nullcontext,
        *,
        is_log_here: bool = False,
    ) -> None:
        """Take the log and the shards of this worker.

        `priority` is entered with the number of events while they are appended; agents give way to it meanwhile.
        `is_log_here`: the log's ends are known without asking another process.
        """
        self._is_log_here = is_log_here
        self._log = log
        self._shards = shards
        self._priority = priority
        self._unfolded = Unfolded()
        self._utterances = Utterances(shards)
        self._locks: defaultdict[int, asyncio.Lock] = defaultdict(asyncio.Lock)

    async def publish(
        self, messages: Sequence[Observation], conversation: Conversation | None = None
    ) -> list[AcceptedEvent]:
        """Append what is new; an event that was accepted before answers with its first position.

        The messages of a conversation get the ids that they have in the log, or are to have.

        Raises Conflict, and then nothing was appended; LogUnavailable.
        """
        partitions = self._partitions(messages)
        with self._priority(len(messages)):
            async with self._exclusive(partitions):
                unnamed: frozenset[int] = frozenset()
                if conversation is not None and conversation.unnamed:
                    await self._fold_own(messages[0].envelope.owner)
                    messages = self._utterances.named(messages, conversation)
                    unnamed = conversation.unnamed
                names = _names(messages)
                accepted = self._accepted(names, partitions)
                new = _select_new(messages, names, accepted, unnamed)
                return await self._append(messages, names, partitions, accepted, new)

    async def check(self, messages: Sequence[Observation]) -> None:
        """Raise Conflict if these events would be refused now."""
        names, partitions = _names(messages), self._partitions(messages)
        async with self._exclusive(partitions):
            _select_new(messages, names, self._accepted(names, partitions))

    def _partitions(self, messages: Sequence[Observation]) -> list[int]:
        """Return the partition of each event."""
        owners = [message.envelope.owner for message in messages]
        partitions = {owner: self._shards.partition(owner) for owner in dict.fromkeys(owners)}
        return [partitions[owner] for owner in owners]

    @asynccontextmanager
    async def _exclusive(self, partitions: Iterable[int]) -> AsyncIterator[None]:
        """Keep other requests from publishing to these partitions, once all that the log holds there is folded.

        Partitions are locked in ascending order, so that two requests cannot wait for each other.
        """
        async with AsyncExitStack() as stack:
            wanted = sorted(set(partitions))
            for partition in wanted:
                await stack.enter_async_context(self._locks[partition])
            places = [(topic.name, each) for each in wanted for topic in INPUTS]
            if self._is_log_here:  # a task for each would take longer than all of them
                for place in places:
                    await self._fold_foreign(*place)
            else:  # each asks the broker for an end, and one after the other they take a loop's turn each
                await asyncio.gather(*(self._fold_foreign(*place) for place in places))
            yield

    async def _append(
        self,
        messages: Sequence[Observation],
        names: Sequence[EventName],
        partitions: Sequence[int],
        accepted: Accepted,
        new: dict[EventName, int],
    ) -> list[AcceptedEvent]:
        """Append the new events, and note that they are not folded yet."""
        records = [record_of(messages[place], partitions[place]) for place in new.values()]
        appended = await self._log.append(records) if records else []
        positions = {name: position for name, (_, position) in accepted.items()}
        for (name, place), acknowledged in zip(new.items(), appended, strict=True):
            positions[name] = acknowledged.position
            self._unfolded.add(name, digest_of(messages[place]), acknowledged.position)
        return [AcceptedEvent(name[1], positions[name], name in new) for name in names]

    def _accepted(self, names: Sequence[EventName], partitions: Sequence[int]) -> Accepted:
        """Return digest and position of those events that were accepted before."""
        accepted: Accepted = {}
        folded: defaultdict[int, list[EventName]] = defaultdict(list)
        for name, partition in zip(names, partitions, strict=True):
            if (recent := self._unfolded.get(partition, name)) is not None:
                accepted[name] = recent
            else:
                folded[partition].append(name)
        for partition, partition_names in folded.items():
            rows = self._shards.at(partition).observations.seen_of(partition_names)
            accepted.update({name: (row.digest, row.position) for name, row in rows.items()})
        return accepted

    async def _fold_own(self, owner: Owner) -> None:
        """Fold what was appended here, where some of it is an owner's."""
        partition = self._shards.partition(owner)
        if self._unfolded.holds(partition, owner):
            end = await self._log.end(CONVERSATIONS.name, partition)
            await self._shards.up_to(CONVERSATIONS.name, partition, end)

    async def _fold_foreign(self, topic: str, partition: int) -> None:
        """Fold what the log holds beyond the shard, unless all of it was appended here. Raises what folding raises.

        A shard that cannot fold accepts nothing more: what it would have to fold later only grows.
        """
        end = await self._log.end(topic, partition)
        shard = self._shards.at(partition)
        bridged = self._unfolded.bridges(topic, partition, shard.offset(topic), end)
        if shard.writes.trouble is not None or not bridged:
            await self._shards.up_to(topic, partition, end)


def _names(messages: Sequence[Observation]) -> list[EventName]:
    return [(message.envelope.owner, message.envelope.event_id) for message in messages]


def _select_new(
    messages: Sequence[Observation],
    names: Sequence[EventName],
    accepted: Accepted,
    unnamed: frozenset[int] = frozenset(),
) -> dict[EventName, int]:
    """Return the place of each event that is new. Raises Conflict, but for `unnamed` places: ids that nobody gave."""
    conflicts: dict[int, Position | None] = {}
    new: dict[EventName, int] = {}
    for place, (name, message) in enumerate(zip(names, messages, strict=True)):
        if name in accepted:
            digest, position = accepted[name]
            if digest != digest_of(message) and place not in unnamed:
                conflicts[place] = position
        elif name in new:
            if digest_of(messages[new[name]]) != digest_of(message):
                conflicts[place] = None
        else:
            new[name] = place
    if conflicts:
        raise Conflict(conflicts)
    return new
