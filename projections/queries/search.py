"""Search in the index over a user's and the global memories, joined with what only the shard knows."""

from __future__ import annotations

import asyncio
from collections import ChainMap, Counter
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain, groupby, islice, repeat
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Final, Protocol, cast

import numpy as np

from projections.embedding.serving import multilingual, views_of
from projections.embedding.stored_vector import vector_of
from projections.index.centre import centre_of
from projections.index.embedded.state_search import search_state
from projections.index.encoding import Chosen
from projections.index.protocol import NO_VECTORS, SCORE_DIGITS, IndexQuery, Legs, VectorRows
from projections.profile.slot_question import filling, slot_asked, was_then
from projections.queries.conditions.columns import Columns, ColumnsByUser
from projections.queries.filters import Filters
from projections.queries.ranking import POOL, Shares, rank, turn_scores
from projections.queries.turn_index import MAX_CHARACTERS, TurnIndex, said_by, source_of, spoken, words_of
from projections.queries.turn_meaning import TurnMeaning
from projections.state.memory import ACTIVE, FORGOTTEN
from projections.state.time_travel import state_at
from projections.text.analyser import terms, tokens
from projections.text.forms import forms_asked, forms_of
from projections.text.time_spans import named_span
from schemas.identity import GLOBAL_USER, Owner
from schemas.inputs.decoding import effective_time
from schemas.vocabulary.words import SHOWN

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, MutableMapping, Sequence
    from collections.abc import Set as AbstractSet
    from datetime import datetime

    from projections.embedding.embedder import Embedder, Vectors
    from projections.embedding.languages import View
    from projections.index.centre import Centre
    from projections.index.embedded.bm25 import Mask, Scores
    from projections.index.protocol import Hit
    from projections.partitions.shards import Shards
    from projections.profile.slot_asked import SlotAsked
    from projections.queries.ranking import Ranked
    from projections.queries.turn_index import Forms, Scored, Times, TurnMatches
    from projections.queries.turn_meaning import TurnMeanings
    from projections.shard.observation_lookup import Turn
    from projections.state.memory import Memory, UserState
    from projections.text.time_spans import Span
    from schemas.messages.decision import Decision

LEAST_COSINE: Final = -1.0
NO_FILTERS: Final = Filters()
HOP_MEMORIES: Final = 5
HOP_SCORE: Final = 0.6
"""Memories whose score is a lower share of the best one's are not followed."""
HOP_WORDS: Final = 8
TOLD_SHARE: Final = 0.6
"""Of what the words of a query weigh that a turn has: memories with more of them say what the turn would answer."""
DECISIONS_AT_ONCE: Final = 100
"""Read before the event loop has its turn."""
_SHOWN: Final = frozenset(SHOWN.values())
_ID: Final = itemgetter(0)
TURNS_WITH_MEMORIES: Final = 50
"""Turns whose memories take part even where no leg found them."""


def sees_all(_memory: Memory) -> bool:
    """Return that a memory is seen: nothing is hidden."""
    return True


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What is looked for in a user's memories, and how."""

    text: str
    filters: Filters = NO_FILTERS
    as_of: datetime | None = None
    """None: as it is now."""
    limit: int = 5
    scope: str = "all"
    include_global: bool = True
    min_score: float = 0.0
    understand_time: bool = True
    """Whether what was true at a time that the text names comes first."""
    with_past: bool = True
    """Whether a question for what was before finds what was superseded."""
    hops: int = 1
    """2: what the best memories are about is looked for too."""


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
    """How well its words match, 0 to 1; 1 for the turn that matches best."""
    semantic: float
    """The same of its meaning; 0 where it is in the question's language."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A question as the index is asked."""

    question: Question
    tokens: tuple[str, ...]
    views: Sequence[View]
    now: datetime
    span: Span | None = None
    """The time that the text names."""
    slot: SlotAsked | None = None
    """The slot that it asks for."""

    @property
    def at(self) -> datetime:
        """The instant for which it is answered."""
        return self.question.as_of or self.now

    @property
    def past(self) -> datetime | None:
        """The instant whose state is searched; None for that of now."""
        as_of = self.question.as_of
        return as_of if as_of is not None and as_of < self.now else None


