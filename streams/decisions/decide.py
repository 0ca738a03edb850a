"""decide: one inbox item and one user's state in, one decision out. It reads no clock and calls nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING, assert_never

from projections.state.memory import UserState
from schemas.identity import GLOBAL_USER, Owner
from schemas.messages.erasure import EraseMemory, EraseUser
from schemas.messages.events import TickApplied
from schemas.messages.inbox import CandidatesExtracted, DecayDue, ExtractionRejected, ImportMemory, RetentionDue
from schemas.messages.wakes import CancelReminder, ConfigureWake, ScheduleReminder, WakeDue
from schemas.vocabulary.words import CLOCK, RETENTION, WAKE
from streams.decisions import commands, wakes
from streams.decisions.candidates import decide_candidates, decide_rejected
from streams.decisions.decay import decide_decay
from streams.decisions.decay_policies.registry import POLICIES
from streams.decisions.draft import Draft, ItemPosition
from streams.decisions.erasure import decide_erasure, decide_memory_erasure, is_erased
from streams.decisions.imports import decide_import
from streams.decisions.intimacy import keep_intimacies

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from projections.state.intimacy import Intimacy
    from schemas.messages.decision import Decision
    from schemas.messages.inbox import Tick, UserItem
    from streams.decisions.parameters import Parameters


def decide(
    state: UserState,
    item: UserItem,
    position: ItemPosition,
    vectors: Mapping[str, bytes],
    parameters: Parameters,
) -> Decision:
    """Return the decision about an item, with a reason for everything that does not follow from it.

    An item that leads to more than a decision holds is decided in parts: ask again, with the state after each.
    """
    draft = Draft(state=state, item=item, position=position)
    last = True
    match item:
        case CandidatesExtracted() | ExtractionRejected() if is_erased(state, item):
            draft.say("0", "nothing", "its user was erased")
        case CandidatesExtracted():
            last = decide_candidates(draft, item, vectors, parameters)
        case ExtractionRejected():
            decide_rejected(draft, item)
        case EraseUser():
            decide_erasure(draft, item)
        case EraseMemory():
            decide_memory_erasure(draft, item)
        case ImportMemory():
            decide_import(draft, item, profile_keeps=parameters.profile_keeps)
        case ScheduleReminder() | CancelReminder() | ConfigureWake():
            wakes.decide_asked(draft, item)
        case _:
            last = commands.decide_command(draft, item, parameters)
    return draft.decision(last_part=last)


def decide_tick(
    state: UserState,
    tick: Tick,
    position: ItemPosition,
    parameters: Parameters,
    *,
    everyone: UserState | None = None,
    vectors: Callable[[], Mapping[str, bytes]] = dict,
    last_intimacies: Mapping[str | None, Intimacy] | None = None,
) -> Decision | None:
    """Return what the tick changes of one user, a part of it if it is much, or None when it changes nothing.

    `everyone` holds the tenant's global memories, `vectors` returns theirs and the user's: a wake may show some.
    `last_intimacies` is what the turns still held said last of the user and each agent.
    """
    draft = Draft(state=state, item=tick, position=position)
    match tick:
        case DecayDue() if tick.policy == CLOCK:
            last = wakes.put_right(draft, tick.as_of)
        case DecayDue():
            last = decide_decay(draft, tick, parameters)
        case RetentionDue():  # memories outlive the observations that they came from, and so does this
            last = keep_intimacies(draft, tick, last_intimacies or {})
        case WakeDue():
            shared = everyone or UserState(owner=Owner(state.owner.tenant, GLOBAL_USER))
            last = wakes.decide_wakes(draft, tick, parameters.wake_memory_limit, shared, vectors)
        case _:
            assert_never(tick)
    if not draft.events and draft.part == 1:
        return None
    _ = draft.state  # what does not fit is an error here, and no void decision
    return draft.decision(last_part=last)


def close_tick(
    state: UserState, tick: Tick, position: ItemPosition, decayed: int, expired: int, *, raised: int = 0
) -> Decision:
    """Return the partition's own decision that every user has met the tick; later ones of it are void.

    For a tick of retention `expired` is how many observations it removed.
    """
    draft = Draft(state=state, item=tick, position=position)
    tick_id = tick.envelope.event_id
    draft.add(
        TickApplied(
            envelope=draft.envelope(tick.as_of),
            tick_id=tick_id,
            policy=policy_of(tick),
            as_of=tick.as_of,
            decayed=decayed,
            expired=expired,
        )
    )
    match tick:
        case DecayDue() if tick.policy == CLOCK:
            draft.say(tick_id, "confirmed", f"it is {tick.as_of.isoformat()}, whatever the log said before")
        case DecayDue() if tick.policy not in POLICIES:
            draft.say(tick_id, "nothing", f"the policy {tick.policy!r} is not known: nothing was changed")
        case DecayDue():
            draft.say(tick_id, "decayed" if decayed + expired else "nothing", "every user has met the tick")
        case RetentionDue():
            kept = f"those logged since {tick.before.isoformat()} are kept" if tick.before else "all are kept"
            draft.say(tick_id, "removed" if expired else "nothing", f"{expired} observations removed: {kept}")
        case WakeDue():
            draft.say(tick_id, "raised" if raised else "nothing", f"{raised} wakes were due")
        case _:
            assert_never(tick)
    return draft.decision()


def policy_of(tick: Tick) -> str:
    """Return what a tick is of, as answers and metrics name it."""
    match tick:
        case DecayDue():
            return tick.policy
        case RetentionDue():
            return RETENTION
        case WakeDue():
            return WAKE
        case _:
            assert_never(tick)
