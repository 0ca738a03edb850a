"""Forms of texts: the form that exact duplicates share, the keys derived from it, and the form for a single line."""

from __future__ import annotations

import hashlib
import re
import unicodedata
from typing import Final

from schemas.visible_text import visible

DIGEST_BYTES = 16
MAX_MARKS: Final = 30
"""The most combining marks in a row that any script needs. Source: Unicode UAX 15, "Stream-Safe Text Format"."""

_FULL_STOPS = "。．."
_UNSEEN = frozenset({"Cc", "Cf", "Zs", "Zl", "Zp"})
_PERHAPS_MARKS: Final = re.compile(rf"(?:[^\w\s\x00-\x7f]|[\uff9e\uff9f]){{{MAX_MARKS + 1}}}")
"""A cheap test that clears nearly every text: marks are not letters, except for two of halfwidth katakana."""


def nfkc(text: str) -> str:
    """Return the text in NFKC, as `unicodedata` does, in linear time for any text.

    `unicodedata` sorts the marks of one character by insertion, which is quadratic for a long row of marks. Here, such
    a row is sorted first, which is equivalent in Unicode and gives the same result.
    """
    return unicodedata.normalize("NFKC", _in_order(text) if has_many_marks(text) else text)


def refuse_marks(text: str) -> str:
    """Return the text. Raises ValueError if it has too many combining marks in a row."""
    if has_many_marks(text):
        raise ValueError(f"has more than {MAX_MARKS} combining marks in a row: take them out")
    return text


def without_many_marks(text: str) -> str:
    """Return the text with only the first `MAX_MARKS` of each row of combining marks."""
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
    """Return whether the text has more than `MAX_MARKS` combining marks in a row."""
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
    """Return whether a character combines with the previous one in NFKC, because all its parts do."""
    if character.isascii():
        return False
    return all(map(unicodedata.combining, unicodedata.normalize("NFKD", character)))


def _in_order(text: str) -> str:
    """Return the text in decomposed form (NFKD), with each row of marks in canonical order."""
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
    """Return the form that exact duplicates share. Normalising twice has no further effect.

    The text is in NFKC and case folded. Runs of white space become one space, with none at either end. Final full stops
    (`。`, `.`, `．`) are dropped; all other punctuation stays. A text of only full stops becomes empty.
    """
    if text.isascii():  # NFKC leaves it as it is
        return " ".join(text.lower().split()).rstrip(". ")
    # Folding can undo the composition (and composing can undo the folding), so both are repeated until nothing changes.
    folded = nfkc(nfkc(text).casefold())
    while (again := nfkc(folded.casefold())) != folded:
        folded = again
    return " ".join(folded.split()).rstrip(_FULL_STOPS + " ")


def on_one_line(text: str) -> str:
    """Return the visible text with each run of white space as one space, none at either end, for a line of a prompt.

    A memory can therefore not begin a new line, pose as another part of the prompt, or hide some of its text.
    """
    return " ".join(visible(text).split())


def is_blank(text: str) -> bool:
    """Return whether a text is invisible: only white space, line ends, zero width and control characters."""
    return not text.strip() or all(unicodedata.category(character) in _UNSEEN for character in text)


def digest(text: str) -> bytes:
    """Return the key of exact duplicates: 16 bytes of BLAKE2b over the normalised text in UTF-8.

    Raises UnicodeEncodeError for a lone surrogate, which no message in UTF-8 can hold.
    """
    return hashlib.blake2b(normalised(text).encode(), digest_size=DIGEST_BYTES).digest()


def content_hash(text: str) -> str:
    """Return the hash by which Evatar clients identify a memory: the same 32 hex digits as theirs.

    It is MD5 of the text in lower case, stripped, without its trailing `。`, then without its trailing `.`. The order
    matters: `a.。` loses both, `a。.` only the last one.
    Source: the Evatar memory system, "content hash deduplication".
    """
    same_as_evatar = text.lower().strip().rstrip("。").rstrip(".")
    return hashlib.md5(same_as_evatar.encode(), usedforsecurity=False).hexdigest()


def plain_words(text: str) -> str:
    """Return the form of a text in which words are compared: in NFKC, case folded, with one space between words."""
    # NFKC may undo the case folding (and the reverse), so fold between two normalisations, as Unicode advises.
    return " ".join(nfkc(nfkc(text).casefold()).split())


def stands_in(phrase: str, text: str) -> bool:
    """Return whether a text contains a phrase as whole Latin words: `party` does not contain `art`.

    Both must be in the form of `plain_words`. No text contains the empty phrase.
    """
    begin = text.find(phrase) if phrase else -1
    while begin >= 0:
        end = begin + len(phrase)
        if not (_goes_on(text[max(0, begin - 1) : begin], phrase[0]) or _goes_on(text[end : end + 1], phrase[-1])):
            return True
        begin = text.find(phrase, begin + 1)
    return False


def _goes_on(beside: str, edge: str) -> bool:
    """Return whether a Latin word continues beyond the edge of a phrase."""
    return edge.isascii() and edge.isalnum() and beside.isascii() and beside.isalnum()
