"""Whether the decisions of users follow each other as they were linked, without folding what they decided.

Which decisions count is for the fold to say. Here it is enough that each was made after one that the log has: where two
have the same version, one of them is void, and the next may name either.
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
    """The hashes of the decisions with the version before."""
    links: frozenset[bytes]
    """The hashes of the decisions with this version; empty for one that is not linked."""


class LinkedHistories:
    """The newest decisions of each user of a partition, as far as they were read."""

    def __init__(self) -> None:
        """Know no user."""
        self._tops: dict[bytes, _Top] = {}
        self.linked = 0
        """How many linked decisions were read."""

    def add(self, decision: Decision, value: bytes) -> str | None:
        """Take the next decision of the log with its encoding; return why it cannot have been appended there."""
        key = decision.envelope.owner.key
        top = self._tops.get(key) or _Top(0, _BEGIN, _BEGIN)
        named, link = decision.previous or b"", link_of(decision, value)
        self.linked += decision.previous is not None
        if decision.item_type == ERASE and decision.version > top.version + 1:  # what it erased cannot be read
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
