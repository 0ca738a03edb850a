"""Queries: what the read side answers, from shards and the index only."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from projections.analyser import terms
from projections.digest import digests
from projections.history import history
from projections.index import IndexQuery, Legs
from projections.memory import ACTIVE
from projections.profile import profile
from projections.ranking import POOL, rank
from projections.time_travel import life_of, memory_at, state_at
from projections.user_search import search_state
from projections.views import instant, memory_view
from schemas import codec
from schemas.identity import GLOBAL_USER, Owner
from schemas.inbox import CandidatesExtracted
from schemas.log import Position
from schemas.observations import TurnRecorded
from schemas.pieces import text_of
from schemas.reading import observation_of_record
from schemas.topics import INBOX

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from projections.embedder import Embedder
    from projections.index import Hit
    from projections.memory import Memory, UserState
    from projections.observed import Turn
    from projections.ranking import Ranked
    from projections.shards import Shards
    from schemas.decision import Decision


class UnknownMemory(Exception):
    """There is no such memory."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Filters:
    """What a list or a search is narrowed to; None does not narrow."""

    agent_id: str | None = None
    kind: str | None = None
    memory_type: str | None = None
    category: str | None = None
    source_type: str | None = None
    attribute: str | None = None
    since: datetime | None = None
    until: datetime | None = None
    min_importance: float | None = None

    def accept(self, memory: Memory) -> bool:
        """Tell whether a memory passes."""
        named = ("kind", "memory_type", "category", "source_type", "attribute")
        return (
            all(getattr(self, n) in (None, getattr(memory, n)) for n in named)
            and memory.visible_to(self.agent_id)
            and (self.since is None or memory.occurred_at >= self.since)
            and (self.until is None or memory.occurred_at <= self.until)
            and (self.min_importance is None or memory.importance >= self.min_importance)
        )


@dataclass(frozen=True, slots=True)
class Found:
    """A memory that a search found."""

    owner: Owner
    memory: Memory
    ranked: Ranked


