"""Spellings of texts: the one that exact duplicates share, the keys made from it, and the one on a single line."""

from __future__ import annotations

import hashlib
import re
import unicodedata
from typing import Final

from schemas.visible_text import visible

DIGEST_BYTES = 16
MAX_MARKS: Final = 30
"""Combining marks in a row; no script needs more. Source: Unicode UAX 15, "Stream-Safe Text Format"."""

_FULL_STOPS = "。．."
_UNSEEN = frozenset({"Cc", "Cf", "Zs", "Zl", "Zp"})
_PERHAPS_MARKS: Final = re.compile(rf"(?:[^\w\s\x00-\x7f]|[\uff9e\uff9f]){{{MAX_MARKS + 1}}}")
"""A cheap test that passes nearly every text: marks are no letters, the two of halfwidth katakana apart."""


def nfkc(text: str) -> str:
    """Return the text in NFKC, as `unicodedata` spells it, in linear time for any text.

    `unicodedata` puts the marks of one character in order by insertion: quadratic for a long row of them. Here such a
    row is in order before it sees it, which is the same text to Unicode and comes out as the same characters.
    """
    return unicodedata.normalize("NFKC", _in_order(text) if has_many_marks(text) else text)


def refuse_marks(text: str) -> str:
    """Return the text. Raises ValueError for one with too many combining marks in a row."""
    if has_many_marks(text):
        raise ValueError(f"has more than {MAX_MARKS} combining marks in a row: take them out")
    return text


def without_many_marks(text: str) -> str:
    """Return the text, of each row of combining marks the first `MAX_MARKS`."""
    if not has_many_marks(text):
        return text
    kept: list[str] = []
    row = 0
    for character in text:
        row = row + 1 if _is_mark(character) else 0
        if row <= MAX_MARKS:
            kept.append(character)
    return "".join(kept)


def has_many_marks(text: str) -> bool:
    """Return whether more than `MAX_MARKS` combining marks stand in a row in the text."""
    if len(text) <= MAX_MARKS or text.isascii():
        return False
    row = 0
    begin = _PERHAPS_MARKS.search(text)
    if begin is None:
        return False
    for character in text[begin.start() :]:
        row = row + 1 if _is_mark(character) else 0
        if row > MAX_MARKS:
            return True
    return False


def _is_mark(character: str) -> bool:
    """Return whether a character stands in NFKC on the one before it: all it is made of does."""
    if character.isascii():
        return False
    return all(map(unicodedata.combining, unicodedata.normalize("NFKD", character)))


def _in_order(text: str) -> str:
    """Return the text taken apart (NFKD), each row of marks in canonical order."""
    apart = "".join(unicodedata.normalize("NFKD", character) for character in text)
    parts: list[str] = []
    row: list[str] = []
    for character in apart:
        if unicodedata.combining(character):
            row.append(character)
            continue
        parts += sorted(row, key=unicodedata.combining)
        parts.append(character)
        row.clear()
    return "".join([*parts, *sorted(row, key=unicodedata.combining)])


def normalised(text: str) -> str:
    """Return the spelling that exact duplicates share. Normalising twice changes nothing more.

    NFKC and case folded; runs of white space collapsed to one space, none at either end; final full stops (`。`, `.`,
    `．`) dropped. All other punctuation stays. A text of full stops only gives the empty text.
    """
    if text.isascii():  # NFKC leaves it as it is
        return " ".join(text.lower().split()).rstrip(". ")
    # Folding can undo the composition (and composing can bring back what folds), so each is done until both hold.
    folded = nfkc(nfkc(text).casefold())
    while (again := nfkc(folded.casefold())) != folded:
        folded = again
    return " ".join(folded.split()).rstrip(_FULL_STOPS + " ")


def on_one_line(text: str) -> str:
    """Return the text with each run of white space as one space, none at either end: as a line of a prompt has it.

    So a memory cannot begin a line of its own, pose as another part of the prompt, or hide some of its text.
    """
    return " ".join(visible(text).split())


def is_blank(text: str) -> bool:
    """Return whether a text is invisible: white space, line ends, zero width and control characters only."""
    return not text.strip() or all(unicodedata.category(character) in _UNSEEN for character in text)


def digest(text: str) -> bytes:
    """Return the key of exact duplicates: 16 bytes of BLAKE2b over the normalised text in UTF-8.

    Raises UnicodeEncodeError for a lone surrogate, which no message in UTF-8 can hold.
    """
    return hashlib.blake2b(normalised(text).encode(), digest_size=DIGEST_BYTES).digest()


def content_hash(text: str) -> str:
    """Return the hash that Evatar clients know a memory by: 32 hex digits, byte for byte theirs.

    MD5 of the text in lower case, stripped, without its trailing `。`, then without its trailing `.`. In this order:
    `a.。` loses both, `a。.` only the last one. Source: the Evatar memory system, "content hash deduplication".
    """
    same_as_evatar = text.lower().strip().rstrip("。").rstrip(".")
    return hashlib.md5(same_as_evatar.encode(), usedforsecurity=False).hexdigest()


def plain_words(text: str) -> str:
    """Return a text as its words are compared: in NFKC, case folded, with one space between them."""
    # NFKC may undo what case folding did (and the reverse), so fold between two normalisations, as Unicode advises.
    return " ".join(nfkc(nfkc(text).casefold()).split())


def stands_in(phrase: str, text: str) -> bool:
    """Return whether plain words stand in plain words: `art` does not stand in `party`, for a Latin word ends with it.

    The empty text is in none.
    """
    begin = text.find(phrase) if phrase else -1
    while begin >= 0:
        end = begin + len(phrase)
        if not (_goes_on(text[max(0, begin - 1) : begin], phrase[0]) or _goes_on(text[end : end + 1], phrase[-1])):
            return True
        begin = text.find(phrase, begin + 1)
    return False


def _goes_on(beside: str, edge: str) -> bool:
    """Return whether a word of a spaced script goes on beyond the edge of a phrase."""
    return edge.isascii() and edge.isalnum() and beside.isascii() and beside.isalnum()
