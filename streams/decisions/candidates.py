"""The decision about an extractor's answer, entry by entry."""

from __future__ import annotations

from collections import ChainMap, Counter
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import TYPE_CHECKING, Final, cast

import orjson

from projections.state.importance import DECIMALS, grade
from projections.state.lifetime import expiry_of
from projections.state.memory import ACTIVE, FORGOTTEN
from projections.state.places import met_again
from projections.state.statement_index import day_of
from projections.text.wishes import ASKED_TO_FORGET, ASKED_TO_WITHDRAW
from schemas.identity import event_of_piece, extracted_memory_id
from schemas.instant import read_instant
from schemas.messages.decision import REJECTED
from schemas.messages.envelope import Sealed
from schemas.messages.events import MemoryFormed, MemoryReinforced, MemoryRevised
from schemas.messages.observations import EXPIRES_AT
from schemas.text import content_hash
from schemas.vocabulary.attributes import NICKNAME
from streams.decisions import commands, slots, statements
from streams.decisions.duplicates import matching, statement_keys
from streams.decisions.duplicates.similarity import overlap
from streams.decisions.entries import facts, key_dialogue, plans, trust

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from datetime import datetime

    from projections.state.memory import Memory, UserState
    from schemas.messages.inbox import Candidate, CandidatesExtracted, CoveredPiece, ExtractionRejected
    from streams.decisions.draft import Draft
    from streams.decisions.parameters import Parameters

