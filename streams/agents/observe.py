"""observe: cuts observations into windows, has them extracted, and appends the answers to the inbox."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, replace
from datetime import UTC, timedelta
from typing import TYPE_CHECKING, Final, TypeAlias

from projections.partitions.assignment import NotHeld
from projections.shard.errors import ShardUnavailable
from projections.shard.observations import WITHOUT_MODEL
from projections.state.evolve import is_cut_off, is_decided
from projections.text.wishes import wishes_of
from schemas import codec, telemetry
from schemas.identity import Owner, derived_id
from schemas.inputs.decoding import ForeignKey, InRegistryAvro, digest_of, observation_of_record
from schemas.inputs.input_events import InvalidEvent
from schemas.inputs.pieces import is_extractable
from schemas.log import LogUnavailable, RecordTooLarge
from schemas.messages.dead_letters import first_position
from schemas.messages.observations import SessionEnded, TurnRecorded
from schemas.topics import CONVERSATIONS, INBOX
from streams.agents.pending_observations import PendingObservations
from streams.delivery.dead_letter import put_aside
from streams.delivery.retry import append_with_retry, catch_up
from streams.extraction.own_words.antecedents import MOST_BACK, unnamed
from streams.extraction.own_words.extractor import OwnWords
from streams.extraction.request import answer_records, too_large
from streams.extraction.rules_lineage import RulesLineage
from streams.extraction.window import OpenWindow, closes_before, pieces_of, window_of
from streams.extraction.wishes.repairs import takes_back

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
    from contextlib import AbstractContextManager
    from datetime import tzinfo

    from projections.partitions.assignment import Lease
    from projections.partitions.shards import Shards
    from projections.shard.observation_lookup import Answered
    from projections.shard.rows.published_turns import Turn
    from schemas.log import Log, NewRecord, Position, Record
    from schemas.messages.inbox import CandidatesExtracted, ExtractionRejected
    from schemas.messages.observations import Observation
    from streams.agents.immediate_decisions import Decided
    from streams.agents.reencode import Reencoder
    from streams.delivery.delivery import Delivery
    from streams.delivery.keyed_pool import KeyedPool
    from streams.extraction.protocol import Extractor, Piece, Window
    from streams.extraction.request import ExtractionService
    from streams.extraction.window import WindowLimits

    DecideAtOnce: TypeAlias = Callable[
        [CandidatesExtracted | ExtractionRejected, NewRecord, Callable[[], bool]], Awaitable[Decided | None]
    ]

MOST_ANSWERED: Final = 10_000
"""Users whose last answer is known: of others a window does not wait for it."""
LONGEST_ANSWER: Final = 120
"""Characters of a turn that may answer the turn before its window."""
LONGEST_CHECK_SECONDS: Final = 1.0
IDLE_CHECKS: Final = 4
"""How often open windows are checked within IDLE_SECONDS."""


ANSWERED_WITHIN: Final = timedelta(hours=1)
"""A turn later than that answers no question of the window before."""
DECISION_SECONDS: Final = 10.0
"""A user's next window waits so long for the decision on the one before, so that a model is shown what was decided."""


async def decided_at_once(_owner: object, _item_id: object) -> None:
    """Wait for no decision."""


async def decide_none(_item: object, _record: object, _holds: object) -> None:
    """Decide nothing: answers are delivered."""


@dataclass(slots=True)
class _Session:
    """A session with an open window."""

    message: Observation
    window: OpenWindow
    touched: float
    """When a piece joined it last, by the event loop's clock."""


@dataclass(frozen=True, slots=True)
class _SessionKey:
    owner: Owner
    agent_id: str | None
    session_id: str
    lease: Lease
    """Of the partition. A window belongs to one lease: a turn that joins it after the lease has ended must not stay."""

    @property
    def partition(self) -> int:
        return self.lease.partition


class Erased(Exception):
    """Words of a window were erased meanwhile."""


class ErasureRunning(Exception):
    """The user is being erased already."""


