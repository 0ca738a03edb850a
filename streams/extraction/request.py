"""An extraction request: the extractor's answer to a window, with vectors, as an inbox item."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass, field, replace
from itertools import islice, zip_longest
from typing import TYPE_CHECKING, Final, TypeAlias

import numpy as np
import orjson

from projections.dates.hours import time_of_day
from projections.embedding.embedder import EmbedderRefused, EmbedderUnavailable
from projections.embedding.stored_vector import vector_bytes
from projections.profile.upcoming import SCHEDULE
from projections.profile.visibility import NAME
from projections.shard.observations import WITHOUT_MODEL
from schemas import codec, telemetry
from schemas.disclosure import describe
from schemas.identity import derived_id
from schemas.inputs.images import VisionPolicy
from schemas.inputs.zone import instant_of
from schemas.instant import YEARS
from schemas.log import NewRecord
from schemas.messages.envelope import Envelope, Sealed
from schemas.messages.inbox import Candidate, CandidatesExtracted, CoveredPiece, ExtractionRejected, ModelTokens
from schemas.policy import RULES
from schemas.redaction import Redaction
from schemas.text import MAX_MARKS, has_many_marks, without_many_marks
from schemas.topics import INBOX
from streams.delivery.fair_slots import FairSlots
from streams.delivery.retry import pauses
from streams.extraction.carried_metadata import carried_metadata
from streams.extraction.evidence.speakers import others_of
from streams.extraction.own_instructions import with_own_instructions
from streams.extraction.protocol import Extraction, Outage, Rejected, Window
from streams.extraction.redacted_window import redacted_extraction, redacted_window
from streams.extraction.wishes.wished_window import kept_window, readable_window, with_wishes

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Sequence
    from contextlib import AbstractContextManager

    from projections.embedding.embedder import Embedder, Vectors
    from schemas.log import RecordTooLarge
    from schemas.policy import Policy
    from streams.extraction.protocol import Extractor, Known, Proposal

_Readable: TypeAlias = tuple[Redaction, Window, tuple[int, ...], tuple[str, ...]]
"""A redaction, and what `redacted_window` returns for it."""
log = logging.getLogger("mnemolog")
BUGS: Final = (ArithmeticError, LookupError, TypeError, ValueError, AttributeError, RecursionError)
"""Errors of a rule on words that it was not made for. They reject the window, and do not stop the worker."""
VERBATIM: Final = "verbatim"
"""The name of the extractor that keeps pieces word for word."""
DEFAULT_SLOTS: Final = 8
MAX_FAILURES: Final = 8
"""A window is rejected after this many failures while others succeeded: the window is at fault, and not an outage."""


def _without_policy(_tenant: str, _agent_id: str | None) -> None:
    """Return the default policy."""


def _without_redaction(_tenant: str, _agent_id: str | None) -> Redaction:
    return Redaction({})


async def know_nothing(_window: Window) -> Sequence[Known]:
    """Return no memories: the model is shown none."""
    return ()


def ignore(_: str) -> None:
    """Ignore why an attempt failed."""


@dataclass(slots=True)
class ExtractionService:
    """Turns windows into inbox items. It waits out outages, however long they last."""

    embedder: Embedder
    slots: FairSlots = field(default_factory=lambda: FairSlots(DEFAULT_SLOTS))
    """Bounds how many attempts run at the same time. A window that pauses between attempts occupies no slot; otherwise
    a few windows that always fail would block all others."""
    make_pauses: Callable[[], Callable[[], float]] = pauses
    """Returns a window's own source of pauses between attempts, in seconds."""
    vision: VisionPolicy = field(default_factory=VisionPolicy)
    """Which pictures the model can see."""
    policy_of: Callable[[str, str | None], Policy | None] = _without_policy
    """Returns the policy of a tenant's agent, None where it is the default."""
    redaction_of: Callable[[str, str | None], Redaction] = _without_redaction
    """Returns the redaction for a tenant's agent."""
    within_budget: Callable[[Window], Awaitable[bool]] | None = None
    """Returns whether the budgets of a window's policy have tokens left today; None: budgets are not checked."""
    judge: Callable[[Window, Extraction], Awaitable[Extraction]] | None = None
    """Returns a model's answer after judgement (`judgement.judged`); None: every entry is believed.

    Raises EmbedderUnavailable."""
    known_of: Callable[[Window], Awaitable[Sequence[Known]]] = know_nothing
    """Returns the memories that a model is shown with a window, as decided up to this moment."""
    rules: Extractor | None = None
    """Extracts in the place of a model whose budget is spent, or that refuses; None: there is no model."""
    successes: int = 0
    """How many windows were answered. If one fails while this grows, that window is at fault; if it does not grow,
    there is an outage."""

    async def extract(
        self,
        window: Window,
        extractor: Extractor,
        on_wait: Callable[[str], None] = ignore,
    ) -> CandidatesExtracted | ExtractionRejected:
        """Return the answer to a window, or its rejection. Reports to `on_wait` why each attempt failed.

        The policy in force now applies.
        """
        window = self._with_policy(window)
        refused: Rejected | None = None
        asked = extractor
        if provisional := await self._is_over_budget(window, extractor):
            extractor = self.rules or extractor
        if unreadable := self._unreadable(window):
            return rejection(window, extractor, Rejected(unreadable))
        window = await self._with_known(window, extractor)  # once, so that all attempts ask the same
        kept = None if extractor.model == VERBATIM else kept_window(window)
        readable = self._readable(kept or window)
        pause = self.make_pauses()
        failures = 0
        successes = self.successes
        extraction: Extraction | None = None
        while True:
            try:
                async with self.slots.slot(window.tenant):
                    extraction = extraction or await self._heeded(window, kept, readable, extractor)
                    extraction, vectors = await self._embedded(extraction)
            except Rejected as rejected:
                rules = self._rules_after(window, extractor)
                if rules is None:  # where the rules reject too, the model's reason and tokens count
                    return rejection(window, asked, refused) if refused else rejection(window, extractor, rejected)
                refused, provisional, extractor = _with_tokens(rejected, extractor), True, rules
            except EmbedderRefused as unusable:
                return _unembedded(window, extractor, f"embedder: {unusable}", extraction, refused)
            except (Outage, EmbedderUnavailable) as outage:
                failures += self.successes > successes or failures == 0
                successes = self.successes
                if failures >= MAX_FAILURES:
                    reason = f"failed {failures} times while others succeeded; last: {outage}"
                    return _unembedded(window, extractor, reason, extraction, refused)
                on_wait(str(outage))
                await asyncio.sleep(max(pause(), (isinstance(outage, Outage) and outage.retry_after) or 0.0))
            else:
                self.successes += 1
                item = self._answer(window, extractor, extraction, vectors)
                return _provisional(item, refused) if provisional else item

    async def _judged(self, window: Window, readable: _Readable, extractor: Extractor) -> Extraction:
        """Return the answer to a window: a model's after judgement, the rules' unchanged."""
        extraction = await _redacted(readable, extractor)
        if self.judge is None or extractor.model in WITHOUT_MODEL:
            return extraction
        return await self.judge(window, extraction)

    def _unreadable(self, window: Window) -> str | None:
        """Return why no extractor can read a window, None where it can."""
        pictures = (piece.image for piece in window.pieces if piece.image is not None)
        if refusal := next(filter(None, map(self.vision.refusal, pictures)), None):
            return f"image: {refusal}"
        if any(has_many_marks(piece.text) for piece in window.pieces):
            return f"text: more than {MAX_MARKS} combining marks in a row"
        return None

    def _readable(self, window: Window) -> _Readable:
        """Return what an extractor may read of a window. What the redaction finds is counted."""
        redaction = self.redaction_of(window.tenant, window.agent_id)
        return redaction, *redacted_window(window, redaction)

    async def _heeded(
        self, window: Window, kept: Window | None, readable: _Readable, extractor: Extractor
    ) -> Extraction:
        """Return the answer to what may be read, with what the user asked to remember and to forget.

        If `kept` is None, the user's wishes are not read, and the words are kept as they are. Raises Outage and
        Rejected.
        """
        if kept is None:
            return await _redacted(readable, extractor)
        redaction, read, places, left_out = readable
        extraction = await self._judged(kept, (redaction, readable_window(read), places, left_out), extractor)
        return _allowed(window, with_wishes(extraction, window, kept, read, places))

    async def extract_together(
        self, windows: Sequence[Window], extractor: Extractor
    ) -> list[CandidatesExtracted | ExtractionRejected] | None:
        """Return the answers of an extractor without model to windows of one user, with their texts embedded together.

        None if one of the windows cannot be answered in this way: `extract` then answers each by itself.
        """
        if extractor.model not in WITHOUT_MODEL:
            return None
        windows = [self._with_policy(window) for window in windows]
        pieces = [piece for window in windows for piece in window.pieces]
        if any(piece.image is not None or has_many_marks(piece.text) for piece in pieces):
            return None
        if any(others_of(window) for window in windows):
            return None
        try:
            async with self.slots.slot(windows[0].tenant):
                extractions = [await _redacted(self._readable(window), extractor) for window in windows]
                said = [proposal.content for extraction in extractions for proposal in extraction.proposals]
                vectors = await self.embedder.embed(said) if said else np.empty((0, 0), np.float32)
        except (Rejected, EmbedderRefused, Outage, EmbedderUnavailable):
            return None
        self.successes += len(windows)
        rest = iter(vectors)
        return [
            self._answer(window, extractor, extraction, list(islice(rest, len(extraction.proposals))))
            for window, extraction in zip(windows, extractions, strict=True)
        ]

    def _with_policy(self, window: Window) -> Window:
        """Return a window with the policy in force and the instructions of its own observations."""
        policy = with_own_instructions(self.policy_of(window.tenant, window.agent_id), window.pieces)
        return window if policy is window.policy else replace(window, policy=policy)

    async def _with_known(self, window: Window, extractor: Extractor) -> Window:
        """Return a window with the memories that a model is shown; without them if they cannot be found.

        An extractor without model gets only the user's name, and only if several people speak.
        """
        is_model = extractor.model not in WITHOUT_MODEL
        if not is_model and not others_of(window):
            return window
        try:
            known = await self.known_of(window)
            return replace(window, known=tuple(one for one in known if is_model or one.attribute == NAME))
        except BUGS:
            log.exception("what is known was not found for a window of %d pieces", len(window.pieces))
            return window

    async def _is_over_budget(self, window: Window, extractor: Extractor) -> bool:
        """Return whether the window's user or tenant has used all model tokens that the policy allows today."""
        has_budget = window.policy is not None and window.policy.has_budget
        if not has_budget or self.rules is None or self.within_budget is None or extractor.model in WITHOUT_MODEL:
            return False
        return not await self.within_budget(window)

    def _rules_after(self, window: Window, extractor: Extractor) -> Extractor | None:
        """Return the rules if they are to extract what a model refused, else None."""
        wanted = window.policy is not None and window.policy.when_refused == RULES
        return self.rules if wanted and extractor.model not in WITHOUT_MODEL else None

    async def _embedded(self, extraction: Extraction) -> tuple[Extraction, Vectors]:
        """Return an extraction without the proposals that the embedder refuses, and the vectors of the others.

        Raises EmbedderUnavailable, and EmbedderRefused if it refuses all of them or does not say which.
        """
        proposals = extraction.proposals
        if not proposals:
            return extraction, np.empty((0, 0), np.float32)
        try:
            return extraction, await self.embedder.embed([p.content for p in proposals])
        except EmbedderRefused as refused:
            kept = tuple(p for place, p in enumerate(proposals) if place not in refused.places)
            if not 0 < len(kept) < len(proposals):
                raise
            why = tuple(f"memory {place + 1}: embedder: {refused}" for place in sorted(refused.places))
        return await self._embedded(replace(extraction, proposals=kept, dropped=extraction.dropped + why))

    def _answer(
        self, window: Window, extractor: Extractor, extraction: Extraction, vectors: Iterable[Vectors]
    ) -> CandidatesExtracted:
        redaction = self.redaction_of(window.tenant, window.agent_id)
        return CandidatesExtracted(
            envelope=_envelope(window, extractor),
            session_id=window.session_id,
            source_type=window.source_type,
            source_ref=window.source_ref,
            model=extraction.by or extractor.model,
            prompt_hash=_prompt_hash(window, extractor),
            embedding_model=self.embedder.model,
            answer=None if extraction.answer is None else Sealed.clear(extraction.answer),
            tokens_in=extraction.tokens_in,
            tokens_out=extraction.tokens_out,
            tokens_by_model=list(extraction.tokens_by_model),
            dropped=list(extraction.dropped),
            shown=list(extraction.shown),
            covered=_covered(window),
            candidates=[
                _candidate(window, proposal, vector, redaction)
                for proposal, vector in zip(extraction.proposals, vectors, strict=True)
            ],
        )


