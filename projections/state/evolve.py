"""The fold that arbitrates: which decisions count, and how they change a user's state."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, Final, TypeAlias, TypeVar, assert_never

import orjson
from immutables import Map

from projections.state.formation import formed, imported
from projections.state.intimacy import Intimacy
from projections.state.memory import ACTIVE, EXPIRED, FORGOTTEN, SUPERSEDED, Memory, UserState
from projections.state.places import places_of
from projections.state.statement_index import StatementIndex
from projections.state.wakes import evolve_wakes
from schemas import codec
from schemas.disclosure import describe
from schemas.messages.chain import HASH_BYTES, hash_of
from schemas.messages.erasure import EraseUser, MemoryErased, UserErased
from schemas.messages.events import (
    LEDGER_EVENTS,
    MEMORY_EVENTS,
    WAKE_EVENTS,
    IntimacyKept,
    LedgerEvent,
    MemoryDecayed,
    MemoryEvent,
    MemoryExpired,
    MemoryForgotten,
    MemoryFormed,
    MemoryImported,
    MemoryReinforced,
    MemoryRestored,
    MemoryRevised,
    MemorySuperseded,
)
from schemas.text import digest
from schemas.topics import INBOX

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from datetime import datetime

    from schemas.messages.decision import Decision


class Unfit(ValueError):
    """The decision cannot be made of the state that it expects: it is void for every reader alike."""


ERASE: Final = EraseUser.__name__

SHARED: Final = "shared"
"""The reason of a MemoryRevised that shares a memory with its envelope's agent."""
BEGUN: Final = "begun"
"""The reason of a MemoryRevised by which a plan takes effect, from its envelope's instant on."""
SAID: Final = frozenset({"said_again", "remembered_again"})
"""The reasons of a MemoryReinforced by which the memory was stated again."""

Events: TypeAlias = "Sequence[LedgerEvent]"
_UNFIT: Final = (KeyError, TypeError, ValueError)
"""The errors raised by an event that does not fit the state."""


def events_of(decision: Decision) -> tuple[LedgerEvent, ...]:
    """Return a decision's events. Raises UnknownSchema for one that this version does not know."""
    return events_in(decision.events)


def events_about(decision: Decision, memory_id: str) -> list[MemoryEvent]:
    """Return a decision's events about a memory; only events with its id are decoded. Raises as `events_of`."""
    name = memory_id.encode()
    named = events_in(data for data in decision.events if name in data)
    return [event for event in named if isinstance(event, MEMORY_EVENTS) and event.memory_id == memory_id]


def events_in(encoded: Iterable[bytes]) -> tuple[LedgerEvent, ...]:
    """Return the decoded events of a decision. Raises UnknownSchema for one that this version does not know."""
    return tuple(codec.decode_as(data, *LEDGER_EVENTS) for data in encoded)


@lru_cache(maxsize=1_024)  # an item is looked up several times while it is decided and folded
def item_key(item_id: str) -> bytes:
    """Return the 16-byte hash of a decided item, which is kept indefinitely."""
    return blake2b(item_id.encode(), digest_size=16).digest()


def is_decided(state: UserState, item_id: str) -> bool:
    """Return whether the item needs no decision for this user any more."""
    if item_id == state.last_item and not state.last_part_closed:
        return False
    return item_key(item_id) in state.items


def is_passed(state: UserState, item_id: str, offset: int) -> bool:
    """Return whether a later item was decided, so that no decision about this one can count."""
    return offset <= state.last_offset and item_id != state.last_item


def is_cut_off(state: UserState, topic: str, offset: int) -> bool:
    """Return whether a record of the user dates from before the user's last erasure."""
    return offset < state.cut.get(topic, 0)


def next_part(state: UserState, item_id: str) -> int:
    """Return the part number of the next decision about the item."""
    return state.last_part + 1 if item_id == state.last_item and not state.last_part_closed else 1


def counts(state: UserState, decision: Decision) -> bool:
    """Return whether a decision counts: the user's next version, and an item (or part of it) that is new.

    Every other decision is void for every reader alike, such as one that a frozen worker appended after it woke up, or
    one that was appended twice.
    """
    if decision.item_type == ERASE:
        # Earlier decisions can no longer be read once the user's key is destroyed, so versions may be missing.
        if decision.version <= state.version:
            return False
    elif decision.version != state.version + 1 or decision.part != next_part(state, decision.item_id):
        return False
    if decision.part > 1:
        return True
    return item_key(decision.item_id) not in state.items and decision.item_offset > state.last_offset


