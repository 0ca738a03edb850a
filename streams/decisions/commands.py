"""Decisions about commands (remember, revise, forget, restore, recall) and about requests to forget in turns."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Final, assert_never

import orjson

from projections.profile.slot_question import slot_asked
from projections.state.importance import DECIMALS
from projections.state.lifetime import expiry_of, is_over
from projections.state.memory import ACTIVE, EXPIRED, FORGOTTEN, SUPERSEDED
from projections.state.places import met_again, without_session
from projections.text.wishes import ASKED_TO_WITHDRAW
from schemas.identity import commanded_memory_id
from schemas.inputs.input_events import MAX_CONTENT_BYTES
from schemas.messages.decision import MAX_CHANGES
from schemas.messages.envelope import Sealed
from schemas.messages.events import MemoryForgotten, MemoryFormed, MemoryReinforced, MemoryRestored, MemoryRevised
from schemas.messages.inbox import ForgetMemory, RecordRecall, RememberFact, RestoreMemory, ReviseMemory
from schemas.text import content_hash
from schemas.vocabulary.attributes import NICKNAME
from schemas.vocabulary.facts import subject_of
from schemas.vocabulary.refusals import Refusal
from schemas.vocabulary.words import DOCUMENT
from streams.decisions import edited_value, slots, statements
from streams.decisions.duplicates import matching
from streams.decisions.entries import facts, plans
from streams.decisions.sharing import decide_share, is_share

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from projections.state.memory import Memory
    from schemas.messages.inbox import Candidate, MemoryCommand
    from streams.decisions.draft import Draft
    from streams.decisions.duplicates.matching import Statement
    from streams.decisions.parameters import Parameters

RECALL_GAP: Final = timedelta(minutes=1)
"""Recalls of one memory within a minute of effective time count once."""

_OWN: Final = re.compile(r"^(?:my |i am |i'm |i |我们?的?|咱们?的?)", re.IGNORECASE)
LEAST_SHARE: Final = 0.5
"""The least share of the order's words in a memory that is meant; its names and numbers must all occur."""
_NAMED: Final = re.compile(r"[A-Z][^\W_]+|\d+")
CLEARLY: Final = 0.1
"""The least lead in cosine by which one of several memories with the same share of words is meant."""
BY_HAND: Final = "forget it by DELETE /v1/memories/{memory_id}"
NONE_MEANT: Final = f"it asks to forget what no memory says: {BY_HAND} if one is meant"
SEVERAL_MEANT: Final = f"it asks to forget what several memories say: {BY_HAND}"


def decide_command(draft: Draft, item: MemoryCommand, parameters: Parameters) -> bool:
    """Draft the effects of a command about memories; return whether this is its last part."""
    match item:
        case RememberFact():
            decide_remember(draft, item, profile_keeps=parameters.profile_keeps)
        case ReviseMemory():
            decide_revise(draft, item, profile_keeps=parameters.profile_keeps)
        case ForgetMemory():
            decide_forget(draft, item)
        case RestoreMemory():
            decide_restore(draft, item, profile_keeps=parameters.profile_keeps)
        case RecordRecall():
            return decide_recall(draft, item)
        case _:
            assert_never(item)
    return True


