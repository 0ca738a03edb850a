"""Provenance: the origin of a memory, as answers name it and as a line of a marked context does."""

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
_MARK: Final = re.compile(rf"\b({'|'.join(MARKS.values())})(?=\s?[)）])", re.IGNORECASE)


def provenance_of(memory: Memory) -> str:
    """Return the origin of a memory: chat, photo, inferred, manual or import.

    It is the origin at its forming: a memory of a screenshot remains one after the user has stated it too. A memory
    that was imported, or shared by another user, has the origin import, whatever it had there.
    """
    return memory.source_type


def marked(text: str, provenance: str) -> str:
    """Return a text on one line with its mark, such as `(from a screenshot)`; the text's own marks are quoted."""
    unmarked = _MARK.sub(r'"\1"', on_one_line(text))
    return f"{unmarked} ({MARKS[provenance]})"
