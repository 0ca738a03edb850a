"""Queries: the answers of the read side, from shards and the index only."""

from __future__ import annotations

from collections import Counter
from datetime import UTC
from typing import TYPE_CHECKING, Any

from projections.profile.habits import patterns
from projections.profile.profile import with_usage
from projections.profile.ranked_memories import RankedMemories, RankedMemoriesByUser, place_of
from projections.profile.visibility import Visibility
from projections.queries.answers import Answers
from projections.queries.history import history
from projections.queries.memory_rows import sees_all
from projections.queries.search import IndexSearch
from projections.queries.views import memory_view
from projections.shard.ledger import decisions_in_steps
from projections.state.intimacy import last_kept
from projections.state.memory import ACTIVE
from projections.state.time_travel import life_of, memory_at
from projections.turns import TimeSlice, chosen, in_turns, ordered
from schemas import codec
from schemas.identity import GLOBAL_USER, Owner
from schemas.inputs.decoding import observation_of_record
from schemas.inputs.pieces import text_of
from schemas.instant import instant
from schemas.log import Position
from schemas.messages.inbox import CandidatesExtracted
from schemas.messages.observations import TurnRecorded
from schemas.topics import INBOX

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from datetime import datetime, tzinfo

    from projections.embedding.embedder import Embedder
    from projections.index.sync import IndexSync
    from projections.partitions.held import Held
    from projections.partitions.shards import Shards
    from projections.queries.answers import Rule, SearchResult
    from projections.queries.filters import Filters
    from projections.queries.search import Found, FoundTurn, Pool, Question
    from projections.shard.rows.published_turns import Turn
    from projections.shard.turn_statistics import TurnStatistics
    from projections.state.memory import Memory, UserState
    from schemas.messages.decision import Decision


class UnknownMemory(Exception):
    """There is no such memory."""


