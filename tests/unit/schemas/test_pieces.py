"""Pieces: long texts are cut where sentences end, and nothing of them is dropped."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from support.examples import MONDAY, envelope
from support.tables import each

from schemas.inputs.pieces import MAX_PIECE_CHARACTERS, piece_count, piece_texts
from schemas.messages.observations import TurnRecorded


def turn(text: str) -> TurnRecorded:
    return TurnRecorded(envelope=envelope("t-1", MONDAY), session_id="s", role="user", content=text)


@each("before", range(1, 32))
@each(
    ("filler", "fact"),
    [("Nothing here. ", "My name is Alexander Hamilton."), ("今天没有什么事。", "我每月工资是25000元。")],
)
def test_a_statement_astride_the_limit_stands_whole_in_one_piece(filler: str, fact: str, before: int):
    begin = (filler * MAX_PIECE_CHARACTERS)[: MAX_PIECE_CHARACTERS - before - 1] + "\n"
    texts = piece_texts(turn(begin + fact + filler * 9))
    assert sum(fact in text for text in texts) == 1


@given(st.text(alphabet="ab。.\n ", max_size=3 * MAX_PIECE_CHARACTERS))
def test_the_pieces_together_are_the_text_and_none_is_too_long(text: str):
    message = turn(text)
    texts = piece_texts(message)
    assert "".join(texts) == text
    assert all(len(t) <= MAX_PIECE_CHARACTERS for t in texts)
    assert piece_count(message) == len(texts)


def test_a_text_without_any_boundary_is_cut_where_it_is_full():
    assert [len(t) for t in piece_texts(turn("x" * 13_000))] == [6000, 6000, 1000]
