"""What the rules find, row by row: the examples of each row are read by the whole of them."""

from __future__ import annotations

from datetime import date
from typing import TYPE_CHECKING

from support.tables import each

from streams.extraction.rules.rows.row import CHINESE, ENGLISH
from streams.extraction.rules.sentence_reader import read_sentence
from streams.extraction.rules.sentences import sentences

if TYPE_CHECKING:
    from streams.extraction.rules.finding import Finding
    from streams.extraction.rules.rows.row import Cue, Row

TODAY = date(2026, 1, 5)
LANGUAGES = (ENGLISH, CHINESE)
ROWS = [row for language in LANGUAGES for row in (*language.keys, *language.events, *language.things)]
BLOCKERS = [blocker for language in LANGUAGES for blocker in language.blockers]


def found(text: str) -> list[Finding]:
    return [finding for sentence in sentences(text) for finding in read_sentence(sentence, TODAY)]


def values(text: str, key: str) -> list[str]:
    return [one.value or "" for one in found(text) if key in (one.attribute, one.event_type)]


@each("row", ROWS, ids=[row.id for row in ROWS])
def test_a_row_finds_what_its_examples_say_and_nothing_in_the_others(row: Row):
    assert row.yes
    for text, value in row.yes.items():
        assert {*value.split(", ")} <= {*values(text, row.key)}, text
    for text in row.no:
        assert not values(text, row.key), text


@each("blocker", BLOCKERS, ids=[blocker.id for blocker in BLOCKERS])
def test_a_blocker_keeps_its_examples_from_being_believed(blocker: Cue):
    assert blocker.yes
    for text in blocker.yes:
        assert not found(text), text


MIXED = {
    "I'm allergic to 芒果": ("allergies", "芒果"),
    "我 love 咖啡": ("likes", "咖啡"),
    "I live in 上海 now": ("city", "上海"),
    "my birthday 是 5月3日": ("birthday", "05-03"),
}


@each("text", MIXED)
def test_keys_are_found_in_a_sentence_that_mixes_the_languages(text: str):
    assert [(one.attribute, one.value) for one in found(text)] == [MIXED[text]]
