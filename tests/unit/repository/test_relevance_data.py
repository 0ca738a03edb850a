"""The labelled pairs behind relevance are in both languages, and each question has one answer."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

DATA = Path(__file__).resolve().parents[2] / "data" / "relevance"
HAN = re.compile(r"[\u4e00-\u9fff]")


def rows(name: str) -> list[dict[str, Any]]:
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


def test_every_question_of_a_user_is_in_both_languages_and_names_what_answers_it():
    for row in rows("asked.jsonl") + rows("asked_judged.jsonl"):
        for one in row["said"] + row["asked"]:
            assert HAN.search(one["zh"])
            assert not HAN.search(one["en"])
        places = set(range(len(row["said"])))
        assert all(places.issuperset(one["answers"]) for one in row["asked"])
        unanswered = sum(not one["answers"] for one in row["asked"])
        assert unanswered >= len(row["asked"]) / 4


def test_what_is_judged_was_not_fitted_to():
    fitted = {one["user"] for one in rows("asked.jsonl")} | {one["user"] for one in rows("talks.jsonl")}
    assert fitted.isdisjoint(one["user"] for one in rows("asked_judged.jsonl"))
    asked = {text for one in rows("nobody.jsonl") for text in one.values()}
    judged = [one["ask"] for one in rows("nobody_judged.jsonl")]
    assert len(set(judged) - asked) >= 90
    assert sum(HAN.search(text) is not None for text in judged) >= 40
