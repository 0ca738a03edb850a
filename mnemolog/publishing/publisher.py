"""Publishing: checks events against what the log already holds, appends the new ones, and tells how far they came."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from contextlib import AbstractContextManager, AsyncExitStack, asynccontextmanager, nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from mnemolog.log.health import at_leisure
from mnemolog.publishing.recent import Unfolded
from schemas import codec
from schemas.inputs.decoding import digest_of
from schemas.log import NewRecord
from schemas.messages.observations import ArticleInferred, ScreenshotAnalysed, SessionEnded, TurnRecorded
from schemas.topics import ARTICLES, CONVERSATIONS, DEAD_LETTERS, INPUTS, SCREENSHOTS, Topic

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence

    from projections.partitions.shards import Shards
    from schemas.identity import Owner
    from schemas.log import Log, Position
    from schemas.messages.observations import Observation
    from streams.agents.observe import Observe

    Name: TypeAlias = tuple[Owner, str]
    Known: TypeAlias = dict[Name, tuple[bytes, Position]]

FINAL: Final = ("remembered", "nothing", "rejected", "dead")
UNDECIDED: Final = ("extracted", "dead")
"""States in which a dead letter may say more than the ledger."""
POLL_SECONDS: Final = 0.02
LOOKING_SHARE: Final = 9
"""Pauses are so many times as long as looking took."""


@dataclass(frozen=True, slots=True)
class Accepted:
    """An event that the log holds."""

    event_id: str
    position: Position


class Conflict(Exception):
    """Events of the request have ids that were accepted with another body.

    `places` are theirs in the request, with where the log has the other one: None says that it stands in the request.
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
    value = codec.encode_remembered(message)  # the shard folds it next, and observe reads it
    owner = message.envelope.owner
    return NewRecord(
        topic=topic_of(message).name, partition=partition, key=owner.key, value=value, headers=headers_of(message)
    )


