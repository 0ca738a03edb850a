"""The script that a text is written in, and whether the built-in encoder reads it."""

from __future__ import annotations

import unicodedata
from typing import Final

_READ: Final = ("LATIN", "CJK", "HANGUL", "CYRILLIC", "ARABIC", "THAI")
"""The scripts of the encoder's languages, as Unicode begins the names of their letters."""


def script_of(text: str) -> str:
    """Return the script of most letters of a text, as Unicode begins their names."""
    counts: dict[str, int] = {}
    for letter in filter(str.isalpha, text[:400]):
        script = unicodedata.name(letter, "?").partition(" ")[0]
        counts[script] = counts.get(script, 0) + 1
    script = max(counts, key=lambda script: counts[script], default="")
    return "CJK" if script in ("HIRAGANA", "KATAKANA") else script


def is_read(text: str) -> bool:
    """Return whether the encoder may read a text: it is in the script of one of its languages."""
    return script_of(text) in (*_READ, "")