MISDATED: Final = timedelta(days=30)
"""A log time this far ahead of a later record's log time comes from a wrong clock."""
CANDIDATES_PER_PART: Final = 250
"""The candidates in one part: each leads to a few events at most, and a decision holds at most 1,000."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Entry:
    """A candidate with the properties that follow from the pieces that it cites."""

    subject: str
    memory_id: str
    candidate: Candidate
    said: matching.Statement
    cited: list[CoveredPiece]
    anew: frozenset[str]
    """The cited pieces that the user (or the speaker) said and that no earlier decision covers."""
    by_user: bool
    """Whether a turn of the user is among the cited pieces."""
    by_speaker: bool
    """Whether another person in the conversation made the statement about themselves."""
    unfilled: str | None = None
    """The reason why it does not fill the slot that it names."""

    @property
    def in_own_words(self) -> bool:
        """Return whether the user or its subject made the statement and it is confirmed."""
        return (self.by_user or self.by_speaker) and self.candidate.confirmed

    def says_again(self, memory: Memory) -> bool:
        """Return whether the user repeated it in other pieces than those that the memory came from."""
        return not self.anew.issubset(memory.pieces)

    def holding(self, occupants: list[Memory]) -> list[Memory]:
        """Return the occupants of a slot that can keep it against the entry: shown content yields to the user."""
        return [m for m in occupants if m.source_type not in trust.SHOWN] if self.by_user else occupants

    @property
    def sources(self) -> list[str]:
        return list(dict.fromkeys(event_of_piece(c.piece_id) for c in self.cited))

    @property
    def happened_at(self) -> datetime:
        if self.candidate.occurred_on:
            return plans.begins_at(self.candidate.occurred_on)
        return self.cited[0].occurred_at


def decide_candidates(
    draft: Draft,
    item: CandidatesExtracted,
    vectors: Mapping[str, bytes],
    parameters: Parameters,
) -> bool:
    """Draft the effects of a part of the answer's entries; return whether it is the last part.

    `vectors` are those of the user's memories, by id. The last part covers the pieces, which stay fresh until then.
    """
    pieces = {c.piece_id: c for c in item.covered}
    fresh = {p for p in pieces if _is_open(draft, p)}
    begin, end = (draft.part - 1) * CANDIDATES_PER_PART, draft.part * CANDIDATES_PER_PART
    is_last = end >= len(item.candidates)
    if is_last:
        draft.rejected = item.provisional  # its pieces remain open for a model's answer
        draft.covered.extend(c.piece_id for c in item.covered if c.piece_id in fresh)
    ordinals: Counter[str] = Counter()
    formed_here: dict[str, bytes] = {}
    seen = ChainMap(formed_here, cast("dict[str, bytes]", vectors))  # only the first map is ever written
    for number, candidate in enumerate(item.candidates[:end]):
        first = candidate.pieces[0]
        memory_id = extracted_memory_id(item.envelope.owner, first, ordinals[first], item.model, item.prompt_hash)
        ordinals[first] += 1
        if number < begin:
            continue
        cited = [pieces[p] for p in candidate.pieces if p in pieces]
        subject = str(number)
        if not any(c.piece_id in fresh for c in cited):
            draft.say(subject, "nothing", "it cites only observations that were decided on before")
        elif memory_id in draft.state.memories:
            draft.say(subject, "nothing", "this very memory was formed before", memory_id)
        else:
            entry = _entry(draft, item, candidate, cited, fresh=fresh, subject=subject, memory_id=memory_id)
            if candidate.event_type in (ASKED_TO_FORGET, ASKED_TO_WITHDRAW):
                if entry.by_user:
                    commands.carry_order(draft, entry.said, subject, candidate, vectors)
                continue
            _decide_entry(draft, item, entry, seen, parameters)
            formed_here[memory_id] = candidate.vector.data
    return is_last


def decide_rejected(draft: Draft, item: ExtractionRejected) -> None:
    """Cover the pieces of an unusable answer: only an operator can have them extracted again."""
    draft.covered = [c.piece_id for c in item.covered if _is_open(draft, c.piece_id)]
    draft.rejected = True
    draft.say("0", "nothing", f"{REJECTED}{item.reason}")


def _is_open(draft: Draft, piece: str) -> bool:
    """Return whether a piece is undecided, or its only decision rejected the extraction."""
    return draft.state.covered.get(piece, True)


def _entry(
    draft: Draft,
    item: CandidatesExtracted,
    candidate: Candidate,
    cited: list[CoveredPiece],
    *,
    fresh: set[str],
    subject: str,
    memory_id: str,
) -> _Entry:
    """Return the entry for a candidate, within the trust in its source and in the light of the profile."""
    effective = max(c.occurred_at for c in cited)
    candidate = plans.dated(facts.of_somebody(trust.bounded(item, candidate)), effective)
    by_user = [c.piece_id for c in cited if trust.is_by_user(item, c)]
    by_speaker = trust.is_by_speaker(item, candidate)
    spoken = [c.piece_id for c in cited] if by_speaker else by_user
    if candidate.becomes and not spoken:
        candidate = plans.without(candidate)
    said = statements.of_candidate(item, candidate, effective)
    unfilled = None
    if not spoken and trust.needs_user(draft.state, said):
        unfilled = f"only the user's own words say what the {said.attribute} is"
    elif not candidate.confirmed and facts.has_another(draft.state, said):
        unfilled = f"what is unconfirmed does not take the place of the {said.attribute} that is known"
    if unfilled is not None:
        said = replace(said, attribute=None, value=None)
        candidate = replace(candidate, attribute=None, value=None)
    if said.slot == NICKNAME:
        said = slots.named(draft.state, said)
        candidate = replace(candidate, attribute=said.attribute)
    return _Entry(
        subject=subject,
        memory_id=memory_id,
        candidate=candidate,
        said=said,
        cited=cited,
        anew=frozenset(p for p in spoken if p in fresh),
        by_user=bool(by_user),
        by_speaker=by_speaker,
        unfilled=unfilled,
    )


def _decide_entry(
    draft: Draft,
    item: CandidatesExtracted,
    entry: _Entry,
    vectors: Mapping[str, bytes],
    parameters: Parameters,
) -> None:
    met = _met(draft, item, entry, vectors, parameters)
    if met is not None and entry.in_own_words:
        successor = facts.Successor(memory_id=met, said=entry.said, by_user=entry.by_user)
        facts.end_named(draft, entry.candidate, successor, keeps=parameters.profile_keeps)


def _met(
    draft: Draft,
    item: CandidatesExtracted,
    entry: _Entry,
    vectors: Mapping[str, bytes],
    parameters: Parameters,
) -> str | None:
    """Draft the effects of an entry; return the id of the memory that now makes its statement, None without one."""
    said = entry.said
    if said.kind == "episodic" and grade(entry.candidate.importance) < parameters.min_episode_grade:
        draft.say(entry.subject, "nothing", f"an episode of a grade under {parameters.min_episode_grade:g}")
        return None
    held = slots.occupants(draft.state, said)
    alike = [*matching.exact(draft.state, said)]
    if not held:  # a single slot is decided by its value, whatever the wording
        alike += matching.same_slot(draft.state, said)
    if said.kind == "episodic":
        alike = _same_episodes(entry, alike, parameters)
        merged = matching.first_active(alike, said.effective) or _mergeable(draft, entry, parameters)
        if merged is not None:
            _tell_again(draft, item, entry, merged)
            return merged.memory_id
        close = matching.near(draft.state, said, vectors, parameters.keyword_overlap)
        alike += [m for m in close if m.status == FORGOTTEN]
    elif not held:
        alike += matching.near(draft.state, said, vectors, parameters.keyword_overlap)
    else:
        # The value decides, whatever the wording. Without a value, or against forgotten memories, the text does too.
        alike = [m for m in held if slots.holds(m, said.value)] + [
            m for m in alike if said.value is None or m.status == FORGOTTEN
        ]
    alike, echoes = trust.without_echoes(alike, said) if entry.in_own_words else (alike, [])
    same = matching.first_active(alike, said.effective)
    if same is not None:
        _meet_again(draft, item, entry, same)
        return same.memory_id
    alike_or_paraphrased = [*alike, *_from_same_words(draft, entry, parameters)]
    forgotten = _forgotten(entry, alike_or_paraphrased, draft.position.recorded_at)
    if forgotten is not None:
        reason = "the user forgot this after these words were said"
        draft.say(entry.subject, "suppressed", reason, forgotten.memory_id)
        return None
    present = slots.present(entry.holding(held), said.effective)
    if parameters.profile_keeps and present:
        reason = f"the profile keeps the {said.attribute} that it has"
        draft.say(entry.subject, "nothing", reason, present[0].memory_id)
        return None
    held = held or slots.opposed(draft.state, said, keeps=parameters.profile_keeps)
    if entry.by_user and entry.candidate.confirmed and entry.candidate.category not in slots.OF_OCCASIONS:
        against = slots.contradicted(draft.state, said, keeps=parameters.profile_keeps)
        held = sorted([*held, *(m for m in against if m not in held)], key=lambda m: m.said_at)
    _form(draft, item, entry, held)
    slots.supersede(draft, echoes, entry.memory_id, said.effective)
    return entry.memory_id


def _forgotten(entry: _Entry, alike: list[Memory], logged_at: datetime) -> Memory | None:
    """Return a memory that the user forgot after all of the entry's pieces were logged; None without one.

    The answer was logged at `logged_at`. A forgetting that is dated far later than that comes from a wrong clock and
    is ignored.
    """
    latest, misdated = max(c.recorded_at for c in entry.cited), logged_at + MISDATED
    forgotten = ((m, m.forgotten_at) for m in alike if m.status == FORGOTTEN and m.forgotten_at)
    return next((memory for memory, at in forgotten if latest <= at <= misdated), None)


def _from_same_words(draft: Draft, entry: _Entry, parameters: Parameters) -> list[Memory]:
    """Return paraphrases: forgotten memories with similar words that share a cited piece with the entry."""
    state = draft.state
    forgotten = {i for c in entry.cited for i in state.forgotten.get(c.piece_id, ())}
    if not forgotten:
        return []
    words = matching.cached_keywords(entry.said.content)
    memories = (state.memories[i] for i in forgotten)
    return matching.in_order(
        m for m in memories if overlap(words, matching.cached_keywords(m.content)) >= parameters.keyword_overlap
    )


def _mergeable(draft: Draft, entry: _Entry, parameters: Parameters) -> Memory | None:
    """Return an active episode of the same type, close in time and with similar words."""
    words = matching.cached_keywords(entry.said.content)
    span = timedelta(hours=parameters.episode_merge_hours)
    found = (
        memory
        for memory in _near_in_time(draft.state, entry.happened_at, span)
        if memory.kind == "episodic"
        and memory.status_at(entry.said.effective) == ACTIVE
        and memory.event_type == entry.candidate.event_type
        and memory.known_to(entry.said.agent_id)
        and _is_close(memory, entry, span)
        and overlap(words, matching.cached_keywords(memory.content)) >= parameters.keyword_overlap
    )
    return next(iter(matching.in_order(found)), None)


def _near_in_time(state: UserState, happened_at: datetime, span: timedelta) -> Iterable[Memory]:
    """Return memories that include all episodes within a span of an instant."""
    day, days = day_of(happened_at), span // timedelta(days=1) + 1
    if days > len(state.memories):
        return state.memories.values()
    keys = map(statement_keys.of_day, range(day - days, day + days + 1))
    return [state.memories[i] for i in matching.found(state, keys)]


def _is_close(memory: Memory, entry: _Entry, span: timedelta) -> bool:
    """Return whether an episode is close enough in time to the entry's event to be the same."""
    return abs(memory.occurred_at - entry.happened_at) <= span