class Queries:
    """Answers about users whose partitions this worker holds; others raise NotHeld."""

    def __init__(
        self,
        shards: Shards,
        index_sync: IndexSync,
        embedder: Embedder,
        *,
        makes_turn_vectors: bool = False,
        zone: tzinfo = UTC,
    ) -> None:
        """`makes_turn_vectors` and `zone` as for IndexSearch."""
        self._shards = shards
        self.index_search = IndexSearch(shards, index_sync, embedder, makes_turn_vectors=makes_turn_vectors, zone=zone)
        self.answers = Answers(self.index_search.turn_index, self.index_search.vectors)
        self._ranked = RankedMemoriesByUser()

    async def close(self) -> None:
        """Stop the background work for searches."""
        await self.index_search.turn_vectors.close()

    async def state(self, held: Held, now: datetime, as_of: datetime | None = None) -> UserState:
        """Return a user's state; with a past `as_of`, as it was effective then. Others have their turn meanwhile.

        Raises NotHeld.
        """
        if as_of is None or as_of >= now:
            await held.load()
            return held.state
        return await self.index_search.past_state(held, as_of)

    async def ranked(
        self,
        held: Held,
        now: datetime,
        as_of: datetime | None = None,
        visibility: Visibility = Visibility.EVERYTHING,
    ) -> RankedMemories:
        """Return a user's memories in their orders. Other tasks run while the orders are built.

        The orders of a past `as_of` are not cached. `visibility` is that of the following questions. Raises NotHeld.
        """
        state = await self.state(held, now, as_of)
        if as_of is not None and as_of < now:
            return await in_turns(RankedMemories.made_in_steps(state))
        await self._ranked.prepare(state, hides=visibility is Visibility.NOTHING_SENSITIVE)
        return self.ranked_now(held)

    def ranked_now(self, held: Held) -> RankedMemories:
        """Return the memories that a user has now in their orders, in one go. Raises NotHeld."""
        return self._ranked.of(held.state)

    async def memories(
        self,
        state: UserState,
        filters: Filters,
        at: datetime,
        *,
        status: str | None = ACTIVE,
        scope: str | None = None,
    ) -> list[Memory]:
        """Return a user's memories at an instant by importance, then last access, both descending.

        With `status=None`, memories of every status are returned.
        """

        def passes(memory: Memory) -> bool:
            is_asked = status in (None, memory.status_at(at)) and scope in (None, memory.scope)
            return is_asked and filters.passes(memory, state.owner, at)

        found = await in_turns(chosen(state.memories.values(), passes))
        return await in_turns(ordered(found, key=place_of))

    async def page(
        self, held: Held, agent_id: str | None, *, now: datetime, begin: int, end: int
    ) -> tuple[list[Memory], int]:
        """Return a page of the active memories that an agent knows (or of all), and their total number.

        The order is that of `memories`. It is read from the sorted lists, without a scan.
        """
        ranked = await self.ranked(held, now)
        shown = ranked.best(now, agent_id, Visibility.EVERYTHING, end)[begin:]
        return shown, ranked.total(now, agent_id, Visibility.EVERYTHING)

    def owner_of(self, tenant: str, memory_id: str) -> Owner:
        """Return the owner of a memory. Raises UnknownMemory."""
        for shard in self._shards.all():
            for owner in shard.ledger.owners_of(memory_id):
                if owner.tenant == tenant:
                    return owner
        raise UnknownMemory(f"there is no memory {memory_id!r}")

    async def memory(
        self, tenant: str, memory_id: str, now: datetime, as_of: datetime | None = None
    ) -> tuple[UserState, Memory]:
        """Return a memory, and the state that it is of. Raises UnknownMemory."""
        state = await self.state(self._shards.resolve(self.owner_of(tenant, memory_id)), now, as_of)
        memory = state.memories.get(memory_id)
        if memory is None:
            raise UnknownMemory(f"memory {memory_id!r} did not exist at {instant(as_of)}")
        return state, memory

    async def search(
        self, held: Held, question: Question, *, now: datetime, visibility: Visibility = Visibility.EVERYTHING
    ) -> SearchResult[Found]:
        """Return the visible memories that match a question at an instant, the best first.

        While the embedder is away, the search is by words alone. Raises NotHeld, IndexUnavailable, EmbedderRefused.
        """
        pool = await self._pool(held, question, now, visibility)
        return self.answers.of(pool, pool.best(question.limit, question.min_score))

    async def search_said(
        self,
        held: Held,
        question: Question,
        *,
        now: datetime,
        with_memories: bool = True,
        visibility: Visibility = Visibility.EVERYTHING,
    ) -> SearchResult[Found | FoundTurn]:
        """Return turns, and memories where they are wanted too, best first; what is hidden stays so in turns."""
        pool = await self._pool(held, question, now, visibility)
        memories = pool.best(question.limit, question.min_score) if with_memories else []
        ranked = self.ranked_now(held) if visibility is Visibility.NOTHING_SENSITIVE else None

        def hides(text: str) -> bool:
            return visibility is Visibility.NAME_ONLY if ranked is None else ranked.names_sensitive(text, visibility)

        cut: Counter[Rule] = Counter()
        return self.answers.of(pool, self.answers.with_turns(held, pool, memories, question, hides, cut=cut), cut)

    async def _pool(self, held: Held, question: Question, now: datetime, visibility: Visibility) -> Pool:
        views = await self.index_search.views_if_there(question.text)
        for one in (held, self._shards.resolve(Owner(held.owner.tenant, GLOBAL_USER))):
            await one.load()
        if visibility is Visibility.NOTHING_SENSITIVE:
            await self.ranked(held, now, visibility=visibility)
        sees = self.sees(held, visibility)
        return await self.index_search.pool(held, question, views, now=now, sees=sees)

    def sees(self, held: Held, visibility: Visibility) -> Callable[[Memory], bool]:
        """Return the test whether a memory, personal or global, is seen at all. Raises NotHeld."""
        if visibility is Visibility.NOTHING_SENSITIVE:
            return self.ranked_now(held).shows(visibility)
        held.shard  # noqa: B018 - raises NotHeld
        return sees_all if visibility is Visibility.EVERYTHING else lambda _: False

    def zone_of(self, held: Held) -> tzinfo:
        """Return by which clock a user lives now. Raises NotHeld."""
        return self.index_search.zone_of(held)

    def turns(self, held: Held, session_id: str, limit: int, agent_id: str | None = None) -> list[Turn]:
        """Return a session's most recent turns, of all or of those with an agent, oldest first."""
        return held.shard.turns.of_session(held.owner, session_id, limit, agent_id)

    async def profile(
        self,
        held: Held,
        now: datetime,
        as_of: datetime | None,
        agent_id: str | None,
        visibility: Visibility = Visibility.EVERYTHING,
    ) -> dict[str, Any]:
        """Return the profile of a user, as an agent sees it, with the patterns of use that were counted."""
        ranked = await self.ranked(held, now, as_of, visibility)
        found = ranked.profile(as_of or now, agent_id, visibility)
        if visibility is Visibility.NAME_ONLY:
            return found
        return with_usage(found, patterns(self.turn_statistics(held).usage(held.owner, agent_id, as_of)))

    def intimacy(self, held: Held, agent_id: str | None) -> float | None:
        """Return the last intimacy with an agent or with none, also where retention has removed the turn."""
        said = self.turn_statistics(held).last_intimacy(held.owner, agent_id)
        kept = last_kept(held.state.intimacies, agent_id)
        last = max(filter(None, (said, kept)), key=lambda one: one.said_at, default=None)
        return None if last is None else last.intimacy

    def turn_statistics(self, held: Held) -> TurnStatistics:
        """Return the statistics of the turns of a user's partition."""
        return held.shard.turn_statistics

    async def history(self, tenant: str, memory_id: str) -> dict[str, Any]:
        """Return every event about a memory, and its lineage: the candidates and observations that it came from.

        Raises UnknownMemory, even if the memory is erased only meanwhile.
        """
        owner = self.owner_of(tenant, memory_id)
        held = self._shards.resolve(owner)
        await held.load()
        decisions = await self._decisions_naming(held, memory_id)
        events = await in_turns(history(owner, memory_id, decisions, held.ledger_place[1]))
        memory = held.state.memories.get(memory_id)
        if memory is None:
            raise UnknownMemory(f"there is no memory {memory_id!r}")  # it was erased meanwhile
        causes = {e["causation_id"] for e in events}
        answers = {d.item_id: d for _, d in decisions if d.item_id in causes}
        return {
            "memory_id": memory_id,
            "events": events,
            "lineage": {
                "candidates": [c for d in answers.values() if (c := await self._answer(d)) is not None],
                "observations": await self._words(held, memory.event_ids),
            },
        }

    async def _decisions_naming(self, held: Held, memory_id: str) -> list[tuple[int, Decision]]:
        """Return a user's decisions that name a memory, each with its offset; others have their turn meanwhile."""
        return await in_turns(decisions_in_steps(lambda: held.shard.ledger, held.owner, memory_id))

    async def _answer(self, decision: Decision) -> dict[str, Any] | None:
        """Return the model and the prompt of the extraction behind a decision; None for other decisions."""
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

    async def _words(self, held: Held, event_ids: Sequence[str]) -> list[dict[str, Any]]:
        """Return the observations that the log still holds, with their words."""
        found: list[dict[str, Any]] = []
        if held.owner.is_global:
            return found
        seen = held.shard.observations.seen(held.owner, event_ids)
        for event_id in event_ids:
            record = await self._shards.record(seen[event_id].position) if event_id in seen else None
            if record is None:
                found.append({"event_id": event_id, "type": None, "content": None})
                continue
            message = observation_of_record(record)
            words: str | None = text_of(message)
            if isinstance(message, TurnRecorded) and message.infer:
                told = held.shard.turns.kept(held.owner, event_id)
                words = None if told is None else told.message.content  # what the user asked not to keep is not shown
            found.append(
                {
                    "event_id": event_id,
                    "type": type(message).__name__,
                    "position": str(record.position),
                    "role": message.role if isinstance(message, TurnRecorded) else None,
                    "content": words,
                    "occurred_at": instant(message.envelope.occurred_at),
                    "recorded_at": instant(record.recorded_at),
                }
            )
        return found

    async def curve(
        self, tenant: str, memory_id: str, since: datetime, until: datetime, points: int
    ) -> list[dict[str, Any]]:
        """Return importance and strength at evenly spaced instants, read from the log."""
        owner = self.owner_of(tenant, memory_id)
        decisions = await self._decisions_naming(self._shards.resolve(owner), memory_id)
        lived = life_of(memory_id, (decision for _, decision in decisions))
        found, share = list[dict[str, Any]](), TimeSlice()
        for number in range(points):
            at = since + (until - since) * (number / max(1, points - 1))
            await share.pause()
            memory = memory_at(owner, lived, at)
            if memory is not None:
                view = memory_view(owner, memory, at)
                found.append({"at": instant(at), **{k: view[k] for k in ("importance", "strength", "status")}})
        return found
