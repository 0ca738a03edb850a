"""Long texts: how much of one an embedder reads, whichever it is."""

from __future__ import annotations

from typing import Final

from schemas.text import nfkc

MAX_CHARACTERS: Final = 2_000
"""Of a text in NFKC: what follows is not read. The vector of a longer text would hardly know it either."""
_BEFORE: Final = 4 * MAX_CHARACTERS
"""Of a text as it was given: NFKC may make one character of two or three, and then 2,000 are left."""


def beginning(text: str) -> tuple[str, int]:
    """Return what is read of a text, and how many characters that is in NFKC; a text that is read whole stays as is."""
    spelt = nfkc(text[:_BEFORE])
    if len(text) <= _BEFORE and len(spelt) <= MAX_CHARACTERS:
        return text, len(spelt)
    read = spelt[:MAX_CHARACTERS]
    return read, len(read)
