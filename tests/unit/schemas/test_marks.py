"""Combining marks: a long row of them costs no more than other text, changes no spelling, and is told from writing."""

from __future__ import annotations

import time
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.examples import MONDAY
from support.tables import each

from schemas.inputs.input_events import InvalidEvent, new_event, parse_event
from schemas.messages.observations import TurnRecorded
from schemas.text import MAX_MARKS, digest, has_many_marks, nfkc, normalised, refuse_marks, without_many_marks

ROW = "\u0301\u0323"
MARKS = st.text("\u0301\u0323\u0307\u0345\u0344\u0f73\u0f71\u3099\uff9e\u20e3ae가가\u1e69\u00b4", max_size=120)


@given(MARKS | st.text())
def test_the_spelling_is_that_of_unicodedata(text: str) -> None:
    assert unicodedata.normalize("NFKC", text) == nfkc(text)


def test_digests_of_long_rows_are_those_that_logs_hold() -> None:
    """Recorded with `unicodedata` alone, before there was a limit."""
    assert digest("e" + ROW * 60).hex() == "6ca10a5aba206e059c40d76be2e0acf6"


def test_the_time_grows_with_the_length_and_not_with_its_square() -> None:
    short, long = (min(_seconds("a" + ROW * half) for _ in range(3)) for half in (2_000, 32_000))
    assert long < 16 * 5 * short  # by insertion it is 16 * 16 times


def _seconds(text: str) -> float:
    begin = time.process_time()
    normalised(text)
    return time.process_time() - begin


def test_no_mark_escapes_the_cheap_test() -> None:
    alone = [chr(code) for code in range(0x80, 0x110000) if not 0xD800 <= code < 0xE000]
    marks = [one for one in alone if all(map(unicodedata.combining, unicodedata.normalize("NFKD", one)))]
    assert marks
    assert [one for one in marks if not has_many_marks("a" + one * (MAX_MARKS + 1))] == []


@each(
    "text",
    ["", "a" + "\u0301" * MAX_MARKS, ("z" + "\u0301" * 25) * 100, "…" * 100, "👍🏽" * 100, "ก็" * 100, "漢\ufe0f" * 99],
)
def test_what_somebody_writes_is_left_as_it_is(text: str) -> None:
    assert not has_many_marks(text)
    assert text == refuse_marks(text) == without_many_marks(text)


def test_a_longer_row_is_refused_or_cut() -> None:
    text = "。" * 40 + "a" + ROW * MAX_MARKS + "b\u0301"
    with pytest.raises(ValueError, match="has more than 30 combining marks in a row: take them out"):
        refuse_marks(text)
    assert without_many_marks(text) == "。" * 40 + "a" + ROW * (MAX_MARKS // 2) + "b\u0301"


def test_a_log_is_read_as_it_is_and_only_new_events_are_refused() -> None:
    said = {
        "type": "TurnRecorded",
        "session_id": "s1",
        "role": "user",
        "content": "e" + ROW * 60,
        "name": "a" + ROW * 60,
    }
    read = parse_event(said, tenant="default", accepted_at=MONDAY, event_id="t-1")
    assert isinstance(read, TurnRecorded)
    assert read.content == said["content"]
    with pytest.raises(InvalidEvent) as refused:
        new_event(said, tenant="default", accepted_at=MONDAY, event_id="t-1")
    assert [fault.path for fault in refused.value.faults] == ["$.name", "$.content"]