async def _redacted(readable: _Readable, extractor: Extractor) -> Extraction:
    """Return the answer to what may be read of a window. Raises Outage and Rejected."""
    redaction, window, places, left_out = readable
    if not any(piece.text.strip() or piece.image is not None for piece in window.pieces):
        return Extraction(proposals=(), dropped=left_out)
    if redaction.is_idle:
        return await _extracted(window, extractor)
    if not places:
        return Extraction(proposals=(), dropped=left_out)
    try:
        extraction = await _extracted(window, extractor)
    except Rejected as rejected:
        replacing = redaction.replacing()
        rejected.reason, rejected.answer = replacing.value(rejected.reason), replacing.value(rejected.answer)
        raise
    return redacted_extraction(extraction, redaction, places, left_out)


async def _extracted(window: Window, extractor: Extractor) -> Extraction:
    """Return the extractor's answer. Raises Outage and Rejected; a bug of the extractor is a Rejected too."""
    try:
        with _span_of(extractor) as span:
            extraction = await extractor.extract(window)
            span.note(
                {
                    "gen_ai.usage.input_tokens": extraction.tokens_in,
                    "gen_ai.usage.output_tokens": extraction.tokens_out,
                }
            )
    except BUGS as bug:
        log.exception("the extractor failed at a window of %d pieces", len(window.pieces))
        raise Rejected(f"the extractor failed: {describe(bug)}") from bug
    plain = tuple(map(_without_many_marks, extraction.proposals))
    if any(one is not said for one, said in zip(plain, extraction.proposals, strict=True)):
        extraction = replace(extraction, proposals=plain)
    return _allowed(window, extraction)


