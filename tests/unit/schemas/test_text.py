"""Exact duplicates: what may be spelt differently, and both keys."""

from __future__ import annotations

import hashlib

from support.tables import each

from schemas.text import DIGEST_BYTES, content_hash, digest, is_blank, normalised


@each(
    ("text", "expected"),
    [
        ("User Likes COFFEE", "user likes coffee"),
        ("  two \t words\n", "two words"),
        ("用户喜欢咖啡。", "用户喜欢咖啡"),
        ("Yes...", "yes"),
        ("end.。．.", "end"),
        ("end. .", "end"),
        ("Ｆｕｌｌ　ｗｉｄｔｈ １０", "full width 10"),
        ("Straße", "strasse"),
        ("cafe\u0301", "café"),
        ("v1.5 is out", "v1.5 is out"),
        ("Really?", "really?"),
        ("。", ""),
    ],
)
def test_what_is_folded_and_what_stays(text: str, expected: str) -> None:
    assert expected == normalised(text)


def test_spellings_of_one_text_share_a_digest_and_other_texts_do_not() -> None:
    assert digest("User likes coffee.") == digest("  USER  likes coffee")
    assert digest("User likes coffee") != digest("User likes coffee!")
    assert len(digest("")) == DIGEST_BYTES


def test_the_digest_is_frozen_because_logs_hold_it() -> None:
    assert digest("用户喜欢咖啡。").hex() == "020febe21f4ee810a5900d2017ae5491"


@each(
    ("text", "hashed"),
    [
        (" User likes COFFEE. ", "user likes coffee"),
        ("用户喜欢咖啡。。", "用户喜欢咖啡"),
        ("a.。", "a"),
        ("a。.", "a。"),
        ("a .", "a "),
        ("Ｆｕｌｌ  width", "ｆｕｌｌ  width"),
        ("Straße", "straße"),
    ],
)
def test_the_content_hash_is_evatars(text: str, hashed: str) -> None:
    """Not the normalised text: no NFKC, no case folding, inner white space kept, stops dropped in Evatar's order."""
    assert hashlib.md5(hashed.encode(), usedforsecurity=False).hexdigest() == content_hash(text)


@each("text", ["", " ", "\t\r\n", "\u3000", "\u200b", "\x00", "\u2028\ufeff \x85"])
def test_what_cannot_be_seen_is_blank(text: str) -> None:
    assert is_blank(text)


@each("text", [".", "\u200b茶", "0", "☕", "👩\u200d💼", "\U0001fadf"])
def test_one_character_that_can_be_seen_is_not_blank_even_of_a_unicode_yet_to_come(text: str) -> None:
    assert not is_blank(text)