@dataclass(frozen=True, slots=True)
class Pool:
    """What the legs found that is shown at an instant; there may be more, of no higher cosine than `deepest`."""

    legs: Legs
    shown: Mapping[str, tuple[Owner, Memory]]
    at: datetime
    deepest: float
    turns: TurnMatches | None = None
    """How the owner's turns match; None where only global memories are asked for."""
    meanings: TurnMeanings | None = None
    """How near the owner's turns in other languages are; None where there are none with a vector."""
    meant: Mapping[str, float] = field(default_factory=dict)
    """How near memories in other languages are by the turns that they came from."""
    span: Span | None = None
    """The time that the query names."""
    slots: Mapping[str, float] = field(default_factory=dict)
    """How well memories fill the slot that the question asks for, 0 to 1."""
    hop: Legs | None = None
    """What a second search found, for what the best memories are about."""
    hubness: Mapping[str, float] = field(default_factory=dict)
    """How much nearer than others memories are to the centre of what the legs found."""
    tokens: tuple[str, ...] = ()
    """What the query searches for."""
    slot_asked: SlotAsked | None = None
    """The slot that the query asks for."""
    forms: int = 0
    """The forms that the query asks for, a bit each."""
    formed: AbstractSet[str] = frozenset()
    """The memories that have something of them."""
    said: Mapping[str, float] = field(default_factory=dict)
    """How well the turns match that memories came from, 0 to 1."""

    def best(self, limit: int, min_score: float = 0.0) -> list[Found]:
        """Return at most `limit` memories, best first."""
        return self._ranked(self.shown, limit, min_score)

    def near(self, kind: str, least_cosine: float, limit: int) -> list[Found]:
        """Return at most `limit` memories of a kind that mean nearly the same as the query, best first."""
        near = {hit.memory_id for hit in self.legs.semantic if hit.score >= least_cosine}
        shown = {i: self.shown[i] for i in near & self.shown.keys() if self.shown[i][1].kind == kind}
        return self._ranked(shown, limit, 0.0)

    def _ranked(self, shown: Mapping[str, tuple[Owner, Memory]], limit: int, min_score: float) -> list[Found]:
        facts = {i: found[1] for i, found in shown.items()}
        then = None if self.span is None else {i for i, memory in facts.items() if was_then(memory, self.span)}
        if then is not None:  # what fills the slot was true then
            then |= self.slots.keys() & facts.keys()
        formed = self.formed & facts.keys() if self.formed else self.formed
        shares = Shares(
            hubness=self.hubness,
            said=self.said,
            meant=self.meant,
            slots=self.slots,
            then=then,
            hop=self.hop,
            formed=formed,
        )
        ranked = rank(self.legs, facts, self.at, limit, min_score, shares=shares)
        return [Found(*self.shown[one.memory_id], one) for one in ranked]


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

    def __init__(
        self, shards: Shards, index_sync: SearchedIndex, embedder: Embedder, *, makes_turn_vectors: bool = False
    ) -> None:
        """`makes_turn_vectors`: turns in another language than a question are found by their meaning."""
        self._shards = shards
        self._index_sync = index_sync
        self._embedder = embedder
        self._turn_index = TurnIndex(shards)
        encoder = partial(multilingual, embedder) if makes_turn_vectors else None
        self.turn_meaning = TurnMeaning(shards, encoder, self._turn_index.count)
        self._columns = ColumnsByUser()
        self._past: dict[asyncio.Task[Any], dict[tuple[Owner, datetime], UserState]] = {}
        """The past states that were made for a task, until it ends."""

    async def views(self, query: str) -> Sequence[View]:
        """Return what a query means in each space that memories have. Raises EmbedderUnavailable, EmbedderRefused."""
        return await views_of(self._embedder, query)

    def state(self, owner: Owner, now: datetime, as_of: datetime | None = None) -> UserState:
        """Return a user's state; with a past `as_of`, as it was effective then."""
        if as_of is None or as_of >= now:
            return self._shards.state(owner)
        if self._past and (task := asyncio.current_task()) is not None:
            state = self._past.get(task, {}).get((owner, as_of))
            if state is not None:
                return state
        return state_at(owner, [d for _, d in self._shards.of(owner).ledger.decisions(owner)], as_of)

    async def look_back(self, owner: Owner, now: datetime, as_of: datetime | None) -> None:
        """Make the state that `state` returns to this task, in a thread: of a large user it takes a second or more."""
        if as_of is None or as_of >= now or (task := asyncio.current_task()) is None:
            return
        decisions, after = list["Decision"](), 0
        while some := [d for _, d in self._shards.of(owner).ledger.decisions(owner, after, DECISIONS_AT_ONCE)]:
            decisions += some
            after = some[-1].version
            await asyncio.sleep(0)
        state = await asyncio.to_thread(state_at, owner, decisions, as_of)
        if task not in self._past:
            self._past[task] = {}
            task.add_done_callback(self._past.pop)
        self._past[task][owner, as_of] = state

    async def pool(
        self,
        owner: Owner,
        question: Question,
        views: Sequence[View],
        *,
        now: datetime,
        sees: Callable[[Memory], bool] = sees_all,
    ) -> Pool:
        """Return what both legs found, at least `limit` memories that are shown and seen where there are so many.

        What fills the slot that the question asks for is among them. With two hops, a second search for what the best
        memories are about has its share in each score.
        """
        words = terms(question.text)
        at = question.as_of or now
        for one in (owner, Owner(owner.tenant, GLOBAL_USER)):
            await self.look_back(one, now, question.as_of)
        turns = meanings = None
        if question.scope in ("all", "personal"):
            agent_id = question.filters.agent_id
            turns = await self._turn_index.matches(owner, words, agent_id, at)
            meanings = await self.turn_meaning.near(owner, turns.words, question.text, agent_id, at)
        span = named_span(question.text, at) if question.understand_time else None
        asked = Asked(question, words, views, now, span, slot_asked(question.text))
        legs, shown, deepest = await self._hits(owner, asked, turns, sees, meanings)
        filling_it, slots = self._slots(owner, asked, shown, sees)
        shown |= {memory.memory_id: (owner, memory) for memory in filling_it}
        centres = self._centres(asked, legs, shown)
        hubness = {i: near for found in centres.values() for centre in found for i, near in centre.hubness.items()}
        forms = forms_asked(question.text)
        pool = Pool(
            legs,
            shown,
            at,
            deepest,
            turns,
            span=span,
            slots=slots,
            hubness=hubness,
            tokens=words,
            slot_asked=asked.slot,
            forms=forms,
            formed=_formed(shown, forms),
            said=_said(shown, turns),
            meanings=meanings,
            meant=_meant(owner, question.text, shown, meanings),
        )
        if question.hops == 1 or not (best := pool.best(HOP_MEMORIES)):
            return pool
        best = [found for found in best if found.ranked.score >= HOP_SCORE * best[0].ranked.score]
        mine = centres.get(owner, ())
        hop = self._hop(asked, pool, best, mine[0] if len(views) == 1 and mine else None)
        # without turns: the memories that came from those that match are shown already
        legs, further, _ = await self._hits(owner, hop, None, sees)
        new = {memory_id: found for memory_id, found in further.items() if memory_id not in shown}
        return replace(
            pool,
            shown={**shown, **further},
            hop=legs,
            formed=pool.formed | _formed(new, forms),
            said={**pool.said, **_said(new, turns)},
        )

    def _centres(
        self, asked: Asked, legs: Legs, shown: Mapping[str, tuple[Owner, Memory]]
    ) -> dict[Owner, list[Centre]]:
        """Return the centres of each owner's memories among the hits that are shown, one a view that has found any.

        Those of screenshots and articles take no part: texts of another form have something else in common. There are
        none while one encoder takes another's place.
        """
        if len({view.model for view in asked.views}) > 1:
            return {}
        said: dict[Owner, list[Memory]] = {}
        hits = filter(None, map(shown.get, map(_ID, legs.semantic)))
        for owner, found in groupby(hits, key=_ID):
            said.setdefault(owner, []).extend(memory for _, memory in found if memory.source_type not in _SHOWN)
        centres: dict[Owner, list[Centre]] = {}
        for owner, memories in said.items():
            rows = self._rows_of(asked.views, memories, legs.vectors)
            if rows is not None:
                centres[owner] = [centre_of(rows.ids, rows.table, asked.views[0])]
                continue
            vectors = self._vectors_of(asked.views[0].model, owner, memories, legs.vectors)
            for view in asked.views:
                seen = {i: vector for i, vector in vectors.items() if len(vector) == len(view.vector)}
                if seen:
                    table = np.concatenate(list(seen.values())).reshape(len(seen), -1)
                    centres.setdefault(owner, []).append(centre_of(list(seen), table, view))
        return centres

    @staticmethod
    def _rows_of(views: Sequence[View], memories: Sequence[Memory], known: Mapping[str, Vectors]) -> VectorRows | None:
        """Return the vectors of memories as the index has read them; None where these are not all that are needed."""
        if len(views) > 1:
            return None
        ids = [memory.memory_id for memory in memories]
        for part in known.maps if isinstance(known, ChainMap) else (known,):
            if isinstance(part, VectorRows) and (found := part.among(ids)) is not None:
                return found
        return None

    def _vectors_in(
        self, view: View, owner: Owner, memories: Sequence[Memory], known: Mapping[str, Vectors] = NO_VECTORS
    ) -> dict[str, Vectors]:
        """Return the vectors of an owner's memories that a view is compared with."""
        found = self._vectors_of(view.model, owner, memories, known)
        return {memory_id: vector for memory_id, vector in found.items() if len(vector) == len(view.vector)}

    def _vectors_of(
        self, encoder: str, owner: Owner, memories: Sequence[Memory], known: Mapping[str, Vectors]
    ) -> dict[str, Vectors]:
        """Return an encoder's vectors of an owner's memories, of any length; those that are not known are read."""
        found = {memory.memory_id: known[memory.memory_id] for memory in memories if memory.memory_id in known}
        unknown = [memory for memory in memories if memory.memory_id not in known]
        if not unknown:
            return found
        logged = self._shards.of(owner).ledger.vectors(owner).among([memory.memory_id for memory in unknown])
        encoding = self._shards.encoding
        for memory in unknown:
            vector, model = logged.get(memory.memory_id), memory.embedding_model
            if encoding is not None and (own := encoding.vector(owner, memory)) is not None:
                vector, model = own, encoding.model
            if vector is not None and model == encoder:
                found[memory.memory_id] = vector_of(vector)
        return found

    def _slots(
        self,
        owner: Owner,
        asked: Asked,
        by_legs: Mapping[str, tuple[Owner, Memory]],
        sees: Callable[[Memory], bool],
    ) -> tuple[list[Memory], dict[str, float]]:
        """Return the memories that fill the slot that is asked for, and how well; none where it asks for none.

        `by_legs` is what the legs found.
        """
        question, at = asked.question, asked.at
        if asked.slot is None or question.scope not in ("all", "personal"):
            return [], {}
        found = [memory for whose, memory in by_legs.values() if whose == owner]
        filters, state, past = question.filters, self.state(owner, asked.now, question.as_of), question.with_past
        filled = filling(state, asked.slot, at, agent_id=filters.agent_id, with_past=past, span=asked.span, found=found)
        shown = [memory for i in filled if filters.passes(memory := state.memories[i], owner, at) and sees(memory)]
        return shown, {memory.memory_id: filled[memory.memory_id] for memory in shown}

    def _hop(self, asked: Asked, pool: Pool, best: list[Found], centre: Centre | None) -> Asked:
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
        known = pool.legs.vectors if len(asked.views) == 1 else NO_VECTORS
        views = (
            asked.views if asked.past is not None else [self._toward(view, best, centre, known) for view in asked.views]
        )
        return replace(asked, tokens=tuple(new), views=views)

    def _toward(self, view: View, best: list[Found], centre: Centre | None, known: Mapping[str, Vectors]) -> View:
        """Return a view of what the best memories of its space mean, and where there is no centre, the question too."""
        found = [(one, v) for one in best for v in self._vectors_in(view, one.owner, [one.memory], known).values()]
        total = sum(one.ranked.score for one, _ in found)
        if not total:
            return view
        meant = np.sum([one.ranked.score / total * vector for one, vector in found], axis=0, dtype=np.float32)
        vector = view.vector + meant if centre is None else meant - centre.vector
        length = np.linalg.norm(vector)
        return replace(view, vector=vector / length) if length else view

    async def _hits(
        self,
        owner: Owner,
        asked: Asked,
        turns: TurnMatches | None,
        sees: Callable[[Memory], bool],
        meanings: TurnMeanings | None = None,
    ) -> tuple[Legs, dict[str, tuple[Owner, Memory]], float]:
        """Return what both legs found, of that what is shown, and the cosine below which there may be more."""
        question, filters, now, as_of = asked.question, asked.question.filters, asked.now, asked.question.as_of
        limit, scope = question.limit, question.scope
        whose = [owner] if scope in ("all", "personal") else []
        if scope == "global" or (scope == "all" and question.include_global):
            whose.append(Owner(owner.tenant, GLOBAL_USER))
        at, unconditional = as_of or now, replace(filters, condition=None)
        keyword: list[Hit] = []
        semantic: list[Hit] = []
        vectors: Mapping[str, Vectors] = NO_VECTORS
        shown: dict[str, tuple[Owner, Memory]] = {}
        deepest = LEAST_COSINE
        for one in whose:
            state = self.state(one, now, as_of)
            if not state.memories:
                continue
            query = IndexQuery(
                tenant=one.tenant,
                user_id=one.user_id,
                tokens=asked.tokens,
                vector=asked.views[0].vector,
                embedding_model=asked.views[0].model,
                limit=max(POOL, 2 * limit),
                agent_id=filters.agent_id,
                kind=filters.kind,
                category=filters.category,
                memory_type=filters.memory_type,
                source_type=filters.source_type,
                since=filters.since,
                until=filters.until,
                among=self._among(state, asked, filters),
            )
            is_shown = _shown(one, at, unconditional, sees)
            while True:
                legs = await self._legs(one, state, query, asked)
                legs, found, wrong = _right(state, legs)
                hits = len(found) + len(wrong - found.keys())
                mine = is_shown(found)
                if asked.past is None and wrong:
                    if any(memory_id not in state.memories for memory_id in wrong):
                        # of another log, or decided by another worker, who has the user now
                        await self._shards.come_to_end(one)
                    self._index_sync.mark_dirty(one, wrong)
                if len(mine) >= min(limit, hits) or query.limit >= len(state.memories):
                    break
                # The index does not know expiry: some of its hits may be hidden, and visible ones lie deeper.
                query = replace(query, limit=4 * query.limit)
            keyword.extend(legs.keyword)
            semantic.extend(legs.semantic)
            vectors = ChainMap(*map(_read_only, (legs.vectors, vectors))) if vectors else legs.vectors
            if one == owner and turns is not None:
                cited = (state.memories.get(i) for i in self._cited(owner, turns, meanings))
                mine |= _shown(one, at, filters, sees)({m.memory_id: m for m in cited if m})
            shown.update(zip(mine, zip(repeat(one), mine.values()), strict=True))
            if len(legs.semantic) >= query.limit:
                deepest = max(deepest, legs.semantic[-1].score)
        return Legs(keyword=tuple(keyword), semantic=tuple(semantic), vectors=vectors), shown, deepest

    def with_turns(
        self,
        owner: Owner,
        pool: Pool,
        memories: list[Found],
        question: Question,
        hides: Callable[[str], bool],
    ) -> list[Found | FoundTurn]:
        """Return the best of the memories and of the turns that a pool found, best first.

        A turn is left out where better memories that came from it have the words of the query that it has, or fill the
        slot that the query asks for. So are those that a forgotten memory came from, and those whose text is hidden.
        """
        limit = question.limit
        most = limit + sum(len(found.memory.source_ids) for found in memories)
        turns = self._turns(owner, pool, question.filters, most, hides)
        both: list[Found | FoundTurn] = [*memories, *turns]
        # Of equal scores the memory comes first: it is the shorter.
        both.sort(key=lambda found: (-_score(found), isinstance(found, FoundTurn)))
        chosen: list[Found | FoundTurn] = []
        told: dict[str, list[Found]] = {}
        for found in both:
            if len(chosen) == limit:
                break
            if isinstance(found, Found):
                for event_id in found.memory.source_ids:
                    told.setdefault(event_id, []).append(found)
            elif found.score < question.min_score or self._is_told(owner, pool, found, told):
                continue
            chosen.append(found)
        return chosen

    def _is_told(self, owner: Owner, pool: Pool, found: FoundTurn, told: Mapping[str, list[Found]]) -> bool:
        """Return whether the memories that came from a turn say what it would answer."""
        event_id = found.turn.message.envelope.event_id
        memories = told.get(event_id)
        if memories is None or pool.turns is None:
            return False
        remembered = {word for one in memories for word in tokens(one.memory.content[:MAX_CHARACTERS])}
        if pool.slot_asked is not None:  # the words that ask for a slot, as "how old", need not stand in what answers
            return any(one.ranked.slot for one in memories) or remembered.issuperset(pool.tokens)
        said = set(words_of(found.turn)).intersection(pool.tokens)
        if not said and found.semantic and pool.meanings is not None:
            cosine = pool.meanings.cosine(event_id)
            nearest = max((one.ranked.cosine or 0.0 for one in memories), default=0.0)
            return cosine is not None and nearest > TOLD_SHARE * cosine
        if not said and (before := pool.turns.words.before(event_id)) is not None:
            turn = self._shards.of(owner).observations.turn(owner, before)
            said = set(words_of(turn) if turn is not None else ()).intersection(pool.tokens)
        rarity = pool.turns.words.rarity
        weight = sum(rarity(word) for word in said)
        return sum(rarity(word) for word in said & remembered) > TOLD_SHARE * weight

    def _turns(
        self, owner: Owner, pool: Pool, filters: Filters, limit: int, hides: Callable[[str], bool]
    ) -> list[FoundTurn]:
        """Return at most `limit` turns that pass the filters and are neither forgotten nor hidden, best first."""
        found: list[FoundTurn] = []
        if pool.turns is None:
            return found
        observations, memories = self._shards.of(owner).observations, self._shards.state(owner).memories

        def score(matches: Scores, said_at: Times, by_user: Mask, forms: Forms) -> Scored:
            formed = (forms & pool.forms) > 0 if pool.forms else None
            if formed is not None and not pool.formed and not formed.any():
                formed = None
            return turn_scores(matches, said_at, by_user, pool.at, pool.span, has_slots=bool(pool.slots), formed=formed)

        meant = None if pool.meanings is None else pool.meanings.matches()
        for ranked in pool.turns.ranked(score, meant):
            if len(found) == limit:
                break
            event_id = ranked.event_id
            citing = [memories[i] for i in observations.citing(owner, event_id) if i in memories]
            turn = observations.turn(owner, event_id)
            if turn is None or any(memory.status == FORGOTTEN for memory in citing):
                continue
            said_at = effective_time(turn.message, turn.recorded_at)
            if filters.accept_turn(turn.message.session_id, said_at, source_of(turn)) and not hides(said_by(turn)):
                found.append(FoundTurn(owner, turn, ranked.score, ranked.words, ranked.meaning))
        return found

    def _cited(self, owner: Owner, turns: TurnMatches, meanings: TurnMeanings | None) -> set[str]:
        """Return the memories that came from the turns that match best, by their words or by their meaning."""
        found = set(turns.best(TURNS_WITH_MEMORIES))
        if meanings is not None:
            found.update(islice(meanings.best(), TURNS_WITH_MEMORIES))
        return self._shards.of(owner).observations.citing_any(owner, list(found)) if found else set()

    def _among(self, state: UserState, asked: Asked, filters: Filters) -> frozenset[str] | None:
        """Return the active memories that meet what an index knows nothing of; None for every one."""
        if (condition := filters.unindexed) is None:
            return None
        columns = self._columns.of(state) if asked.past is None else Columns(state)
        return columns.meeting(condition, asked.question.as_of or asked.now)

    async def _legs(self, owner: Owner, state: UserState, query: IndexQuery, asked: Asked) -> Legs:
        """Search the index by the words and by each view; a memory is in one space, and found by one view at most."""
        views = asked.views
        if len(views) == 1:
            return await self._search(owner, state, query, asked.past)
        queries = [
            replace(query, vector=view.vector, embedding_model=view.model, tokens=() if n else query.tokens)
            for n, view in enumerate(views)
        ]
        found = [await self._search(owner, state, one, asked.past) for one in queries]
        hits = [
            hit._replace(score=round(view.score(hit.score), SCORE_DIGITS))
            for view, legs in zip(views, found, strict=True)
            for hit in legs.semantic
        ]
        hits.sort(key=lambda hit: (-hit.score, hit.memory_id))
        vectors = {memory_id: vector for legs in found for memory_id, vector in legs.vectors.items()}
        return Legs(keyword=found[0].keyword, semantic=tuple(hits[: query.limit]), vectors=vectors)

    async def _search(self, owner: Owner, state: UserState, asked: IndexQuery, past: datetime | None) -> Legs:
        """Search the index; a past state has an index of its own, made for this one question."""
        if past is None:
            return await self._index_sync.search(owner, asked)
        logged = self._shards.of(owner).ledger.vectors(owner).all()
        return await search_state(owner, state, Chosen(owner, logged, self._shards.encoding), asked)


