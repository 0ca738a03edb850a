"""Provenance: where a memory is from, as answers say it and as a line of a marked context does."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from schemas.text import on_one_line

if TYPE_CHECKING:
    from projections.state.memory import Memory

MARKS: Final = {
    "chat": "from a conversation",
    "photo": "from a screenshot",
    "inferred": "from an article",
    "manual": "from a command",
    "import": "from an import",
}
"""By provenance."""
_MARK: Final = re.compile(rf"\b({'|'.join(MARKS.values())})(?=\s?[)）])", re.IGNORECASE)


def provenance_of(memory: Memory) -> str:
    """Return where a memory is from: chat, photo, inferred, manual or import.

    It is where it was formed from: a screen's memory that the user said later is still a screen's. What was imported,
    or shared by another user, is from an import, whatever it was there.
    """
    return memory.source_type


def marked(text: str, provenance: str) -> str:
    """Return a text on one line and its mark, such as `(from a screenshot)`; what looks like a mark in it is quoted."""
    unmarked = _MARK.sub(r'"\1"', on_one_line(text))
    return f"{unmarked} ({MARKS[provenance]})"