class Publisher:
    """Accepts events. An answer means that the log has acknowledged them: no queue in memory stands between."""

    def __init__(
        self,
        log: Log,
        shards: Shards,
        observe: Observe,
        first: Callable[[int], AbstractContextManager[object]] = nullcontext,
    ) -> None:
        """`first`: within it the agents give way to who publishes."""
        self._log = log
        self._shards = shards
        self._observe = observe
        self._first = first
        self._unfolded = Unfolded()
        self._locks: defaultdict[int, asyncio.Lock] = defaultdict(asyncio.Lock)

    async def publish(self, messages: Sequence[Observation]) -> list[Accepted]:
        """Append what is new; an event that was accepted before answers with its first position.

        Raises Conflict, and then nothing was appended; LogUnavailable.
        """
        names, partitions = self._placed(messages)
        with self._first(len(messages)):
            async with self._alone(partitions):
                known = self._known(names, partitions)
                new = _compare(messages, names, known)
                return await self._append(messages, names, partitions, known, new)

    async def check(self, messages: Sequence[Observation]) -> None:
        """Raise Conflict if these events would be refused now."""
        names, partitions = self._placed(messages)
        async with self._alone(partitions):
            _compare(messages, names, self._known(names, partitions))

    def _placed(self, messages: Sequence[Observation]) -> tuple[list[Name], list[int]]:
        owners = [m.envelope.owner for m in messages]
        names = [(owner, m.envelope.event_id) for owner, m in zip(owners, messages, strict=True)]
        return names, [self._shards.partition(owner) for owner in owners]

    @asynccontextmanager
    async def _alone(self, partitions: Iterable[int]) -> AsyncIterator[None]:
        """Let nobody else publish to these partitions here, with everything known that the log holds of them."""
        async with AsyncExitStack() as stack:
            for partition in sorted(set(partitions)):
                await stack.enter_async_context(self._locks[partition])
                await self._know_inputs(partition)
            yield

    async def _append(
        self,
        messages: Sequence[Observation],
        names: Sequence[Name],
        partitions: Sequence[int],
        known: Known,
        new: dict[Name, int],
    ) -> list[Accepted]:
        """Append what is new, and remember that it is not folded yet."""
        records = [record_of(messages[n], partitions[n]) for n in new.values()]
        appended = await self._log.append(records) if records else []
        positions = {name: position for name, (_, position) in known.items()}
        for (name, number), acknowledged in zip(new.items(), appended, strict=True):
            positions[name] = acknowledged.position
            self._unfolded.add(name, digest_of(messages[number]), acknowledged.position)
        return [Accepted(name[1], positions[name]) for name in names]

    def _known(self, names: Sequence[Name], partitions: Sequence[int]) -> Known:
        """Return digest and position of the events that were accepted before."""
        known: Known = {}
        asked: defaultdict[int, list[Name]] = defaultdict(list)
        for name, partition in zip(names, partitions, strict=True):
            if (found := self._unfolded.get(partition, name)) is not None:
                known[name] = found
            else:
                asked[partition].append(name)
        for partition, some in asked.items():
            seen = self._shards.at(partition).observations.seen_of(some)
            known.update({name: (one.digest, one.position) for name, one in seen.items()})
        return known

    async def _know_inputs(self, partition: int) -> None:
        """Fold what the log holds beyond the shard, unless all of it was appended here. Raises what folding raises.

        A shard that cannot fold accepts nothing more: what it would have to fold later only grows.
        """
        for topic in INPUTS:
            end, shard = await self._log.end(topic.name, partition), self._shards.at(partition)
            bridged = self._unfolded.bridges(topic.name, partition, shard.offset(topic.name), end)
            if shard.trouble is not None or not bridged:
                await self._shards.up_to(topic.name, partition, end)

    async def _fold_inputs(self, partition: int) -> None:
        for topic in INPUTS:
            await self._fold(topic, partition)

    async def _fold(self, topic: Topic, partition: int) -> None:
        await self._shards.up_to(topic.name, partition, await self._log.end(topic.name, partition))

    async def states(self, owner: Owner, event_ids: Sequence[str]) -> dict[str, dict[str, Any]]:
        """Return how far each event has come; those never accepted are left out."""
        await self._fold_inputs(self._shards.partition(owner))
        turns = self._shards.of(owner).observations
        found: dict[str, dict[str, Any]] = {}
        known = turns.seen(owner, event_ids)
        progresses = {event_id: turns.progress(owner, seen) for event_id, seen in known.items()}
        undecided = [i for i, progress in progresses.items() if progress.state in UNDECIDED]
        if undecided:  # what was given up says a dead letter, and that it was sent back another one
            await self._fold(DEAD_LETTERS, self._shards.partition(owner))
            # a rebuild may have put another shard in the place of the first
            turns = self._shards.of(owner).observations
            progresses |= {event_id: turns.progress(owner, known[event_id]) for event_id in undecided}
        for event_id, progress in progresses.items():
            state, reason = progress.state, progress.reason
            if state == "accepted" and (waits := self._observe.waiting(owner, event_id)):
                state, reason = "waiting", waits
            if state == "accepted" and not self._observe.memorizes:
                state, reason = "nothing", "MEMORIZE is off"
            found[event_id] = {
                "event_id": event_id,
                "state": state,
                "reason": reason,
                "memory_ids": list(progress.memory_ids),
                "decisions": list(progress.decisions),
                "position": str(known[event_id].position),
            }
        for event_id in event_ids:
            if event_id not in found and (reason := turns.dead(owner, event_id)) is not None:
                found[event_id] = {
                    "event_id": event_id,
                    "state": "dead",
                    "reason": reason,
                    "memory_ids": [],
                    "decisions": [],
                    "position": None,
                }
        return found

    async def wait(self, events: Sequence[tuple[Owner, str]], seconds: float) -> bool:
        """Wait until all events are in a final state, at most so long; return whether they are."""
        loop = asyncio.get_running_loop()
        until = loop.time() + seconds
        left = list(dict.fromkeys(events))
        while True:
            began = loop.time()
            by_owner: defaultdict[Owner, list[str]] = defaultdict(list)
            for owner, event_id in left:
                by_owner[owner].append(event_id)
            left = []
            for owner, ids in by_owner.items():
                states = await self.states(owner, ids)
                left.extend((owner, i) for i in ids if states.get(i, {}).get("state") not in FINAL)
            if not left:
                return True
            if loop.time() >= until:
                return False
            # Looking takes the time of those who work: many events are looked at less often.
            with at_leisure():
                await asyncio.sleep(max(POLL_SECONDS, LOOKING_SHARE * (loop.time() - began)))


def _compare(messages: Sequence[Observation], names: Sequence[Name], known: Known) -> dict[Name, int]:
    """Return the place of each event that is new. Raises Conflict."""
    conflicts: dict[int, Position | None] = {}
    new: dict[Name, int] = {}
    for number, (name, message) in enumerate(zip(names, messages, strict=True)):
        if name in known:
            digest, position = known[name]
            if digest != digest_of(message):
                conflicts[number] = position
        elif name in new:
            if digest_of(messages[new[name]]) != digest_of(message):
                conflicts[number] = None
        else:
            new[name] = number
    if conflicts:
        raise Conflict(conflicts)
    return new
