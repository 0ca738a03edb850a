"""The script that a text is written in, and whether the built-in encoder reads it."""

from __future__ import annotations

import re
import unicodedata
from typing import Final

HAN: Final = re.compile(r"[一-鿿]")
"""A Chinese character."""
_READ: Final = ("LATIN", "CJK", "HANGUL", "CYRILLIC", "ARABIC", "THAI")
"""The scripts of the encoder's languages, as the first words of their letters' Unicode names."""
_MARKED: Final = frozenset("àáâãäåæçèéêëìíîïñòóôõöøœùúûüÿßąćęłńśźżğış")
"""The letters outside ASCII that its languages in Latin script use, or that occur in their neighbours' names."""
_SOME: Final = 2


def script_of(text: str) -> str:
    """Return the script of most letters of a text, as the first word of their Unicode names; "" without letters."""
    counts: dict[str, int] = {}
    for letter in filter(str.isalpha, text[:400]):
        script = unicodedata.name(letter, "?").partition(" ")[0]
        counts[script] = counts.get(script, 0) + 1
    script = max(counts, key=lambda script: counts[script], default="")
    return "CJK" if script in ("HIRAGANA", "KATAKANA") else script


def is_read(text: str) -> bool:
    """Return whether a text is in the script of one of the encoder's languages."""
    return script_of(text) in (*_READ, "")


def is_in_its_languages(text: str) -> bool:
    """Return whether a text is in one of the encoder's languages, as far as its letters tell.

    None of its nine languages in Latin script uses the marks of Vietnamese, Czech or Hungarian. A text is in another
    language if at least two words, and at least one word in five, have such marks. A name or two in an English text
    are therefore tolerated.
    """
    words = unicodedata.normalize("NFC", text[:400].casefold()).split()
    others = sum(any(letter not in _MARKED and _is_marked_latin(letter) for letter in word) for word in words)
    return is_read(text) and not (others >= _SOME and others * 5 >= len(words))


def _is_marked_latin(letter: str) -> bool:
    return not letter.isascii() and letter.isalpha() and unicodedata.name(letter, "").startswith("LATIN")