class Queries:
    """Answers about users whose partitions this worker holds; others raise NotHeld."""

    def __init__(self, shards: Shards, embedder: Embedder) -> None:
        self._shards = shards
        self._embedder = embedder

    def state(self, owner: Owner, now: datetime, as_of: datetime | None = None) -> UserState:
        """Return a user's state; with a past `as_of`, as it was effective then."""
        if as_of is None or as_of >= now:
            return self._shards.state(owner)
        return state_at(owner, [d for _, d in self._shards.of(owner).ledger.decisions(owner)], as_of)

    def memories(
        self,
        owner: Owner,
        filters: Filters,
        *,
        now: datetime,
        as_of: datetime | None = None,
        status: str = ACTIVE,
        scope: str | None = None,
    ) -> list[Memory]:
        """Return a user's memories by importance, then last access, descending; global ones with scope `global`."""
        whose = Owner(owner.tenant, GLOBAL_USER) if scope == "global" else owner
        instant_ = as_of or now
        found = [
            m
            for m in self.state(whose, now, as_of).memories.values()
            if m.status_at(instant_) == status and filters.accept(m) and scope in (None, m.scope)
        ]
        found.sort(key=lambda m: m.memory_id)
        found.sort(key=lambda m: (m.importance, m.last_accessed_at), reverse=True)
        return found

    def owner_of(self, tenant: str, memory_id: str) -> Owner:
        """Return whose memory it is. Raises UnknownMemory."""
        for shard in self._shards.all():
            for owner in shard.ledger.owners_of(memory_id):
                if owner.tenant == tenant:
                    return owner
        raise UnknownMemory(f"there is no memory {memory_id!r}")

    def memory(self, tenant: str, memory_id: str, now: datetime, as_of: datetime | None = None) -> tuple[Owner, Memory]:
        """Return a memory and whose it is. Raises UnknownMemory."""
        owner = self.owner_of(tenant, memory_id)
        memory = self.state(owner, now, as_of).memories.get(memory_id)
        if memory is None:
            raise UnknownMemory(f"memory {memory_id!r} did not exist at {instant(as_of)}")
        return owner, memory

    async def search(
        self,
        owner: Owner,
        query: str,
        filters: Filters,
        *,
        now: datetime,
        as_of: datetime | None = None,
        limit: int = 5,
        scope: str = "all",
        include_global: bool = True,
        min_score: float = 0.0,
    ) -> list[Found]:
        """Return at most `limit` memories that are shown at the instant, best first."""
        vector = (await self._embedder.embed([query], urgent=True))[0]
        whose = [owner] if scope in ("all", "personal") else []
        if scope == "global" or (scope == "all" and include_global):
            whose.append(Owner(owner.tenant, GLOBAL_USER))
        at = as_of or now
        keyword: list[Hit] = []
        semantic: list[Hit] = []
        shown: dict[str, tuple[Owner, Memory]] = {}
        for one in whose:
            state = self.state(one, now, as_of)
            if not state.memories:
                continue
            asked = IndexQuery(
                tenant=one.tenant,
                user_id=one.user_id,
                tokens=terms(query),
                vector=vector,
                embedding_model=self._embedder.model,
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
                legs = await self._legs(one, state, asked, past)
                hits = {hit.memory_id for hit in (*legs.keyword, *legs.semantic)}
                legs, wrong = _right(state, legs)
                mine = {h.memory_id: m for h in (*legs.keyword, *legs.semantic) if (m := _shown(state, h, filters, at))}
                if past is None and wrong:
                    if any(memory_id not in state.memories for memory_id in wrong):
                        # of another log, or decided by another worker, who has the user now
                        await self._shards.come_to_end(one)
                    self._shards.following.note(one, wrong)
                if len(mine) >= min(limit, len(hits)) or asked.limit >= len(state.memories):
                    break
                # the index does not know what fades: what it found may be hidden, and what is shown lie deeper
                asked = replace(asked, limit=4 * asked.limit)
            keyword.extend(legs.keyword)
            semantic.extend(legs.semantic)
            shown.update({i: (one, memory) for i, memory in mine.items()})
        facts = {i: (m.importance, m.occurred_at) for i, (_, m) in shown.items()}
        both = Legs(keyword=tuple(keyword), semantic=tuple(semantic))
        return [Found(*shown[r.memory_id], r) for r in rank(both, facts, at, limit, min_score)]

    async def _legs(self, owner: Owner, state: UserState, asked: IndexQuery, past: datetime | None) -> Legs:
        """Search the index; a past state has an index of its own, made for this one question."""
        if past is None:
            return await self._shards.following.search(owner, asked)
        return await search_state(owner, state, self._shards.of(owner).ledger.vectors(owner).all(), asked)

    def turns(self, owner: Owner, session_id: str, limit: int) -> list[Turn]:
        """Return a session's most recent turns, oldest first."""
        return self._shards.of(owner).turns.turns(owner, session_id, limit)

    def profile(self, owner: Owner, now: datetime, as_of: datetime | None, agent_id: str | None) -> dict[str, Any]:
        """Return the profile of a user, as an agent sees it."""
        return profile(self.state(owner, now, as_of).memories.values(), as_of or now, agent_id)

    async def history(self, tenant: str, memory_id: str) -> dict[str, Any]:
        """Return every event about a memory, and its lineage: the candidates and observations it came from."""
        owner = self.owner_of(tenant, memory_id)
        shard = self._shards.of(owner)
        decisions = list(shard.ledger.decisions(owner))
        partition = 0 if owner.is_global else shard.partition
        events = history(owner, memory_id, decisions, partition)
        memory = self._shards.state(owner).memories[memory_id]
        causes = {e["causation_id"] for e in events}
        answers = {d.item_id: d for _, d in decisions if d.item_id in causes}
        return {
            "memory_id": memory_id,
            "events": events,
            "lineage": {
                "candidates": [c for d in answers.values() if (c := await self._answer(d)) is not None],
                "observations": await self._words(owner, memory.source_ids),
            },
        }

    async def _answer(self, decision: Decision) -> dict[str, Any] | None:
        """Return which model and prompt a decision about an extraction goes back to."""
        position = Position(INBOX.name, decision.item_partition, decision.item_offset)
        record = await self._shards.record(position)
        item = codec.decode(record.value) if record is not None else None
        if not isinstance(item, CandidatesExtracted):
            return None
        return {
            "event_id": decision.item_id,
            "model": item.model,
            "prompt_hash": item.prompt_hash,
            "position": str(position),
        }

    async def _words(self, owner: Owner, event_ids: Sequence[str]) -> list[dict[str, Any]]:
        """Return the observations that the log still holds, with their words."""
        found: list[dict[str, Any]] = []
        if owner.is_global:
            return found
        seen = self._shards.of(owner).turns.seen(owner, event_ids)
        for event_id in event_ids:
            record = await self._shards.record(seen[event_id].position) if event_id in seen else None
            if record is None:
                found.append({"event_id": event_id, "type": None, "content": None})
                continue
            message = observation_of_record(record)
            found.append(
                {
                    "event_id": event_id,
                    "type": type(message).__name__,
                    "position": str(record.position),
                    "role": message.role if isinstance(message, TurnRecorded) else None,
                    "content": text_of(message),
                    "occurred_at": instant(message.envelope.occurred_at),
                    "recorded_at": instant(record.recorded_at),
                }
            )
        return found

    def curve(self, tenant: str, memory_id: str, since: datetime, until: datetime, points: int) -> list[dict[str, Any]]:
        """Return importance and strength at evenly spaced instants, read from the log."""
        owner = self.owner_of(tenant, memory_id)
        lived = life_of(memory_id, (d for _, d in self._shards.of(owner).ledger.decisions(owner)))
        found = []
        for number in range(points):
            at = since + (until - since) * (number / max(1, points - 1))
            memory = memory_at(owner, lived, at)
            if memory is not None:
                view = memory_view(owner, memory, at)
                found.append({"at": instant(at), **{k: view[k] for k in ("importance", "strength", "status")}})
        return found

    def digest(self) -> dict[str, str]:
        """Return the digests over all users that this worker holds."""
        return digests(self._shards.state(owner) for owner in self._shards.owners())


def _right(state: UserState, legs: Legs) -> tuple[Legs, set[str]]:
    """Return the hits that are what the shard has, and the memories of the others."""
    wrong = {hit for hit in (*legs.keyword, *legs.semantic) if not _is_right(state, hit)}
    right = Legs(*(tuple(hit for hit in leg if hit not in wrong) for leg in (legs.keyword, legs.semantic)))
    return right, {hit.memory_id for hit in wrong}


def _is_right(state: UserState, hit: Hit) -> bool:
    """Tell whether what the index has of a memory is what the shard has."""
    memory = state.memories.get(hit.memory_id)
    return memory is not None and memory.text_version == hit.version and memory.status == ACTIVE


def _shown(state: UserState, hit: Hit, filters: Filters, at: datetime) -> Memory | None:
    """Return the memory of a right hit if it is shown at the instant and passes."""
    memory = state.memories[hit.memory_id]
    return memory if memory.status_at(at) == ACTIVE and filters.accept(memory) else None
