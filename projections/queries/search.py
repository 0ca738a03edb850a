"""Search in the index over a user's and the global memories, joined with the data that only the shard has."""

from __future__ import annotations

import asyncio
from collections import Counter
from dataclasses import dataclass, field, replace
from datetime import UTC
from functools import partial, reduce
from itertools import chain, islice, repeat
from operator import attrgetter
from typing import TYPE_CHECKING, Final, Protocol

import numpy as np

from projections.dates.questions import named_span
from projections.dates.reader import may_name_time
from projections.embedding.embedder import EmbedderUnavailable
from projections.embedding.question_views import QuestionViews
from projections.embedding.serving import current, is_outdated, views_of
from projections.embedding.stored_vector import vector_of
from projections.index.centre import centre_of
from projections.index.embedded.state_search import search_state
from projections.index.protocol import NO_VECTORS, IndexQuery, Leg, Legs, VectorRows
from projections.profile.slot_question import filling, slot_asked, was_then
from projections.profile.upcoming import asks_for_plans, when
from projections.queries.conditions.columns import Columns, ColumnsByUser
from projections.queries.filters import Filters
from projections.queries.memory_rows import MemoryRows, MemoryRowsByUser, sees_all
from projections.queries.ranking import NO_PARTS, POOL, Parts, rank
from projections.queries.relevance import BUILTIN, ReferenceScale, load
from projections.queries.turns.index import MAX_CHARACTERS, TurnIndex, spoken
from projections.queries.turns.making import TurnVectorMaking
from projections.queries.turns.meaning import TurnMeaning
from projections.shard.ledger import decisions_in_steps
from projections.state.memory import ACTIVE
from projections.state.time_travel import state_at
from projections.text.analyser import terms, tokens
from projections.text.forms import forms_asked, forms_of
from projections.text.literals import holds, literals_in
from projections.turns import in_turns
from schemas.identity import GLOBAL_USER, Owner
from schemas.inputs.decoding import effective_time

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from datetime import datetime, tzinfo

    from projections.dates.questions import Span
    from projections.embedding.embedder import Embedder, Vectors
    from projections.embedding.serving import View
    from projections.index.centre import Centre
    from projections.index.embedded.bm25 import Mask
    from projections.partitions.held import Held
    from projections.partitions.shards import Shards
    from projections.profile.slot_asked import SlotAsked
    from projections.queries.ranking import Ranked, Rows
    from projections.queries.turns.index import Scored, TurnMatches
    from projections.queries.turns.meaning import TurnMeanings
    from projections.shard.rows.published_turns import Turn
    from projections.state.memory import Memory, UserState

LEAST_COSINE: Final = -1.0
NO_FILTERS: Final = Filters()
HOP_MEMORIES: Final = 5
HOP_SCORE: Final = 0.6
"""Memories whose score is a lower share of the best one's are not followed."""
HOP_WORDS: Final = 8
NO_SLOTS: Final[Mapping[str, float]] = {}
_NONE: Final = -1
_memory_id: Final[Callable[[Memory], str]] = attrgetter("memory_id")
TURNS_WITH_MEMORIES: Final = 50
"""The number of best turns whose memories take part even if no leg found them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A search request: the text and the options of a search in a user's memories."""

    text: str
    filters: Filters = NO_FILTERS
    as_of: datetime | None = None
    """The instant whose state is searched; None for the present."""
    limit: int = 5
    scope: str = "all"
    include_global: bool = True
    min_score: float = 0.0
    understand_time: bool = True
    """Whether memories that were true at a time named in the text come first."""
    with_past: bool = True
    """Whether a question about the past finds superseded memories."""
    hops: int = 1
    """1, or 2 to search also for the topics of the best memories."""


@dataclass(frozen=True, slots=True)
class Found:
    """A memory that a search found."""

    owner: Owner
    memory: Memory
    ranked: Ranked


@dataclass(frozen=True, slots=True)
class FoundTurn:
    """A turn that a search found, by its words, or in another language than the question's by its meaning."""

    owner: Owner
    turn: Turn
    score: float
    keyword: float
    """The match of its words, 0 to 1; 1 for the turn that matches best."""
    semantic: float
    """The match of its meaning, 0 to 1; 0 if it is in the question's language."""
    superseded_by: str | None = None
    """The memory that supersedes all memories from this turn; None if one of them is still valid."""

    @property
    def said_at(self) -> datetime:
        """The effective time of the turn."""
        return effective_time(self.turn.message, self.turn.recorded_at)