def _span_of(extractor: Extractor) -> AbstractContextManager[telemetry.Span]:
    """Return the trace span of a question to a model, or of an extraction by the rules."""
    model = extractor.model
    if model in WITHOUT_MODEL:
        return telemetry.span(f"extract by {model}")
    asked = {"gen_ai.operation.name": "chat", "gen_ai.request.model": model}
    return telemetry.span(f"chat {model}", asked, kind="client")


def _allowed(window: Window, extraction: Extraction) -> Extraction:
    """Return an extraction without the proposals that the window's policy forbids."""
    if window.policy is None:
        return extraction
    kept: list[Proposal] = []
    dropped = list(extraction.dropped)
    for number, proposal in enumerate(extraction.proposals, 1):
        attribute = proposal.attribute or proposal.becomes
        forbidden = window.policy.forbids(
            proposal.content, category=proposal.category, attribute=attribute, value=proposal.value
        )
        if forbidden:
            dropped.append(f"memory {number}: {forbidden}")
        else:
            kept.append(proposal)
    return replace(extraction, proposals=tuple(kept), dropped=tuple(dropped))


def _unembedded(
    window: Window, extractor: Extractor, reason: str, extraction: Extraction | None, refused: Rejected | None
) -> ExtractionRejected:
    """Return the rejection of a window that was not embedded, or not even extracted, with the tokens that it cost."""
    answer = extraction.answer if extraction else None
    took = refused or extraction
    if took is None:
        return rejection(window, extractor, Rejected(reason, answer))
    tokens = (took.tokens_in, took.tokens_out, took.tokens_by_model)
    return rejection(window, extractor, Rejected(reason, answer, *tokens))


