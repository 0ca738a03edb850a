"""Where a session is cut into windows: by rounds, by silence in either time, and by size; a function of the log."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

import pytest
from support.examples import MONDAY, envelope
from support.tables import each

from schemas.inputs.decoding import effective_time
from schemas.inputs.pieces import is_extractable, piece_count, piece_texts, text_of
from schemas.messages.observations import ArticleInferred, Observation, ScreenshotAnalysed, SessionEnded, TurnRecorded
from streams.extraction.window import OpenWindow, WindowLimits, closes_before, pieces_of, window_of

if TYPE_CHECKING:
    from streams.extraction.protocol import Piece

SECOND = timedelta(seconds=1)


def turn(
    name: str, content: str = "你好", at: datetime = MONDAY, *, role: str = "user", infer: bool = True
) -> TurnRecorded:
    return TurnRecorded(envelope=envelope(name, at), session_id="s1", role=role, content=content, infer=infer)


def cut(pieces: list[Piece], limits: WindowLimits | None = None) -> list[list[str]]:
    """Return the piece ids of the windows that a session falls into."""
    windows = [OpenWindow()]
    for piece in pieces:
        if closes_before(windows[-1], piece, limits or WindowLimits()):
            windows.append(OpenWindow())
        windows[-1].add(piece)
    return [[p.event_id for p in window.pieces] for window in windows]


def pieces(*turns: TurnRecorded, logged: list[datetime] | None = None) -> list[Piece]:
    times = logged or [t.envelope.occurred_at for t in turns]
    return [p for t, at in zip(turns, times, strict=True) for p in pieces_of(t, at)]


def test_a_piece_has_the_key_that_its_observation_was_published_with():
    said = turn("u0", "x" * 7_000)
    keyed = replace(said, envelope=replace(said.envelope, by="k-ann"))
    assert [piece.by for piece in pieces(keyed, turn("u1"))] == ["k-ann", "k-ann", None]


def rounds(count: int, answers: int = 1) -> list[TurnRecorded]:
    turns = []
    for number in range(count):
        turns.append(turn(f"u{number}"))
        turns += [turn(f"a{number}.{n}", role="assistant") for n in range(answers)]
    return turns


def test_a_window_closes_after_five_rounds():
    windows = cut(pieces(*rounds(12)))
    assert [w[0] for w in windows] == ["u0", "u5", "u10"]
    assert [len(w) for w in windows] == [10, 10, 4]


def test_a_round_is_a_user_turn_and_all_that_follows_until_the_next():
    assert [w[0] for w in cut(pieces(*rounds(6, answers=3)))] == ["u0", "u5"]


def test_what_the_assistant_says_first_belongs_to_the_window_of_the_first_round():
    turns = [turn("hello", role="assistant"), *rounds(5), turn("last")]
    assert [w[0] for w in cut(pieces(*turns))] == ["hello", "last"]


def test_the_number_of_rounds_is_a_setting():
    assert [len(w) for w in cut(pieces(*rounds(3)), WindowLimits(rounds=1))] == [2, 2, 2]


@each(("seconds", "windows"), [(29.999999, 1), (30, 2), (-29, 1), (-30, 2)])
def test_thirty_seconds_of_effective_time_between_two_turns_close_a_window(seconds: float, windows: int):
    turns = (turn("t-1"), turn("t-2", at=MONDAY + seconds * SECOND))
    assert len(cut(pieces(*turns, logged=[MONDAY, MONDAY]))) == windows


@pytest.mark.parametrize(("seconds", "windows"), [(29.999999, 1), (30, 2)])
def test_thirty_seconds_of_log_time_between_two_turns_close_a_window(seconds: float, windows: int):
    turns = (turn("t-1"), turn("t-2"))
    assert len(cut(pieces(*turns, logged=[MONDAY, MONDAY + seconds * SECOND]))) == windows


def test_silence_counts_between_neighbours_not_from_the_beginning():
    turns = [turn(f"t-{n}", at=MONDAY + 20 * n * SECOND, role="assistant") for n in range(9)]
    assert len(cut(pieces(*turns))) == 1


@pytest.mark.parametrize(("second", "windows"), [(1000, 1), (1001, 2)])
def test_a_window_holds_at_most_six_thousand_characters(second: int, windows: int):
    assert len(cut(pieces(turn("t-1", "长" * 5000), turn("t-2", "句" * second)))) == windows


def test_a_window_holds_at_most_so_many_pieces_that_its_answer_can_name_them_all():
    turns = [turn(f"{n:04}{'i' * 156}", "嗯", role="assistant") for n in range(6_000)]
    windows = cut(pieces(*turns))
    assert [len(w) for w in windows] == [500] * 12
    assert [name for w in windows for name in w] == [t.envelope.event_id for t in turns]


def test_a_long_turn_is_cut_into_pieces_of_at_most_six_thousand_characters():
    long = turn("t-1", "字" * 12_001)
    assert [len(text) for text in piece_texts(long)] == [6000, 6000, 1]
    assert [p.piece_id for p in pieces(long)] == ["t-1#0", "t-1#1", "t-1#2"]
    assert (piece_count(long), "".join(piece_texts(long))) == (3, long.content)
    assert cut(pieces(long, turn("t-2"))) == [["t-1"], ["t-1"], ["t-1", "t-2"]]


def test_a_long_user_turn_is_one_round_however_many_pieces_it_has():
    turns = [turn("t-0", "字" * 6001), *(turn(f"t-{n}") for n in range(1, 6))]
    assert cut(pieces(*turns)) == [["t-0"], ["t-0", "t-1", "t-2", "t-3", "t-4", "t-5"]]


@each("length", [0, 1, 5999, 6000])
def test_what_fits_is_one_piece(length: int):
    assert piece_count(turn("t-1", "字" * length)) == 1
    assert piece_texts(turn("t-1", "字" * length)) == ["字" * length]


@each("start", range(0, 20, 3))
def test_reading_again_from_the_beginning_of_any_window_cuts_alike(start: int):
    turns = rounds(12)
    windows = cut(pieces(*turns))
    again = cut(pieces(*turns[len(windows[0]) :]))
    assert again == windows[1:]
    assert cut(pieces(*turns)[:start])[:-1] == windows[: len(cut(pieces(*turns)[:start])) - 1]


def test_an_effective_time_lies_at_most_five_minutes_after_the_log_time():
    assert effective_time(turn("t", at=MONDAY + 300 * SECOND), MONDAY) == MONDAY + 300 * SECOND
    assert effective_time(turn("t", at=MONDAY + 301 * SECOND), MONDAY) == MONDAY + 300 * SECOND
    assert effective_time(turn("t", at=MONDAY - timedelta(days=9999)), MONDAY) == MONDAY - timedelta(days=9999)
    [piece] = pieces_of(turn("t", at=MONDAY + timedelta(days=1)), MONDAY)
    assert (piece.occurred_at, piece.recorded_at) == (MONDAY + 300 * SECOND, MONDAY)


SCREEN = ScreenshotAnalysed(
    envelope=envelope("p-1"), screenshot_id="IMG_1", text="会议 3 点", summary="日历", title="周一"
)
ARTICLE = ArticleInferred(envelope=envelope("a-1"), article_id="A1", title="咖啡", content="手冲")
END = SessionEnded(envelope=envelope("e-1"), session_id="s1")


@each(
    ("message", "extractable"),
    [
        (turn("t"), True),
        (turn("t", role="assistant"), True),
        (turn("t", role="system"), False),
        (turn("t", role="tool"), False),
        (turn("t", "  \n"), False),
        (turn("t", infer=False), True),
        (turn("t", role="assistant", infer=False), False),
        (SCREEN, True),
        (ARTICLE, True),
        (END, False),
    ],
)
def test_only_what_users_and_assistants_say_and_what_upstream_saw_is_extracted(message: Observation, extractable: bool):  # noqa: FBT001
    assert is_extractable(message) is extractable


@pytest.mark.parametrize(("relevance", "extractable"), [("low", False), ("medium", True), ("high", True)])
def test_screenshots_of_low_relevance_are_not_extracted(relevance: str, extractable: bool):  # noqa: FBT001
    message = ScreenshotAnalysed(envelope=envelope("p-1"), screenshot_id="I", text="x", relevance=relevance)
    assert is_extractable(message) is extractable


def test_a_screenshot_and_an_article_say_all_that_upstream_read():
    assert text_of(SCREEN) == "周一\n日历\n会议 3 点"
    assert text_of(ARTICLE) == "咖啡\n手冲"
    assert text_of(END) == ""


@pytest.mark.parametrize(
    ("message", "source"),
    [(turn("t"), ("chat", "s1", "s1")), (SCREEN, ("photo", "IMG_1", None)), (ARTICLE, ("inferred", "A1", None))],
)
def test_a_window_names_its_source(message: Observation, source: tuple[str, str, str | None]):
    window = window_of(message, tuple(pieces_of(message, MONDAY)))
    assert (window.source_type, window.source_ref, window.session_id) == source
    assert (window.tenant, window.user_id, window.agent_id) == ("default", "xiaoming", "luna")
