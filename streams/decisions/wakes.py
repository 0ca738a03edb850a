"""The rules of wakes: reminders, the periodic wake, and which of them are due at a tick."""

from __future__ import annotations

from dataclasses import replace
from heapq import nsmallest
from typing import TYPE_CHECKING, Final, assert_never

import numpy as np

from projections.embedding.stored_vector import vector_of
from projections.state.memory import ACTIVE
from projections.state.wakes import (
    LEAST_EVERY_SECONDS,
    MOST_EVERY_SECONDS,
    due_reminders,
    due_slot,
    is_periodic,
    since,
)
from schemas.identity import reminder_id_of, wake_id_of
from schemas.instant import microseconds
from schemas.messages.decision import MAX_CHANGES
from schemas.messages.wakes import (
    CancelReminder,
    ConfigureWake,
    ReminderCancelled,
    ReminderScheduled,
    ScheduleReminder,
    WakeConfigured,
    WakeRaised,
)
from schemas.vocabulary.refusals import Refusal

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from datetime import datetime

    from projections.state.memory import Memory, UserState
    from schemas.messages.envelope import Envelope, Sealed
    from schemas.messages.wakes import WakeDue
    from streams.decisions.draft import Draft

MAX_REMINDERS: Final = 1000
"""The most pending reminders of one user."""
TOO_MANY: Final = Refusal.TOO_MANY.because(f"{MAX_REMINDERS} reminders wait already: cancel some first")
NOT_WAITING: Final = Refusal.UNKNOWN.because("no such reminder waits: it was raised, was cancelled, or never was")
_BELOW_ANY_COSINE: Final = -2.0
_COSINE_DECIMALS: Final = 6
"""Products of equal vectors may differ in the last bit; memories of equal cosine are ordered by other values."""


def decide_asked(draft: Draft, item: ScheduleReminder | CancelReminder | ConfigureWake) -> None:
    """Decide on a command about a user's wakes."""
    match item:
        case ScheduleReminder():
            _schedule(draft, item)
        case CancelReminder():
            _cancel(draft, item)
        case ConfigureWake():
            _configure(draft, item)
        case _:
            assert_never(item)


def _schedule(draft: Draft, item: ScheduleReminder) -> None:
    """Schedule a reminder; one whose time has passed is raised at the next tick."""
    reminder_id = reminder_id_of(draft.state.owner, item.envelope.event_id)
    if len(draft.state.wakes.reminders) >= MAX_REMINDERS:
        draft.say(reminder_id, "refused", TOO_MANY)
        return
    draft.add(
        ReminderScheduled(
            envelope=draft.envelope(),
            reminder_id=reminder_id,
            due_at=item.due_at,
            content=item.content,
            channel=item.channel,
            text=item.text,
            vector=item.vector,
            embedding_model=item.embedding_model,
        )
    )
    draft.say(reminder_id, "scheduled", "asked for")


def _cancel(draft: Draft, item: CancelReminder) -> None:
    if item.reminder_id not in draft.state.wakes.reminders:
        draft.say(item.reminder_id, "refused", NOT_WAITING)
        return
    draft.add(ReminderCancelled(envelope=draft.envelope(), reminder_id=item.reminder_id))
    draft.say(item.reminder_id, "cancelled", "asked for")


def _configure(draft: Draft, item: ConfigureWake) -> None:
    """Configure the periodic wake of the user's agent; a repeated configuration changes nothing, not even its slots."""
    wakes = draft.state.wakes
    if item.every_seconds is not None and not (is_periodic(item.every_seconds) and item.text is not None):
        reason = f"a wake needs a text, and a period of {LEAST_EVERY_SECONDS} to {MOST_EVERY_SECONDS} seconds"
        draft.say("wake", "refused", reason)
        return
    event = WakeConfigured(
        envelope=draft.envelope(),
        every_seconds=item.every_seconds,
        text=item.text,
        query=item.query,
        vector=item.vector,
        embedding_model=item.embedding_model,
        memory_limit=item.memory_limit,
        settings_id=item.settings_id,
    )
    if wakes.configured is None:
        is_same = event.every_seconds is None
    else:
        is_same = _contents(wakes.configured) == _contents(event)
    if is_same and item.settings_id in (None, wakes.settings_id):
        draft.say("wake", "nothing", "it is so already")
        return
    draft.add(event)
    draft.say("wake", "configured", "asked for" if item.settings_id is None else "the settings say so")


def _contents(event: WakeConfigured) -> tuple[object, ...]:
    """Return the content of a configuration, without its author and time."""
    return (
        event.every_seconds,
        event.text,
        event.query,
        event.memory_limit,
        event.envelope.agent_id,
        event.embedding_model,
        event.vector is None,
    )