def unlike_appended(state: UserState, decision: Decision) -> str | None:
    """Return why a decision cannot have been appended after the decisions folded so far; None if it can.

    To be called for a decision that is linked, or that follows a linked one.

    A worker folds the user's whole log before it decides. So an earlier version is merely void: a worker that had
    frozen was late. A later version means that those in between are missing, and a different link that the previous
    decision was a different one.
    """
    if decision.item_type == ERASE and decision.version != state.version + 1:
        return None  # see `counts`
    if decision.version > state.version + 1:
        return f"version {decision.version} follows version {state.version}, and what is between is missing"
    if decision.version == state.version + 1 and decision.previous != state.tip:
        return f"version {decision.version} was decided after another version {state.version} than the one here"
    return None


def link_of(decision: Decision, value: bytes) -> bytes:
    """Return the hash that links the user's next decision to this one, whose encoding is `value`."""
    if decision.previous is None:
        return b""
    return hash_of(value) if decision.replaced is None else decision.replaced[:HASH_BYTES]


def evolve(state: UserState, decision: Decision, events: Events, link: bytes) -> UserState:
    """Return the state after a decision that counts, whose hash is `link`. Raises Unfit."""
    if len(events) == 1 and isinstance(events[0], MemoryFormed):  # nearly always: one copy of the state, not two
        try:
            decided = _decided(state, decision, link)
            return replace(state, **decided, **_changes(state, None, formed(events[0])))
        except _UNFIT as error:
            raise _unfit(error) from error
    return evolve_some(after_item(state, decision, link), decision, events)


def after_item(state: UserState, decision: Decision, link: bytes) -> UserState:
    """Return the state after a decision that counts, without its events."""
    return replace(state, **_decided(state, decision, link))


def evolve_some(state: UserState, decision: Decision, events: Events) -> UserState:
    """Return the state after some of a decision's events, which must come in their order. Raises Unfit."""
    try:
        return apply_all(state, events, decision.envelope.recorded_at)
    except _UNFIT as error:
        raise _unfit(error) from error


def _unfit(error: Exception) -> Unfit:
    return Unfit(f"the decision does not fit what is known: {describe(error)}")


def _decided(state: UserState, decision: Decision, link: bytes) -> dict[str, Any]:
    """Return the fields of a state that change with a decision, whatever its events are."""
    covered = state.covered
    if decision.covered:
        with covered.mutate() as change:
            for piece in decision.covered:
                change[piece] = decision.rejected
            covered = change.finish()
    return {
        "version": decision.version,
        "last_item": decision.item_id,
        "last_offset": decision.item_offset,
        "last_part": decision.part,
        "last_part_closed": decision.last_part,
        "tip": link,
        "items": state.items.set(item_key(decision.item_id), None),
        "covered": covered,
    }


def apply_all(state: UserState, events: Events, recorded_at: datetime | None) -> UserState:
    """Return the state after the events of one item whose log time is `recorded_at`."""
    faded: list[MemoryDecayed] = []
    for event in events:
        if isinstance(event, MemoryDecayed):  # a tick has many of them
            faded.append(event)
            continue
        if faded:
            state, faded = _faded(state, faded), []
        if isinstance(event, MEMORY_EVENTS):
            state = _apply(state, event, recorded_at)
        elif isinstance(event, WAKE_EVENTS):
            state = replace(state, wakes=evolve_wakes(state.wakes, event))
        elif isinstance(event, IntimacyKept):
            said = Intimacy(event.said_at, event.intimacy)
            state = replace(state, intimacies=state.intimacies.set(event.envelope.agent_id, said))
        elif isinstance(event, UserErased):
            state = _erased(state, event)
        elif isinstance(event, MemoryErased):
            state = _without_memory(state, state.memories[event.memory_id])
    return _faded(state, faded) if faded else state


def _faded(state: UserState, events: Sequence[MemoryDecayed]) -> UserState:
    """Return the state after memories have decayed, which changes none of its indexes."""
    with state.memories.mutate() as change:
        for event in events:
            change[event.memory_id] = _after_tick(change[event.memory_id], event)
        memories = change.finish()
    return replace(state, memories=memories)