def _same_episodes(entry: _Entry, alike: list[Memory], parameters: Parameters) -> list[Memory]:
    """Return the similar memories without the episodes that are too far away in time."""
    span = timedelta(hours=parameters.episode_merge_hours)
    return [m for m in alike if m.kind != "episodic" or m.status == FORGOTTEN or _is_close(m, entry, span)]


def _tell_again(draft: Draft, item: CandidatesExtracted, entry: _Entry, memory: Memory) -> None:
    """Merge the user's account of an event into its memory; shown content does not change it."""
    if item.source_type in trust.SHOWN:
        _meet_again(draft, item, entry, memory)
    else:
        _merge(draft, item, entry, memory)


def _merge(draft: Draft, item: CandidatesExtracted, entry: _Entry, memory: Memory) -> None:
    """Keep the first text and time, the greater importance and intensity, and all key dialogue that fits."""
    spoken = orjson.loads(entry.candidate.key_dialogue.data) if entry.candidate.key_dialogue else []
    again = entry.says_again(memory)
    intensities = [i for i in (memory.emotion_intensity, entry.candidate.emotion_intensity) if i is not None]
    draft.add(
        MemoryRevised(
            envelope=draft.envelope(entry.said.effective),
            memory_id=memory.memory_id,
            reason="merged",
            importance=max(memory.importance, round(entry.candidate.importance, DECIMALS)),
            emotion_intensity=max(intensities, default=None),
            key_dialogue=key_dialogue.united(memory.key_dialogue, spoken),
            access_count=memory.access_count + again,
            last_accessed_at=max(memory.last_accessed_at, entry.said.effective) if again else None,
            source_ids=entry.sources,
            pieces=[c.piece_id for c in entry.cited],
            met_in=_met_in(item, entry, memory) if again else None,
        )
    )
    draft.say(entry.subject, "revised", "the same event, told again", memory.memory_id)