def _said(shown: Mapping[str, tuple[Owner, Memory]], turns: TurnMatches | None) -> dict[str, float]:
    """Return how well the turns match that memories came from; nothing of global ones."""
    if turns is None:
        return {}
    return turns.evidence([memory for owner, memory in shown.values() if owner.user_id != GLOBAL_USER])


def _formed(shown: Mapping[str, tuple[Owner, Memory]], forms: int) -> frozenset[str]:
    """Return the memories that have something of some forms."""
    if not forms:
        return frozenset()
    return frozenset(i for i, (_, memory) in shown.items() if forms_of(memory.content, forms))


def _meant(
    owner: Owner, question: str, shown: Mapping[str, tuple[Owner, Memory]], meanings: TurnMeanings | None
) -> dict[str, float]:
    """Return how near an owner's memories in other languages than the question's are, by their turns."""
    if meanings is None:
        return {}
    language = spoken(question)
    found = {
        memory_id: meanings.evidence(memory.source_ids)
        for memory_id, (whose, memory) in shown.items()
        if whose == owner and spoken(memory.content) != language
    }
    return {memory_id: score for memory_id, score in found.items() if score is not None}


def _shown(
    owner: Owner, at: datetime, filters: Filters, sees: Callable[[Memory], bool]
) -> Callable[[Mapping[str, Memory]], dict[str, Memory]]:
    """Return what leaves those of memories that are active at an instant, pass, and are seen."""

    def shown(memories: Mapping[str, Memory]) -> dict[str, Memory]:
        active = {
            i: m
            for i, m in memories.items()
            if m.status == ACTIVE and (m.expires_at is None or m.status_at(at) == ACTIVE)
        }
        passing = filters.passing(active, owner, at)
        return passing if sees is sees_all else {i: m for i, m in passing.items() if sees(m)}

    return shown