def _erased(state: UserState, event: UserErased) -> UserState:
    """Return the state of an erased user, which knows nothing except the item that was decided last, the erasure."""
    return UserState(
        owner=state.owner,
        version=state.version,
        last_item=state.last_item,
        last_offset=state.last_offset,
        last_part=state.last_part,
        last_part_closed=state.last_part_closed,
        tip=state.tip,
        items=Map({item_key(state.last_item): None}),
        erased_at=event.erased_at,
        cut=Map({cut.topic: cut.before for cut in event.cut} | {INBOX.name: state.last_offset + 1}),
    )


def _without_memory(state: UserState, memory: Memory) -> UserState:
    by_attribute = state.by_attribute
    if memory.key:
        by_attribute = _without(by_attribute, memory.key, memory.memory_id)
    wakes = state.wakes
    if memory.memory_id in wakes.shown:
        wakes = replace(wakes, shown=wakes.shown.delete(memory.memory_id))
    statements = state.statements
    return replace(
        state,
        wakes=wakes,
        memories=state.memories.delete(memory.memory_id),
        by_digest=_without(state.by_digest, digest(memory.content), memory.memory_id),
        by_attribute=by_attribute,
        forgotten=_forgotten(state, memory, None),
        statements=None if statements is None else statements.without(memory.memory_id),
    )


def _apply(state: UserState, event: MemoryEvent, recorded_at: datetime | None) -> UserState:
    if isinstance(event, MemoryFormed):
        return _with(state, None, formed(event))
    if isinstance(event, MemoryImported):
        return _with(state, None, imported(event))
    before = state.memories[event.memory_id]
    return _with(state, before, _after(before, event, recorded_at))


_Key = TypeVar("_Key")
_ByTick: TypeAlias = MemoryDecayed | MemoryExpired
_ByWish: TypeAlias = MemoryForgotten | MemoryRestored
_Change: TypeAlias = MemoryReinforced | MemoryRevised | MemorySuperseded | _ByTick | _ByWish


def _after(before: Memory, event: _Change, recorded_at: datetime | None) -> Memory:
    """Return the memory after an event about it, one version later."""
    match event:
        case MemoryReinforced():
            return _reinforced(before, event)
        case MemoryRevised():
            return _revised(before, event)
        case MemorySuperseded():
            return replace(before, version=before.version + 1, status=SUPERSEDED, superseded_by=event.superseded_by)
        case MemoryDecayed() | MemoryExpired():
            return _after_tick(before, event)
        case _:
            return _as_wished(before, event, recorded_at)


def _after_tick(before: Memory, event: _ByTick) -> Memory:
    seen: dict[str, Any] = {"version": before.version + 1, "last_tick_id": event.tick_id}
    match event:
        case MemoryDecayed():
            if event.measure == "strength":
                return replace(before, **seen, strength=event.after)
            return replace(before, **seen, importance=event.after)
        case MemoryExpired():
            return replace(before, **seen, status=EXPIRED)
        case _:
            assert_never(event)


def _as_wished(before: Memory, event: _ByWish, recorded_at: datetime | None) -> Memory:
    match event:
        case MemoryForgotten():
            return replace(before, version=before.version + 1, status=FORGOTTEN, forgotten_at=recorded_at)
        case MemoryRestored():
            return replace(
                before,
                version=before.version + 1,
                text_version=before.version + 1,
                status=SUPERSEDED if event.superseded_by else ACTIVE,
                superseded_by=event.superseded_by,
                expires_at=event.expires_at,
                last_accessed_at=event.last_accessed_at,
                restored_at=max(before.restored_at or event.envelope.occurred_at, event.envelope.occurred_at),
                forgotten_at=None,
            )
        case _:
            assert_never(event)


def _reinforced(before: Memory, event: MemoryReinforced) -> Memory:
    return replace(
        before,
        version=before.version + 1,
        access_count=event.access_count,
        recall_count=event.recall_count,
        last_accessed_at=event.last_accessed_at,
        last_recalled_at=_recalled_at(before, event),
        said_at=max(before.said_at, event.envelope.occurred_at) if event.reason in SAID else before.said_at,
        source_ids=_joined(before.source_ids, event.source_ids),
        pieces=_joined(before.pieces, event.pieces),
        confirmed=before.confirmed or event.reason in SAID,
        met_in=before.met_in if event.met_in is None else places_of(event.met_in),
    )


def _recalled_at(before: Memory, event: MemoryReinforced) -> datetime | None:
    if event.reason != "recalled":
        return before.last_recalled_at
    return max(before.last_recalled_at or event.envelope.occurred_at, event.envelope.occurred_at)


