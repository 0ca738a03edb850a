"""decide: it turns one inbox item and one user's state into one decision, without a clock or I/O."""

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
    """Return the decision about an item, with a reason for every effect that it does not have.

    An item with more effects than a decision holds is decided in parts: call again with the state after each part.
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
    """Return a tick's changes for one user, in parts if they are many, or None if it changes nothing.

    `everyone` holds the tenant's global memories. `vectors` returns the vectors of these and of the user's memories,
    some of which a wake may show. `last_intimacies` holds the last intimacy with each agent in the existing turns.
    """
    draft = Draft(state=state, item=tick, position=position)
    match tick:
        case DecayDue() if tick.policy == CLOCK:
            last = wakes.put_right(draft, tick.as_of)
        case DecayDue():
            last = decide_decay(draft, tick, parameters)
        case RetentionDue():  # like memories, intimacies outlive their observations
            last = keep_intimacies(draft, tick, last_intimacies or {})
        case WakeDue():
            shared = everyone or UserState(owner=Owner(state.owner.tenant, GLOBAL_USER))
            last = wakes.decide_wakes(draft, tick, parameters.wake_memory_limit, shared, vectors)
        case _:
            assert_never(tick)
    if not draft.events and draft.part == 1:
        return None
    _ = draft.state  # an event that does not apply is an error here, not a void decision
    return draft.decision(last_part=last)


def close_tick(
    state: UserState, tick: Tick, position: ItemPosition, decayed: int, expired: int, *, raised: int = 0
) -> Decision:
    """Return the partition's own decision that the tick has been applied to every user; repeats of it are void.

    For a tick of retention, `expired` is the number of observations that it removed.
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
    """Return the name of a tick's policy, as in answers and metrics."""
    match tick:
        case DecayDue():
            return tick.policy
        case RetentionDue():
            return RETENTION
        case WakeDue():
            return WAKE
        case _:
            assert_never(tick)