def decide_remember(draft: Draft, item: RememberFact, *, profile_keeps: bool) -> None:
    """Remember a text as given; if the same text is known, count an access instead.

    An attribute that was read from the text, not given, fills a slot only if no value that the profile keeps is lost.
    """
    effective = item.envelope.occurred_at
    said = statements.of_command(item, effective)
    plain = replace(said, attribute=None, value=None) if item.read else said
    alike = (m for m in matching.exact(draft.state, plain) if slots.fills_same(m, plain))
    same = matching.first_active(alike, effective)
    if same is not None:
        met_in = met_again(same, item.session_id, item.metadata)
        _reinforce(draft, same, "remembered_again", "known already; this counts as an access", met_in)
        _end_read(draft, item, said, same.memory_id, keeps=profile_keeps)
        return
    if item.read and said.slot == NICKNAME:
        said = slots.named(draft.state, said)
    held = slots.occupants(draft.state, said)
    present = slots.present(held, effective)
    is_document = item.kind == DOCUMENT
    if profile_keeps and not is_document and present and not slots.holds(present[-1], said.value):
        if not item.read:
            detail = f"the profile keeps the {item.attribute} that it has"
            draft.say("0", "refused", Refusal.PROFILE_KEEPS.because(detail), present[-1].memory_id)
            return
        said, held = plain, []
    held = held or slots.opposed(draft.state, said, keeps=profile_keeps)
    newer, present = slots.newer_than(held, effective), slots.present(held, effective)
    memory_id = commanded_memory_id(draft.state.owner, item.envelope.event_id)
    draft.add(
        MemoryFormed(
            envelope=draft.envelope(),
            memory_id=memory_id,
            scope=item.scope,
            kind=item.kind,
            memory_type=item.memory_type,
            category=item.category,
            content=item.content,
            content_hash=content_hash(said.content),
            vector=item.vector,
            embedding_model=item.embedding_model,
            attribute=said.attribute,
            value=None if said.value is None else item.value,
            importance=round(item.importance, DECIMALS),
            source_type="manual",
            source_ids=[],
            source_ref=item.session_id,
            session_id=item.session_id,
            pieces=[],
            happened_at=effective if item.occurred_on is None else plans.begins_at(item.occurred_on),
            formed_at=effective,
            expires_at=item.expires_at or expiry_of(item.memory_type, effective),
            superseded_by=newer.memory_id if newer else None,
            metadata=item.metadata,
            about=item.about,
        )
    )
    draft.say("0", "superseded" if newer else "formed", "a newer value is known" if newer else "new", memory_id)
    if newer is None:
        slots.supersede(draft, present, memory_id, effective)
    _end_read(draft, item, said, memory_id, keeps=profile_keeps)


def _end_read(draft: Draft, item: RememberFact, said: Statement, memory_id: str, *, keeps: bool) -> None:
    """Draft that a memory supersedes the memories that, as read from its text, are no longer true."""
    facts.end(draft, item.ends, facts.Successor(memory_id=memory_id, said=said, by_user=True), keeps=keeps)


def decide_revise(draft: Draft, item: ReviseMemory, *, profile_keeps: bool) -> None:
    """Change the given fields if the memory is active and has the expected version.

    A new text without a value determines the value of the slot, which may become empty.
    """
    effective = item.envelope.occurred_at
    memory = _shown(draft, item.memory_id)
    if memory is None:
        return
    if item.expected_version is not None and item.expected_version != memory.version:
        detail = f"the memory has version {memory.version}, expected was {item.expected_version}"
        draft.say(memory.memory_id, "refused", Refusal.VERSION_MOVED.because(detail), memory.memory_id)
        return
    if is_share(item):
        shared = statements.of_memory(memory, memory.content, effective, item.envelope.agent_id)
        decide_share(draft, item, memory, shared)
        return
    new = None if item.content is None else statements.of_memory(memory, item.content.text, effective)
    if new is not None and _other_with(draft, memory, new) is not None:
        reason = Refusal.DUPLICATE.because("another memory has this very text")
        draft.say(memory.memory_id, "refused", reason, memory.memory_id)
        return
    metadata = None if item.metadata is None else _patched(memory.metadata, item.metadata.data)
    if metadata is not None and len(metadata) > MAX_CONTENT_BYTES:
        detail = f"its metadata would have {len(metadata)} bytes: at most {MAX_CONTENT_BYTES} are allowed"
        draft.say(memory.memory_id, "refused", Refusal.TOO_MANY.because(detail), memory.memory_id)
        return
    memory_type = item.memory_type
    value = item.value
    others = _holders_beside(draft, memory, effective) if value is not None else []
    others += _holders_of_another(draft, memory, item, effective)
    new_value = memory.value if value is None else value.text
    if profile_keeps and others and not slots.holds(others[-1], new_value):
        reason = Refusal.PROFILE_KEEPS.because(f"the profile keeps the {memory.attribute} that it has")
        draft.say(memory.memory_id, "refused", reason, others[-1].memory_id)
        return
    if value is None and item.content is not None:
        said = edited_value.value_of(memory, item.content.text, effective.date())
        value = None if said is None else Sealed.clear(said)
    draft.add(
        MemoryRevised(
            envelope=draft.envelope(),
            memory_id=memory.memory_id,
            reason="edited",
            content=item.content,
            content_hash=content_hash(item.content.text) if item.content else None,
            vector=item.vector,
            embedding_model=item.embedding_model,
            category=item.category,
            importance=None if item.importance is None else round(item.importance, DECIMALS),
            memory_type=memory_type,
            expires_at=_revised_expiry(memory, item),
            sets_expiry=item.sets_expiry,
            metadata=None if metadata is None else Sealed.clear(metadata),
            value=value,
            about=item.about,
            event_type=item.event_type,
            emotion=item.emotion,
            emotion_intensity=item.emotion_intensity,
            key_dialogue=item.key_dialogue,
            source_ids=[],
            pieces=[],
        )
    )
    draft.say(memory.memory_id, "revised", "edited", memory.memory_id)
    after = draft.state.memories[memory.memory_id]
    says = statements.of_memory(after, after.content, effective)
    slots.supersede(draft, others, memory.memory_id, effective)
    if value is not None:
        opposed = slots.present(slots.opposed(draft.state, says, keeps=profile_keeps), effective)
        slots.supersede(draft, opposed, memory.memory_id, effective)
    if memory_type is not None and (held := slots.present(slots.occupants(draft.state, says), effective)):
        # A memory that would have expired, and was therefore not superseded, now lasts.
        slots.supersede(draft, held[:-1], held[-1].memory_id, effective)


