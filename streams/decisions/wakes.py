"""How remember decides about wakes: reminders, the periodic wake, and what of them is due when a tick comes."""

from __future__ import annotations

from dataclasses import replace
from heapq import nsmallest
from typing import TYPE_CHECKING, Final, assert_never

import numpy as np

from projections.state.memory import ACTIVE
from projections.state.wakes import (
    LEAST_EVERY_SECONDS,
    MOST_EVERY_SECONDS,
    due_reminders,
    due_slot,
    is_periodic,
    microseconds,
)
from schemas.identity import reminder_id_of, wake_id_of
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
    from collections.abc import Callable, Iterable, Mapping
    from datetime import datetime

    from projections.state.memory import Memory, UserState
    from schemas.messages.envelope import Envelope, Sealed
    from schemas.messages.wakes import WakeDue
    from streams.decisions.draft import Draft

MAX_REMINDERS: Final = 1000
"""Of a user, waiting at the same time."""
TOO_MANY: Final = Refusal.TOO_MANY.because(f"{MAX_REMINDERS} reminders wait already: cancel some first")
_COSINE_DECIMALS: Final = 6
"""Equal vectors may differ in the last bit of their product, and equals are told apart by other things."""


def decide_asked(draft: Draft, item: ScheduleReminder | CancelReminder | ConfigureWake) -> None:
    """Do what is asked about a user's wakes."""
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
    """Let a reminder wait for its time; one whose time is past is raised at the next look."""
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
    """Let a reminder wait no more."""
    if item.reminder_id not in draft.state.wakes.reminders:
        reason = Refusal.UNKNOWN.because("no such reminder waits: it was raised, was cancelled, or never was")
        draft.say(item.reminder_id, "refused", reason)
        return
    draft.add(ReminderCancelled(envelope=draft.envelope(), reminder_id=item.reminder_id))
    draft.say(item.reminder_id, "cancelled", "asked for")


def _configure(draft: Draft, item: ConfigureWake) -> None:
    """Wake the user's agent like this from now on; what is so already is left as it is, its slots too."""
    known = draft.state.wakes
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
    same = event.every_seconds is None if known.configured is None else _says(known.configured) == _says(event)
    if same and item.settings_id in (None, known.settings_id):
        draft.say("wake", "nothing", "it is so already")
        return
    draft.add(event)
    draft.say("wake", "configured", "asked for" if item.settings_id is None else "the settings say so")


def _says(event: WakeConfigured) -> tuple[object, ...]:
    """Return what a configuration asks for, whoever asks."""
    asked = (event.every_seconds, event.text, event.query, event.memory_limit, event.envelope.agent_id)
    return (*asked, event.embedding_model, event.vector is None)


def decide_wakes(
    draft: Draft, tick: WakeDue, memory_limit: int, everyone: UserState, vectors: Callable[[], Mapping[str, bytes]]
) -> bool:
    """Raise what is due for a user; return whether that is all. What was raised is not due any more.

    A periodic wake shows at most as many memories as its configuration says, a reminder `memory_limit`: the user's and
    those of `everyone`. `vectors` is asked for theirs when some are wanted.
    """
    for reminder in due_reminders(draft.state.wakes, tick.as_of):
        if draft.is_full or len(draft.events) >= MAX_CHANGES - 1:
            return False
        whose = reminder.envelope.agent_id
        ids = []
        if memory_limit:
            known = _shown_to(whose, tick.as_of, draft.state, everyone)
            ids = nearest(known, vectors(), reminder.vector, reminder.embedding_model, memory_limit)
        _raise(
            draft,
            WakeRaised(
                envelope=_envelope(draft, tick, whose),
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
    """Raise one wake for all slots that are due. In a round each memory is shown once, the nearest first."""
    wakes = draft.state.wakes
    configured, slot = wakes.configured, due_slot(wakes, tick.as_of)
    if configured is None or configured.text is None or slot is None:
        return
    whose, round_ = configured.envelope.agent_id, wakes.round
    ids: list[str] = []
    if configured.memory_limit:
        known = _shown_to(whose, tick.as_of, draft.state, everyone)
        unseen = [memory for memory in known if wakes.shown.get(memory.memory_id) != round_]
        if known and not unseen:
            unseen, round_ = known, round_ + 1
        ids = nearest(unseen, vectors(), configured.vector, configured.embedding_model, configured.memory_limit)
    _raise(
        draft,
        WakeRaised(
            envelope=_envelope(draft, tick, whose),
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


def nearest(
    known: Iterable[Memory], vectors: Mapping[str, bytes], query: Sealed | None, model: str | None, limit: int
) -> list[str]:
    """Return so many memories at most, by their cosine with the query, then importance, last access and id.

    Without a query's vector, and for memories of another embedding model, the cosine is lower than any.
    """
    memories = list(known)
    near = dict.fromkeys((m.memory_id for m in memories), -2.0)
    if query is not None:
        size = len(query.data)
        alike = [m.memory_id for m in memories if m.embedding_model == model]
        held = [(i, v) for i in alike if (v := vectors.get(i)) is not None and len(v) == size]
        if held:
            rows = np.frombuffer(b"".join(v for _, v in held), "<f4").reshape(len(held), -1)
            cosines = np.round(rows @ np.frombuffer(query.data, "<f4"), _COSINE_DECIMALS).tolist()
            near |= dict(zip((i for i, _ in held), cosines, strict=True))

    def place(memory: Memory) -> tuple[float, float, int, str]:
        accessed = microseconds(memory.last_accessed_at)
        return -near[memory.memory_id], -memory.importance, -accessed, memory.memory_id

    return [memory.memory_id for memory in nsmallest(limit, memories, key=place)]


def shows_memories(state: UserState, memory_limit: int) -> bool:
    """Tell whether a wake of the user may show memories: then there is more to compute."""
    configured = state.wakes.configured
    return memory_limit > 0 or (configured is not None and configured.memory_limit > 0)


def _shown_to(agent_id: str | None, as_of: datetime, *states: UserState) -> list[Memory]:
    known = [memory for state in states for memory in state.memories.values()]
    return [m for m in known if m.status_at(as_of) == ACTIVE and m.visible_to(agent_id)]


def _envelope(draft: Draft, tick: WakeDue, agent_id: str | None) -> Envelope:
    return replace(draft.envelope(tick.as_of), agent_id=agent_id)


def _raise(draft: Draft, event: WakeRaised) -> None:
    draft.add(event)
    draft.say(event.wake_id, "raised", f"{event.kind}: it was due at {event.due_at.isoformat()}")