@dataclass(frozen=True, slots=True)
class Asked:
    """A question prepared for the index."""

    whose: Sequence[Held]
    """The owners to search: the user, and the owner of global memories, as far as the question includes them."""
    question: Question
    tokens: tuple[str, ...]
    views: Sequence[View]
    """The vectors of the question; empty while the embedder is away, so that words alone are searched."""
    now: datetime
    past: Mapping[Owner, UserState] | None = None
    """The past states to search; None for the present ones."""
    span: Span | None = None
    """The time that the text names."""
    slot: SlotAsked | None = None
    asks_for_plans: bool = False

    @property
    def at(self) -> datetime:
        """The instant for which it is answered."""
        return self.question.as_of or self.now

    def state_of(self, held: Held) -> UserState:
        """Return the state of an owner that is searched. Raises NotHeld."""
        return held.state if self.past is None else self.past[held.owner]


@dataclass(frozen=True, slots=True)
class Candidates:
    """The visible memories found for one owner, one row for each."""

    owner: Owner
    table: MemoryRows
    rows: Rows
    memories: list[Memory]
    cosines: Scored
    """The scores of the semantic leg; NaN for a memory that it has not found."""
    words: Scored
    """The scores of the keyword leg; NaN for a memory that it has not found."""
    importance: Scored
    places: Rows
    """The places in the semantic leg, as in `vectors`; -1 for a memory that it has not found."""
    vectors: Mapping[str, Vectors]
    """Those that the index has in memory."""

    def among(self, kept: Rows) -> Candidates:
        """Return some of them."""
        return replace(
            self,
            rows=self.rows[kept],
            memories=[self.memories[row] for row in kept.tolist()],
            cosines=self.cosines[kept],
            words=self.words[kept],
            importance=self.importance[kept],
            places=self.places[kept],
        )

    def beside(self, rows: Rows) -> Candidates:
        """Return them with others, by their rows of the table, that no leg has found."""
        nothing = np.full(len(rows), np.nan)
        return replace(
            self,
            rows=np.concatenate((self.rows, rows)),
            memories=self.memories + self.table.memories(rows),
            cosines=np.concatenate((self.cosines, nothing)),
            words=np.concatenate((self.words, nothing)),
            importance=np.concatenate((self.importance, self.table.importance(rows))),
            places=np.concatenate((self.places, np.full(len(rows), _NONE))),
        )

    def said(self, turns: TurnMatches | None) -> Scored:
        """Return the match of the turns from which each memory came; NaN for global ones."""
        if turns is None or self.owner.is_global:
            return np.full(len(self.rows), np.nan)
        return self.table.evidence(self.rows, turns)


