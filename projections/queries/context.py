"""Contexts: the knowledge for an agent's next answer, gathered from search, profile and ranked memories."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final

from projections.profile.habits import patterns
from projections.profile.profile import with_usage
from projections.profile.ranked_memories import in_order
from projections.profile.upcoming import when
from projections.profile.visibility import Visibility, visibility_at
from projections.queries.prompt import EPISODIC, FREE_ATTRIBUTES, FREE_EPISODES, MAX_TOKENS, MemoryContext
from projections.queries.search import NO_FILTERS, FoundTurn, Question
from projections.state.provenance import provenance_of
from projections.text.measure import measure
from schemas.vocabulary.words import SHOWN

if TYPE_CHECKING:
    from collections.abc import Callable, Collection
    from datetime import datetime

    from projections.partitions.held import Held
    from projections.profile.ranked_memories import RankedMemories
    from projections.queries.answers import SearchResult
    from projections.queries.context_text import Language
    from projections.queries.filters import Filters
    from projections.queries.queries import Queries
    from projections.queries.search import Found, Pool
    from projections.state.memory import Memory
    from schemas.identity import Owner
    from schemas.vocabulary.words import Tier

FULL_INTIMACY: Final = 100.0
"""The intimacy to assume if no turn ever carried one."""
SOON: Final = timedelta(days=14)
LATELY: Final = timedelta(days=30)
MOST_NEWS: Final = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextAsked:
    """The request for a context; None means the configured or known value."""

    query: str
    agent_id: str | None = None
    tier: Tier = "paid"
    intimacy: float | None = None
    include_global: bool = True
    top_k: int = 5
    memory_limit: int = 8
    similarity_threshold: float | None = None
    marked: bool = False
    """Whether each line ends with its provenance."""
    exclude_sources: Collection[str] = ()
    """The provenances to leave out."""
    filters: Filters = NO_FILTERS
    """Further filters for memories, including those of the profile."""
    with_memories: bool = True
    """Whether to search memories for the query. The parts that need no query are always included."""
    with_turns: bool = True
    max_tokens: int = MAX_TOKENS
    """The most tokens of the context's `text`."""
    language: Language | None = None
    """The language of `text`; None means the user's."""
    min_relevance: float | None = None
    """The least relevance of a result for the query; None means the line of the answer."""

    def meets(self, owner: Owner, at: datetime) -> Callable[[Memory], bool] | None:
        """Return the test that a user's memories must pass at an instant; None without filters."""
        return None if self.filters == NO_FILTERS else lambda memory: self.filters.passes(memory, owner, at)


