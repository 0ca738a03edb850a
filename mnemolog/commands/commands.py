"""Commands: appends the commands of callers to the inbox, and waits for the remember agent's decisions."""

from __future__ import annotations

import asyncio
import time
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

import orjson

from mnemolog.access.caller import callers_key
from projections.embedding.stored_vector import vector_bytes
from projections.partitions.assignment import NotHeld
from projections.state.evolve import is_decided
from schemas import codec
from schemas.identity import GLOBAL_USER, Owner, partition_owner
from schemas.log import NewRecord, Position
from schemas.messages.envelope import Envelope, Sealed
from schemas.messages.erasure import EraseMemory, EraseUser
from schemas.messages.inbox import ForgetMemory, ImportMemory, RecordRecall, RememberFact, RestoreMemory, ReviseMemory
from schemas.messages.wakes import ConfigureWake, ScheduleReminder
from schemas.topics import INBOX
from schemas.vocabulary.facts import subject_of
from schemas.vocabulary.words import DOCUMENT
from streams.extraction.own_words.fact_reader import NOTHING
from streams.ticks.scheduler import FAR_AHEAD, decay_due, tick_id, tick_record

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from projections.embedding.embedder import Embedder
    from projections.partitions.shards import Shards
    from schemas.instant import Clock
    from schemas.log import Appended, Log
    from schemas.messages.decision import Decision, Outcome
    from schemas.messages.inbox import MemoryWish, Tick, UserItem
    from streams.agents.immediate_decisions import ImmediateDecisions
    from streams.agents.remember import Remember
    from streams.extraction.own_words.extractor import FactRead
    from streams.extraction.own_words.fact_reader import FactReader

DECISION_SECONDS: Final = 5.0
"""How long a command waits for its decision before it answers 202."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """A fact to remember as is; the defaults are those of `POST /v1/memories`."""

    content: str
    agent_id: str | None = None
    scope: str = "personal"
    kind: str = "semantic"
    memory_type: str = "long_term"
    category: str = "fact"
    importance: float = 0.5
    about: str | None = None
    """The person or thing that the fact is about; None for the user."""
    attribute: str | None = None
    value: str | None = None
    session_id: str | None = None
    metadata: dict[str, Any] | None = None
    expires_at: datetime | None = None
    """The expiry; None for that of the memory type."""
    occurred_at: datetime | None = None
    """The time at which the fact was true; None, or a time in the future, means now."""
    read: bool = True
    """Whether the key, the day and the ended facts are extracted from the content if they are not given."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Changes:
    """The changes of a memory; None leaves a field unchanged."""

    content: str | None = None
    about: str | None = None
    """The new subject; an empty text means the user."""
    category: str | None = None
    importance: float | None = None
    memory_type: str | None = None
    value: str | None = None
    event_type: str | None = None
    emotion: str | None = None
    emotion_intensity: float | None = None
    key_dialogue: list[str] | None = None
    metadata: dict[str, Any] | None = None
    """The members to set; a member with None is removed."""
    expires_at: datetime | None = None
    sets_expiry: bool = False
    """Whether to apply `expires_at`, whose None then means that the memory does not expire."""


@dataclass(frozen=True, slots=True)
class Answer:
    """The outcomes of a command, or None while it is not decided."""

    command_id: str
    outcomes: tuple[Outcome, ...] | None

    @property
    def outcome(self) -> Outcome | None:
        """The first outcome, which is that of the command itself."""
        return self.outcomes[0] if self.outcomes else None


