"""Rankings by memory id: a test gives legs and shares by id, and they are ranked as columns."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from projections.queries import ranking
from projections.queries.ranking import Parts

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence
    from datetime import datetime

    from support.judged import Judged

    from projections.index.protocol import Hit, Legs
    from projections.queries.ranking import Ranked
    from projections.queries.turns.index import Scored


class _Fact(NamedTuple):
    memory_id: str
    importance: float
    occurred_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Shares:
    """The parts of a score besides the legs; each may be missing."""

    hubness: Mapping[str, float] = field(default_factory=dict)
    said: Mapping[str, float] = field(default_factory=dict)
    meant: Mapping[str, float] = field(default_factory=dict)
    slots: Mapping[str, float] = field(default_factory=dict)
    then: Collection[str] | None = None
    hop: Legs | None = None
    formed: Collection[str] = ()


NO_SHARES = Shares()


def rank(
    legs: Legs,
    facts: Mapping[str, Judged],
    as_of: datetime,
    limit: int,
    min_score: float = 0.0,
    *,
    shares: Shares = NO_SHARES,
) -> list[Ranked]:
    """Return the ranked memories; a hit without facts is left out."""
    ids = list(facts)

    def column(of: Mapping[str, float], otherwise: float = np.nan) -> Scored:
        return np.array([of.get(memory_id, otherwise) for memory_id in ids], np.float64)

    def leg(hits: Sequence[Hit]) -> Scored:
        return column({hit.memory_id: hit.score for hit in hits})

    parts = Parts(
        cosines=leg(legs.semantic),
        words=leg(legs.keyword),
        importance=np.array([fact.importance for fact in facts.values()], np.float64),
        hubness=column(shares.hubness, 0.0) if shares.hubness else None,
        said=column(shares.said) if shares.said else None,
        meant=column(shares.meant) if shares.meant else None,
        slots=column(shares.slots) if shares.slots else None,
        then=None if shares.then is None else np.isin(ids, list(shares.then)),
        hop_cosines=None if shares.hop is None else leg(shares.hop.semantic),
        hop_words=None if shares.hop is None else leg(shares.hop.keyword),
        formed=np.isin(ids, list(shares.formed)) if shares.formed else None,
    )
    known = [_Fact(memory_id, *judged) for memory_id, judged in facts.items()]
    return ranking.rank(parts, known, as_of, limit, min_score)
