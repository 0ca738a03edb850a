"""Generated memories and questions in Chinese and English, for comparing what two indexes answer."""

from __future__ import annotations

import random
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import TYPE_CHECKING

import numpy as np
from contract.index_examples import NOON, entry, query
from support.judged import Judged
from support.rankings import rank

from projections.embedding.embedder import unit_vectors
from projections.queries.ranking import POOL

if TYPE_CHECKING:
    from projections.index.protocol import Index, IndexEntry, IndexQuery

PEOPLE = ("Anna", "Boris", "小明", "李华", "my sister", "妈妈", "the neighbour", "同事")
VERBS = ("likes", "喜欢", "went to", "去过", "is afraid of", "害怕", "bought", "买了", "talks about", "常说起")
THINGS = (
    "green tea", "绿茶", "the old bridge", "长城", "a red bicycle", "红色自行车", "jazz concerts", "爵士音乐会",
    "spiders", "蜘蛛", "Berlin", "柏林", "the marathon", "马拉松", "a grey cat", "一只灰猫", "chess", "围棋",
)  # fmt: skip
WHEN = ("", "yesterday", "去年夏天", "every morning", "每天早上", "in 2019", "上个星期")
DIMENSIONS = 64
TOP = 10


@dataclass(frozen=True)
class World:
    """One user's memories, and questions about them with the memory that each is about."""

    memories: list[IndexEntry]
    questions: list[tuple[IndexQuery, str]]


def world(seed: int, size: int, questions: int, user_id: str) -> World:
    """Return a world; the same seed gives the same. A memory's vector is the sum of its words', with some noise."""
    chance = random.Random(seed)  # noqa: S311 - test data
    numbers = np.random.default_rng(seed)
    meanings = {word: numbers.standard_normal(DIMENSIONS) for word in (*PEOPLE, *VERBS, *THINGS, *WHEN)}

    def vector(words, noise):
        total = np.sum([meanings[word] for word in words], axis=0) + noise * numbers.standard_normal(DIMENSIONS)
        return unit_vectors(total)[0]

    memories: list[IndexEntry] = []
    said: list[tuple[str, ...]] = []
    for n in range(size):
        words = tuple(map(chance.choice, (PEOPLE, VERBS, THINGS, WHEN)))
        one = entry(
            f"{user_id}-{n}",
            f"{' '.join(words)} {n}",
            vector(words, 0.5),
            user_id=user_id,
            agent_id=chance.choice((None, "luna", "nova")),
            kind=chance.choice(("semantic", "episodic")),
            category=chance.choice(("fact", "habit", "preference")),
            occurred_at=NOON + timedelta(hours=n),
        )
        memories.append(one)
        said.append(words)
    asked: list[tuple[IndexQuery, str]] = []
    for _ in range(questions):
        about = chance.randrange(size)
        some = chance.sample(said[about], 2)
        asks = query(" ".join(some), vector(some, 1.5), user_id=user_id, limit=POOL)
        if chance.random() < 1 / 3:
            asks = replace(asks, agent_id=memories[about].agent_id)
        if chance.random() < 1 / 3:
            asks = replace(asks, kind=memories[about].kind)
        if chance.random() < 1 / 3:
            asks = replace(asks, category=memories[about].category)
        if chance.random() < 1 / 3:
            asks = replace(asks, until=memories[about].occurred_at + timedelta(hours=size // 3))
        if chance.random() < 1 / 3:
            asks = replace(asks, since=memories[about].occurred_at - timedelta(hours=size // 3))
        asked.append((asks, memories[about].memory_id))
    return World(memories, asked)


async def best(index: Index, asked: IndexQuery, facts: dict[str, Judged]) -> list[str]:
    """Return the ids of the best ten, ranked as a search ranks them."""
    return [one.memory_id for one in rank(await index.search(asked), facts, NOON, TOP)]


async def compare(one: Index, other: Index, asked: World) -> tuple[float, float, float]:
    """Return the mean overlap of the best ten, and the share of questions whose memory is in each's best five."""
    facts = {memory.memory_id: Judged(0.5, memory.occurred_at) for memory in asked.memories}
    overlaps = []
    hits: tuple[list[bool], list[bool]] = ([], [])
    for question, expected in asked.questions:
        answers = [await best(index, question, facts) for index in (one, other)]
        first, second = map(set, answers)
        overlaps.append(len(first & second) / max(len(first), len(second), 1))
        for found, answer in zip(hits, answers, strict=True):
            found.append(expected in answer[:5])
    return float(np.mean(overlaps)), float(np.mean(hits[0])), float(np.mean(hits[1]))
