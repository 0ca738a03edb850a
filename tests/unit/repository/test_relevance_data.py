"""The labelled pairs behind relevance are in both languages, and each question has one answer."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

DATA = Path(__file__).resolve().parents[2] / "data" / "relevance"


def rows(name: str) -> list[dict[str, str]]:
    return [json.loads(line) for line in (DATA / name).read_text("utf-8").splitlines()]


def test_every_statement_and_question_is_in_both_languages():
    for row in rows("talks.jsonl"):
        assert set(row) == {"user", "en", "zh", "ask_en", "ask_zh"}
        assert row["en"].isascii() or row["ask_en"]
        assert not (row["zh"] + row["ask_zh"]).isascii()
    assert all(set(row) == {"en", "zh"} for row in rows("nobody.jsonl"))


def test_every_user_has_equally_many_and_no_question_is_asked_twice():
    talks = rows("talks.jsonl")
    assert set(Counter(row["user"] for row in talks).values()) == {8}
    for name in ("en", "zh", "ask_en", "ask_zh"):
        assert len({row[name] for row in talks}) == len(talks)
