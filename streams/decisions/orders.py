"""What the user asked to forget in a turn: the memory that the words name, or those of the turn that is taken back."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from projections.state.memory import ACTIVE
from projections.text.wishes import ASKED_TO_WITHDRAW
from schemas.messages.events import MemoryForgotten
from streams.decisions.duplicates import matching

if TYPE_CHECKING:
    from collections.abc import Mapping

    from projections.state.memory import Memory
    from schemas.messages.inbox import Candidate
    from streams.decisions.draft import Draft
    from streams.decisions.duplicates.matching import Statement

_OWN: Final = re.compile(r"^(?:my |i am |i'm |i |我们?的?|咱们?的?)", re.IGNORECASE)
LEAST_SHARE: Final = 0.5
"""Of the words of the order that a memory must have to be meant, with all of its names and numbers."""
_NAMED: Final = re.compile(r"[A-Z][^\W_]+|\d+")
CLEARLY: Final = 0.1
"""By so much the cosine of one of several with as many of the words must be the greatest."""
BY_HAND: Final = "forget it by DELETE /v1/memories/{memory_id}"
NONE_MEANT: Final = f"it asks to forget what no memory says: {BY_HAND} if one is meant"
SEVERAL_MEANT: Final = f"it asks to forget what several memories say: {BY_HAND}"


def carry_out(draft: Draft, said: Statement, subject: str, order: Candidate, vectors: Mapping[str, bytes]) -> None:
    """Forget what is meant, if that is clear; it can be restored."""
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
    """Return the memories with most of the words, one of them where it is clearly the nearest."""
    what = _OWN.sub("", said.content).casefold()
    words = matching.cached_keywords(_OWN.sub("", said.content)) or matching.cached_keywords(said.content)
    named = matching.cached_keywords(" ".join(_NAMED.findall(said.content))) & words
    shares = {
        m.memory_id: 1.0 if what in m.content.casefold() else len(words & has) / max(1, len(words))
        for m in active
        if named <= (has := matching.cached_keywords(m.content))
    }
    best = max(shares.values(), default=0.0)
    found = [m for m in active if best >= LEAST_SHARE and shares.get(m.memory_id) == best]
    near = sorted(((matching.cosine(m, said, vectors) or 0.0, m.memory_id) for m in found), reverse=True)
    if len(near) > 1 and near[0][0] - near[1][0] >= CLEARLY:
        return [m for m in found if m.memory_id == near[0][1]]
    return found


def _forget(draft: Draft, subject: str, memory: Memory, reason: str) -> None:
    draft.add(MemoryForgotten(envelope=draft.envelope(), memory_id=memory.memory_id))
    draft.say(subject, "forgotten", reason, memory.memory_id)
