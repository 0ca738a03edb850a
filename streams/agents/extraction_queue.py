"""The extraction queue: closed windows are extracted, and the answers appended to the inbox."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from dataclasses import replace
from datetime import UTC
from typing import TYPE_CHECKING, Final, TypeAlias

from projections.shard.errors import ShardUnavailable
from projections.shard.observations import WITHOUT_MODEL
from schemas import telemetry
from schemas.identity import Owner
from schemas.inputs.decoding import observation_of_record
from schemas.log import LogUnavailable, RecordTooLarge
from schemas.messages.observations import TurnRecorded
from schemas.topics import INBOX
from streams.agents.earlier_turns import EarlierTurns
from streams.agents.erasure_gate import Erased, ErasureGate
from streams.agents.pending_observations import PendingObservations
from streams.delivery.retry import append_with_retry, catch_up
from streams.extraction.own_words.extractor import OwnWords
from streams.extraction.request import answer_records, too_large
from streams.extraction.window import pieces_of, window_of

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence
    from contextlib import AbstractContextManager
    from datetime import tzinfo

    from projections.partitions.shards import Shards
    from schemas.log import Log, NewRecord, Record
    from schemas.messages.inbox import CandidatesExtracted, ExtractionRejected
    from schemas.messages.observations import Observation
    from streams.agents.immediate_decisions import Decided
    from streams.delivery.keyed_pool import KeyedPool
    from streams.extraction.protocol import Extractor, Piece, Window
    from streams.extraction.request import ExtractionService

    Answer: TypeAlias = CandidatesExtracted | ExtractionRejected
    DecideAtOnce: TypeAlias = Callable[[Answer, NewRecord, Callable[[], bool]], Awaitable[Decided | None]]

MOST_ANSWERED: Final = 10_000
"""The most users whose last answer is remembered: a window of another user does not wait for it."""
DECISION_SECONDS: Final = 10.0
"""The longest wait of a user's next window for the decision on the previous one, which the model is shown."""


async def decided_at_once(_owner: object, _item_id: object) -> None:
    """Wait for no decision."""


async def decide_none(_item: object, _record: object, _holds: object) -> None:
    """Decide nothing: answers are delivered."""