def decide_wakes(
    draft: Draft, tick: WakeDue, memory_limit: int, everyone: UserState, vectors: Callable[[], Mapping[str, bytes]]
) -> bool:
    """Raise the due wakes of a user; return whether these are all. A raised wake is no longer due.

    A periodic wake shows at most as many memories as its configuration says, a reminder at most `memory_limit`. They
    are the user's and the global ones of `everyone`. `vectors` returns the vectors of both, and is called on demand.
    """
    for reminder in due_reminders(draft.state.wakes, tick.as_of):
        if draft.is_full or len(draft.events) >= MAX_CHANGES - 1:
            return False
        agent_id = reminder.envelope.agent_id
        ids = []
        if memory_limit:
            visible = _visible_to(agent_id, tick.as_of, draft.state, everyone)
            ids = nearest(visible, vectors(), reminder.vector, reminder.embedding_model, memory_limit)
        _raise(
            draft,
            WakeRaised(
                envelope=_envelope(draft, tick, agent_id),
                wake_id=wake_id_of(draft.state.owner, reminder.reminder_id, reminder.due_at),
                number=draft.state.wakes.raised + 1,
                kind="reminder",
                reminder_id=reminder.reminder_id,
                text=reminder.text,
                channel=reminder.channel,
                content=reminder.content,
                due_at=reminder.due_at,
                raised_at=tick.as_of,
                memory_ids=ids,
                tick_id=tick.envelope.event_id,
            ),
        )
    _raise_periodic(draft, tick, everyone, vectors)
    return True


def _raise_periodic(
    draft: Draft, tick: WakeDue, everyone: UserState, vectors: Callable[[], Mapping[str, bytes]]
) -> None:
    """Raise one wake for all due slots. In each round, every memory is shown once, the nearest first."""
    wakes = draft.state.wakes
    configured = wakes.configured
    slot = due_slot(wakes, tick.as_of)
    if configured is None or configured.text is None or slot is None:
        return
    agent_id = configured.envelope.agent_id
    round_ = wakes.round
    ids: list[str] = []
    if configured.memory_limit:
        visible = _visible_to(agent_id, tick.as_of, draft.state, everyone)
        unseen = [memory for memory in visible if wakes.shown.get(memory.memory_id) != round_]
        if visible and not unseen:
            unseen = visible
            round_ += 1
        ids = nearest(unseen, vectors(), configured.vector, configured.embedding_model, configured.memory_limit)
    _raise(
        draft,
        WakeRaised(
            envelope=_envelope(draft, tick, agent_id),
            wake_id=wake_id_of(draft.state.owner, configured.envelope.event_id, slot),
            number=wakes.raised + 1,
            kind="periodic",
            text=configured.text,
            due_at=slot,
            raised_at=tick.as_of,
            round=round_,
            memory_ids=ids,
            tick_id=tick.envelope.event_id,
        ),
    )


def put_right(draft: Draft, now: datetime) -> bool:
    """Date the periodic wake back to `now` if a wrong clock has dated it ahead; return True: this is the last part."""
    wakes = draft.state.wakes
    if wakes.configured is not None and since(wakes, wakes.configured) > now:
        agent_id = wakes.configured.envelope.agent_id
        draft.add(replace(wakes.configured, envelope=replace(draft.envelope(now), agent_id=agent_id)))
        draft.say("wake", "configured", "it was dated ahead of the time")
    return True


def nearest(
    memories: Sequence[Memory], vectors: Mapping[str, bytes], query: Sealed | None, model: str | None, limit: int
) -> list[str]:
    """Return the ids of at most `limit` memories, by cosine with the query, then importance, last access and id.

    Memories of another embedding model come last; without a query's vector the cosine does not count.
    """
    cosines = dict.fromkeys((m.memory_id for m in memories), _BELOW_ANY_COSINE)
    if query is not None:
        asked = vector_of(query.data)
        of_model = [m.memory_id for m in memories if m.embedding_model == model]
        known = [(i, vector_of(v)) for i in of_model if (v := vectors.get(i)) is not None]
        comparable = [(i, v) for i, v in known if len(v) == len(asked)]
        if comparable:
            products = np.round(np.stack([v for _, v in comparable]) @ asked, _COSINE_DECIMALS).tolist()
            cosines |= dict(zip((i for i, _ in comparable), products, strict=True))

    def place(memory: Memory) -> tuple[float, float, int, str]:
        accessed = microseconds(memory.last_accessed_at)
        return -cosines[memory.memory_id], -memory.importance, -accessed, memory.memory_id

    return [memory.memory_id for memory in nsmallest(limit, memories, key=place)]


def shows_memories(state: UserState, memory_limit: int) -> bool:
    """Return whether a wake of the user may show memories, so that `vectors` are needed."""
    configured = state.wakes.configured
    return memory_limit > 0 or (configured is not None and configured.memory_limit > 0)


def _visible_to(agent_id: str | None, as_of: datetime, *states: UserState) -> list[Memory]:
    memories = [memory for state in states for memory in state.memories.values()]
    return [m for m in memories if m.status_at(as_of) == ACTIVE and m.visible_to(agent_id)]


def _envelope(draft: Draft, tick: WakeDue, agent_id: str | None) -> Envelope:
    return replace(draft.envelope(tick.as_of), agent_id=agent_id)


def _raise(draft: Draft, event: WakeRaised) -> None:
    draft.add(event)
    draft.say(event.wake_id, "raised", f"{event.kind}: it was due at {event.due_at.isoformat()}")
