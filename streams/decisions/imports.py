"""The decision about a memory from another system: it is imported once, unchanged."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from projections.profile.visibility import SENSITIVE
from projections.state.importance import DECIMALS
from projections.state.lifetime import ends_at, expiry_of, is_over
from projections.state.memory import ACTIVE, EXPIRED, FORGOTTEN, SUPERSEDED
from schemas.identity import OURS, commanded_memory_id
from schemas.messages.copied_fields import copied_names, copier
from schemas.messages.events import MemoryImported
from schemas.messages.inbox import ImportMemory
from schemas.text import content_hash, is_blank
from streams.decisions import slots, statements
from streams.decisions.duplicates import matching

if TYPE_CHECKING:
    from projections.state.memory import Memory
    from streams.decisions.draft import Draft

_as_it_was: Final = copier(
    copied_names(
        ImportMemory,
        MemoryImported,
        but=(
            "envelope",
            "importance",
            "initial_strength",
            "access_count",
            "last_accessed_at",
            "status",
            "superseded_by",
            "forgotten_at",
        ),
    )
)
"""Copies the fields that an import takes over unchanged; `decide_import` sets the others."""
_ACTIONS: Final = {ACTIVE: "formed", EXPIRED: "expired", FORGOTTEN: "forgotten", SUPERSEDED: "superseded"}


def decide_import(draft: Draft, item: ImportMemory, *, profile_keeps: bool) -> None:
    """Import a snapshot, unless it comes from this system or its text is known.

    An import does not reinforce a known memory. An active memory takes its place in a single slot by the time at which
    it was said, like any other; the others keep their status.
    """
    if item.source_system == OURS and item.source_memory in draft.state.memories:
        draft.say("0", "nothing", "it is from here", item.source_memory)
        return
    item = _with_its_expiry(_with_a_whole_slot(item))
    said = statements.of_command(item, max(item.said_at or item.formed_at, item.formed_at))
    now = item.envelope.occurred_at
    is_past = is_over(ends_at(item), now)
    status, superseded_by = _status(item, is_past=is_past)
    present: list[Memory] = []
    memory_id = commanded_memory_id(draft.state.owner, item.envelope.event_id)
    if status == ACTIVE and not is_past:
        alike = (m for m in matching.exact(draft.state, said) if slots.is_same(m, said, item.happened_at))
        same = matching.first_active(alike, now)
        if same is not None:
            draft.say("0", "nothing", "known already", same.memory_id)
            return
        held = slots.occupants(draft.state, said)
        present = slots.present(held, max(now, said.effective))  # expired occupants do not count
        kept = present[-1] if profile_keeps and present and not slots.holds(present[-1], said.value) else None
        held = held or slots.opposed(draft.state, said, keeps=profile_keeps)
        present = slots.present(held, max(now, said.effective))
        newer = kept or slots.newer_than(held, said.effective)
        if newer is not None:
            status, superseded_by, present = SUPERSEDED, newer.memory_id, []
    draft.add(
        MemoryImported(
            **_as_it_was(item),
            envelope=draft.envelope(item.formed_at),
            memory_id=memory_id,
            content_hash=content_hash(said.content),
            importance=round(item.importance, DECIMALS),
            initial_strength=round(item.initial_strength, DECIMALS),
            access_count=max(item.access_count, item.recall_count),
            said_at=said.effective,
            last_accessed_at=max(item.last_accessed_at, item.formed_at),
            status=status,
            superseded_by=superseded_by,
            forgotten_at=(item.forgotten_at or draft.position.recorded_at) if status == FORGOTTEN else None,
        )
    )
    action = _ACTIONS[EXPIRED if status == ACTIVE and is_past else status]
    draft.say("0", action, f"imported from {item.source_system}", memory_id)
    slots.supersede(draft, present, memory_id, said.effective)


def _with_a_whole_slot(item: ImportMemory) -> ImportMemory:
    """Return the item with both an attribute and a value, or with neither: a missing value must not replace one.

    An export of mnemolog without a value stays unchanged. A sensitive topic without a value keeps its attribute,
    because its text is then the topic.
    """
    is_said = item.value is not None and not is_blank(item.value.text)
    if is_said or (item.value is None and item.source_system == OURS):
        return item
    return replace(item, attribute=SENSITIVE if item.attribute == SENSITIVE else None, value=None)


def _with_its_expiry(item: ImportMemory) -> ImportMemory:
    """Return the item with its expiry: the one that its source gives, else that of its memory type."""
    return replace(item, expires_at=item.expires_at or expiry_of(item.memory_type, item.formed_at))


def _status(item: ImportMemory, *, is_past: bool) -> tuple[str, str | None]:
    if item.status == SUPERSEDED and item.superseded_by is not None:
        return SUPERSEDED, item.superseded_by
    if item.status == EXPIRED and is_past:
        return ACTIVE, None  # `expires_at` makes it expire, and an earlier `as_of` still shows it
    return EXPIRED if item.status == SUPERSEDED else item.status, None
