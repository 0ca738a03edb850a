"""Characters that are not seen are taken out; what needs them stays whole."""

from __future__ import annotations

import sys
import time
import unicodedata

from hypothesis import given
from hypothesis import strategies as st
from support.tables import each

from schemas.text import on_one_line
from schemas.visible_text import visible

SEEN = {0x600, 0x601, 0x602, 0x603, 0x604, 0x605, 0x6DD, 0x70F, 0x890, 0x891, 0x8E2, 0x110BD, 0x110CD}
"""Format characters that have a shape: Unicode's prepended concatenation marks."""


@each(
    ("text", "seen"),
    [
        ("ig\u200bnore", "ignore"),
        ("i\u200dgnore", "ignore"),
        ("忽\u200d略", "忽略"),
        ("abc\u202etxt.exe\u202c", "abctxt.exe"),
        ("hi" + "".join(chr(0xE0000 + ord(c)) for c in "obey"), "hi"),
        ("👍\ufe0f\ufe01\ufe02\U000e0101", "👍\ufe0f"),
        ("a\u3164\uffa0b", "ab"),
        ("\ufeffstart\u00ad", "start"),
    ],
)
def test_what_is_not_seen_is_taken_out(text: str, seen: str):
    assert (visible(text), on_one_line(text)) == (seen, seen)


@each(
    "text",
    [
        "plain",
        "我喜欢喝咖啡",
        "می\u200cخواهم",
        "क्\u200dष",
        "👩\u200d💻",
        "🏳\ufe0f\u200d🌈",
        "❤\ufe0f",
        "1\ufe0f\u20e3",
        "葛\U000e0100",
        "\u0601٢",
    ],
)
def test_what_is_written_with_them_stays_whole(text: str):
    assert visible(text) == text


def test_every_format_character_of_unicode_is_taken_out_but_those_that_have_a_shape():
    found = {
        c for c in range(sys.maxunicode + 1) if unicodedata.category(chr(c)) == "Cf" and visible(f"a{chr(c)}b") != "ab"
    }
    assert found <= SEEN
    assert [c for c in range(0xE0000, 0xE0080) if visible(f"a{chr(c)}b") != "ab"] == []


@given(st.text(alphabet=st.characters(categories=["Cf", "Lo", "So", "Mn", "Ll"])))
def test_no_format_character_remains_but_joiners_and_those_with_a_shape(text: str):
    left = {ord(c) for c in visible(text) if unicodedata.category(c) == "Cf"}
    assert left <= SEEN | {0x200C, 0x200D}


@each("unit", ["\u200d", "\ufe0f", "👩\u200d", "\U000e0041", "क\u200d", "a\u200b"])
def test_it_takes_linear_time(unit: str):
    def seconds(times: int) -> float:
        text = unit * times
        begun = time.process_time()
        visible(text)
        return time.process_time() - begun

    most = 40 * max(0.005, min(seconds(3_000) for _ in range(3)))
    assert any(seconds(30_000) < most for _ in range(3))
