"""What a tick of retention keeps of the turns that will be removed: how close the user and each agent were last."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from schemas.inputs.decoding import MAX_AHEAD
from schemas.messages.decision import MAX_CHANGES
from schemas.messages.events import IntimacyKept

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from projections.state.intimacy import Intimacy
    from schemas.messages.inbox import RetentionDue
    from streams.decisions.draft import Draft


def decide_closeness(draft: Draft, tick: RetentionDue, close_to: Mapping[str | None, Intimacy]) -> bool:
    """Keep the last intimacy with each agent when half the retention of its turn is over; return whether that is all.

    By then most users have said another one. Not when it is over: brokers remove by themselves what is older.
    """
    kept = draft.state.closeness
    until = _half_way(tick)
    found = [
        (agent or "", agent, said)
        for agent, said in close_to.items()
        if until is not None
        and said.said_at < until
        and said != (known := kept.get(agent))
        and (known is None or said.said_at >= known.said_at)
    ]
    for subject, agent, said in sorted(found, key=lambda each: (each[1] is not None, each[0])):
        if draft.is_full or len(draft.events) >= MAX_CHANGES:
            return False
        envelope = replace(draft.envelope(tick.as_of), agent_id=agent)
        draft.add(IntimacyKept(envelope=envelope, intimacy=said.intimacy, said_at=said.said_at))
        draft.say(subject, "kept", f"an intimacy of {said.intimacy:g}, whose turn will be removed")
    return True


def _half_way(tick: RetentionDue) -> datetime | None:
    """Return the instant before which turns have half their time behind them, None where all are kept.

    An effective time may lie MAX_AHEAD after the log time that retention goes by.
    """
    if tick.before is None:
        return None
    return tick.before + max((tick.as_of - tick.before) / 2, 2 * MAX_AHEAD)
