"""Digests of the projections: equal for equal counted decisions, whatever the engine, generation or interleaving."""

from __future__ import annotations

from dataclasses import MISSING, fields
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Final

import orjson

from projections.state.intimacy import intimacy_rows
from projections.state.memory import ACTIVE, Memory
from projections.state.wakes import NO_WAKES
from projections.text.analyser import tokens

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from projections.state.memory import UserState
    from projections.state.wakes import Wakes
    from schemas.identity import Owner

_LATER: Final = tuple(
    (field.name, field.default)
    for field in fields(Memory)
    if field.default is not MISSING and field.name != "shared_with"  # which is in the row itself
)
"""The fields that were added to memories later, with their defaults."""
PROJECTIONS: Final = ("memories", "importance", "profiles", "episodes", "index")


def digests(states: Iterable[UserState]) -> dict[str, str]:
    """Return one hash of 256 bits, hexadecimal, for each projection, and `total` over all of them.

    The hash of a projection is the sum, modulo 2^256, of the SHA-256 of each of its rows, so that the hashes of several
    workers add up (`combined`). The rows hold nothing local: no positions, log times, vector bytes, or values computed
    at query time. Users without memories add nothing. `memories` also has a row for each user's wakes, and one for
    the user's intimacies that are kept.
    """
    sums = dict.fromkeys(PROJECTIONS, 0)
    for state in states:
        for memory in state.memories.values():
            for name, row in _rows(state.owner, memory).items():
                sums[name] += _hash(row)
        if state.wakes != NO_WAKES:
            sums["memories"] += _hash(_wakes(state.owner, state.wakes))
        if state.intimacies:
            owner = state.owner
            sums["memories"] += _hash([owner.tenant, owner.user_id, "closeness", intimacy_rows(state.intimacies)])
    return _as_hex(sums)


def combined(parts: Iterable[Mapping[str, str]]) -> dict[str, str]:
    """Return the digests over the users of all parts. Each user must be in one part only."""
    sums = dict.fromkeys(PROJECTIONS, 0)
    for part in parts:
        for name in PROJECTIONS:
            sums[name] += int(part[name], 16)
    return _as_hex(sums)


def _as_hex(sums: Mapping[str, int]) -> dict[str, str]:
    found = {name: f"{total % (1 << 256):064x}" for name, total in sums.items()}
    return {**found, "total": sha256("".join(found[n] for n in PROJECTIONS).encode()).hexdigest()}


def _hash(row: list[Any]) -> int:
    return int.from_bytes(sha256(orjson.dumps(row)).digest())


def _wakes(owner: Owner, wakes: Wakes) -> list[Any]:
    how: list[object] | None = None
    if wakes.configured is not None:
        how = [wakes.configured.envelope.agent_id, wakes.configured.every_seconds, wakes.configured.memory_limit]
        how += [text and text.text for text in (wakes.configured.text, wakes.configured.query)]
    reminders = [
        [r.reminder_id, r.envelope.agent_id, r.due_at, r.content.text, r.channel, r.text.text]
        for r in sorted(wakes.reminders.values(), key=lambda r: r.reminder_id)
    ]
    shown = sorted(wakes.shown.items())
    return [owner.tenant, owner.user_id, "wakes", how, wakes.last_slot, wakes.raised, wakes.round, reminders, shown]


def _rows(owner: Owner, m: Memory) -> dict[str, list[Any]]:
    who = [owner.tenant, owner.user_id, m.memory_id]
    rows: dict[str, list[Any]] = {
        "memories": [
            *who,
            [m.agent_id, m.scope, m.kind, m.memory_type, m.category, m.content, m.content_hash],
            [m.source_type, m.source_ids, m.source_ref, m.session_id, m.pieces],
            [m.occurred_at, m.formed_at, m.expires_at, m.status, m.superseded_by, m.metadata, m.version],
            *([m.shared_with] if m.shared_with else []),
            *_later(m),
        ],
        "importance": [
            *who,
            [m.importance, m.initial_strength, m.strength],
            [m.access_count, m.recall_count, m.last_accessed_at, m.last_recalled_at, m.restored_at, m.last_tick_id],
        ],
    }
    if m.attribute:
        rows["profiles"] = [*who, m.attribute, m.value, m.status, m.formed_at]
    if m.kind == "episodic":
        dialogue = [m.event_type, m.emotion, m.emotion_intensity, m.key_dialogue]
        rows["episodes"] = [*who, dialogue, m.occurred_at, m.status]
    if m.status == ACTIVE:
        kept = [m.kind, m.category, m.memory_type, m.source_type, m.indexed_agent_id, m.occurred_at, m.embedding_model]
        rows["index"] = [*who, tokens(m.content), kept, m.text_version]
    return rows


def _later(memory: Memory) -> list[dict[str, Any]]:
    """Return the later fields that differ from their defaults: the digests of other memories must not change."""
    said = {name: value for name, default in _LATER if (value := getattr(memory, name)) != default}
    return [said] if said else []
