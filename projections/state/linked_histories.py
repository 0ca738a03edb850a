"""A check that the linked decisions of users follow each other, without folding their events.

The fold determines which decisions count. Here it is enough that each was made after one that the log has: if two have
the same version, one of them is void, and the next decision may name either.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from projections.state.evolve import ERASE, link_of

if TYPE_CHECKING:
    from schemas.messages.decision import Decision

_BEGIN: Final = frozenset({b""})


class _Top(NamedTuple):
    version: int
    before: frozenset[bytes]
    """The hashes of the decisions with the previous version."""
    links: frozenset[bytes]
    """The hashes of the decisions with this version; empty for one that is not linked."""


class LinkedHistories:
    """The newest decisions of each user of a partition, up to the last record read."""

    def __init__(self) -> None:
        self._tops: dict[bytes, _Top] = {}
        self.linked = 0
        """The number of linked decisions read."""

    def add(self, decision: Decision, value: bytes) -> str | None:
        """Add the next decision of the log with its encoding; return why it cannot have been appended there, if so."""
        key = decision.envelope.owner.key
        top = self._tops.get(key) or _Top(0, _BEGIN, _BEGIN)
        named, link = decision.previous or b"", link_of(decision, value)
        self.linked += decision.previous is not None
        if decision.item_type == ERASE and decision.version > top.version + 1:  # the erased decisions are unreadable
            self._tops[key] = _Top(decision.version, frozenset(), frozenset({link}))
        elif decision.version == top.version + 1:
            if named not in top.links:
                return f"version {decision.version} was decided after another version {top.version} than the one here"
            self._tops[key] = _Top(decision.version, top.links, frozenset({link}))
        elif decision.version == top.version:
            if named in top.before:
                self._tops[key] = top._replace(links=top.links | {link})
        elif decision.version > top.version and (decision.previous is not None or any(top.links)):
            return f"version {decision.version} follows version {top.version}, and what is between is missing"
        return None
