"""The explanation of a search: the parts of each result's order, and what was cut by which rule.

It is made only if it is asked for. Every memory of the searched users and every indexed turn is either a result or is
counted under exactly one rule, that which cut it first.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, Final, TypeAlias, get_args

import numpy as np

from projections.queries.answers import Rule, SearchResult
from projections.queries.ranking import recency
from projections.queries.search import Found
from projections.state.memory import ACTIVE
from projections.turns import TimeSlice

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from projections.queries.search import FoundTurn, Pool, Question
    from projections.queries.turns.index import Scored
    from projections.state.memory import Memory, UserState

    Part: TypeAlias = "float | bool | None"

_DIGITS: Final = 6


def order_of(pool: Pool, found: Found | FoundTurn) -> dict[str, Part]:
    """Return the parts of a result's order, 0 to 1 except `cosine` and `hub`; None for a part without a share."""
    return _of_memory(pool, found) if isinstance(found, Found) else _of_turn(pool, found)


def _of_memory(pool: Pool, found: Found) -> dict[str, Part]:
    ranked, parts = found.ranked, pool.parts

    def part(column: Scored | None) -> float | None:
        value = np.nan if column is None else float(column[ranked.row])
        return None if np.isnan(value) else round(value, _DIGITS)

    def flag(column: Any) -> bool | None:  # noqa: ANN401 - a mask or None
        return None if column is None else bool(column[ranked.row])

    return {
        "semantic": None if pool.by_words else round(ranked.semantic, _DIGITS),
        "keyword": round(ranked.keyword, _DIGITS),
        "cosine": ranked.cosine,
        "hub": part(parts.hubness),
        "turn": part(parts.said),
        "translated": part(parts.meant),
        "slot": round(ranked.slot, _DIGITS) if pool.has_slots else None,
        "time": flag(parts.then),
        "form": flag(parts.formed) if pool.has_formed else None,
        "literal": flag(parts.named),
        "hop": part(parts.hop_cosines),
        "lasting": None,
        "importance": round(ranked.importance, _DIGITS),
        "recency": round(ranked.recency, _DIGITS),
    }


def _of_turn(pool: Pool, found: FoundTurn) -> dict[str, Part]:
    assert pool.turns is not None  # noqa: S101 - it has found this turn
    words = pool.turns.words
    row = words.place(found.turn.message.envelope.event_id)
    span, meanings, is_there = pool.span, pool.meanings, row is not None
    return {
        "semantic": round(found.semantic, _DIGITS),
        "keyword": round(found.keyword, _DIGITS),
        "cosine": None if meanings is None else meanings.cosine(found.turn.message.envelope.event_id),
        "hub": None,
        "turn": None,
        "translated": round(found.semantic, _DIGITS) if found.semantic > found.keyword else None,
        "slot": 0.0 if pool.has_slots else None,
        "time": None if span is None else span.since <= found.said_at < span.until,
        "form": bool(words.forms()[row] & pool.forms) if pool.forms and is_there else None,
        "literal": None if pool.named is None or row is None else bool(pool.named[row]),
        "hop": None,
        "lasting": round(float(words.lasting()[row]), _DIGITS) if is_there else None,
        "importance": None,
        "recency": round(recency(found.said_at, pool.at), _DIGITS),
    }


async def count_cuts(
    result: SearchResult[Any],
    kept: Sequence[Found | FoundTurn],
    question: Question,
    sees: Callable[[Memory], bool],
    include: Sequence[str],
) -> list[dict[str, Any]]:
    """Return `{kind, rule, count}` for what is not in `kept`, in the order of the rules; other tasks have their turn.

    `kept` are the results without those that are less relevant than was wanted. `sees` is the test of the intimacy.
    """
    found = [(one.owner, one.memory.memory_id) for one in kept if isinstance(one, Found)]
    dropped = sum(isinstance(one, Found) for one in result.found) - len(found)
    pool, memories, share = result.pool, Counter[Rule]({"min_relevance": dropped}), TimeSlice()
    shown = {(one.owner, one.memory.memory_id) for one in result.found if isinstance(one, Found)}
    scores = {(one.owner, one.memory.memory_id): one.ranked.score for one in pool.best(len(pool.memories))}
    for owner, state in pool.states.items():
        for memory in state.memories.values():
            await share.pause()
            if (owner, memory.memory_id) in shown:
                continue
            score = scores.get((owner, memory.memory_id))
            memories[_rule_of(memory, state, pool, question, sees, score, include)] += 1
    turns = _turn_cuts(result, len(kept) - len(found), question, include)
    return [
        {"kind": kind, "rule": rule, "count": counted[rule]}
        for kind, counted in (("memory", memories), ("turn", turns))
        for rule in get_args(Rule)
        if counted[rule]
    ]


def _rule_of(  # noqa: PLR0917 - what a rule looks at
    memory: Memory,
    state: UserState,
    pool: Pool,
    question: Question,
    sees: Callable[[Memory], bool],
    score: float | None,
    include: Sequence[str],
) -> Rule:
    if "memories" not in include:
        return "include"
    if memory.status_at(pool.at) != ACTIVE and score is None:
        return "status"
    if not question.filters.passes(memory, state.owner, pool.at):
        return "filters"
    if not sees(memory):
        return "intimacy"
    if score is None:
        return "not_found"
    return "min_score" if score < question.min_score else "limit"


def _turn_cuts(result: SearchResult[Any], kept: int, question: Question, include: Sequence[str]) -> Mapping[Rule, int]:
    """Return how many indexed turns each rule cut, of which `kept` are shown."""
    pool, counted = result.pool, Counter[Rule]()
    if pool.turns is None:
        return counted
    count, visible = len(pool.turns.visible), int(pool.turns.visible.sum())
    if "turns" not in include:
        return Counter[Rule]({"include": count})
    matches = pool.turns.scores > 0
    if pool.meanings is not None and pool.meanings.is_between_languages:
        matches |= pool.meanings.matches() > 0
    chosen, matched = sum(not isinstance(one, Found) for one in result.found), int(matches.sum())
    counted.update(result.cut_turns)
    counted["agent_or_time"] += count - visible
    counted["not_found"] += visible - matched
    counted["min_relevance"] += chosen - kept
    counted["limit" if question.filters.accept_turns else "filters"] += (
        matched - chosen - sum(result.cut_turns.values())
    )
    return counted