def _revised(before: Memory, event: MemoryRevised) -> Memory:
    shared_with = [agent] if event.reason == SHARED and (agent := event.envelope.agent_id) else []
    return replace(
        before,
        version=before.version + 1,
        text_version=before.version + 1,
        content=event.content.text if event.content else before.content,
        content_hash=event.content_hash or before.content_hash,
        embedding_model=event.embedding_model or before.embedding_model,
        category=event.category or before.category,
        importance=before.importance if event.importance is None else event.importance,
        memory_type=event.memory_type or before.memory_type,
        expires_at=event.expires_at if event.memory_type or event.sets_expiry else before.expires_at,
        value=event.value.text if event.value else before.value,
        event_type=before.event_type if event.event_type is None else event.event_type or None,
        emotion=before.emotion if event.emotion is None else event.emotion or None,
        emotion_intensity=_intensity(before, event),
        key_dialogue=tuple(orjson.loads(event.key_dialogue.data)) if event.key_dialogue else before.key_dialogue,
        access_count=before.access_count if event.access_count is None else event.access_count,
        last_accessed_at=event.last_accessed_at or before.last_accessed_at,
        source_ids=_joined(before.source_ids, event.source_ids),
        pieces=_joined(before.pieces, event.pieces),
        shared_with=_joined(before.shared_with, shared_with),
        metadata=event.metadata.text if event.metadata else before.metadata,
        confirmed=before.confirmed or (event.access_count or 0) > before.access_count,
        attribute=event.attribute or before.attribute,
        said_at=max(before.said_at, event.envelope.occurred_at) if event.reason == BEGUN else before.said_at,
        about=before.about if event.about is None else event.about.text or None,
        session_id=event.session_id or before.session_id,
        met_in=before.met_in if event.met_in is None else places_of(event.met_in),
    )


def _intensity(before: Memory, event: MemoryRevised) -> float | None:
    """Return the present intensity of the emotion; None if the emotion was removed."""
    if event.emotion == "":
        return None
    return before.emotion_intensity if event.emotion_intensity is None else event.emotion_intensity


def _joined(known: tuple[str, ...], more: Sequence[str]) -> tuple[str, ...]:
    return (*known, *(m for m in more if m not in known)) if more else known


def _with(state: UserState, before: Memory | None, after: Memory) -> UserState:
    return replace(state, **_changes(state, before, after))


def _changes(state: UserState, before: Memory | None, after: Memory) -> dict[str, Any]:
    by_digest, by_attribute = state.by_digest, state.by_attribute
    if before is not None and before.content != after.content:
        by_digest = _without(by_digest, digest(before.content), before.memory_id)
    if before is None or before.content != after.content:
        key = digest(after.content)
        by_digest = by_digest.set(key, tuple(sorted((*by_digest.get(key, ()), after.memory_id))))
    known = None if before is None else before.key
    if after.key != known:
        if known:
            by_attribute = _without(by_attribute, known, after.memory_id)
        if after.key:
            by_attribute = by_attribute.set(after.key, (*by_attribute.get(after.key, ()), after.memory_id))
    return {
        "memories": state.memories.set(after.memory_id, after),
        "by_digest": by_digest,
        "by_attribute": by_attribute,
        "forgotten": _forgotten(state, before, after),
        "statements": _statements(state, before, after),
    }


def _statements(state: UserState, before: Memory | None, after: Memory) -> StatementIndex | None:
    """Note the statement of a memory in the index, if it has changed."""
    if before is not None and (before.content, before.key, before.value) == (after.content, after.key, after.value):
        return state.statements
    index = state.statements
    if index is None or index.is_worn(len(state.memories)):
        index = StatementIndex(state.memories.values())
    index.note(after)
    return index


def _forgotten(state: UserState, before: Memory | None, after: Memory | None) -> Map[str, tuple[str, ...]]:
    """Return the index of forgotten memories by piece, updated for one memory."""
    index = state.forgotten
    if before is not None and before.status == FORGOTTEN:
        for piece in dict.fromkeys(before.pieces):
            index = _without(index, piece, before.memory_id)
    if after is not None and after.status == FORGOTTEN:
        for piece in dict.fromkeys(after.pieces):
            index = index.set(piece, tuple(sorted((*index.get(piece, ()), after.memory_id))))
    return index


def _without(index: Map[_Key, tuple[str, ...]], key: _Key, memory_id: str) -> Map[_Key, tuple[str, ...]]:
    left = tuple(m for m in index.get(key, ()) if m != memory_id)
    return index.set(key, left) if left else index.delete(key)