def _with_tokens(rejected: Rejected, extractor: Extractor) -> Rejected:
    """Return a model's rejection, with the tokens of each model that was asked."""
    if not rejected.tokens_by_model:
        asked = ModelTokens(model=extractor.model, tokens_in=rejected.tokens_in, tokens_out=rejected.tokens_out)
        rejected.tokens_by_model = (asked,)
    return rejected


def _provisional(item: CandidatesExtracted, refused: Rejected | None) -> CandidatesExtracted:
    """Return the rules' answer as provisional; if a model refused, with its tokens and its reason."""
    if refused is None:
        return replace(item, provisional=True)
    return replace(
        item,
        provisional=True,
        tokens_in=refused.tokens_in,
        tokens_out=refused.tokens_out,
        tokens_by_model=list(refused.tokens_by_model),
        dropped=[f"the model's answer: {refused.reason}", *item.dropped],
    )


def _prompt_hash(window: Window, extractor: Extractor) -> str:
    """Return the extractor's hash, followed by a slash and the id of the policy if there is one."""
    return f"{extractor.prompt_hash}/{window.policy.policy_id}" if window.policy else extractor.prompt_hash


def _without_many_marks(proposal: Proposal) -> Proposal:
    """Return a proposal without long runs of combining marks, which a model may write and which compare slowly."""
    texts = (proposal.content, proposal.value, proposal.about, proposal.speaker)
    if not any(text and has_many_marks(text) for text in texts):
        return proposal
    content, value, about, speaker = (text and without_many_marks(text) for text in texts)
    return replace(proposal, content=content or "", value=value, about=about, speaker=speaker)


def rejection(window: Window, extractor: Extractor, rejected: Rejected) -> ExtractionRejected:
    """Return the inbox item that records that a window has no usable answer."""
    return ExtractionRejected(
        envelope=_envelope(window, extractor),
        model=extractor.model,
        prompt_hash=_prompt_hash(window, extractor),
        reason=rejected.reason,
        answer=None if rejected.answer is None else Sealed.clear(rejected.answer),
        tokens_in=rejected.tokens_in,
        tokens_out=rejected.tokens_out,
        tokens_by_model=list(rejected.tokens_by_model),
        covered=_covered(window),
    )


