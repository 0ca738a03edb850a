"""The comparison of encoders: questions with known answers search the vectors of each."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import numpy as np

from projections.index.embedded.index import EmbeddedIndex
from projections.index.entries import entries_of
from projections.queries.search import IndexSearch, Question

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from datetime import datetime

    from projections.embedding.embedder import Embedder
    from projections.index.encoding import Encoding
    from projections.index.protocol import IndexQuery, Legs
    from projections.partitions.shards import Shards
    from schemas.identity import Owner

_DEPTHS: Final = (5, 10)
Recall: TypeAlias = tuple[float, float, float]
"""The result of one question: the shares of its expected ids in the first 5 and 10 results, and the seconds taken."""


@dataclass(frozen=True, slots=True)
class LabelledQuestion:
    """A question with a known answer: memories, or the events that they come from."""

    owner: Owner
    query: str
    expected: frozenset[str]


@dataclass(frozen=True, slots=True)
class Recalls:
    """The results of two encoders, by the place of the question."""

    active: str
    other: str
    of_active: Mapping[int, Recall]
    of_other: Mapping[int, Recall]

    def report(self) -> dict[str, Any]:
        """Return both recalls, and `differing`: the places of questions whose recall at 5 differs."""
        both = [(place, self.of_active[place], self.of_other[place]) for place in sorted(self.of_active)]
        return {
            "questions": len(both),
            "active": _summary(self.active, [one for _, one, _ in both]),
            "other": _summary(self.other, [one for _, _, one in both]),
            "differing": [place for place, one, other in both if one[0] != other[0]],
        }


async def ask(
    shards: Shards,
    embedder: Embedder,
    encoding: Encoding | None,
    questions: Mapping[int, LabelledQuestion],
    now: datetime,
) -> dict[int, Recall]:
    """Return the results with an encoder's vectors. Raises EmbedderUnavailable, EmbedderRefused, NotHeld."""
    search = IndexSearch(shards, _FreshIndex(shards, encoding), embedder)
    results = {}
    for place, question in questions.items():
        begin = time.monotonic()
        asked = Question(text=question.query, limit=max(_DEPTHS))
        pool = await search.pool(shards.resolve(question.owner), asked, await search.views(question.query), now=now)
        best = [found.memory for found in pool.best(max(_DEPTHS))]
        names = [{memory.memory_id, *memory.source_ids} for memory in best]
        five, ten = (len(question.expected & set[str]().union(*names[:k])) / len(question.expected) for k in _DEPTHS)
        results[place] = five, ten, time.monotonic() - begin
    return results


class _FreshIndex:
    """An index of an encoding, built from the shards for one comparison."""

    def __init__(self, shards: Shards, encoding: Encoding | None) -> None:
        self._shards = shards
        self._encoding = encoding
        self._indexes: dict[Owner, EmbeddedIndex] = {}

    async def search(self, owner: Owner, query: IndexQuery) -> Legs:
        """Search a user's memories."""
        if owner not in self._indexes:
            entries = entries_of(owner, self._shards.of(owner).ledger, self._encoding)
            self._indexes[owner] = EmbeddedIndex(lambda _tenant, _user: entries)
        return await self._indexes[owner].search(query)

    def mark_dirty(self, owner: Owner, ids: Iterable[str]) -> None:
        """Drop the cached index of the user, whose memories have changed."""
        del ids
        self._indexes.pop(owner, None)


def _summary(encoder: str, results: list[Recall]) -> dict[str, Any]:
    five, ten, seconds = (float(np.mean(column)) for column in zip(*results, strict=True))
    return {"encoder": encoder, "recall_at_5": five, "recall_at_10": ten, "milliseconds": round(1000 * seconds, 1)}