@dataclass(frozen=True, slots=True)
class Pool:
    """The memories found that are visible at an instant. Others may exist, with a cosine of at most `deepest`."""

    owners: Sequence[Owner]
    memories: Sequence[Memory]
    parts: Parts
    """The parts of the memories' scores, in their order."""
    at: datetime
    deepest: float
    vectors: Mapping[Owner, Mapping[str, Vectors]] = field(default_factory=dict)
    """Those that the index has in memory."""
    turns: TurnMatches | None = None
    """The matches of the owner's turns; None if only global memories are searched."""
    meanings: TurnMeanings | None = None
    """The nearness of the owner's turns in other languages; None if none of them has a vector."""
    span: Span | None = None
    """The time that the query names."""
    tokens: tuple[str, ...] = ()
    slot_asked: SlotAsked | None = None
    forms: int = 0
    """The forms that the query asks for, a bit each."""
    by_words: bool = False
    """Whether words alone were searched, because the embedder was away."""
    language: str | None = None
    named: Mask | None = None
    """The turns that have what the query names letter by letter, as `parts.named`."""
    scale: tuple[float, float] = (1.0, 0.0)
    """The scale from the encoder's cosines to those on which relevance is based."""
    text: str = ""
    asking: View | None = None
    """The query as relevance asks the built-in encoder's vectors; None where another one serves, or none."""
    passed: frozenset[str] = frozenset()
    """The plans that have passed, and what they came from, where the query asks for what lies ahead."""
    states: Mapping[Owner, UserState] = field(default_factory=dict)
    """The states that were searched."""

    @property
    def has_slots(self) -> bool:
        """Whether a memory fills the slot that the query asks for."""
        return self.parts.slots is not None and not np.isnan(self.parts.slots).all()

    @property
    def has_formed(self) -> bool:
        """Whether a memory has something of the form that the query asks for."""
        return self.parts.formed is not None and bool(self.parts.formed.any())

    def share_of(self, text: str) -> float:
        """Return the share of the weight of the query's words that a text contains."""
        held = set(tokens(text[:MAX_CHARACTERS])).intersection(self.tokens)
        rarity: Callable[[str], float] = (lambda _: 1.0) if self.turns is None else self.turns.words.rarity
        total = sum(map(rarity, self.tokens))
        return sum(map(rarity, held)) / total if total else 0.0

    def best(self, limit: int, min_score: float = 0.0) -> list[Found]:
        """Return at most `limit` memories, best first."""
        ranked = rank(self.parts, self.memories, self.at, limit, min_score, by_words=self.by_words)
        return [Found(self.owners[one.row], self.memories[one.row], one) for one in ranked]

    def near(self, kind: str, least_cosine: float, limit: int) -> list[Found]:
        """Return at most `limit` memories of a kind that mean nearly the same as the query, best first."""
        near = np.flatnonzero(self.parts.cosines >= least_cosine)
        kept = [row for row in near.tolist() if self.memories[row].kind == kind]
        return replace(
            self,
            owners=[self.owners[row] for row in kept],
            memories=[self.memories[row] for row in kept],
            parts=self.parts.among(np.array(kept, np.intp)),
        ).best(limit)

    def with_hop(self, found: Sequence[Candidates]) -> Pool:
        """Return the pool with the candidates of a second search."""
        place_of = {memory.memory_id: place for place, memory in enumerate(self.memories)}
        owners, memories = list(self.owners), list(self.memories)
        parts, hops = self.parts, list[tuple["Rows", Candidates]]()
        for some in found:
            is_new = np.array([memory.memory_id not in place_of for memory in some.memories], np.bool_)
            new = some.among(np.flatnonzero(is_new))
            place_of |= {memory.memory_id: place for place, memory in enumerate(new.memories, len(memories))}
            owners += [new.owner] * len(new.rows)
            memories += new.memories
            nothing = np.full(len(new.rows), np.nan)
            shares = _shares(new, self.turns, self.forms, self.span)
            parts = parts.beside(replace(shares, cosines=nothing, words=nothing))
            hops.append((np.array([place_of[m.memory_id] for m in some.memories], np.intp), some))
        cosines, words = np.full((2, len(memories)), np.nan)
        for places, some in hops:
            cosines[places], words[places] = some.cosines, some.words
        return replace(
            self, owners=owners, memories=memories, parts=replace(parts, hop_cosines=cosines, hop_words=words)
        )


class SearchedIndex(Protocol):
    """The index to search: IndexSync, or an index built for a comparison."""

    async def search(self, owner: Owner, query: IndexQuery) -> Legs:
        """Search one user's memories. Raises IndexUnavailable, ShardUnavailable."""
        ...

    def mark_dirty(self, owner: Owner, ids: Iterable[str]) -> None:
        """Queue memories to be written again, because a hit differs from the shard."""
        ...


class MemoryVectors:
    """The vectors of memories: those that an index has in memory, and others read from encoding or shard."""

    def __init__(self, shards: Shards) -> None:
        self._shards = shards

    def comparable(
        self, view: View, owner: Owner, memories: Sequence[Memory], known: Mapping[str, Vectors] = NO_VECTORS
    ) -> dict[str, Vectors]:
        """Return the vectors of an owner's memories that a view is compared with; those that are not known are read.

        They are of its encoder, and of its length: the vectors of an endpoint may have had another one.
        """
        found = {memory.memory_id: known[memory.memory_id] for memory in memories if memory.memory_id in known}
        if unknown := [memory for memory in memories if memory.memory_id not in known]:
            logged = self._shards.of(owner).ledger.vectors(owner).among([memory.memory_id for memory in unknown])
            encoding = self._shards.encoding
            for memory in unknown:
                vector, model = logged.get(memory.memory_id), memory.embedding_model
                if encoding is not None and (own := encoding.vector(owner, memory)) is not None:
                    vector, model = own, encoding.model
                if vector is not None and model == view.model:
                    found[memory.memory_id] = vector_of(vector)
        return {memory_id: vector for memory_id, vector in found.items() if len(vector) == len(view.vector)}


