"""Intimacies that outlive their turns: a tick of retention keeps those of turns that will be removed."""

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


def keep_intimacies(draft: Draft, tick: RetentionDue, last_intimacies: Mapping[str | None, Intimacy]) -> bool:
    """Keep the last intimacy with each agent when half the retention of its turn is over; return False if more remain.

    By then, most users have a newer one. The full retention would be too late, because brokers remove older records by
    themselves. `last_intimacies` has the last intimacies of the turns that still exist.
    """
    kept = draft.state.intimacies
    until = _half_way(tick)
    expiring = [
        (agent or "", agent, last)
        for agent, last in last_intimacies.items()
        if until is not None
        and last.said_at < until
        and last != (before := kept.get(agent))
        and (before is None or last.said_at >= before.said_at)
    ]
    for subject, agent, last in sorted(expiring, key=lambda each: (each[1] is not None, each[0])):
        if draft.is_full or len(draft.events) >= MAX_CHANGES:
            return False
        envelope = replace(draft.envelope(tick.as_of), agent_id=agent)
        draft.add(IntimacyKept(envelope=envelope, intimacy=last.intimacy, said_at=last.said_at))
        draft.say(subject, "kept", f"an intimacy of {last.intimacy:g}, whose turn will be removed")
    return True


def _half_way(tick: RetentionDue) -> datetime | None:
    """Return the instant before which half the retention of turns is over; None if all turns are kept.

    Retention counts in log time, and an effective time may lie up to MAX_AHEAD after it.
    """
    if tick.before is None:
        return None
    return tick.before + max((tick.as_of - tick.before) / 2, 2 * MAX_AHEAD)
