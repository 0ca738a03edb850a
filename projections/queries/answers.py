"""The answer of a search: memories and turns in one order, best first, and how relevant each is."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from heapq import merge
from typing import TYPE_CHECKING, Final, Generic, Literal, TypeAlias, TypeVar

import numpy as np

from projections.index.protocol import NO_VECTORS
from projections.profile.persons_asked import persons_asked
from projections.queries.ranking import turn_scores
from projections.queries.relevance import Measured, load
from projections.queries.search import Found, FoundTurn
from projections.queries.turns.index import MAX_CHARACTERS, said_by, source_of, spoken, words_of
from projections.state.memory import FORGOTTEN, SUPERSEDED
from projections.text.analyser import tokens
from projections.text.reminders import only_asks
from schemas.inputs.decoding import effective_time

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from datetime import datetime

    from projections.embedding.embedder import Vectors
    from projections.index.embedded.bm25 import Scores
    from projections.partitions.held import Held
    from projections.queries.filters import Filters
    from projections.queries.ranking import Rows
    from projections.queries.relevance import Evidence
    from projections.queries.search import MemoryVectors, Pool, Question
    from projections.queries.turns.index import Scored, TurnIndex
    from projections.state.memory import Memory
    from schemas.identity import Owner

TOLD_SHARE: Final = 0.6
"""Of what the words of a query weigh that a turn has: memories with more of them say what the turn would answer."""
FoundT = TypeVar("FoundT", bound="Found | FoundTurn")
Rule: TypeAlias = Literal[
    "include",
    "status",
    "agent_or_time",
    "filters",
    "intimacy",
    "not_found",
    "forgotten",
    "superseded",
    "withheld",
    "covered",
    "replaced",
    "min_score",
    "limit",
    "min_relevance",
]
"""The rules that cut, in their order; docs/how-to/query.md explains them."""
NOTHING_CUT: Final[Mapping[Rule, int]] = {}


@dataclass(frozen=True, slots=True)
class SearchResult(Generic[FoundT]):
    """What a search found, best first."""

    found: list[FoundT]
    by_words: bool
    """Whether words alone were searched for, because the embedder was away."""
    relevance: Sequence[float]
    """Of each, 0 to 1."""
    line: float
    """What is less relevant is no evidence."""
    evidence: Evidence
    pool: Pool
    """What it was chosen from."""
    lacks_turns: bool = False
    """Whether some turns took part by their words alone, because their vectors are still being made."""
    cut_turns: Mapping[Rule, int] = field(default_factory=dict)
    """The turns that were read and left out, by the rule."""

    @property
    def rated(self) -> list[tuple[FoundT, float]]:
        """Each with its relevance."""
        return list(zip(self.found, self.relevance, strict=True))

    def least(self, relevance: float) -> SearchResult[FoundT]:
        """Return it without what is less relevant."""
        kept = [place for place, one in enumerate(self.relevance) if one >= relevance]
        return replace(
            self, found=[self.found[place] for place in kept], relevance=[self.relevance[place] for place in kept]
        )


class Answers:
    """What a search answers of a pool: a thing once, whether a turn or a memory says it, and nothing that is hidden."""

    def __init__(self, turn_index: TurnIndex, vectors: MemoryVectors) -> None:
        self._turn_index = turn_index
        self._vectors = vectors

    def with_turns(
        self,
        held: Held,
        pool: Pool,
        memories: list[Found],
        question: Question,
        hides: Callable[[str], bool],
        *,
        cut: Counter[Rule] | None = None,
    ) -> list[Found | FoundTurn]:
        """Return the best of the memories and of the turns that a pool found, best first.

        The turns that were read and left out are counted in `cut`, by the rule.

        A memory that says all that a better turn says has its place. A turn is left out where better memories that came
        from it have the words of the query that it has, or fill the slot that the query asks for. So are those that a
        forgotten memory came from, and those whose text is hidden.
        """
        chosen: list[Found | FoundTurn] = []
        told: dict[str, list[Found]] = {}
        citing, shown = _by_source(memories), set[str]()
        cut = Counter() if cut is None else cut
        turns = self._turns(held, pool, question.filters, hides, cut, with_past=question.with_past)
        parts: tuple[Iterable[Found | FoundTurn], ...] = (memories, turns)
        # Of equal scores the memory comes first: it is the shorter. Turns are read as far as they come to a place.
        for ranked in merge(*parts, key=lambda one: -_score(one)):
            if len(chosen) == question.limit:
                break
            if _score(ranked) < question.min_score or _id_of(ranked) in shown:
                cut["min_score"] += not isinstance(ranked, Found)
                continue
            found = ranked if isinstance(ranked, Found) else _whole(ranked, citing) or ranked
            if isinstance(found, Found):
                cut["replaced"] += not isinstance(ranked, Found)
                for event_id in found.memory.source_ids:
                    told.setdefault(event_id, []).append(found)
            elif self._is_told(held.owner, pool, found, told):
                cut["covered"] += 1
                continue
            if _id_of(found) not in shown:
                chosen.append(found)
                shown.add(_id_of(found))
        if pool.turns is not None:
            self._turn_index.count(held.owner, pool.turns.words)
        return chosen if _asks_for_past(pool) else _newer_first(chosen)

    def of(self, pool: Pool, found: list[FoundT], cut_turns: Mapping[Rule, int] = NOTHING_CUT) -> SearchResult[FoundT]:
        """Return the answer with what a search found, and how relevant that is."""
        values, model = self._measured(pool, found), load()
        relevance = model.of(values)
        line = model.line(relevance, values.texts)
        lacks_turns = pool.meanings is not None and not pool.meanings.is_complete
        evidence = model.evidence(relevance, line)
        return SearchResult(
            found, pool.by_words, relevance.tolist(), line, evidence, pool, lacks_turns=lacks_turns, cut_turns=cut_turns
        )

    def _measured(self, pool: Pool, found: Sequence[Found | FoundTurn]) -> Measured:
        """Return what tells how relevant results of a search are."""
        persons, is_plain = persons_asked(pool.text), pool.asking is None
        shares, between, missed = [], [], []
        for one in found:
            content = said_by(one.turn) if isinstance(one, FoundTurn) else one.memory.content
            rows = [] if pool.turns is None else pool.turns.places(_sources(one))
            of_turns = max(pool.turns.shares[rows]) if pool.turns is not None and rows else None
            shares.append(pool.share_of(content) if of_turns is None else of_turns)
            between.append(spoken(content) not in (None, pool.language))
            missed.append(persons.misses(content))
        near = self._near(pool, found)
        scale, shift = pool.scale if is_plain else (1.0, 0.0)
        return Measured(
            scale * near + shift,
            np.array(shares, np.float64),
            np.array(between, np.bool_),
            np.array(missed, np.float64),
            max(len(pool.memories), 0 if pool.turns is None else int(pool.turns.visible.sum())),
            is_unnamed=persons.is_unnamed,
            is_plain=is_plain,
            slots=np.array([one.ranked.slot if isinstance(one, Found) else 0.0 for one in found])
            if pool.has_slots
            else None,
            answers_nothing=np.array([_answers_nothing(pool, one) for one in found], np.bool_),
        )

    def _near(self, pool: Pool, found: Sequence[Found | FoundTurn]) -> Scored:
        """Return how near each result is, by the nearest of its texts; NaN where no meaning is known."""
        asking, meanings = pool.asking, pool.meanings
        vectors: dict[str, Vectors] = {}
        if asking is not None:
            for owner in dict.fromkeys(one.owner for one in found):
                memories = [one.memory for one in found if isinstance(one, Found) and one.owner == owner]
                vectors |= self._vectors.comparable(asking, owner, memories, pool.vectors.get(owner, NO_VECTORS))
        near = []
        for one in found:
            known = []
            if isinstance(one, Found):
                vector = vectors.get(one.memory.memory_id)
                of_vector = None if asking is None or vector is None else float(vector @ asking.vector)
                known.append(one.ranked.cosine if asking is None else of_vector)
            if meanings is not None:
                known.append(meanings.near(_sources(one), None if asking is None else asking.vector))
            near.append(max((value for value in known if value is not None), default=np.nan))
        return np.array(near, np.float64)

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
            turn = None if (row := pool.turns.words.row(before)) is None else pool.turns.words.told(owner, row)
            said = set(words_of(turn) if turn is not None else ()).intersection(pool.tokens)
        rarity = pool.turns.words.rarity
        weight = sum(rarity(word) for word in said)
        return sum(rarity(word) for word in said & remembered) > TOLD_SHARE * weight

    def _turns(
        self,
        held: Held,
        pool: Pool,
        filters: Filters,
        hides: Callable[[str], bool],
        cut: Counter[Rule],
        *,
        with_past: bool,
    ) -> Iterator[FoundTurn]:
        """Yield the turns that pass the filters and are neither forgotten nor hidden, best first; count the others.

        Those of which nothing holds any more are among them only `with_past`.
        """
        if pool.turns is None or not filters.accept_turns:
            return
        observations, memories = held.shard.observations, held.state.memories

        words = pool.turns.words

        def score(rows: Rows, matches: Scores) -> Scored:
            formed = (words.forms()[rows] & pool.forms) > 0 if pool.forms else None
            if formed is not None and not pool.has_formed and not formed.any():
                formed = None
            return turn_scores(
                matches,
                words.times()[rows],
                words.users()[rows],
                pool.at,
                pool.span,
                lasting=words.lasting()[rows],
                named=None if pool.named is None else pool.named[rows],
                has_slots=pool.has_slots,
                formed=formed,
            )

        meanings = pool.meanings
        meant = None if meanings is None or not meanings.is_between_languages else meanings.matches()
        for ranked in pool.turns.ranked(score, meant):
            citing = [memories[i] for i in observations.citing(held.owner, ranked.event_id) if i in memories]
            if any(memory.status == FORGOTTEN for memory in citing):
                cut["forgotten"] += 1
                continue
            over = superseded_by(citing, pool.at)
            if over is not None and not with_past:
                cut["superseded"] += 1
                continue
            if (turn := words.told(held.owner, ranked.row)) is None:
                cut["withheld"] += 1
                continue
            said_at = effective_time(turn.message, turn.recorded_at)
            if not filters.accept_turn(turn.message.session_id, said_at, source_of(turn)):
                cut["filters"] += 1
            elif hides(said_by(turn)):
                cut["intimacy"] += 1
            else:
                yield FoundTurn(held.owner, turn, ranked.score, ranked.words, ranked.meaning, over)


def _id_of(found: Found | FoundTurn) -> str:
    return found.turn.message.envelope.event_id if isinstance(found, FoundTurn) else found.memory.memory_id


def _by_source(memories: Sequence[Found]) -> dict[str, list[Found]]:
    found: dict[str, list[Found]] = {}
    for one in memories:
        for event_id in one.memory.source_ids:
            found.setdefault(event_id, []).append(one)
    return found


def _whole(found: FoundTurn, citing: Mapping[str, list[Found]]) -> Found | None:
    """Return the memory that says all that a turn says, with its score; None for none."""
    words = set(words_of(found.turn))
    for one in citing.get(found.turn.message.envelope.event_id, ()):
        if words.issubset(tokens(one.memory.content[:MAX_CHARACTERS])):
            return replace(one, ranked=replace(one.ranked, score=max(found.score, one.ranked.score)))
    return None


def _asks_for_past(pool: Pool) -> bool:
    return pool.span is not None or (pool.slot_asked is not None and pool.slot_asked.past)


def _newer_first(found: list[Found | FoundTurn]) -> list[Found | FoundTurn]:
    """Return results with each turn behind the memory that supersedes what the turn said, if that is among them."""
    scores = {_id_of(one): _score(one) for one in found if isinstance(one, Found)}
    lowered = [
        replace(one, score=min(one.score, scores.get(one.superseded_by or "", one.score)))
        if isinstance(one, FoundTurn)
        else one
        for one in found
    ]
    return sorted(lowered, key=lambda one: (-_score(one), isinstance(one, FoundTurn)))


def superseded_by(memories: Sequence[Memory], at: datetime) -> str | None:
    """Return what holds in the place of the last of some memories; None where one of them holds, or there is none."""
    if not memories or any(memory.status_at(at) != SUPERSEDED for memory in memories):
        return None
    return memories[-1].superseded_by


def _answers_nothing(pool: Pool, found: Found | FoundTurn) -> bool:
    """Return whether a result only asks itself, or is a plan that has passed where what lies ahead is asked for."""
    only_asks_itself = isinstance(found, FoundTurn) and only_asks(found.turn.message.content)
    return only_asks_itself or _id_of(found) in pool.passed


def _sources(found: Found | FoundTurn) -> Sequence[str]:
    """Return the ids of what a result came from."""
    return (found.turn.message.envelope.event_id,) if isinstance(found, FoundTurn) else found.memory.source_ids


def _score(found: Found | FoundTurn) -> float:
    return found.score if isinstance(found, FoundTurn) else found.ranked.score
