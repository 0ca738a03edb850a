"""What index tests put and ask: four memories of two people, and vectors that say what they are about."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from uuid import NAMESPACE_URL, uuid5

import numpy as np

from projections.index.protocol import IndexEntry, IndexQuery
from projections.text import analyser

MODEL = "toy-4"
NOON = datetime(2026, 1, 5, 12, tzinfo=UTC)
ANIMALS, FOOD, WORK, SPORT = np.eye(4, dtype=np.float32)


def mixed(*parts):
    """Return a unit vector between the given ones."""
    total = np.sum(parts, axis=0, dtype=np.float32)
    return (total / np.linalg.norm(total)).astype(np.float32)


def memory_id(name):
    return str(uuid5(NAMESPACE_URL, name))


def entry(name, text, vector=ANIMALS, **changes) -> IndexEntry:
    plain = IndexEntry(
        tenant="default",
        user_id="u1",
        memory_id=memory_id(name),
        version=1,
        agent_id=None,
        tokens=analyser.tokens(text),
        vector=vector,
        embedding_model=MODEL,
        kind="semantic",
        category="fact",
        memory_type="long_term",
        source_type="chat",
        occurred_at=NOON,
    )
    return replace(plain, **changes)


def query(text="", vector=None, **changes) -> IndexQuery:
    plain = IndexQuery(
        tenant="default",
        user_id="u1",
        tokens=analyser.terms(text),
        vector=vector,
        embedding_model=None if vector is None else MODEL,
        limit=10,
    )
    return replace(plain, **changes)


def names(hits, *known):
    """Return the names of the hits in order; `known` are those that may occur."""
    by_id = {memory_id(name): name for name in known}
    return [by_id[hit.memory_id] for hit in hits]


COFFEE = entry("coffee", "用户喜欢喝咖啡，每天早上一杯", FOOD)
CAT = entry("cat", "用户养了一只猫", ANIMALS)
MARATHON = entry("marathon", "Anna ran the marathon in Berlin", SPORT)
BANK = entry("bank", "Anna works at a bank in Zürich", WORK)
FOUR = (COFFEE, CAT, MARATHON, BANK)


def four(hits):
    return names(hits, "coffee", "cat", "marathon", "bank")
