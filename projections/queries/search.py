"""Search in the index over a user's and the global memories, joined with what only the shard knows."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, Protocol

from projections.embedding.serving import views_of
from projections.index.embedded.state_search import search_state
from projections.index.encoding import Chosen
from projections.index.protocol import SCORE_DIGITS, IndexQuery, Legs
from projections.queries.ranking import POOL, rank
from projections.state.memory import ACTIVE
from projections.state.time_travel import state_at
from projections.text.analyser import terms
from schemas.identity import GLOBAL_USER, Owner

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from datetime import datetime

    from projections.embedding.embedder import Embedder
    from projections.embedding.languages import View
    from projections.index.protocol import Hit
    from projections.partitions.shards import Shards
    from projections.queries.filters import Filters
    from projections.queries.ranking import Ranked
    from projections.state.memory import Memory, UserState

LEAST_COSINE: Final = -1.0


@dataclass(frozen=True, slots=True)
class Found:
    """A memory that a search found."""

    owner: Owner
    memory: Memory
    ranked: Ranked


@dataclass(frozen=True, slots=True)
class Pool:
    """What the legs found that is shown at an instant; there may be more, of no higher cosine than `deepest`."""

    legs: Legs
    shown: Mapping[str, tuple[Owner, Memory]]
    at: datetime
    deepest: float

    def best(self, limit: int, min_score: float = 0.0) -> list[Found]:
        """Return at most `limit` memories, best first."""
        return self._ranked(self.shown, limit, min_score)

    def near(self, kind: str, least_cosine: float, limit: int) -> list[Found]:
        """Return at most `limit` memories of a kind that mean nearly the same as the query, best first."""
        near = {hit.memory_id for hit in self.legs.semantic if hit.score >= least_cosine}
        return self._ranked({i for i in near & self.shown.keys() if self.shown[i][1].kind == kind}, limit, 0.0)

    def _ranked(self, ids: Iterable[str], limit: int, min_score: float) -> list[Found]:
        facts = {i: (self.shown[i][1].importance, self.shown[i][1].occurred_at) for i in ids}
        return [Found(*self.shown[r.memory_id], r) for r in rank(self.legs, facts, self.at, limit, min_score)]


class SearchedIndex(Protocol):
    """What is searched: IndexSync, or an index that was made for a comparison."""

    async def search(self, owner: Owner, query: IndexQuery) -> Legs:
        """Search one user's memories. Raises IndexUnavailable, ShardUnavailable."""
        ...

    def mark_dirty(self, owner: Owner, ids: Iterable[str]) -> None:
        """Have memories written again: what was found is not what the shard has."""
        ...