def _read_only(vectors: Mapping[str, Vectors]) -> MutableMapping[str, Vectors]:
    """Return vectors as a part of a ChainMap, through which nothing is written here."""
    return cast("MutableMapping[str, Vectors]", vectors)


def _score(found: Found | FoundTurn) -> float:
    return found.score if isinstance(found, FoundTurn) else found.ranked.score


def _right(state: UserState, legs: Legs) -> tuple[Legs, dict[str, Memory], set[str]]:
    """Return the hits that are what the shard has, with their memories, and the memories of the others."""
    ids = dict.fromkeys(map(_ID, chain(legs.keyword, legs.semantic)))
    known = dict(zip(ids, map(state.memories.get, ids), strict=True))
    wrong = {
        memory_id
        for memory_id, version, _ in chain(legs.keyword, legs.semantic)
        if (m := known[memory_id]) is None or m.text_version != version or m.status != ACTIVE
    }
    if not wrong:
        return legs, cast("dict[str, Memory]", known), wrong
    keyword, semantic = (
        tuple(hit for hit in leg if (m := known[hit.memory_id]) is not None and _is_right(m, hit))
        for leg in (legs.keyword, legs.semantic)
    )
    found = {hit.memory_id: m for hit in (*keyword, *semantic) if (m := known[hit.memory_id]) is not None}
    return Legs(keyword, semantic, legs.vectors), found, wrong


def _is_right(memory: Memory, hit: Hit) -> bool:
    """Return whether what the index has of a memory is what the shard has."""
    return memory.text_version == hit.version and memory.status == ACTIVE