class IndexSearch:
    """Search by words and by meaning. Hits give ids; text, importance and status come from the shard."""

    def __init__(
        self,
        shards: Shards,
        index_sync: SearchedIndex,
        embedder: Embedder,
        *,
        makes_turn_vectors: bool = False,
        zone: tzinfo = UTC,
    ) -> None:
        """`makes_turn_vectors`: turns have vectors, and those in another language than a question are found by them.

        `zone` is that of users of whom no turn names one.
        """
        self._zone = zone
        self._shards = shards
        self._index_sync = index_sync
        self._embedder = embedder
        self.vectors = MemoryVectors(shards)
        self._questions = QuestionViews(embedder)
        self._scale = ReferenceScale()
        self.turn_index = TurnIndex()
        encoder = partial(current, embedder) if makes_turn_vectors else None
        self.turn_vectors = TurnVectorMaking(shards, encoder, self.turn_index)
        self._turn_meaning = TurnMeaning(encoder, self.turn_vectors)
        self._columns = ColumnsByUser()
        self._memory_rows = MemoryRowsByUser()
        self._past_states = asyncio.Semaphore(1)
        """Held while one is made: several threads that compute take the interpreter's lock from the event loop."""

    def zone_of(self, held: Held) -> tzinfo:
        """Return a user's present time zone: that of the newest turn that names one, else the default."""
        return held.shard.turns.last_zone(held.owner) or self._zone

    async def views(self, query: str) -> Sequence[View]:
        """Return the embedder's views of a query, as `views_of`. Raises EmbedderUnavailable, EmbedderRefused."""
        return await views_of(self._embedder, query)

    async def views_if_there(self, query: str) -> Sequence[View]:
        """Return the embedder's views of a query; none while the embedder is away. Raises EmbedderRefused."""
        return await self._questions.of(query)

    async def past_state(self, held: Held, as_of: datetime) -> UserState:
        """Return a user's state as it was effective then, made in a thread: of a large user it takes a second.

        One is made at a time.
        """
        async with self._past_states:
            await held.load()
            decisions = await in_turns(decisions_in_steps(lambda: held.shard.ledger, held.owner))
            return await asyncio.to_thread(state_at, held.owner, [decision for _, decision in decisions], as_of)

    async def pool(
        self,
        held: Held,
        question: Question,
        views: Sequence[View],
        *,
        now: datetime,
        sees: Callable[[Memory], bool] = sees_all,
    ) -> Pool:
        """Return what both legs found, at least `limit` memories that are shown and seen where there are so many.

        Without views it is what the words found, and what fills the slot. Where another encoder began to serve
        meanwhile the question is asked anew. Raises EmbedderRefused.

        What fills the slot that the question asks for is among them. With two hops, a second search for what the best
        memories are about has its share in each score.
        """
        while True:
            pool = await self._pool(held, question, views, now=now, sees=sees)
            if not is_outdated(self._embedder, views):
                return pool
            views = await self.views_if_there(question.text)

    async def _pool(
        self, held: Held, question: Question, views: Sequence[View], *, now: datetime, sees: Callable[[Memory], bool]
    ) -> Pool:
        """Return what both legs found by one set of views."""
        words = terms(question.text)
        at = question.as_of or now
        shared = self._shards.resolve(Owner(held.owner.tenant, GLOBAL_USER))
        is_personal, past = question.scope in {"all", "personal"}, None
        if question.as_of is not None and question.as_of < now:
            past = {one.owner: await self.past_state(one, question.as_of) for one in (held, shared)}
        turns = meanings = None
        if is_personal:
            agent_id = question.filters.agent_id
            turns = await self.turn_index.matches(held, words, agent_id, at)
            if views:
                try:
                    meanings = await self._turn_meaning.near(held.owner, turns, question.text, views)
                except EmbedderUnavailable as error:  # it went away between the two: all is found by words
                    self._questions.missed(error)
                    views = ()
        span = None
        if question.understand_time and may_name_time(question.text):
            span = named_span(question.text, at, self.zone_of(held))
        slot = slot_asked(question.text)
        plans = slot is None and asks_for_plans(question.text)
        is_shared = question.scope == "global" or (question.scope == "all" and question.include_global)
        whose = [*([held] if is_personal else []), *([shared] if is_shared else [])]
        asked = Asked(whose, question, words, views, now, past, span, slot, plans)
        found, deepest = await self._hits(asked, turns, sees, meanings)
        slots, passed = dict[str, float](), frozenset[str]()
        if (asked.slot is not None or plans) and found and found[0].owner == held.owner:
            found[0], slots, passed = self._with_slots(held, found[0], asked, sees)
        for some in found:
            self._memory_rows.count(some.owner, some.table)
        found = _once(found)
        forms = forms_asked(question.text)
        centres = {some.owner: self._centre(asked, some) for some in found}
        parts = [
            replace(
                _shares(some, turns, forms, span, slots),
                hubness=_hubness(some, centres[some.owner]),
                meant=_meant(some, question.text, meanings),
            )
            for some in found
        ]
        parts, named = _named(literals_in(question.text), found, parts, turns)
        pool = Pool(
            list(chain.from_iterable(repeat(some.owner, len(some.memories)) for some in found)),
            list(chain.from_iterable(some.memories for some in found)),
            reduce(Parts.beside, parts) if parts else NO_PARTS,
            at,
            deepest,
            {some.owner: some.vectors for some in found},
            turns,
            meanings,
            span,
            words,
            asked.slot,
            forms,
            not views,
            spoken(question.text),
            named,
            await self._scale.of(current(self._embedder)) if views else (1.0, 0.0),
            question.text,
            _asking(views),
            passed,
            {one.owner: asked.state_of(one) for one in whose},
        )
        if question.hops == 1 or not (best := pool.best(HOP_MEMORIES)):
            return pool
        best = [found for found in best if found.ranked.score >= HOP_SCORE * best[0].ranked.score]
        hop = self._hop(asked, pool, best, centres.get(held.owner))
        # without turns: the memories that came from those that match are shown already
        further, _ = await self._hits(hop, None, sees)
        return pool.with_hop(further)

    def _centre(self, asked: Asked, found: Candidates) -> tuple[Rows, Centre] | None:
        """Return the centre of an owner's memories among the hits, with the rows that it is of; None without any.

        Those of screenshots and articles take no part: texts of another form have something else in common. There is
        none while one encoder takes another's place.
        """
        if len(asked.views) != 1:
            return None
        view = asked.views[0]
        rows = np.flatnonzero((found.places != _NONE) & ~found.table.screens(found.rows))
        if not len(rows):
            return None
        if isinstance(found.vectors, VectorRows):
            return rows, centre_of(found.vectors.at(found.places[rows]))
        row_of = {found.memories[row].memory_id: row for row in rows.tolist()}
        vectors = self.vectors.comparable(
            view, found.owner, [found.memories[row] for row in rows.tolist()], found.vectors
        )
        if not vectors:
            return None
        return np.array([row_of[i] for i in vectors], np.intp), centre_of(np.stack(list(vectors.values())))

    def _with_slots(
        self, held: Held, found: Candidates, asked: Asked, sees: Callable[[Memory], bool]
    ) -> tuple[Candidates, dict[str, float], frozenset[str]]:
        """Return candidates with those that fill the slot that is asked for, and how well memories do, by id.

        Plans that lie ahead fill it where these are asked for; behind is what has passed, with what that came from.
        """
        slot, question, at = asked.slot, asked.question, asked.at
        if question.scope not in {"all", "personal"}:
            return found, {}, frozenset()
        filters, owner, state = question.filters, held.owner, asked.state_of(held)
        passed = frozenset[str]()
        if slot is None:
            zone = partial(self.zone_of, held)
            planned = {memory.memory_id: when(memory, at, zone) for memory in state.memories.values()}
            filled = {
                memory_id: 1.0
                for memory_id, tense in planned.items()
                if tense == "upcoming" and state.memories[memory_id].status_at(at) == ACTIVE
            }
            over = [memory_id for memory_id, tense in planned.items() if tense == "past"]
            passed = frozenset(over).union(*(state.memories[memory_id].source_ids for memory_id in over))
            passed -= {event_id for memory_id in filled for event_id in state.memories[memory_id].source_ids}
        else:
            filled = filling(
                state,
                slot,
                at,
                agent_id=filters.agent_id,
                with_past=question.with_past,
                span=asked.span,
                found=found.memories,
            )
        shown = [i for i in filled if filters.passes(memory := state.memories[i], owner, at) and sees(memory)]
        rows = found.table.rows(state, shown)
        return found.beside(_others(rows, found)), {i: filled[i] for i in shown}, passed

    def _hop(self, asked: Asked, pool: Pool, best: list[Found], centre: tuple[Rows, Centre] | None) -> Asked:
        """Return the second search: the rarest words of the best memories, and what they mean besides the usual."""
        words = Counter(
            {
                word: found.ranked.score
                for found in reversed(best)
                for word in terms(found.memory.content[:MAX_CHARACTERS])
            }
        )
        if pool.turns is not None:
            words = Counter({word: weight * pool.turns.words.rarity(word) for word, weight in words.items()})
        new = [word for word, _ in words.most_common() if word not in asked.tokens][:HOP_WORDS]
        known = pool.vectors if len(asked.views) == 1 else {}
        toward = partial(self._toward, best=best, centre=centre and centre[1], known=known)
        views = asked.views if asked.past is not None else list(map(toward, asked.views))
        return replace(asked, tokens=tuple(new), views=views)

    def _toward(
        self, view: View, best: list[Found], centre: Centre | None, known: Mapping[Owner, Mapping[str, Vectors]]
    ) -> View:
        """Return a view of what the best memories of its space mean, and where there is no centre, the question too."""
        found = [
            (one, vector)
            for one in best
            for vector in self.vectors.comparable(
                view, one.owner, [one.memory], known.get(one.owner, NO_VECTORS)
            ).values()
        ]
        total = sum(one.ranked.score for one, _ in found)
        if not total:
            return view
        meant = np.sum([one.ranked.score / total * vector for one, vector in found], axis=0, dtype=np.float32)
        vector = view.vector + meant if centre is None else meant - centre.vector
        length = np.linalg.norm(vector)
        return replace(view, vector=vector / length) if length else view

    async def _hits(
        self,
        asked: Asked,
        turns: TurnMatches | None,
        sees: Callable[[Memory], bool],
        meanings: TurnMeanings | None = None,
    ) -> tuple[list[Candidates], float]:
        """Return what both legs found that is shown, by whose it is, and the cosine below which there may be more."""
        found, deepest = [], LEAST_COSINE
        for one in asked.whose:
            state = asked.state_of(one)
            if not state.memories:
                continue
            some, below = await self._hits_of(one, state, asked, sees)
            if turns is not None and not one.owner.is_global:
                rows = _others(self._cited(one, state, some.table, turns, meanings), some)
                if len(rows):
                    shown = some.table.shown(rows, one.owner, asked.at, asked.question.filters, sees=sees)
                    some = some.beside(shown)
            found.append(some)
            deepest = max(deepest, below)
        return found, deepest

    async def _hits_of(
        self, held: Held, state: UserState, asked: Asked, sees: Callable[[Memory], bool]
    ) -> tuple[Candidates, float]:
        """Return what both legs found of one owner's memories, and the cosine below which there may be more."""
        question, filters, owner = asked.question, asked.question.filters, held.owner
        view = asked.views[0] if asked.views else None
        query = IndexQuery(
            tenant=owner.tenant,
            user_id=owner.user_id,
            tokens=asked.tokens,
            vector=view.vector if view else None,
            embedding_model=view.model if view else None,
            limit=max(POOL, 2 * question.limit),
            agent_id=filters.agent_id,
            kind=filters.kind,
            category=filters.category,
            memory_type=filters.memory_type,
            source_type=filters.source_type,
            since=filters.since,
            until=filters.until,
            among=self._among(state, asked, filters),
        )
        unconditional = replace(filters, condition=None) if filters.condition is not None else filters
        while True:
            legs = await self._legs(held, state, query, asked)
            table = self._memory_rows.of(state) if asked.past is None else MemoryRows()
            keyword, semantic = Leg.of(legs.keyword), Leg.of(legs.semantic)
            ids = keyword.ids + semantic.ids
            rows = await in_turns(table.rows_in_steps(state, ids))
            right = table.right(rows, np.concatenate((keyword.versions, semantic.versions)))
            rows[~right] = _NONE
            shown = table.shown(_different(rows, len(table)), owner, asked.at, unconditional, sees=sees)
            memories, importance = table.memories(shown), table.importance(shown)
            if asked.past is None and not right.all():
                await self._note_wrong(held, state, {ids[place] for place in np.flatnonzero(~right).tolist()})
            if len(shown) >= question.limit or len(shown) >= len(set(ids)) or query.limit >= len(state.memories):
                break
            # The index does not know expiry: some of its hits may be hidden, and visible ones lie deeper.
            query = replace(query, limit=4 * query.limit)
        cosines, words = np.full((2, len(shown)), np.nan)
        places = np.full(len(shown), _NONE)
        place_of = np.full(len(table) + 1, _NONE)  # of a hit that is not right: the last
        place_of[shown] = np.arange(len(shown))
        of_hits = place_of[rows]
        of_words, of_meaning = of_hits[: len(keyword)], of_hits[len(keyword) :]
        hits = np.flatnonzero(of_words != _NONE)
        words[of_words[hits]] = keyword.scores[hits]
        hits = np.flatnonzero(of_meaning != _NONE)
        cosines[of_meaning[hits]], places[of_meaning[hits]] = semantic.scores[hits], hits
        right_scores = semantic.scores[right[len(keyword) :]]
        below = float(right_scores.min()) if len(right_scores) >= query.limit else LEAST_COSINE
        return Candidates(owner, table, shown, memories, cosines, words, importance, places, legs.vectors), below

    async def _note_wrong(self, held: Held, state: UserState, wrong: set[str]) -> None:
        """Queue memories to be written to the index again whose entries there differ from the shard."""
        if any(memory_id not in state.memories for memory_id in wrong):
            # of another log, or decided by another worker, who has the user now
            await self._shards.come_to_end(held.owner)
        self._index_sync.mark_dirty(held.owner, wrong)

    def _cited(
        self, held: Held, state: UserState, table: MemoryRows, turns: TurnMatches, meanings: TurnMeanings | None
    ) -> Rows:
        """Return the rows of memories that came from the turns that match best, by their words or by their meaning."""
        found = turns.best(TURNS_WITH_MEMORIES)
        if meanings is not None:
            found += islice(meanings.best(), TURNS_WITH_MEMORIES)
        return table.citing(state, found, held.shard.observations.citing_each)

    def _among(self, state: UserState, asked: Asked, filters: Filters) -> frozenset[str] | None:
        """Return the active memories that meet conditions not in the index; None if there are none."""
        if (condition := filters.unindexed) is None:
            return None
        columns = self._columns.of(state) if asked.past is None else Columns(state)
        return columns.meeting(condition, asked.question.as_of or asked.now)

    async def _legs(self, held: Held, state: UserState, query: IndexQuery, asked: Asked) -> Legs:
        """Search the index by the words and by each view; a memory is of one encoder, and found by one view at most."""
        views = asked.views
        if len(views) <= 1:
            return await self._search(held, state, query, is_past=asked.past is not None)
        queries = [
            replace(query, vector=view.vector, embedding_model=view.model, tokens=() if n else query.tokens)
            for n, view in enumerate(views)
        ]
        is_past = asked.past is not None
        found = [await self._search(held, state, one, is_past=is_past) for one in queries]
        hits = sorted((hit for legs in found for hit in legs.semantic), key=lambda hit: (-hit.score, hit.memory_id))
        vectors = {memory_id: vector for legs in found for memory_id, vector in legs.vectors.items()}
        return Legs(keyword=found[0].keyword, semantic=tuple(hits[: query.limit]), vectors=vectors)

    async def _search(self, held: Held, state: UserState, asked: IndexQuery, *, is_past: bool) -> Legs:
        """Search the index; a past state has an index of its own, built for this one question."""
        if not is_past:
            return await self._index_sync.search(held.owner, asked)
        return await search_state(held.owner, state, lambda: held.shard.ledger, self._shards.encoding, asked)


