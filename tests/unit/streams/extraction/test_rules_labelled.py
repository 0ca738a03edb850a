"""The rules are held to labelled sentences: nearly always right when they speak, and they speak often enough.

`sentences.jsonl` is what the rules were written against. `sentences_heldout.jsonl` was written after them; its first
score was 0.95 and 0.83 (zh), 1.00 and 0.89 (en), and the one change that it suggested (a clause ends before a Chinese
"but") left the score as it was. The 32 sentences about events, feelings and traits at its end were scored first at 1.00
and 0.90 (zh), 0.91 and 1.00 (en), and suggested no change.

All are said on Monday, 5 January 2026. An expectation with an attribute is met by a proposal with that attribute and
the same value; one without, by a proposal without an attribute, of that category, that contains every word. A date,
memory type or feeling that is named must be equal, and so must the type of an event. A proposal meets at most one
expectation.
"""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from schemas.vocabulary.attributes import same_value
from streams.extraction.protocol import Piece, Proposal, Window
from streams.extraction.rules.extractor import RuleExtractor

MONDAY = datetime(2026, 1, 5, 8, tzinfo=UTC)
TESTS = Path(__file__).parents[3]


def labelled(name: str, language: str) -> list[dict[str, Any]]:
    lines = (TESTS / "data" / name).read_text(encoding="utf-8").splitlines()
    return [row for row in map(json.loads, lines) if row["lang"] == language]


async def proposals(text: str) -> list[Proposal]:
    piece = Piece(piece_id="t#0", event_id="t", speaker="user", text=text, occurred_at=MONDAY, recorded_at=MONDAY)
    window = Window(
        tenant="default",
        user_id="u",
        agent_id=None,
        session_id="s",
        source_type="chat",
        source_ref="s",
        pieces=(piece,),
    )
    return list((await RuleExtractor().extract(window)).proposals)


def meets(proposal: Proposal, expected: dict[str, Any]) -> bool:
    if str(proposal.occurred_on) != expected.get("occurred_on", str(proposal.occurred_on)):
        return False
    if proposal.memory_type != expected.get("memory_type", proposal.memory_type):
        return False
    if proposal.event_type != expected.get("event_type"):
        return False
    if proposal.emotion != expected.get("emotion", proposal.emotion):
        return False
    if "attribute" in expected:
        return proposal.attribute == expected["attribute"] and same_value(proposal.value or "", expected["value"])
    said = proposal.content.casefold()
    return (
        proposal.attribute is None
        and proposal.category == expected["category"]
        and all(word.casefold() in said for word in expected["words"])
    )


async def score(name: str, language: str) -> tuple[float, float]:
    """Return precision and recall."""
    met = found = wanted = 0
    for row in labelled(name, language):
        left = await proposals(row["text"])
        found += len(left)
        wanted += len(row["expect"])
        for expected in row["expect"]:
            hit = next((proposal for proposal in left if meets(proposal, expected)), None)
            if hit is not None:
                left.remove(hit)
                met += 1
    return met / found, met / wanted


@pytest.mark.parametrize("language", ["zh", "en"])
@pytest.mark.parametrize("name", ["sentences.jsonl", "sentences_heldout.jsonl"])
async def test_nine_of_ten_memories_are_right_and_six_of_ten_facts_are_found(name: str, language: str):
    precision, recall = await score(name, language)
    assert precision >= 0.9
    assert recall >= 0.6


@pytest.mark.parametrize("language", ["zh", "en"])
def test_there_are_enough_sentences_and_a_third_hold_nothing(language: str):
    rows = labelled("sentences.jsonl", language)
    silent = sum(not row["expect"] for row in rows)
    assert len(rows) >= 100
    assert 0.3 <= silent / len(rows) <= 0.6
    assert len(labelled("sentences_heldout.jsonl", language)) >= 30


async def test_no_sentence_that_holds_nothing_fills_a_single_slot():
    """Such a mistake would take the place of something true."""
    for language in ("zh", "en"):
        for row in labelled("sentences.jsonl", language):
            if not row["expect"]:
                kept = [
                    p.value
                    for p in await proposals(row["text"])
                    if p.attribute in ("user_name", "employer", "birthday")
                ]
                assert kept == [], row["text"]
