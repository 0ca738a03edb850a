"""What lasts is told from what passes in languages that no head was fitted to: sentences by a native reader of each."""

from __future__ import annotations

import json
from itertools import groupby
from operator import itemgetter
from pathlib import Path

from support.own_words import vectors_of

from projections.embedding.heads import load
from projections.text.scripts import is_read
from streams.extraction.own_words.extractor import LASTING

FILE = Path(__file__).parents[1] / "data" / "heads" / "languages.jsonl"
RIGHT = 18
"""Of the 24 sentences of a language. 18 to 24 were right when they were first read, 34 of 336 wrong in all."""


async def test_what_lasts_is_kept_in_every_language_and_most_of_the_rest_is_not():
    rows = [json.loads(line) for line in FILE.read_text("utf-8").splitlines()]
    scores = load().scores("lasting", await vectors_of([row["text"] for row in rows]))
    told = [(row["lang"], row["kind"] == "lasting", score >= LASTING) for row, score in zip(rows, scores, strict=True)]
    assert all(is_read(row["text"]) for row in rows)
    missed = [row["text"] for row, (_, lasts, is_kept) in zip(rows, told, strict=True) if lasts and not is_kept]
    assert not missed
    by_language = {
        language: sum(lasts == is_kept for _, lasts, is_kept in of_language)
        for language, of_language in groupby(told, key=itemgetter(0))
    }
    assert len(by_language) == 14
    assert {language: right for language, right in by_language.items() if right < RIGHT} == {}
