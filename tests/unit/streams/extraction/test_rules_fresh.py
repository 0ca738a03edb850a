"""The rules are measured on sentences of daily life that were written before the rules were read again.

`sentences_fresh.jsonl` holds 200 a language; `_second` 100, `_third` 60 and `_fourth` 50, each written after the rules
were improved with the one before. `_blind`, 200, is by an author who saw neither rules nor sentences;
version 12 of the rules was written when it had been read. `_blind_second`, 100, and `_blind_third`, 200, came after it,
without sight of rules; version 14 was written when those had been read. `_blind_fourth`, 200, came after version 14;
version 15 was written when it had been read. `_blind_fifth`, 200, came after version 15.
`_kinds`, 320, are by version 15's author: what people say of themselves,
kind by kind, and what is no fact. `docs/quality.md` has the figures of each first run and of today's; the bounds here
are what is promised. `python tests/unit/streams/extraction/test_rules_fresh.py` prints the figures with every miss, and
with the path of a file of such rows those of that file: that is how a set by somebody else is measured.

A fact names the slots it may fill (null: none) and its words: of each list one must stand in the memory. A memory is
right where it meets a fact of its sentence; a fact that is optional may be missed, and is not counted when it is found.
"""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest
from support.tables import each

TESTS = Path(__file__).parents[3]
sys.path.insert(0, str(TESTS))

from unit.streams.extraction.test_rules_labelled import proposals  # noqa: E402

if TYPE_CHECKING:
    from streams.extraction.protocol import Proposal


class Score(NamedTuple):
    right: int
    formed: int
    found: int
    wanted: int
    false: list[tuple[str, str]]
    missed: list[tuple[str, str]]

    @property
    def precision(self) -> float:
        return self.right / self.formed

    @property
    def recall(self) -> float:
        return self.found / self.wanted


SETS = {"fresh": 200, "second": 100, "third": 60, "fourth": 50, "kinds": 320}
"""Sentences of a language in each set, in the order in which they were written."""

MEASURED = {**SETS, "blind": 200, "blind_second": 100, "blind_third": 200, "blind_fourth": 200, "blind_fifth": 200}
"""With the sets of authors who had not seen the rules: they are measured, and nothing is promised about them.

Their first runs, the only blind ones, were with versions 11, 12, 12, 14 and 15.
"""


def rows(written: str, language: str) -> list[dict[str, Any]]:
    """Return the rows of a set, or of a file, in one language."""
    path = Path(written) if written.endswith(".jsonl") else TESTS / "data" / f"sentences_{written}.jsonl"
    lines = path.read_text(encoding="utf-8").splitlines()
    return [row for row in map(json.loads, lines) if row["lang"] == language]


def meets(proposal: Proposal, fact: dict[str, Any], *, in_any_slot: bool = False) -> bool:
    said = f"{proposal.content} {proposal.value or ''}".casefold()
    return (in_any_slot or proposal.attribute in fact["slots"]) and all(
        any(word.casefold() in said for word in spellings) for spellings in fact["words"]
    )


async def score(written: str, language: str, *, in_any_slot: bool = False) -> Score:
    """Return how many memories are right and how many facts are found, by their words alone if `in_any_slot`."""
    right = formed = found = wanted = 0
    false: list[tuple[str, str]] = []
    missed: list[tuple[str, str]] = []
    for row in rows(written, language):
        made = await proposals(row["text"])
        for proposal in made:
            met = [fact for fact in row["facts"] if meets(proposal, fact, in_any_slot=in_any_slot)]
            if met and all(fact.get("optional") for fact in met):
                continue
            formed += 1
            right += bool(met)
            if not met:
                false.append((row["text"], f"{proposal.attribute}: {proposal.content}"))
        for fact in row["facts"]:
            if fact.get("optional"):
                continue
            wanted += 1
            if any(meets(proposal, fact, in_any_slot=in_any_slot) for proposal in made):
                found += 1
            else:
                missed.append((row["text"], str(fact["slots"])))
    return Score(right, formed, found, wanted, false, missed)


@pytest.mark.parametrize("language", ["zh", "en"])
@pytest.mark.parametrize("written", SETS)
async def test_the_rules_are_right_nine_times_in_ten_and_find_two_facts_in_three(written: str, language: str):
    measured = await score(written, language)
    assert measured.precision >= 0.9, measured.false
    assert measured.recall >= 0.65, measured.missed


@each("language", ["zh", "en"])
@each("written", MEASURED)
def test_a_quarter_of_the_sentences_hold_nothing(written: str, language: str):
    said = rows(written, language)
    assert len({row["text"] for row in said}) == MEASURED[written]
    assert 0.2 <= sum(not row["facts"] for row in said) / len(said) <= 0.5


async def silent(written: str, language: str) -> tuple[int, int]:
    """Return how many of the sentences that hold nothing make no memory, and how many there are."""
    nothing = [row["text"] for row in rows(written, language) if not row["facts"]]
    return sum([not await proposals(text) for text in nothing]), len(nothing)


def report(written: str, language: str) -> str:
    measured = asyncio.run(score(written, language))
    by_words = asyncio.run(score(written, language, in_any_slot=True))
    kept, nothing = asyncio.run(silent(written, language))
    lines = [
        f"{written}, {language}: {_figures(measured)}",
        f"  whatever the slot: {_figures(by_words)}; of {nothing} sentences with nothing {kept} make no memory",
    ]
    lines += [f"  false   {text}  ->  {what}" for text, what in measured.false]
    lines += [f"  missed  {text}  {what}" for text, what in measured.missed]
    return "\n".join([*lines, ""])


def _figures(measured: Score) -> str:
    precise = f"precision {measured.precision:.3f} ({measured.right}/{measured.formed})"
    return f"{precise}, recall {measured.recall:.3f} ({measured.found}/{measured.wanted})"


if __name__ == "__main__":
    for measured in sys.argv[1:] or MEASURED:
        sys.stdout.write(report(measured, "zh") + report(measured, "en"))