class AnotherCommand(Exception):
    """The command's id (its Idempotency-Key) was used for another command: use a new one. Nothing was changed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TickAnswer:
    """The changes of a tick over all partitions; `applied` is False if it was not applied everywhere in time."""

    tick_id: str
    policy: str
    as_of: datetime
    decayed: int
    expired: int
    raised: int
    applied: bool
    repeated: bool
    """Whether it was applied everywhere before; the counts are those of the first time."""


class Commands:
    """Embeds, appends and waits; the remember agent decides."""

    def __init__(
        self,
        log: Log,
        shards: Shards,
        remember: Remember,
        embedder: Embedder,
        clock: Clock,
        *,
        immediate: ImmediateDecisions | None = None,
        suspend_deadline: Callable[[], AbstractContextManager[object]] = nullcontext,
        facts: FactReader | None = None,
    ) -> None:
        """Append commands to the log, which `remember` decides.

        `immediate` decides commands that need no delivery; None if other processes append to the same inboxes.
        `suspend_deadline` is entered while a caller waits for the embedder or the rules instead of the log. `facts`
        extracts fields from facts that are remembered as is; None if there are no rules.
        """
        self._log = log
        self._shards = shards
        self._remember = remember
        self._embedder = embedder
        self._clock = clock
        self._immediate = immediate
        self._suspend_deadline = suspend_deadline
        self._facts = facts
        self._last: dict[int, tuple[int, datetime]] = {}
        """The end of each inbox after this worker's last append to it, and the time of that append."""

    @property
    def embedding_model(self) -> str:
        """The model that embeds texts."""
        return self._embedder.model

    async def remember(self, owner: Owner, fact: Fact, command_id: str) -> Answer:
        """Remember a fact as is; a global fact belongs to the tenant's reserved user."""
        agent_id = fact.agent_id
        if fact.scope == "global":
            owner, agent_id = Owner(owner.tenant, GLOBAL_USER), None
        envelope = await self.envelope(owner, command_id, agent_id)
        if fact.occurred_at is not None:
            envelope = replace(envelope, occurred_at=min(fact.occurred_at, envelope.occurred_at))
        vector = await self.vector(fact.content)
        read = await self._read(owner, fact, envelope)
        value = fact.value if read.value is None else read.value
        item = RememberFact(
            envelope=envelope,
            content=Sealed.clear(fact.content),
            vector=vector,
            embedding_model=self._embedder.model,
            scope=fact.scope,
            kind=fact.kind,
            memory_type=fact.memory_type,
            category=fact.category,
            importance=fact.importance,
            attribute=fact.attribute if read.attribute is None else read.attribute,
            value=None if value is None else Sealed.clear(value),
            session_id=fact.session_id,
            metadata=Sealed.clear(orjson.dumps(fact.metadata)) if fact.metadata else None,
            expires_at=fact.expires_at,
            about=Sealed.clear(fact.about) if fact.about and subject_of(fact.about) else None,
            read=read.attribute is not None,
            occurred_on=None if fact.occurred_at is not None else read.occurred_on,
            ends=list(read.ends),
        )
        return await self.submit(item)

    async def _read(self, owner: Owner, fact: Fact, envelope: Envelope) -> FactRead:
        """Extract the fields that the caller has not given from a fact, unless it has a key or is global."""
        is_given = fact.attribute is not None or fact.value is not None or fact.kind == DOCUMENT
        if self._facts is None or not fact.read or is_given or owner.is_global:
            return NOTHING
        is_of_user = fact.kind == "semantic" and not (fact.about and subject_of(fact.about))
        with self._suspend_deadline():
            return await self._facts.read(
                owner, fact.content, envelope.occurred_at, envelope.agent_id, is_of_user=is_of_user
            )

    async def revise(
        self, owner: Owner, memory_id: str, changes: Changes, command_id: str, expected_version: int | None
    ) -> Answer:
        """Change a memory."""
        new = changes.content
        item = ReviseMemory(
            envelope=await self.envelope(owner, command_id),
            memory_id=memory_id,
            expected_version=expected_version,
            content=None if new is None else Sealed.clear(new),
            vector=None if new is None else await self.vector(new),
            embedding_model=None if new is None else self._embedder.model,
            category=changes.category,
            importance=changes.importance,
            memory_type=changes.memory_type,
            value=None if changes.value is None else Sealed.clear(changes.value),
            event_type=changes.event_type,
            emotion=changes.emotion,
            emotion_intensity=changes.emotion_intensity,
            key_dialogue=None if changes.key_dialogue is None else Sealed.clear(orjson.dumps(changes.key_dialogue)),
            metadata=None if changes.metadata is None else Sealed.clear(orjson.dumps(changes.metadata)),
            expires_at=changes.expires_at,
            sets_expiry=changes.sets_expiry,
            about=None if changes.about is None else Sealed.clear(changes.about if subject_of(changes.about) else ""),
        )
        return await self.submit(item)

    async def share(self, owner: Owner, memory_id: str, agent_id: str, command_id: str) -> Answer:
        """Make a memory known to another agent of the user: a revision that changes nothing else."""
        envelope = await self.envelope(owner, command_id, agent_id=agent_id)
        return await self.submit(ReviseMemory(envelope=envelope, memory_id=memory_id))

    async def forget(self, owner: Owner, memory_id: str, command_id: str, session_id: str | None = None) -> Answer:
        """Forget a memory; with a session, only in that session if it was said in others too."""
        envelope = await self.envelope(owner, command_id)
        return await self.submit(ForgetMemory(envelope=envelope, memory_id=memory_id, session_id=session_id))

    async def restore(self, owner: Owner, memory_id: str, command_id: str) -> Answer:
        """Restore a forgotten memory."""
        return await self.wish(RestoreMemory, owner, memory_id, command_id)

    async def wish(self, kind: type[MemoryWish], owner: Owner, memory_id: str, command_id: str) -> Answer:
        """Submit a command that has no fields except a memory's id."""
        return await self.submit(kind(envelope=await self.envelope(owner, command_id), memory_id=memory_id))

    async def recall(self, owner: Owner, memory_ids: Sequence[str], at: datetime, command_id: str) -> None:
        """Report that memories were shown to an agent; return when the log has the report."""
        envelope = Envelope(event_id=command_id, tenant=owner.tenant, user_id=owner.user_id, occurred_at=at)
        await self.append([RecordRecall(envelope=envelope, memory_ids=list(memory_ids))])

    async def submit(self, item: UserItem) -> Answer:
        """Append an item and wait up to 5 s for its decision. Raises AnotherCommand, and NotHeld if not appended."""
        owner, command_id = item.envelope.owner, item.envelope.event_id
        self._shards.require(owner)
        if not isinstance(item, EraseUser):  # an erasure must also work on a damaged history
            await self._shards.load(owner)
            self._shards.state(owner)
        state = self._shards.folded_state(owner)
        if is_decided(state, command_id) or state.last_item == command_id:
            await self._check_repeat(item, self._decisions(item))
        elif self._immediate is not None:
            decided = await self._immediate.decide(item, self._record(item))
            if decided is not None:
                self._note(decided.appended)
                return Answer(command_id, tuple(decided.decision.outcomes) if decided.is_folded else None)
        [appended] = await self.append([item])
        try:
            async with asyncio.timeout(DECISION_SECONDS):
                await self._remember.decided(owner, command_id)
            decisions = self._decisions(item)
            await self._check_repeat(item, decisions, appended.position)  # another may have come first
        except (TimeoutError, NotHeld):  # it is in the log, and the worker that now holds the partition decides it
            return Answer(command_id, None)
        return Answer(command_id, tuple(o for d in decisions for o in d.outcomes))

    async def append(self, items: Sequence[UserItem]) -> list[Appended]:
        """Append commands to the inboxes of their users; return when the log has stored them. Raises LogUnavailable."""
        appended = await self._log.append([self._record(item) for item in items])
        for one in appended:
            self._note(one)
        return appended

    def _note(self, appended: Appended) -> None:
        """Record the end of an inbox after an append of this worker."""
        partition, end = appended.position.partition, appended.position.offset + 1
        self._last[partition] = max((end, appended.recorded_at), self._last.get(partition, (0, appended.recorded_at)))

    async def wait_until_decided(self, commands: Sequence[tuple[Owner, str]], until: float) -> None:
        """Wait for the decisions of commands, at most until a time of the monotonic clock."""
        seconds = until - time.monotonic()
        if seconds <= 0 or not commands:
            return
        waits = [asyncio.ensure_future(self._remember.decided(owner, command_id)) for owner, command_id in commands]
        try:
            await asyncio.wait(waits, timeout=seconds)
        finally:
            for waiting in waits:
                waiting.cancel()
            await asyncio.gather(*waits, return_exceptions=True)

    async def tick(
        self, policy: str, as_of: datetime, seconds: float, make: Callable[[int, datetime], Tick] | None = None
    ) -> TickAnswer:
        """Emit a tick in every partition held and wait, at most `seconds`, until all are applied.

        `make` builds the tick of a partition; the default is a decay tick.
        """
        ticks = {p: make(p, as_of) if make else decay_due(p, policy, as_of) for p in self._shards.held()}
        repeated = all(
            is_decided(self._shards.state(partition_owner(p)), tick.envelope.event_id) for p, tick in ticks.items()
        )
        await self._log.append([tick_record(p, tick) for p, tick in ticks.items()])
        waits = [self._remember.decided(partition_owner(p), tick.envelope.event_id) for p, tick in ticks.items()]
        try:
            async with asyncio.timeout(seconds):
                await asyncio.gather(*waits)
            applied = True
        except TimeoutError:
            applied = False
        decayed = expired = raised = 0
        for partition, tick in ticks.items():
            closed = self._shards.at(partition).ledger.tick_applied(partition, tick.envelope.event_id)
            raised += self._shards.at(partition).ledger.wakes.raised_by(tick.envelope.event_id)
            if closed is not None:
                decayed, expired = decayed + closed.decayed, expired + closed.expired
        return TickAnswer(
            tick_id=tick_id(policy, as_of),
            policy=policy,
            as_of=as_of,
            decayed=decayed,
            expired=expired,
            raised=raised,
            applied=applied,
            repeated=repeated,
        )

    def _decisions(self, item: UserItem) -> list[Decision]:
        """Return the decisions about a command. Raises NotHeld."""
        owner = item.envelope.owner
        return self._shards.of(owner).ledger.decided(owner, item.envelope.event_id)

    async def _check_repeat(self, item: UserItem, decisions: Iterable[Decision], own: Position | None = None) -> None:
        """Raise AnotherCommand if a decision with the command's id is about a different command.

        Decisions about the position `own`, where this command was appended, are its own.
        """
        command_id = item.envelope.event_id
        for decision in decisions:
            position = Position(INBOX.name, decision.item_partition, decision.item_offset)
            if position == own:
                continue
            record = await self._shards.record(position)
            if record is not None and _request_of(codec.decode(record.value)) != _request_of(item):
                raise AnotherCommand(f"the key of command {command_id} was used for another command: use a new one")

    def _record(self, item: UserItem) -> NewRecord:
        owner = item.envelope.owner
        partition = self._shards.partition(owner)
        outlives = isinstance(item, EraseUser)  # it is redelivered until the keys that it names are destroyed
        return NewRecord(
            topic=INBOX.name,
            partition=partition,
            key=owner.key,
            value=codec.encode_cached(item),
            outlives_user=outlives,
        )

    async def vector(self, text: str, *, urgent: bool = False) -> Sealed:
        """Return the embedding of a text in the form of messages. Raises EmbedderUnavailable, EmbedderRefused.

        `urgent` marks the text as a query, as for an Embedder.
        """
        with self._suspend_deadline():
            vectors = await self._embedder.embed([text], urgent=urgent)
        return Sealed.clear(vector_bytes(vectors[0]))

    async def envelope(self, owner: Owner, command_id: str, agent_id: str | None = None) -> Envelope:
        """Return the envelope of a command that is sent now. Raises NotHeld."""
        self._shards.require(owner)
        return Envelope(
            event_id=command_id,
            tenant=owner.tenant,
            user_id=owner.user_id,
            agent_id=agent_id,
            occurred_at=await self._now(owner),
            by=callers_key(),
        )

    async def _now(self, owner: Owner) -> datetime:
        """Return the time of a command: now, or the time of the last command in the inbox if the clock was set back.

        The last time is ignored if it is far in the future, because a wrong clock set it.
        """
        partition, now = self._shards.partition(owner), self._clock.now()
        end = await self._log.end(INBOX.name, partition)
        if (known := self._last.get(partition)) is not None and known[0] == end:
            latest = known[1]
        else:
            last = await self._log.read(INBOX.name, partition, end - 1, 1) if end else []
            latest = last[0].recorded_at if last else now
        return latest if now < latest <= now + FAR_AHEAD else now


def _request_of(item: UserItem) -> object:
    """Return the request in a command, without its times, its sender and its vector, for comparison with a repeat.

    Fields of an erasure that depend on the state at its time are dropped as well.
    """
    envelope = replace(item.envelope, occurred_at=datetime.min.replace(tzinfo=UTC), recorded_at=None, by=None)
    if isinstance(item, RememberFact):
        given = replace(item, attribute=None, value=None, read=False) if item.read else item
        item = replace(given, occurred_on=None, ends=[])  # these depend on the memories known at the time
    if isinstance(item, (RememberFact, ReviseMemory, ImportMemory)):
        return replace(item, envelope=envelope, vector=Sealed.clear(b""), embedding_model="")
    if isinstance(item, (ScheduleReminder, ConfigureWake)):
        return replace(item, envelope=envelope, vector=None, embedding_model=None)
    if isinstance(item, EraseUser):
        return replace(item, envelope=envelope, cut=[], key_ids=[], observations=0)
    if isinstance(item, EraseMemory):
        return replace(item, envelope=envelope, event_ids=[], letters=[])
    return replace(item, envelope=envelope)