def _asking(views: Sequence[View]) -> View | None:
    """Return how relevance asks by the built-in encoder's vectors; None for another encoder, several, or none."""
    if len(views) != 1 or views[0].model != BUILTIN:
        return None
    return replace(views[0], vector=load().asking(views[0].vector))


def _once(found: list[Candidates]) -> list[Candidates]:
    """Return the candidates without duplicates: of a personal and a global one with the same id, the global one."""
    if len(found) < 2:  # noqa: PLR2004 - of one owner there is each once
        return found
    [mine, shared] = found
    ids = {memory.memory_id for memory in shared.memories}
    if ids.isdisjoint(map(_memory_id, mine.memories)):
        return found
    return [
        mine.among(np.array([row for row, one in enumerate(mine.memories) if one.memory_id not in ids], np.intp)),
        shared,
    ]


def _shares(
    found: Candidates, turns: TurnMatches | None, forms: int, span: Span | None, slots: Mapping[str, float] = NO_SLOTS
) -> Parts:
    """Return the parts of candidates' scores, but for what lies in common with others, and in other languages."""
    memories, count = found.memories, len(found.memories)
    filled = then = formed = None
    if slots and not found.owner.is_global:
        filled = np.fromiter((slots.get(memory.memory_id, np.nan) for memory in memories), np.float64, count)
    if span is not None:  # what fills the slot was true then
        then = np.fromiter((was_then(m, span) or m.memory_id in slots for m in memories), np.bool_, count)
    if forms:
        formed = np.fromiter((bool(forms_of(memory.content, forms)) for memory in memories), np.bool_, count)
    said = None if turns is None else found.said(turns)
    return Parts(
        cosines=found.cosines,
        words=found.words,
        importance=found.importance,
        said=said,
        slots=filled,
        then=then,
        formed=formed,
    )