def _revised_expiry(memory: Memory, item: ReviseMemory) -> datetime | None:
    """Return the expiry that a revision sets, explicitly or by its memory type; None if it sets none.

    A new memory type does not change an expiry that does not come from the old type.
    """
    if item.sets_expiry or item.memory_type is None:
        return item.expires_at
    lasts = expiry_of(memory.memory_type, memory.formed_at) is None
    return (memory.expires_at if lasts else None) or expiry_of(item.memory_type, item.envelope.occurred_at)


def _restored_expiry(memory: Memory, effective: datetime) -> datetime | None:
    """Return the expiry of a restored memory: a new one by its memory type, but not earlier than before."""
    by_type = expiry_of(memory.memory_type, effective)
    if memory.expires_at is None or is_over(memory.expires_at, effective):
        return by_type
    return max(memory.expires_at, by_type or memory.expires_at)


def _patched(metadata: str, patch: bytes) -> bytes:
    """Return metadata with the members of a patch; a null in the patch removes a member."""
    given = orjson.loads(patch)
    kept = {name: value for name, value in orjson.loads(metadata).items() if name not in given}
    return orjson.dumps(kept | {name: value for name, value in given.items() if value is not None})


def decide_forget(draft: Draft, item: ForgetMemory) -> None:
    """Make the memory unfindable, whatever its status."""
    memory = draft.state.memories.get(item.memory_id)
    if memory is None:
        draft.say(item.memory_id, "refused", Refusal.UNKNOWN.because("no such memory"))
    elif memory.status == FORGOTTEN:
        draft.say(memory.memory_id, "nothing", "forgotten already", memory.memory_id)
    elif item.session_id is not None and (left := without_session(memory, item.session_id)) is not None:
        first, met_in = left
        draft.add(
            MemoryRevised(
                envelope=draft.envelope(),
                memory_id=memory.memory_id,
                reason="left",
                session_id=first.session_id,
                metadata=None if first.metadata == memory.metadata else Sealed.clear(first.metadata),
                met_in=met_in,
                source_ids=[],
                pieces=[],
            )
        )
        draft.say(memory.memory_id, "revised", "forgotten in this session; it was told elsewhere too", memory.memory_id)
    else:
        draft.add(MemoryForgotten(envelope=draft.envelope(), memory_id=memory.memory_id))
        draft.say(memory.memory_id, "forgotten", "asked for", memory.memory_id)