class ExtractionQueue:
    """Extracts the windows of each user in their order. An answer to words that are erased is not appended.

    An observation is pending, and not acknowledged, until the answers to all its pieces are appended.
    """

    def __init__(  # noqa: PLR0913 - built once, at the composition root, all by name
        self,
        *,
        log: Log,
        shards: Shards,
        service: ExtractionService,
        extractor: Extractor,
        verbatim: Extractor,
        pool: KeyedPool,
        zone: tzinfo = UTC,
        counted: Callable[[str, str], None] = lambda _step, _outcome: None,
        extracted: Callable[[Answer, Window], None] = lambda _item, _window: None,
        decide: DecideAtOnce = decide_none,
        decided: Callable[[Owner, str], Awaitable[None]] = decided_at_once,
        decision_seconds: float = DECISION_SECONDS,
    ) -> None:
        """Use `zone` for observations that name none.

        `decide` appends an answer together with the decision on it where it can, as `ImmediateDecisions.decide`.

        `decided` returns when an answer is decided on: a user's next window waits for it, so long at most.
        """
        self.gate = ErasureGate(shards)
        self.pending = PendingObservations(shards.partition)
        self.counted = counted
        self._log = log
        self._shards = shards
        self._service = service
        self._extractor = extractor
        self._verbatim = verbatim
        self._pool = pool
        self._zone = zone
        self._extracted = extracted
        self._decide = decide
        self._decided = decided
        self._decision_seconds = decision_seconds
        self._earlier_turns = EarlierTurns(shards, zone)
        self._answered: dict[Owner, str] = {}
        """The last answer without a model to a user's words, which may not be decided on yet; the latest users'."""

    async def submit(self, message: Observation, pieces: Sequence[Piece]) -> None:
        """Queue the window of these pieces, the last of which are of this observation."""
        window, owner = window_of(message, tuple(pieces)), message.envelope.owner
        extractor, partition = self._extractor_of(message), self._shards.partition(owner)
        if extractor is self._verbatim:
            await self._pool.share(partition, owner, self._keep, window)
        else:
            await self._pool.submit(partition, owner, lambda: self._read(owner, window, extractor))

    def drop(self, partition: int) -> None:
        """Drop the windows and observations of a revoked partition."""
        self._pool.drop(partition)
        self.pending.drop(partition)

    def pieces_of(self, message: Observation, record: Record) -> list[Piece]:
        """Return the pieces of an observation, each with the trace that its record came with."""
        carrier = telemetry.carried(record.headers)
        traceparent = None if carrier is None else carrier[telemetry.TRACEPARENT]
        return pieces_of(message, record.recorded_at, record.position, traceparent, self._zone)

    async def extract_again(
        self, records: Sequence[Record], pieces: frozenset[str], version: int
    ) -> tuple[Answer, int] | None:
        """Extract a window whose extraction the decision of a version rejected; return the answer and its inbox's end.

        `records` are its observations, in the order of the log; `pieces` are those of the window. What is erased
        meanwhile is left out. Returns None where nothing is left.
        """
        messages = [(observation_of_record(record), record) for record in records]
        found = [p for message, r in messages for p in self.pieces_of(message, r)]
        last, _ = messages[-1]
        window = replace(window_of(last, ()), rejected_at=version)
        owner = Owner.of(window.tenant, window.user_id)
        while left := self.gate.surviving(owner, [p for p in found if p.piece_id in pieces]):
            again = await self._earlier_turns.with_speakers(replace(window, pieces=tuple(left)), owner)
            with suppress(Erased):
                return await self._answer(again, self._extractor_of(last), lambda _: None)
        return None

    def _extractor_of(self, message: Observation) -> Extractor:
        """Return the extractor of an observation: turns may ask to be kept word for word."""
        return self._verbatim if isinstance(message, TurnRecorded) and not message.infer else self._extractor

    def _left_of(self, owner: Owner, window: Window) -> Window | None:
        """Return a window without its erased pieces; None if none of its own is left.

        If its own first words are erased, the earlier turns are left out: nothing answers them any more.
        """
        earlier, own = window.pieces[: window.earlier], window.pieces[window.earlier :]
        left = self.gate.surviving(owner, own)
        if not left:
            return None
        before = self.gate.surviving(owner, earlier) if left[0] is own[0] else []
        return replace(window, pieces=(*before, *left), earlier=len(before))

    async def _read(self, owner: Owner, window: Window, extractor: Extractor) -> None:
        await self._extract(owner, await self._earlier_turns.with_speakers(window, owner), extractor)

    async def _extract(self, owner: Owner, window: Window, extractor: Extractor) -> None:
        def waits(reason: str) -> None:
            self.counted("extract", "waiting")
            for piece in window.pieces:
                self.pending.waits(owner, piece.event_id, reason)

        own, item = window.pieces, None
        answered = self._answered.pop(owner, None)
        if answered is not None and isinstance(extractor, OwnWords):
            extractor = extractor.behind(lambda: self._until_decided(owner, answered))
        window = await self._earlier_turns.added_to(window, owner, extractor)
        while (rest := self._left_of(owner, window)) is not None:
            with suppress(Erased):
                item, _ = await self._answer(rest, extractor, waits)
                break
        self.pending.done(owner, own)
        if item is not None and item.model not in WITHOUT_MODEL:
            await self._until_decided(owner, item.envelope.event_id)
        elif item is not None:
            self._answered[owner] = item.envelope.event_id
            if len(self._answered) > MOST_ANSWERED:
                del self._answered[next(iter(self._answered))]

    async def _until_decided(self, owner: Owner, item_id: str) -> None:
        """Wait for the decision on an answer up to a time limit: it may lag, and an erased answer has none."""
        with suppress(TimeoutError, ShardUnavailable):
            async with asyncio.timeout(self._decision_seconds):
                await self._decided(owner, item_id)

    async def _keep(self, windows: Sequence[Window]) -> None:
        """Extract windows of one user that are kept word for word: together, or else one by one."""
        owner = Owner.of(windows[0].tenant, windows[0].user_id)
        windows = [await self._earlier_turns.with_speakers(window, owner) for window in windows]
        if len(windows) == 1 or not await self._keep_together(owner, windows):
            for window in windows:
                await self._extract(owner, window, self._verbatim)

    async def _keep_together(self, owner: Owner, windows: Sequence[Window]) -> bool:
        """Extract windows at once, with one append; return whether nothing stood in the way."""
        pieces = [piece for window in windows for piece in window.pieces]
        if len(self.gate.surviving(owner, pieces)) < len(pieces):
            return False
        with _span_of(windows[-1]):
            items = await self._service.extract_together(windows, self._verbatim)
        if items is None or not self.gate.passes(owner, pieces):
            return False
        try:
            end = await self._append(self._records(items, [_traceparent(window) for window in windows]))
        except RecordTooLarge:
            return False
        await self._fold(items, windows, end)
        self.pending.done(owner, pieces)
        return True

    async def _answer(self, window: Window, extractor: Extractor, waits: Callable[[str], None]) -> tuple[Answer, int]:
        """Append the answer to a window; return it and the end of the inbox when the shard has folded it.

        Raises Erased where some of the words were erased meanwhile: then nothing of the answer is appended.
        """
        with _span_of(window) as span:
            item = await self._service.extract(window, extractor, waits)
        try:
            end = await self._append_answer(window, item, span.traceparent)
        except RecordTooLarge as error:
            item = too_large(window, extractor, item, error)
            end = await self._append_answer(window, item, span.traceparent)
        await self._fold([item], [window], end)
        return item, end

    async def _append_answer(self, window: Window, item: Answer, traceparent: str | None) -> int:
        """Append the answer to a window; a model's with the decision on it, where that can be made at once.

        Returns the offset behind it. Raises RecordTooLarge, and Erased.
        """
        owner, records = item.envelope.owner, self._records([item], [traceparent])

        def passes() -> bool:
            return self.gate.passes(owner, window.pieces)

        if item.model not in WITHOUT_MODEL:  # else there may be very many, which are not to wait for one another
            with suppress(LogUnavailable):  # it is appended again: of two equal answers one is decided
                if (decided := await self._decide(item, records[0], passes)) is not None:
                    return decided.appended.position.offset + 1
        await self.gate.wait(owner)
        if not passes():
            raise Erased("some of the words were erased meanwhile")
        return await self._append(records)

    def _records(self, items: Sequence[Answer], traceparents: Sequence[str | None]) -> list[NewRecord]:
        return answer_records(self._shards.partition(items[0].envelope.owner), items, traceparents)

    async def _fold(self, items: Sequence[Answer], windows: Sequence[Window], end: int) -> None:
        """Report the answers to windows, and wait until the shard has folded the inbox up to an end."""
        for item, window in zip(items, windows, strict=True):
            self.counted("extract", type(item).__name__)
            self._extracted(item, window)
        await catch_up(self._shards, INBOX.name, self._shards.partition(items[0].envelope.owner), end)

    async def _append(self, records: Sequence[NewRecord]) -> int:
        """Append answers to an inbox; return the offset behind the last. Raises RecordTooLarge."""
        appended = await append_with_retry(self._log, records)
        return appended[-1].position.offset + 1


def _traceparent(window: Window) -> str | None:
    """Return the trace that a window belongs to: that of the last piece that came with one, which closed it."""
    return next((piece.traceparent for piece in reversed(window.pieces) if piece.traceparent is not None), None)


def _span_of(window: Window) -> AbstractContextManager[telemetry.Span]:
    """Return the span of a window's extraction, in the trace that it belongs to."""
    traceparent = _traceparent(window)
    carrier = None if traceparent is None else {telemetry.TRACEPARENT: traceparent}
    return telemetry.span("extract", {"mnemolog.pieces": len(window.pieces)}, kind="consumer", of=carrier)