class Contexts:
    """Answers about users whose partitions this worker holds; others raise NotHeld."""

    def __init__(
        self, queries: Queries, *, levels: tuple[float, float], threshold: Callable[[], float], shows_profile: bool
    ) -> None:
        """`levels` are intimacies (0 to 100); `threshold` returns the current least cosine of a relevant episode."""
        self._queries = queries
        self._levels = levels
        self._threshold = threshold
        self._shows_profile = shows_profile

    async def context(self, held: Held, asked: ContextAsked, now: datetime) -> MemoryContext:
        """Return the context; without its meaning while the embedder is away.

        Raises NotHeld, IndexUnavailable, EmbedderRefused.
        """
        await self._queries.state(held, now)  # first: what is not held here is not worth a vector
        visibility = self._visibility(held, asked)
        ranked = await self._queries.ranked(held, now, visibility=visibility)
        relevant: list[Found] = []
        result: SearchResult[Found | FoundTurn] | None = None
        if asked.query.strip() and asked.tier == "paid" and visibility is not Visibility.NAME_ONLY:
            result, relevant = await self._found(held, asked, visibility, now)
            ranked = self._queries.ranked_now(held)  # as it is by now: a search waits
        meets = asked.meets(held.owner, now)
        found = [] if result is None else result.found
        recent, important = self._in_order(ranked, asked, visibility, now, meets)
        return MemoryContext(
            query=asked.query,
            tier=asked.tier,
            user_profile=self._profile(ranked, held, asked, visibility, now),
            relevant_episodes=relevant,
            recent_episodes=recent,
            memories=[one for one in found if not isinstance(one, FoundTurn)],
            turns=[one for one in found if isinstance(one, FoundTurn)],
            result=result,
            total_memories=ranked.total(now, asked.agent_id, visibility, asked.exclude_sources, meets=meets),
            most_important=important,
            coming=[] if asked.tier == "free" else self._coming(ranked, held, asked, visibility, now),
            language=asked.language or self._language(held, asked),
            max_tokens=asked.max_tokens,
            has_passed=lambda memory: when(memory, now, lambda: self._queries.zone_of(held)) == "past",
            hides=lambda text: ranked.names_sensitive(text, visibility),
            provenances=ranked.provenances if asked.marked else None,
        )

    async def profile(self, held: Held, agent_id: str | None, now: datetime) -> dict[str, Any] | None:
        """Return the profile as a context shows it at the last intimacy that a turn carried. Raises NotHeld."""
        asked = ContextAsked(query="", agent_id=agent_id)
        visibility = self._visibility(held, asked)
        ranked = await self._queries.ranked(held, now, visibility=visibility)
        return self._profile(ranked, held, asked, visibility, now)

    async def news(self, held: Held, agent_id: str | None, now: datetime) -> tuple[list[Memory], list[Memory]]:
        """Return the plans of the next two weeks with the events of the last month, and what else was said in it.

        At most three of each. The statements are those that fill no slot of the profile, the newest first. All results
        are visible to a context at the last intimacy in a turn. Raises NotHeld.
        """
        visibility = self.visibility(held, agent_id)
        ranked = await self._queries.ranked(held, now, visibility=visibility)
        zone = self._queries.zone_of(held)
        plans = ranked.coming(now, now + SOON, agent_id, visibility, MOST_NEWS, zone=zone)
        newest = ranked.newest(now, agent_id, visibility, 2 * MOST_NEWS)
        known = {plan.memory_id for plan in plans}
        events = [m for m in newest if now - LATELY <= m.occurred_at <= now and m.memory_id not in known]
        said = ranked.said_since(now - LATELY, now, agent_id, visibility, without=known)
        return [*plans, *events[:MOST_NEWS]], said[:MOST_NEWS]

    def visibility(self, held: Held, agent_id: str | None, intimacy: float | None = None) -> Visibility:
        """Return what an agent is shown of a user at an intimacy, 0 to 100; None: the last that a turn carried.

        Raises NotHeld.
        """
        return self._visibility(held, ContextAsked(query="", agent_id=agent_id, intimacy=intimacy))

    def _visibility(self, held: Held, asked: ContextAsked) -> Visibility:
        intimacy = asked.intimacy
        if intimacy is None:
            intimacy = self._queries.intimacy(held, asked.agent_id)
        return visibility_at(FULL_INTIMACY if intimacy is None else intimacy, self._levels)

    async def _found(
        self, held: Held, asked: ContextAsked, visibility: Visibility, now: datetime
    ) -> tuple[SearchResult[Found | FoundTurn], list[Found]]:
        """Return the results for the query, and the episodes that are near enough; one search usually finds both.

        A search by words alone does not know which episodes are near, and returns none.
        """
        index_search, answers = self._queries.index_search, self._queries.answers
        views = await index_search.views_if_there(asked.query)
        sees = self._queries.sees(held, visibility)

        filters = replace(asked.filters, agent_id=asked.agent_id, exclude_sources=asked.exclude_sources)
        question = Question(
            text=asked.query, filters=filters, limit=asked.top_k, include_global=asked.include_global, with_past=False
        )

        async def pool(kind: str | None) -> tuple[Pool, list[Found]]:
            one = replace(question, filters=replace(filters, kind=kind))
            found = await index_search.pool(held, one, views, now=now, sees=sees)
            return found, found.near(EPISODIC, threshold, asked.top_k)

        threshold = self._threshold() if asked.similarity_threshold is None else asked.similarity_threshold
        found, relevant = await pool(filters.kind)
        memories = found.best(asked.top_k) if asked.with_memories else []
        both: list[Found | FoundTurn] = [*memories]
        if asked.with_turns:
            # A context goes to a model unchanged, and shown texts are not the words of any speaker.
            said = replace(filters, exclude_sources=(*asked.exclude_sources, *SHOWN.values()))
            more = replace(question, filters=said, limit=len(memories) + asked.top_k)
            both = answers.with_turns(held, found, memories, more, self._hides(held, visibility))
        result = answers.of(found, both)
        least = result.line if asked.min_relevance is None else asked.min_relevance
        if len(relevant) < asked.top_k and filters.kind is None and found.deepest >= threshold:
            found, relevant = await pool(EPISODIC)  # more episodes may follow the last result
        if asked.similarity_threshold is None:
            relevant = answers.of(found, relevant).least(least).found
        return result.least(least), relevant

    def _coming(
        self, ranked: RankedMemories, held: Held, asked: ContextAsked, visibility: Visibility, now: datetime
    ) -> list[Memory]:
        """Return the plans of the next two weeks that the context shows."""
        zone, meets = self._queries.zone_of(held), asked.meets(held.owner, now)
        plans = ranked.coming(now, now + SOON, asked.agent_id, visibility, MOST_NEWS, zone=zone)
        return [
            plan
            for plan in plans
            if provenance_of(plan) not in asked.exclude_sources and (meets is None or meets(plan))
        ]

    def _language(self, held: Held, asked: ContextAsked) -> Language:
        """Return the language that a user writes, by what was counted; of one who wrote nothing the query's."""
        usage = self._queries.turn_statistics(held).usage(held.owner, asked.agent_id)
        is_chinese = 2 * usage.chinese_turns > usage.turns if usage.turns else measure(asked.query).is_chinese
        return "zh" if is_chinese else "en"

    def _hides(self, held: Held, visibility: Visibility) -> Callable[[str], bool]:
        ranked = self._queries.ranked_now(held)
        return lambda text: ranked.names_sensitive(text, visibility)

    def _in_order(
        self,
        ranked: RankedMemories,
        asked: ContextAsked,
        visibility: Visibility,
        now: datetime,
        meets: Callable[[Memory], bool] | None,
    ) -> tuple[list[Memory], list[Memory]]:
        """Return the newest episodes and the most important memories that the tier shows."""
        seen = (now, asked.agent_id, visibility)
        without = asked.exclude_sources
        if asked.tier == "paid":
            newest = ranked.newest(*seen, asked.top_k, without, meets=meets)
            return newest, ranked.best(*seen, asked.memory_limit, without, meets=meets)
        recent = ranked.newest(*seen, FREE_EPISODES, without, meets=meets)
        basics = ranked.filling(FREE_ATTRIBUTES, *seen, without, meets=meets)
        return recent, in_order([*basics, *recent])[: asked.memory_limit]

    def _profile(
        self, ranked: RankedMemories, held: Held, asked: ContextAsked, visibility: Visibility, now: datetime
    ) -> dict[str, Any] | None:
        if not self._shows_profile:
            return None
        free = asked.tier == "free"
        only, meets = FREE_ATTRIBUTES if free else None, asked.meets(held.owner, now)
        found = ranked.profile(now, asked.agent_id, visibility, only, asked.exclude_sources, meets=meets)
        if not free and visibility is not Visibility.NAME_ONLY and meets is None:  # what is counted is no memory
            found = with_usage(found, patterns(self._queries.turn_statistics(held).usage(held.owner, asked.agent_id)))
        return found if found["text"] else None