def _meet_again(draft: Draft, item: CandidatesExtracted, entry: _Entry, memory: Memory) -> None:
    if not entry.says_again(memory):
        again = "only the assistant said it again" if item.source_type == trust.CHAT else "it was only shown again"
        reason = "known from these words" if entry.anew else f"known, and {again}"
        draft.say(entry.subject, "nothing", reason, memory.memory_id)
        return
    draft.add(
        MemoryReinforced(
            envelope=draft.envelope(entry.said.effective),
            memory_id=memory.memory_id,
            reason="said_again",
            access_count=memory.access_count + 1,
            recall_count=memory.recall_count,
            last_accessed_at=max(memory.last_accessed_at, entry.said.effective),
            source_ids=entry.sources,
            pieces=[c.piece_id for c in entry.cited],
            met_in=_met_in(item, entry, memory),
        )
    )
    draft.say(entry.subject, "reinforced", "the user said it again", memory.memory_id)


def _met_in(item: CandidatesExtracted, entry: _Entry, memory: Memory) -> Sealed | None:
    _, metadata = _said_expiry(entry.candidate.metadata)
    return met_again(memory, item.session_id, metadata)


def _form(draft: Draft, item: CandidatesExtracted, entry: _Entry, held: list[Memory]) -> None:
    candidate, effective = entry.candidate, entry.said.effective
    newer = slots.newer_than(entry.holding(held), effective)
    its_own, metadata = _said_expiry(candidate.metadata)
    expires_at = its_own or expiry_of(candidate.memory_type, effective)
    draft.add(
        MemoryFormed(
            envelope=draft.envelope(effective),
            memory_id=entry.memory_id,
            scope="personal",
            kind=candidate.kind,
            memory_type=candidate.memory_type,
            category=candidate.category,
            content=candidate.content,
            content_hash=content_hash(entry.said.content),
            vector=candidate.vector,
            embedding_model=item.embedding_model,
            attribute=candidate.attribute,
            value=candidate.value,
            event_type=candidate.event_type,
            emotion=candidate.emotion,
            emotion_intensity=candidate.emotion_intensity,
            key_dialogue=candidate.key_dialogue,
            importance=round(candidate.importance, DECIMALS),
            source_type=item.source_type,
            source_ids=entry.sources,
            source_ref=item.source_ref,
            session_id=item.session_id,
            pieces=[c.piece_id for c in entry.cited],
            happened_at=entry.happened_at,
            formed_at=effective,
            expires_at=expires_at,
            superseded_by=newer.memory_id if newer else None,
            metadata=metadata,
            about=candidate.about,
            speaker=candidate.speaker,
            confirmed=candidate.confirmed,
            becomes=candidate.becomes,
        )
    )
    if newer is not None:
        draft.say(entry.subject, "superseded", f"a newer {newer.attribute or 'statement'} is known", entry.memory_id)
        return
    reason = f"new; {entry.unfilled}" if entry.unfilled else "new"
    if expires_at is not None and expires_at <= max(c.recorded_at for c in entry.cited):
        what = "" if its_own else "short_term, and "
        reason += f"; {what}expired already at {expires_at:%Y-%m-%d %H:%M}, before its words were published"
    draft.say(entry.subject, "formed", reason, entry.memory_id)
    slots.supersede(draft, slots.present(held, effective), entry.memory_id, effective)
    if candidate.becomes:
        slots.supersede(draft, plans.moved(draft.state, entry.memory_id), entry.memory_id, effective, plans.MOVED)


def _said_expiry(metadata: Sealed | None) -> tuple[datetime | None, Sealed | None]:
    """Return the expiry in metadata, and the metadata without it; a value that is not a time stays in them."""
    given = {} if metadata is None else orjson.loads(metadata.data)
    if EXPIRES_AT not in given:
        return None, metadata
    try:
        expires_at = read_instant(given.pop(EXPIRES_AT))
    except ValueError:
        return None, metadata
    return expires_at, Sealed.clear(orjson.dumps(given)) if given else None