class IndexSearch:
    """Search by words and by meaning. Hits give ids; text, importance and status come from the shard."""

    def __init__(self, shards: Shards, index_sync: SearchedIndex, embedder: Embedder) -> None:
        self._shards = shards
        self._index_sync = index_sync
        self._embedder = embedder

    async def vector(self, query: str) -> Sequence[View]:
        """Return what a query means in each space that memories have. Raises EmbedderUnavailable, EmbedderRefused."""
        return await views_of(self._embedder, query)

    def state(self, owner: Owner, now: datetime, as_of: datetime | None = None) -> UserState:
        """Return a user's state; with a past `as_of`, as it was effective then."""
        if as_of is None or as_of >= now:
            return self._shards.state(owner)
        return state_at(owner, [d for _, d in self._shards.of(owner).ledger.decisions(owner)], as_of)

    async def pool(
        self,
        owner: Owner,
        query: str,
        vector: Sequence[View],
        filters: Filters,
        *,
        now: datetime,
        as_of: datetime | None = None,
        limit: int,
        scope: str = "all",
        include_global: bool = True,
        sees: Callable[[Memory], bool] = lambda _: True,
    ) -> Pool:
        """Return what both legs found, at least `limit` memories that are shown and seen where there are so many."""
        whose = [owner] if scope in ("all", "personal") else []
        if scope == "global" or (scope == "all" and include_global):
            whose.append(Owner(owner.tenant, GLOBAL_USER))
        at = as_of or now
        keyword: list[Hit] = []
        semantic: list[Hit] = []
        shown: dict[str, tuple[Owner, Memory]] = {}
        deepest = LEAST_COSINE
        for one in whose:
            state = self.state(one, now, as_of)
            if not state.memories:
                continue
            asked = IndexQuery(
                tenant=one.tenant,
                user_id=one.user_id,
                tokens=terms(query),
                vector=vector[0].vector,
                embedding_model=vector[0].model,
                limit=max(POOL, 2 * limit),
                agent_id=filters.agent_id,
                kind=filters.kind,
                category=filters.category,
                memory_type=filters.memory_type,
                source_type=filters.source_type,
                since=filters.since,
                until=filters.until,
            )
            past = at if as_of is not None and as_of < now else None
            while True:
                legs = await self._legs(one, state, asked, vector, past)
                hits = {hit.memory_id for hit in (*legs.keyword, *legs.semantic)}
                legs, wrong = _right(state, legs)
                found = {h.memory_id: state.memories[h.memory_id] for h in (*legs.keyword, *legs.semantic)}
                mine = {i: m for i, m in found.items() if m.status_at(at) == ACTIVE and filters.accept(m) and sees(m)}
                if past is None and wrong:
                    if any(memory_id not in state.memories for memory_id in wrong):
                        # of another log, or decided by another worker, who has the user now
                        await self._shards.come_to_end(one)
                    self._index_sync.mark_dirty(one, wrong)
                if len(mine) >= min(limit, len(hits)) or asked.limit >= len(state.memories):
                    break
                # The index does not know expiry: some of its hits may be hidden, and visible ones lie deeper.
                asked = replace(asked, limit=4 * asked.limit)
            keyword.extend(legs.keyword)
            semantic.extend(legs.semantic)
            shown.update({i: (one, memory) for i, memory in mine.items()})
            if len(legs.semantic) >= asked.limit:
                deepest = max(deepest, legs.semantic[-1].score)
        return Pool(Legs(keyword=tuple(keyword), semantic=tuple(semantic)), shown, at, deepest)

    async def _legs(
        self, owner: Owner, state: UserState, asked: IndexQuery, views: Sequence[View], past: datetime | None
    ) -> Legs:
        """Search the index by the words and by each view; a memory is in one space, and found by one view at most."""
        found = [
            await self._search(owner, state, replace(asked, vector=view.vector, tokens=() if n else asked.tokens), past)
            for n, view in enumerate(views)
        ]
        if len(found) == 1:
            return found[0]
        hits = [
            replace(hit, score=round(view.score(hit.score), SCORE_DIGITS))
            for view, legs in zip(views, found, strict=True)
            for hit in legs.semantic
        ]
        hits.sort(key=lambda hit: (-hit.score, hit.memory_id))
        return Legs(keyword=found[0].keyword, semantic=tuple(hits[: asked.limit]))

    async def _search(self, owner: Owner, state: UserState, asked: IndexQuery, past: datetime | None) -> Legs:
        """Search the index; a past state has an index of its own, made for this one question."""
        if past is None:
            return await self._index_sync.search(owner, asked)
        logged = self._shards.of(owner).ledger.vectors(owner).all()
        return await search_state(owner, state, Chosen(owner, logged, self._shards.encoding), asked)


def _right(state: UserState, legs: Legs) -> tuple[Legs, set[str]]:
    """Return the hits that are what the shard has, and the memories of the others."""
    wrong = {hit for hit in (*legs.keyword, *legs.semantic) if not _is_right(state, hit)}
    right = Legs(*(tuple(hit for hit in leg if hit not in wrong) for leg in (legs.keyword, legs.semantic)))
    return right, {hit.memory_id for hit in wrong}


def _is_right(state: UserState, hit: Hit) -> bool:
    """Return whether what the index has of a memory is what the shard has."""
    memory = state.memories.get(hit.memory_id)
    return memory is not None and memory.text_version == hit.version and memory.status == ACTIVE