def decide_restore(draft: Draft, item: RestoreMemory, *, profile_keeps: bool) -> None:
    """Restore a forgotten or expired memory; if the same text is active, reinforce that memory instead."""
    effective = item.envelope.occurred_at
    memory = draft.state.memories.get(item.memory_id)
    if memory is None:
        draft.say(item.memory_id, "refused", Refusal.UNKNOWN.because("no such memory"))
        return
    status = memory.status_at(effective)
    if status == ACTIVE:
        draft.say(memory.memory_id, "nothing", "it is active", memory.memory_id)
        return
    if status == SUPERSEDED:
        reason = Refusal.SUPERSEDED.because("a newer value took its place: revise that one, or remember this one anew")
        draft.say(memory.memory_id, "refused", reason, memory.memory_id)
        return
    said = statements.of_memory(memory, memory.content, effective)
    same = _other_with(draft, memory, said)
    if same is not None:
        _reinforce(draft, same, "restored", "the same text is active")
        return
    held = slots.occupants(draft.state, said) or slots.opposed(draft.state, said, keeps=profile_keeps)
    held = [m for m in held if m.memory_id != memory.memory_id]
    newer = next(iter(slots.present(held, effective)), None)
    draft.add(
        MemoryRestored(
            envelope=draft.envelope(),
            memory_id=memory.memory_id,
            expires_at=_restored_expiry(memory, effective),
            superseded_by=newer.memory_id if newer else None,
            last_accessed_at=max(memory.last_accessed_at, effective),
        )
    )
    action = "superseded" if newer else "restored"
    draft.say(memory.memory_id, action, "a newer value holds its place" if newer else "asked for", memory.memory_id)


def decide_recall(draft: Draft, item: RecordRecall) -> bool:
    """Count each memory that an agent was shown, at most once a minute; return whether this is the last part."""
    at, shown = item.envelope.occurred_at, list(dict.fromkeys(item.memory_ids))
    end = draft.part * MAX_CHANGES
    for memory_id in shown[end - MAX_CHANGES : end]:
        memory = draft.state.memories.get(memory_id)
        if memory is None or memory.status_at(at) in (EXPIRED, FORGOTTEN, SUPERSEDED):
            draft.say(memory_id, "nothing", "not shown any more", memory_id if memory else None)
        elif memory.last_recalled_at is not None and abs(at - memory.last_recalled_at) < RECALL_GAP:
            draft.say(memory_id, "nothing", "recalled within the same minute", memory_id)
        else:
            draft.add(
                MemoryReinforced(
                    envelope=draft.envelope(),
                    memory_id=memory_id,
                    reason="recalled",
                    access_count=memory.access_count + 1,
                    recall_count=memory.recall_count + 1,
                    last_accessed_at=max(memory.last_accessed_at, at),
                    source_ids=[],
                    pieces=[],
                )
            )
            draft.say(memory_id, "reinforced", "recalled", memory_id)
    return end >= len(shown)


def _shown(draft: Draft, memory_id: str) -> Memory | None:
    memory = draft.state.memories.get(memory_id)
    if memory is None:
        draft.say(memory_id, "refused", Refusal.UNKNOWN.because("no such memory"))
        return None
    status = memory.status_at(draft.item.envelope.occurred_at)
    if status != ACTIVE:
        reason = Refusal(status).because("only active memories can be revised")
        draft.say(memory_id, "refused", reason, memory_id)
        return None
    return memory


def _holders_beside(draft: Draft, memory: Memory, effective: datetime) -> list[Memory]:
    """Return the active memories in the single slot that a memory left empty; [] if it still has a value."""
    if memory.stated is not None:
        return []
    said = replace(statements.of_memory(memory, memory.content, effective), attribute=memory.attribute)
    return slots.present(slots.occupants(draft.state, said), effective)