def too_large(
    window: Window, extractor: Extractor, item: CandidatesExtracted | ExtractionRejected, error: RecordTooLarge
) -> ExtractionRejected:
    """Return the rejection that takes the place of an answer too large for the log; it keeps the tokens."""
    reason = f"the answer is too large: {error}"
    rejected = rejection(window, extractor, Rejected(reason, tokens_in=item.tokens_in, tokens_out=item.tokens_out))
    return replace(rejected, model=item.model, prompt_hash=item.prompt_hash, tokens_by_model=item.tokens_by_model)


def answer_records(
    partition: int,
    items: Sequence[CandidatesExtracted | ExtractionRejected],
    traceparents: Sequence[str | None] = (),
) -> list[NewRecord]:
    """Return answers as records of a partition's inbox.

    `traceparents` name the trace that each answer belongs to, where that is not the current one.
    """
    return [
        NewRecord(
            topic=INBOX.name,
            partition=partition,
            key=item.envelope.owner.key,
            value=codec.encode_cached(item),
            headers=telemetry.headers_of(traceparent),
        )
        for item, traceparent in zip_longest(items, traceparents)
    ]


def _envelope(window: Window, extractor: Extractor) -> Envelope:
    """Return the envelope of an answer. The same window, model and prompt always give the same id.

    After a rejection they give another id, because an item that was decided on does not count twice.
    """
    own = window.pieces[window.earlier :]
    first, last = own[0], own[-1]
    keys = {p.by for p in own}
    again = (window.rejected_at,) if window.rejected_at else ()
    return Envelope(
        event_id=derived_id(
            "extraction",
            window.tenant,
            window.user_id,
            first.piece_id,
            last.piece_id,
            extractor.model,
            _prompt_hash(window, extractor),
            *again,
        ),
        tenant=window.tenant,
        user_id=window.user_id,
        agent_id=window.agent_id,
        occurred_at=max(p.occurred_at for p in own),
        causation_id=last.event_id,
        correlation_id=first.event_id,
        by=keys.pop() if len(keys) == 1 else None,
    )


def _covered(window: Window) -> list[CoveredPiece]:
    return [
        CoveredPiece(
            piece_id=p.piece_id,
            by_user=p.speaker == "user",
            occurred_at=p.occurred_at,
            recorded_at=p.recorded_at,
            position=str(p.position) if p.position else None,
        )
        for p in window.pieces
    ]


def when(window: Window, proposal: Proposal) -> str | None:
    """Return the day of a proposal; for a plan that names an hour, the instant by the clock of its speaker."""
    day = proposal.occurred_on
    if day is None:
        return None
    hour = time_of_day(proposal.content) if proposal.category == SCHEDULE and day.year in YEARS else None
    if hour is None:
        return day.isoformat()
    cited = [window.pieces[i] for i in proposal.sources]
    said_in = next((piece for piece in cited if piece.speaker == "user"), cited[0])
    return instant_of(day, hour, said_in.zone).isoformat()


def _candidate(window: Window, proposal: Proposal, vector: Vectors, redaction: Redaction) -> Candidate:
    dialogue = list(proposal.key_dialogue)
    metadata = carried_metadata((window.pieces[i] for i in sorted(proposal.sources)), redaction)
    return Candidate(
        content=Sealed.clear(proposal.content),
        vector=Sealed.clear(vector_bytes(vector)),
        kind=proposal.kind,
        category=proposal.category,
        memory_type=proposal.memory_type,
        importance=float(proposal.importance),
        attribute=proposal.attribute,
        value=None if proposal.value is None else Sealed.clear(proposal.value),
        event_type=proposal.event_type,
        emotion=proposal.emotion,
        emotion_intensity=proposal.emotion_intensity,
        key_dialogue=Sealed.clear(orjson.dumps(dialogue)) if dialogue else None,
        occurred_on=when(window, proposal),
        pieces=[window.pieces[i].piece_id for i in proposal.sources],
        shape=window.policy.shape_of(proposal.attribute) if window.policy else None,
        metadata=None if metadata is None else Sealed.clear(metadata),
        about=None if proposal.about is None else Sealed.clear(proposal.about),
        speaker=None if proposal.speaker is None else Sealed.clear(proposal.speaker),
        replaces=list(proposal.replaces),
        ends=list(proposal.ends),
        confirmed=proposal.confirmed,
        becomes=proposal.becomes,
    )
