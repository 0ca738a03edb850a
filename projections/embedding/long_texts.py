"""Long texts: how much of a text every embedder reads."""

from __future__ import annotations

from typing import Final

from schemas.text import nfkc

MAX_CHARACTERS: Final = 2_000
"""The characters of a text in NFKC that are read. Further ones would hardly affect its vector."""
_BEFORE: Final = 4 * MAX_CHARACTERS
"""The characters of the original text that are read: NFKC may turn two or three into one, and 2,000 must remain."""


def beginning(text: str) -> tuple[str, int]:
    """Return the part of a text that is read, and its length in NFKC; a text that is read whole is unchanged."""
    spelt = nfkc(text[:_BEFORE])
    if len(text) <= _BEFORE and len(spelt) <= MAX_CHARACTERS:
        return text, len(spelt)
    read = spelt[:MAX_CHARACTERS]
    return read, len(read)