def _named(
    literals: tuple[str, ...], found: Sequence[Candidates], parts: list[Parts], turns: TurnMatches | None
) -> tuple[list[Parts], Mask | None]:
    """Return the parts with the memories that have what a query names letter by letter, and the turns that have it."""
    if not literals:
        return parts, None
    held = [np.array([holds(one.content, literals) for one in some.memories], np.bool_) for some in found]
    said = None if turns is None else turns.words.named(literals)[: len(turns.visible)] & turns.visible
    if not any(mask.any() for mask in held) and (said is None or not said.any()):
        return parts, None
    return [replace(one, named=mask) for one, mask in zip(parts, held, strict=True)], said


def _hubness(found: Candidates, centre: tuple[Rows, Centre] | None) -> Scored | None:
    """Return how much nearer than others each is to the centre of what was found."""
    if centre is None:
        return None
    hubness = np.zeros(len(found.memories))
    hubness[centre[0]] = centre[1].hubness
    return hubness


def _meant(found: Candidates, question: str, meanings: TurnMeanings | None) -> Scored | None:
    """Return how near an owner's memories in other languages than the question's are, by their turns."""
    if meanings is None or found.owner.is_global or not meanings.is_between_languages:
        return None
    language = spoken(question)
    near = [
        None if spoken(memory.content) == language else meanings.evidence(memory.source_ids)
        for memory in found.memories
    ]
    return np.array(near, np.float64) if any(one is not None for one in near) else None


def _others(rows: Rows, found: Candidates) -> Rows:
    """Return the rows that do not belong to a candidate, without -1."""
    named = np.zeros(len(found.table) + 1, np.bool_)
    named[rows] = True
    named[found.rows] = False
    return np.flatnonzero(named[:-1])


def _different(rows: Rows, count: int) -> Rows:
    """Return the distinct rows of a table with `count` rows, without -1."""
    named = np.zeros(count + 1, np.bool_)
    named[rows] = True
    return np.flatnonzero(named[:count])
