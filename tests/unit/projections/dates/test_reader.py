"""The reader of dates is held to phrases that others read too: jionlp's answers, and a table of English ones.

`tools/date_oracle.py` wrote the columns of the others. Where we mean other days than jionlp the row says so, and why.
"""

from __future__ import annotations

import json
import time
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from projections.dates.reader import MOST, expressions
from projections.dates.wording import annotated, first_day

DATA = Path(__file__).parents[3] / "data" / "dates"
AT = datetime(2026, 11, 28, 10, tzinfo=UTC)  # a Saturday


def rows(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (DATA / name).read_text(encoding="utf-8").splitlines()]


def test_chinese_phrases_mean_what_jionlp_says_or_what_the_row_gives_a_reason_for():
    wrong = []
    for row in rows("oracle_zh.jsonl"):
        found = [
            [str(one.first), str(one.last)] for one in expressions(row["phrase"], datetime.fromisoformat(row["at"]))
        ]
        days = row.get("ours", row["jionlp"])
        if found != ([days] if days else []) or ("ours" in row) != ("why" in row):
            wrong.append((row, found))
    assert wrong == []


def test_most_of_what_jionlp_reads_it_reads_as_we_do():
    read = [row for row in rows("oracle_zh.jsonl") if row["jionlp"]]
    assert sum("ours" not in row for row in read) >= 0.7 * len(read)


def test_english_phrases_mean_the_days_and_hours_of_their_table():
    wrong = []
    for row in rows("english.jsonl"):
        found = [one for one in expressions(row["text"], datetime.fromisoformat(row["at"])) if one.is_sure]
        days = found[0].days.written if found else None
        hour = f"{found[0].hour:%H:%M}" if found and found[0].hour else None
        if (days, hour) != (row["days"], row.get("hour")):
            wrong.append((row, days, hour))
    assert wrong == []


def test_an_expression_stands_where_its_words_do():
    text = "Next week I fly on Friday at 9:30."
    week, friday = expressions(text, AT)
    assert [text[one.start : one.end] for one in (week, friday)] == ["Next week", "Friday"]
    assert (friday.first, friday.hour and f"{friday.hour:%H:%M}") == (date(2026, 12, 4), "09:30")


@pytest.mark.parametrize(
    "word", ["yesterday ", "next week on Friday ", "大前天", "下周三下午三点", "on ", "5月", "一", "a week from "]
)
def test_a_long_text_takes_time_in_proportion_and_is_read_up_to_a_bound(word: str):
    took = []
    for length in (4_000, 32_000):
        text = (word * length)[:length]
        began = time.process_time()
        assert len(expressions(text, AT)) <= MOST
        took.append(time.process_time() - began)
    assert took[1] < 8 * 4 * took[0] + 0.5


@given(st.text(max_size=60), st.datetimes(timezones=st.just(UTC)))
def test_no_text_and_no_day_is_an_error(text: str, at: datetime):
    for said in (text, f"{text} 999 years ago", f"{text}上个月9999年后", "在99月3日 the 31st of next month"):
        read = annotated(said, at)
        assert annotated(read, at) == read, "twice is once"
        first_day(said, at)
