"""What makes turns in another language near to a question: their own meaning, and that of their session."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, cast

import numpy as np
import pytest
from support.tables import each

from projections.queries.turns.index import UserWords, spoken
from projections.queries.turns.making import reply_of
from projections.queries.turns.meaning import SESSION_SHARE, TurnMeanings, with_sessions
from projections.queries.turns.vectors import UserMeanings
from projections.shard.rows.published_turns import Turn
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
    assert [reply_of(words, row) for row in range(5)] == [2, None, None, None, None]


def add(words: UserWords, role: str, content: str, *, withholds: bool = False) -> None:
    """Add what was said next in session a."""
    at = NOON + timedelta(hours=1)
    envelope = Envelope(
        event_id=f"t{len(words.event_ids)}", tenant="default", user_id="u", occurred_at=at, recorded_at=at
    )
    message = TurnRecorded(envelope=envelope, session_id="a", role=role, content=content)
    words.add(Turn(message, at, withholds))


def test_a_turn_lacks_its_vector_until_its_reply_is_in_it():
    words = words_of(("a", "user", "一"), ("a", "user", "二"), ("b", "assistant", "三"))
    assert words.unmade == {0, 1}
    words.unmade.clear()
    add(words, "assistant", "三")
    assert words.unmade == {1}
    words.unmade.clear()
    add(words, "assistant", "四")
    assert words.unmade == set()


def test_what_was_said_before_a_request_not_to_keep_it_is_looked_at_again():
    words = words_of(("a", "user", "一"), ("b", "user", "二"), ("a", "assistant", "三"))
    words.unmade.clear()
    add(words, "user", "", withholds=True)
    assert (words.unmade, words.doubtful) == ({3}, {0})


def test_what_all_turns_have_in_common_tells_none_of_them_apart():
    meanings = UserMeanings("m")
    common = (axis(0) + axis(1)) / np.float32(np.sqrt(2))
    for row, vector in enumerate((axis(0), axis(0), common)):
        meanings.put(row, vector)
    cosines = meanings.cosines(common, 4)
    assert cosines.tolist() == pytest.approx([0.7071, 0.7071, 1.0, np.nan], abs=1e-4, nan_ok=True)
    centred = meanings.centred(np.array([True, True, True, True]), cosines)
    assert centred[0] == centred[1]
    hubness = (centred - cosines)[:3]
    assert hubness.mean() == pytest.approx(0, abs=1e-6)
    assert hubness[0] < 0 < hubness[2]


def test_rows_without_a_vector_are_no_hits_and_one_that_was_removed_is_near_to_nothing():
    meanings = UserMeanings("m")
    assert np.isnan(meanings.cosines(axis(0), 2)).all()
    meanings.put(1, axis(1))
    meanings.put(1, axis(2))
    assert (len(meanings), meanings.cosines(axis(2), 2)[1]) == (1, 1.0)
    meanings.remove(0)
    meanings.remove(1)
    assert meanings.cosines(axis(2), 2)[1] == 0.0


def test_only_the_built_in_encoders_vectors_tell_what_lasts():
    lasting, meaning = np.full(2, 0.5), np.eye(1, 512, dtype=np.float32)[0]
    for model in ("m", "builtin"):
        meanings = UserMeanings(model)
        meanings.write_lasting(lasting)
        meanings.put(1, meaning)
        meanings.write_lasting(lasting)
        assert (lasting[0], lasting[1] == 0.5) == (0.5, model == "m")


def test_the_best_turn_of_a_session_speaks_for_the_others():
    scores = with_sessions(np.array([0.2, 0.6, 0.5], np.float32), THREE.sessions())
    lifted = (1 - SESSION_SHARE) * 0.2 + SESSION_SHARE * 0.6
    assert scores.tolist() == pytest.approx([lifted, 0.6, 0.5])


def test_the_nearest_of_few_turns_is_no_match_if_it_is_far():
    far = np.array([0.05, np.nan, np.nan], np.float32)
    assert TurnMeanings(THREE, far, UserMeanings("builtin"), far).matches().tolist() == [0.0, 0.0, 0.0]
    near = np.array([0.2, np.nan, np.nan], np.float32)
    assert TurnMeanings(THREE, near, UserMeanings("builtin"), near).matches()[0] == pytest.approx(0.5)


def test_matches_are_between_the_farthest_and_the_nearest():
    scores = np.array([0.1, np.nan, 0.3], np.float32)
    meanings = TurnMeanings(THREE, scores, UserMeanings("builtin"), scores)
    assert meanings.is_between_languages
    assert meanings.matches().tolist() == pytest.approx([0, 0, 1])
    assert list(meanings.best()) == ["t2", "t0"]
    assert meanings.evidence(["t0", "t1", "unknown"]) == pytest.approx(0.1)
    assert meanings.evidence(["t1", "unknown"]) is None
    assert meanings.cosine("t1") is None
    one = np.array([np.nan, 0.4, np.nan], np.float32)
    assert TurnMeanings(THREE, one, UserMeanings("builtin"), one).matches().tolist() == [0, 1, 0]