class Observe:
    """Reads the input topics. Turns of an open window are not acknowledged: the log is the buffer."""

    def __init__(  # noqa: PLR0913 - built once, at the composition root, all by name
        self,
        *,
        log: Log,
        shards: Shards,
        extraction: ExtractionService,
        extractor: Extractor,
        verbatim: Extractor,
        pool: KeyedPool,
        reencoder: Reencoder,
        limits: WindowLimits,
        memorize: bool = True,
        zone: tzinfo = UTC,
        counted: Callable[[str, str], None] = lambda _step, _outcome: None,
        extracted: Callable[[CandidatesExtracted | ExtractionRejected, Window], None] = lambda _item, _window: None,
        decide: DecideAtOnce = decide_none,
        decided: Callable[[Owner, str], Awaitable[None]] = decided_at_once,
        decision_seconds: float = DECISION_SECONDS,
    ) -> None:
        """`zone` is that of observations that name none.

        `decide` appends an answer together with the decision on it where it can, as `ImmediateDecisions.decide`.

        `decided` returns when an answer is decided on: a user's next window waits for it, so long at most.
        """
        self._log = log
        self._shards = shards
        self._extraction = extraction
        self._extractor = extractor
        self._verbatim = verbatim
        self._pool = pool
        self.reencoder = reencoder
        self._limits = limits
        self.memorizes = memorize
        self._zone = zone
        self._counted = counted
        self._extracted = extracted
        self._decide = decide
        self._decided = decided
        self._decision_seconds = decision_seconds
        self._answered: dict[Owner, str] = {}
        """The last answer without a model to a user's words, which may not be decided on yet; the latest users'."""
        self._sessions: dict[_SessionKey, _Session] = {}
        self._erasing: dict[Owner, asyncio.Event] = {}
        self._pending = PendingObservations()
        self._resuming: set[Owner] = set()
        self._resumed: dict[int, Lease] = {}
        """The lease under which each partition was looked through for what outlived an erasure."""
        self._delivered: dict[tuple[str, int], int] = {}
        """The offset behind the last record handled of each (topic, partition), under the present lease."""

    async def handle(self, delivery: Delivery) -> None:
        """Handle one record; return when the next may be delivered."""
        record = delivery.record
        position = record.position
        lease = self._shards.assignment.lease(position.partition)
        try:
            message = observation_of_record(record)
        except InRegistryAvro as registry_avro:
            await self.reencoder.take(delivery, registry_avro.schema_id, self._was_erased_by_now)
        except ForeignKey as error:
            await self._put_aside(delivery, "key", str(error))
        except (codec.Undecodable, InvalidEvent) as error:
            await self._put_aside(delivery, "decode", str(error))
        else:
            await self._observe(delivery, message)
        if not lease.is_current(delivery):
            return
        place = (position.topic, position.partition)
        self._delivered[place] = max(self._delivered.get(place, 0), position.offset + 1)

    async def _observe(self, delivery: Delivery, message: Observation) -> None:
        record, owner = delivery.record, message.envelope.owner
        position, partition = record.position, record.position.partition
        if self._shards.partition(owner) != partition:
            if await self.reencoder.reappend(delivery, message):  # with the id and time of this first position
                self._counted("observe", "moved")
            return
        lease = self._shards.assignment.lease(partition)
        await self._shards.assignment.wait_until_ready(partition)
        await catch_up(self._shards, position.topic, partition, position.offset + 1)
        with suppress(NotHeld):
            await self._shards.load(owner)
        if not lease.is_current(delivery):
            return  # revoked meanwhile: it is delivered again, and must not be pending here then
        first = self._shards.at(partition).observations.first(owner, message.envelope.event_id)
        # A record that was sent back from the dead letters stands for its first one, which may be folded by now.
        if first is None and self._was_erased(owner, message.envelope.event_id, position):
            self._counted("observe", "erased")
            delivery.ack()
            return
        if first is not None and first.position != position and str(first.position) != first_position(record):
            if first.digest != digest_of(message):
                detail = f"event_id {first.event_id!r} was accepted with another body at {first.position}"
                await self._put_aside(delivery, "body_differs", detail)
                return
            self._counted("observe", "repeated")
            delivery.ack()
            return
        if isinstance(message, SessionEnded):
            self._counted("observe", "boundary")
            for key in self._ended(partition, message):
                await self._close(key)
            delivery.ack()
        elif not self.memorizes or not is_extractable(message):
            self._counted("observe", "nothing")
            delivery.ack()
        else:
            await self._take(delivery, message)

    def _was_erased(self, owner: Owner, event_id: str, position: Position) -> bool:
        """Return whether an observation is gone: with its user, or with a memory."""
        state, ledger = self._shards.state(owner), self._shards.of(owner).ledger
        return is_cut_off(state, position.topic, position.offset) or ledger.is_erased(owner, event_id)

    async def _was_erased_by_now(self, message: Observation, position: Position) -> bool:
        """Return whether an observation is gone, when no erasure of its user is under way. Raises NotHeld.

        Its copy would stand behind the cut, and come back. One on another partition than its user's is before no cut.
        """
        owner = message.envelope.owner
        if self._shards.partition(owner) != position.partition:
            return False
        while (erasing := self._erasing.get(owner)) is not None:
            await erasing.wait()
        await self._shards.assignment.wait_until_ready(position.partition)
        return self._was_erased(owner, message.envelope.event_id, position)

    async def _take(self, delivery: Delivery, message: Observation) -> None:
        """Begin the extraction of an observation's pieces, those apart that are extracted already."""
        owner = message.envelope.owner
        partition = delivery.record.position.partition
        event_id = message.envelope.event_id
        if self._pending.join(partition, owner, event_id, delivery.ack):
            self._counted("observe", "repeated")
            return
        pieces = self._pieces_of(message, delivery.record)
        extracted = self._shards.at(partition).observations.extracted(owner, [p.piece_id for p in pieces])
        pieces = [p for p in pieces if p.piece_id not in extracted]
        if not pieces:
            self._counted("observe", "repeated")
            delivery.ack()
            return
        self._pending.add(partition, owner, event_id, [p.piece_id for p in pieces], delivery.ack)
        self._counted("observe", "taken")
        if not isinstance(message, TurnRecorded) or not message.infer:
            for piece in pieces:
                await self._submit(partition, window_of(message, (piece,)), self._extractor_of(message))
            return
        await self._join(self._key(partition, message), message, pieces)

    async def _join(self, key: _SessionKey, message: TurnRecorded, pieces: list[Piece]) -> None:
        """Put pieces into their session's window, closing it where the log says so."""
        for piece in pieces:
            session = self._sessions.get(key)
            if session is not None and closes_before(session.window, piece, self._limits):
                await self._close(key)
                session = None
            if not key.lease.is_valid:
                return
            now = asyncio.get_running_loop().time()
            if session is None:
                session = self._sessions[key] = _Session(message, OpenWindow(), now)
            session.window.add(piece)
            session.touched = now
            session.message = message

    async def close_idle(self) -> None:
        """Close idle windows regularly, without end: their next turn would begin another window."""
        while True:
            await asyncio.sleep(min(LONGEST_CHECK_SECONDS, self._limits.idle.total_seconds() / IDLE_CHECKS))
            await self.close_idle_once()
            await self.resume()

    async def close_idle_once(self) -> None:
        """Close each window that has been idle for IDLE_SECONDS, unless records of its partition are on their way."""
        for key, session in list(self._sessions.items()):
            if asyncio.get_running_loop().time() - session.touched < self._limits.idle.total_seconds():
                continue
            end = await self._log.end(CONVERSATIONS.name, key.partition)
            delivered = self._delivered.get((CONVERSATIONS.name, key.partition), 0)
            if delivered >= end and self._sessions.get(key) is session:
                await self._close(key)

    def open_sessions(self) -> list[SessionEnded]:
        """Return the end that would close each open window; its id is derived from the window's last turn."""
        ends = []
        for key, session in self._sessions.items():
            last = session.message.envelope
            event_id = derived_id("session-end", key.owner.tenant, key.owner.user_id, last.event_id)
            ends.append(SessionEnded(envelope=last.follow(event_id), session_id=key.session_id))
        return ends

    def waiting(self, owner: Owner, event_id: str) -> str | None:
        """Return why an observation waits for the model, if it does."""
        return self._pending.reason(self._shards.partition(owner), owner, event_id)

    def is_pending(self, owner: Owner, event_id: str) -> bool:
        """Return whether an observation waits for its extraction, or is extracted, here."""
        return self._pending.has(self._shards.partition(owner), owner, event_id)

    def revoke(self, partition: int) -> None:
        """Drop what belongs to a revoked partition: its new worker reads it again."""
        self._pool.drop(partition)
        self.reencoder.drop(partition)
        self._sessions = {k: v for k, v in self._sessions.items() if k.partition != partition}
        self._pending.drop(partition)
        self._delivered = {k: v for k, v in self._delivered.items() if k[1] != partition}

    async def _close(self, key: _SessionKey) -> None:
        session = self._sessions.pop(key, None)
        if session is not None:
            window = window_of(session.message, tuple(session.window.pieces))
            await self._submit(key.partition, window, self._extractor)

    async def _submit(self, partition: int, window: Window, extractor: Extractor) -> None:
        owner = Owner.of(window.tenant, window.user_id)
        if extractor is self._verbatim:
            await self._pool.share(partition, owner, self._keep, (partition, window))
        else:
            await self._pool.submit(partition, owner, lambda: self._extract(partition, owner, window, extractor))

    @asynccontextmanager
    async def erasing(self, owner: Owner) -> AsyncIterator[None]:
        """Hold back the answers to a user's windows until the block has ended.

        What was asked before is answered meanwhile; after the block, an answer to erased words is dropped. What else
        was asked with them, and outlives the erasure, is asked again without them.
        """
        if owner in self._erasing:
            raise ErasureRunning(f"{owner.key.decode()!r} is being erased already: wait for it")
        self._erasing[owner] = over = asyncio.Event()
        try:
            yield
        finally:
            del self._erasing[owner]
            over.set()

    def _drop_erased(self, key: _SessionKey) -> None:
        """Take erased pieces out of an open window."""
        session = self._sessions[key]
        left = self._surviving(key.owner, session.window.pieces)
        if len(left) == len(session.window.pieces):
            return
        self._done(key.partition, key.owner, [piece for piece in session.window.pieces if piece not in left])
        session.window = OpenWindow()
        for piece in left:
            session.window.add(piece)
        if not left:
            del self._sessions[key]

    def _surviving(self, owner: Owner, pieces: Sequence[Piece]) -> list[Piece]:
        """Return those of the pieces that were not erased."""
        return [p for p in pieces if p.position is None or not self._was_erased(owner, p.event_id, p.position)]

    def resume_later(self, owner: Owner) -> None:
        """Have what outlived an erasure extracted, and drop what did not from windows that are open."""
        self._resuming.add(owner)

    async def resume(self) -> None:
        """Extract what outlived an erasure and was answered together with what did not, so that the answer was void.

        Also what was answered just before the erasure, and decided too early to stay. Such observations were
        acknowledged. So whoever gets a partition looks for them, too: its former worker may have died before it could.
        What was not answered is not acknowledged either, and is delivered again.
        """
        for partition in self._shards.held():
            lease = self._shards.assignment.lease(partition)
            if self._resumed.get(partition) != lease:
                self._resumed[partition] = lease
                self._resuming.update(owner for owner, _ in self._shards.at(partition).ledger.erasures())
        while self._resuming:
            owner = self._resuming.pop()
            with suppress(NotHeld):
                await self._resume(owner)

    async def _resume(self, owner: Owner) -> None:
        partition = self._shards.partition(owner)
        lease = self._shards.assignment.lease(partition)
        for key in [key for key in self._sessions if key.owner == owner]:
            self._drop_erased(key)
        void: dict[Position, set[str]] = {}
        for answered in self._shards.of(owner).observations.answered(owner):
            if self._is_void(owner, answered):
                void.setdefault(answered.position, set()).add(answered.piece_id)
        for position, piece_ids in void.items():
            record = await self._shards.record(position)
            # From here on nothing is awaited before it is pending, or it might be taken twice.
            if not lease.is_valid:
                return
            if record is None:
                continue
            message = observation_of_record(record)
            pieces = [p for p in self._pieces_of(message, record) if p.piece_id in piece_ids]
            event_id = message.envelope.event_id
            if self._pending.has(partition, owner, event_id):
                continue
            self._pending.add(partition, owner, event_id, piece_ids, _nothing)
            self._counted("observe", "resumed")
            await self._submit(partition, window_of(message, tuple(pieces)), self._extractor_of(message))

    def _is_void(self, owner: Owner, answered: Answered) -> bool:
        """Return whether nothing will come of the answer to a piece: it was void, or stood before the erasure."""
        state = self._shards.state(owner)
        return is_decided(state, answered.item_id) or is_cut_off(state, INBOX.name, answered.item_offset)

    def _done(self, partition: int, owner: Owner, pieces: Sequence[Piece]) -> None:
        for piece in pieces:
            self._pending.piece_done(partition, owner, piece.event_id, piece.piece_id)

    async def _with_turns_before(self, owner: Owner, window: Window, extractor: Extractor) -> Window:
        """Return a window with the turns before it that its first words take back, go on from, or answer.

        Only the rules are given them to read: a model reads a window as it was cut.
        """
        first = next((piece for piece in window.pieces if piece.speaker == "user"), None)
        session_id = window.session_id
        if first is None or first.position is None or session_id is None or window.source_type != "chat":
            return window
        is_withdrawal, is_read = wishes_of(first.text).is_withdrawal, isinstance(extractor, RulesLineage)
        may_answer = first is window.pieces[0] and len(first.text) <= LONGEST_ANSWER
        goes_on = takes_back(first.text) or any(
            piece.speaker == "user" and unnamed(piece.text) for piece in window.pieces[:MOST_BACK]
        )
        if not (is_withdrawal or (is_read and (may_answer or goes_on))):
            return window
        at = first.position
        with suppress(ShardUnavailable):  # else what was before it may not be there yet
            await self._shards.up_to(at.topic, at.partition, at.offset)
        published = self._shards.of(owner).turns
        turns = published.before(owner, session_id, window.agent_id, at.offset, MOST_BACK)
        earlier: list[Piece] = []
        if is_read and goes_on:
            earlier = [piece for turn in reversed(turns) for piece in self._told(owner, turn, at)]
        elif is_read and may_answer:  # it takes up no more than the question just before it
            since = first.recorded_at - ANSWERED_WITHIN
            told = (piece for turn in turns[:1] for piece in self._told(owner, turn, at))
            earlier = [piece for piece in told if piece.speaker == "assistant" and piece.recorded_at >= since]
        users = (event_id for event_id, _ in turns if _is_users(published.turn(owner, event_id)))
        before = next(users, None) if is_withdrawal else None
        return replace(window, before=before, pieces=(*earlier, *window.pieces), earlier=len(earlier))

    def _told(self, owner: Owner, turn: tuple[str, int], at: Position) -> list[Piece]:
        """Return the last piece of what its user lets be kept of a turn that stands in the partition of a position."""
        event_id, offset = turn
        told = self._shards.of(owner).turns.kept(owner, event_id)
        if told is None:
            return []
        pieces = pieces_of(told.message, told.recorded_at, replace(at, offset=offset), zone=self._zone)
        return [piece for piece in pieces[-1:] if piece.text.strip()]

    def _left_of(self, owner: Owner, window: Window) -> Window | None:
        """Return a window without what was erased; None where nothing of its own is left.

        Without its own first words nothing is an answer to the turns before them.
        """
        earlier, own = window.pieces[: window.earlier], window.pieces[window.earlier :]
        left = self._surviving(owner, own)
        if not left:
            return None
        told = self._surviving(owner, earlier) if left[0] is own[0] else []
        return replace(window, pieces=(*told, *left), earlier=len(told))

    async def _extract(self, partition: int, owner: Owner, window: Window, extractor: Extractor) -> None:
        def waits(reason: str) -> None:
            self._counted("extract", "waiting")
            for piece in window.pieces:
                self._pending.waits(partition, owner, piece.event_id, reason)

        own, item = window.pieces, None
        answered = self._answered.pop(owner, None)
        if answered is not None and isinstance(extractor, OwnWords):
            extractor = extractor.behind(lambda: self._until_decided(owner, answered))
        window = await self._with_turns_before(owner, window, extractor)
        while (rest := self._left_of(owner, window)) is not None:
            with suppress(Erased):
                item, _ = await self._answer(partition, rest, extractor, waits)
                break
        self._done(partition, owner, own)
        if item is not None and item.model not in WITHOUT_MODEL:
            await self._until_decided(owner, item.envelope.event_id)
        elif item is not None:
            self._answered[owner] = item.envelope.event_id
            if len(self._answered) > MOST_ANSWERED:
                del self._answered[next(iter(self._answered))]

    async def _until_decided(self, owner: Owner, item_id: str) -> None:
        """Wait for the decision on an answer, not for ever: it may lag, and an answer that was erased has none."""
        with suppress(TimeoutError, ShardUnavailable):
            async with asyncio.timeout(self._decision_seconds):
                await self._decided(owner, item_id)

    async def _keep(self, queued: Sequence[tuple[int, Window]]) -> None:
        """Extract windows of one user that are kept word for word: together, or else one by one."""
        partition, first = queued[0]
        owner = Owner.of(first.tenant, first.user_id)
        windows = [window for _, window in queued]
        if len(windows) == 1 or not await self._keep_together(partition, owner, windows):
            for window in windows:
                await self._extract(partition, owner, window, self._verbatim)

    async def _keep_together(self, partition: int, owner: Owner, windows: Sequence[Window]) -> bool:
        """Extract windows at once, with one append; return whether nothing stood in the way."""
        pieces = [piece for window in windows for piece in window.pieces]
        if len(self._surviving(owner, pieces)) < len(pieces):
            return False
        with _span_of(windows[-1]):
            items = await self._extraction.extract_together(windows, self._verbatim)
        if items is None or owner in self._erasing or len(self._surviving(owner, pieces)) < len(pieces):
            return False
        try:
            end = await self._append(answer_records(partition, items, [_traceparent(window) for window in windows]))
        except RecordTooLarge:
            return False
        for item, window in zip(items, windows, strict=True):
            self._counted("extract", type(item).__name__)
            self._extracted(item, window)
        await catch_up(self._shards, INBOX.name, partition, end)
        self._done(partition, owner, pieces)
        return True

    async def extract_again(
        self, partition: int, records: Sequence[Record], pieces: frozenset[str], version: int
    ) -> tuple[CandidatesExtracted | ExtractionRejected, int] | None:
        """Extract a window whose extraction the decision of a version rejected; return the answer and its inbox's end.

        `records` are its observations, in the order of the log; `pieces` are those of the window. What is erased
        meanwhile is left out. Returns None where nothing is left.
        """
        messages = [(observation_of_record(record), record) for record in records]
        found = [p for message, r in messages for p in self._pieces_of(message, r)]
        last, _ = messages[-1]
        window = replace(window_of(last, ()), rejected_at=version)
        owner = Owner.of(window.tenant, window.user_id)
        while left := self._surviving(owner, [p for p in found if p.piece_id in pieces]):
            with suppress(Erased):
                left_of_it = replace(window, pieces=tuple(left))
                return await self._answer(partition, left_of_it, self._extractor_of(last), lambda _: None)
        return None

    async def _answer(
        self, partition: int, window: Window, extractor: Extractor, waits: Callable[[str], None]
    ) -> tuple[CandidatesExtracted | ExtractionRejected, int]:
        """Append the answer to a window; return it and the end of the inbox when the shard has folded it.

        Raises Erased where some of the words were erased meanwhile: then nothing of the answer is appended.
        """
        with _span_of(window) as span:
            item = await self._extraction.extract(window, extractor, waits)
        try:
            end = await self._append_answer(partition, window, item, span.traceparent)
        except RecordTooLarge as error:
            item = too_large(window, extractor, item, error)
            end = await self._append_answer(partition, window, item, span.traceparent)
        self._counted("extract", type(item).__name__)
        self._extracted(item, window)
        await catch_up(self._shards, INBOX.name, partition, end)
        return item, end

    async def _append_answer(
        self, partition: int, window: Window, item: CandidatesExtracted | ExtractionRejected, traceparent: str | None
    ) -> int:
        """Append the answer to a window; a model's with the decision on it, where that can be made at once.

        Returns the offset behind it. Raises RecordTooLarge, and Erased.
        """
        owner = item.envelope.owner

        def survives() -> bool:
            return owner not in self._erasing and len(self._surviving(owner, window.pieces)) == len(window.pieces)

        records = answer_records(partition, [item], [traceparent])
        if item.model not in WITHOUT_MODEL:  # else there may be very many, which are not to wait for one another
            with suppress(LogUnavailable):  # it is appended again: of two equal answers one is decided
                if (decided := await self._decide(item, records[0], survives)) is not None:
                    return decided.appended.position.offset + 1
        while (erasing := self._erasing.get(owner)) is not None:
            await erasing.wait()
        if not survives():
            raise Erased("some of the words were erased meanwhile")
        return await self._append(records)

    async def _append(self, records: Sequence[NewRecord]) -> int:
        """Append answers to an inbox; return the offset behind the last. Raises RecordTooLarge."""
        appended = await append_with_retry(self._log, records)
        return appended[-1].position.offset + 1

    def _extractor_of(self, message: Observation) -> Extractor:
        """Return the extractor of an observation: turns may ask to be kept word for word."""
        return self._verbatim if isinstance(message, TurnRecorded) and not message.infer else self._extractor

    def _key(self, partition: int, message: TurnRecorded) -> _SessionKey:
        lease = self._shards.assignment.lease(partition)
        return _SessionKey(message.envelope.owner, message.envelope.agent_id, message.session_id, lease)

    def _ended(self, partition: int, end: SessionEnded) -> list[_SessionKey]:
        """Return the sessions that an end closes; one that names no agent ends the session with all agents."""
        owner = end.envelope.owner
        return [
            key
            for key in self._sessions
            if (key.partition, key.owner, key.session_id) == (partition, owner, end.session_id)
            and end.envelope.agent_id in (None, key.agent_id)
        ]

    def _pieces_of(self, message: Observation, record: Record) -> list[Piece]:
        """Return the pieces of an observation, each with the trace that its record came with."""
        carrier = telemetry.carried(record.headers)
        traceparent = None if carrier is None else carrier[telemetry.TRACEPARENT]
        return pieces_of(message, record.recorded_at, record.position, traceparent, self._zone)

    async def _put_aside(self, delivery: Delivery, reason: str, detail: str) -> None:
        await put_aside(self._log, delivery.record, reason, detail)
        self._counted("observe", "dead")
        delivery.ack()


def _traceparent(window: Window) -> str | None:
    """Return the trace that a window belongs to: that of the last piece that came with one, which closed it."""
    return next((piece.traceparent for piece in reversed(window.pieces) if piece.traceparent is not None), None)


def _span_of(window: Window) -> AbstractContextManager[telemetry.Span]:
    """Return the span of what is made of a window, in the trace that it belongs to."""
    traceparent = _traceparent(window)
    carrier = None if traceparent is None else {telemetry.TRACEPARENT: traceparent}
    return telemetry.span("extract", {"mnemolog.pieces": len(window.pieces)}, kind="consumer", of=carrier)


def _nothing() -> None:
    """Acknowledge nothing: it was acknowledged before."""


def _is_users(turn: Turn | None) -> bool:
    return turn is not None and turn.message.role == "user"