def _holders_of_another(draft: Draft, memory: Memory, item: ReviseMemory, effective: datetime) -> list[Memory]:
    """Return the active memories in the slot of the memory's new subject; [] if the subject stays the same."""
    subject = memory.subject if item.about is None else subject_of(item.about.text)
    if subject == memory.subject:
        return []
    said = replace(statements.of_memory(memory, memory.content, effective), subject=subject)
    return slots.present(slots.occupants(draft.state, said), effective)


def _other_with(draft: Draft, memory: Memory, said: matching.Statement) -> Memory | None:
    """Return another active memory with the same text."""
    others = (m for m in matching.exact(draft.state, said) if m.memory_id != memory.memory_id)
    return matching.first_active(others, said.effective)


def _reinforce(draft: Draft, memory: Memory, reason: str, why: str, met_in: Sealed | None = None) -> None:
    draft.add(
        MemoryReinforced(
            envelope=draft.envelope(),
            memory_id=memory.memory_id,
            reason=reason,
            access_count=memory.access_count + 1,
            recall_count=memory.recall_count,
            last_accessed_at=max(memory.last_accessed_at, draft.item.envelope.occurred_at),
            source_ids=[],
            pieces=[],
            met_in=met_in,
        )
    )
    draft.say(memory.memory_id, "reinforced", why, memory.memory_id)


def carry_order(draft: Draft, said: Statement, subject: str, order: Candidate, vectors: Mapping[str, bytes]) -> None:
    """Forget the memory that an order means, if that is clear; it can be restored."""
    active = [
        m for m in draft.state.memories.values() if m.status_at(said.effective) == ACTIVE and m.known_to(said.agent_id)
    ]
    if order.event_type == ASKED_TO_WITHDRAW:
        for memory in active:
            if list(memory.source_ids) == [said.content]:
                _forget(draft, subject, memory, "the user asked not to keep it")
        return
    meant = _meant(said, active, vectors)
    if len(meant) == 1:
        _forget(draft, subject, meant[0], "the user asked to forget it")
    else:
        draft.say(subject, "nothing", SEVERAL_MEANT if meant else NONE_MEANT)


def _meant(said: Statement, active: list[Memory], vectors: Mapping[str, bytes]) -> list[Memory]:
    """Return the memories with the greatest share of the order's words, or only the one that is clearly nearest.

    If no memory has enough of them, return those that fill the slot for which the order asks: "forget where I live".
    """
    what = _OWN.sub("", said.content).casefold()
    words = matching.cached_keywords(_OWN.sub("", said.content)) or matching.cached_keywords(said.content)
    named = matching.cached_keywords(" ".join(_NAMED.findall(said.content))) & words
    shares = {
        m.memory_id: 1.0 if _has(m.content.casefold(), what) else len(words & has) / max(1, len(words))
        for m in active
        if named <= (has := matching.cached_keywords(m.content))
    }
    best = max(shares.values(), default=0.0)
    if best < LEAST_SHARE:
        asked = slot_asked(said.content)
        return [] if asked is None else [m for m in active if m.slot in asked.attributes]
    found = [m for m in active if shares.get(m.memory_id) == best]
    near = sorted(((matching.cosine(m, said, vectors) or 0.0, m.memory_id) for m in found), reverse=True)
    if len(near) > 1 and near[0][0] - near[1][0] >= CLEARLY:
        return [m for m in found if m.memory_id == near[0][1]]
    return found


def _has(text: str, what: str) -> bool:
    """Return whether a text has words as a whole: "education" has no "cat"."""
    at = text.find(what) if what else -1
    while at >= 0:
        around = f"{text[at - 1 : at]}{text[at + len(what) : at + len(what) + 1]}"
        if not any(sign.isascii() and sign.isalnum() for sign in around):
            return True
        at = text.find(what, at + 1)
    return False


def _forget(draft: Draft, subject: str, memory: Memory, reason: str) -> None:
    draft.add(MemoryForgotten(envelope=draft.envelope(), memory_id=memory.memory_id))
    draft.say(subject, "forgotten", reason, memory.memory_id)
