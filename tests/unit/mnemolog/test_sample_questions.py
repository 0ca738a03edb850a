"""The questions of the bundled sample find their answers: the real embedder, analyser, index and ranking.

What fills a slot is brought to the front by the search, which the demo shows: here it must only be held.
"""

from __future__ import annotations

import json
from importlib import resources
from typing import TYPE_CHECKING, Any

from support.judged import Judged
from support.rankings import rank
from support.sample_reading import ACCEPTED, is_chinese, proposals

from projections.embedding.builtin import BuiltinEmbedder
from projections.index.embedded.index import EmbeddedIndex
from projections.index.protocol import IndexEntry, IndexQuery
from projections.profile.slot_question import slot_asked
from projections.queries.ranking import POOL
from projections.text.analyser import terms, tokens
from schemas.vocabulary.attributes import is_single

if TYPE_CHECKING:
    from datetime import datetime

    from streams.extraction.protocol import Proposal, Window


def questions() -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads((resources.files("mnemolog.sample") / "questions.json").read_text("utf-8"))
    return found


async def entries(embedder: BuiltinEmbedder) -> list[tuple[IndexEntry, str, float]]:
    """Return what the index holds in the end, each with its text and importance: corrected values are gone."""
    newest: dict[tuple[str, str], Proposal] = {}
    days: dict[int, datetime] = {}
    for window, p in sorted(await proposals(), key=lambda pair: _said_at(*pair)):
        slot = p.content if p.attribute is None or not is_single(p.attribute) else p.attribute
        newest[window.user_id, slot] = p
        days[id(p)] = _said_at(window, p)
    vectors = await embedder.embed([p.content for p in newest.values()])
    return [
        (
            IndexEntry(
                tenant="default",
                user_id=user,
                memory_id=f"m{number:03}",
                version=1,
                agent_id=None,
                tokens=tokens(p.content),
                vector=vector,
                embedding_model=embedder.model,
                kind=p.kind,
                category=p.category,
                memory_type=p.memory_type,
                source_type="chat",
                occurred_at=days[id(p)],
            ),
            p.content,
            p.importance,
        )
        for number, (((user, _), p), vector) in enumerate(zip(newest.items(), vectors, strict=True))
    ]


def _said_at(window: Window, p: Proposal) -> datetime:
    return max(window.pieces[i].occurred_at for i in p.sources)


async def test_each_question_is_answered_by_the_first_memories():
    asked = questions()
    assert len([q for q in asked if is_chinese(q["query"])]) >= 3
    assert len([q for q in asked if not is_chinese(q["query"])]) >= 3
    embedder = BuiltinEmbedder()
    held = await entries(embedder)
    index = EmbeddedIndex(lambda _, user: [entry for entry, _, _ in held if entry.user_id == user])
    texts = {entry.memory_id: text for entry, text, _ in held}
    facts = {entry.memory_id: Judged(importance, entry.occurred_at) for entry, _, importance in held}
    for question in asked:
        [vector] = await embedder.embed([question["query"]])
        legs = await index.search(
            IndexQuery(
                tenant="default",
                user_id=question["user"],
                tokens=terms(question["query"]),
                vector=vector,
                embedding_model=embedder.model,
                limit=POOL,
            )
        )
        first = [texts[one.memory_id] for one in rank(legs, facts, ACCEPTED, limit=3)]
        is_slot = slot_asked(question["query"]) is not None
        assert any(question["expect"] in text for text in (texts.values() if is_slot else first)), (question, first)
    await embedder.close()
