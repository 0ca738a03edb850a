"""What makes turns in another language near to a question: their own meaning, and that of their session."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, cast

import numpy as np
import pytest
from support.tables import each

from projections.queries.turns.index import UserWords, spoken
from projections.queries.turns.meaning import SESSION_SHARE, TurnMeanings, reply_of, with_sessions
from projections.queries.turns.vectors import UserMeanings
from projections.shard.observation_lookup import Turn
from schemas.messages.envelope import Envelope
from schemas.messages.observations import TurnRecorded

if TYPE_CHECKING:
    from projections.embedding.embedder import Vectors
    from projections.shard.shard import Shard

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


class NoShard:
    """A shard of which nothing is read."""


def words_of(*said: tuple[str, str, str]) -> UserWords:
    """Return turns as they were read: of each the session, the role, and what was said."""
    words = UserWords(cast("Shard", NoShard()), removals=0, reached=-1)
    for number, (session_id, role, content) in enumerate(said):
        at = NOON + timedelta(minutes=number)
        envelope = Envelope(event_id=f"t{number}", tenant="default", user_id="u", occurred_at=at, recorded_at=at)
        words.add(Turn(TurnRecorded(envelope=envelope, session_id=session_id, role=role, content=content), at))
    return words


def axis(number: int) -> Vectors:
    found: Vectors = np.eye(4, dtype=np.float32)[number]
    return found


THREE = words_of(("a", "user", "你好"), ("a", "user", "再见"), ("b", "user", "谢谢"))


@each(
    ("text", "language"),
    [
        ("Where is it?", "en"),
        ("在哪里？", "zh"),
        ("どこですか", ""),
        ("👍 12!", None),
        ("", None),
        ("Qui est-ce ?", "en"),
    ],
)
def test_a_language_is_told_by_the_script_and_a_text_without_letters_has_none(text: str, language: str | None):
    assert spoken(text) == language


def test_only_what_the_user_said_in_another_language_is_compared():
    words = words_of(
        ("a", "user", "你好"),
        ("a", "assistant", "你好"),
        ("a", "user", "Hello"),
        ("a", "user", "👍"),
        ("a", "photo", "图"),
    )
    assert words.in_other_languages("en").tolist() == [True, False, False, False, False]
    assert words.in_other_languages("zh").tolist() == [False, False, True, False, False]
    assert words.in_other_languages("").tolist() == [True, False, True, False, False]


def test_a_reply_is_what_somebody_else_says_next_in_the_session():
    words = words_of(
        ("a", "user", "一"),
        ("b", "assistant", "二"),
        ("a", "assistant", "三"),
        ("a", "user", "四"),
        ("a", "user", "五"),
    )
    assert [reply_of(words, row) for row in range(5)] == [2, -1, -1, -1, -1]


def test_a_turn_lacks_its_vector_until_its_reply_is_in_it():
    words = words_of(("a", "user", "一"), ("a", "user", "二"))
    meanings = UserMeanings("m")

    def lacking() -> list[int]:
        return meanings.lacking({row: reply_of(words, row) for row in (1, 0)})

    assert lacking() == [1, 0]
    meanings.add(0, -1, axis(0))
    meanings.add(1, -1, axis(1))
    assert lacking() == []
    at = NOON + timedelta(hours=1)
    envelope = Envelope(event_id="t2", tenant="default", user_id="u", occurred_at=at, recorded_at=at)
    words.add(Turn(TurnRecorded(envelope=envelope, session_id="a", role="assistant", content="三"), at))
    assert lacking() == [1]
    meanings.add(1, 2, axis(2))
    meanings.add(1, 2, axis(2))
    assert lacking() == []
    assert len(meanings.vectors) == 2


def test_what_all_turns_have_in_common_tells_none_of_them_apart():
    meanings = UserMeanings("m")
    common = (axis(0) + axis(1)) / np.float32(np.sqrt(2))
    for row, vector in enumerate((axis(0), axis(0), common)):
        meanings.add(row, -1, vector)
    rows, cosines, centred = meanings.near(np.array([0, 1, 2]), common)
    assert rows.tolist() == [0, 1, 2]
    assert cosines.tolist() == pytest.approx([0.7071, 0.7071, 1.0], abs=1e-4)
    assert centred[0] == centred[1]
    hubness = centred - cosines
    assert hubness.mean() == pytest.approx(0, abs=1e-6)
    assert hubness[0] < 0 < hubness[2]


def test_rows_without_a_vector_are_no_hits():
    meanings = UserMeanings("m")
    assert [len(part) for part in meanings.near(np.array([0, 1]), axis(0))] == [0, 0, 0]
    meanings.add(1, -1, axis(1))
    assert meanings.near(np.array([0, 1]), axis(1))[0].tolist() == [1]


def test_the_best_turn_of_a_session_speaks_for_the_others():
    scores = with_sessions(np.array([0.2, 0.6, 0.5], np.float32), THREE.sessions())
    lifted = (1 - SESSION_SHARE) * 0.2 + SESSION_SHARE * 0.6
    assert scores.tolist() == pytest.approx([lifted, 0.6, 0.5])


def test_matches_are_between_the_farthest_and_the_nearest():
    scores = np.array([0.1, np.nan, 0.3], np.float32)
    meanings = TurnMeanings(THREE, scores, scores)
    assert meanings.matches().tolist() == pytest.approx([0, 0, 1])
    assert list(meanings.best()) == ["t2", "t0"]
    assert meanings.evidence(["t0", "t1", "unknown"]) == pytest.approx(0.1)
    assert meanings.evidence(["t1", "unknown"]) is None
    assert meanings.cosine("t1") is None
    one = np.array([np.nan, 0.1, np.nan], np.float32)
    assert TurnMeanings(THREE, one, one).matches().tolist() == [0, 1, 0]
