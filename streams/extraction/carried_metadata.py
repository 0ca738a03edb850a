"""The metadata that a memory has from what it was said in."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import orjson

from schemas.messages.observations import FORMER_INSTRUCTIONS, TIMEZONE, USER_NAME

if TYPE_CHECKING:
    from collections.abc import Iterable

    from schemas.redaction import Redaction
    from streams.extraction.protocol import Piece

MAX_CARRIED_BYTES: Final = 8 * 1024
"""Of each memory's metadata, as JSON: an answer has many memories, and is one record."""
_NOT_CARRIED: Final = (TIMEZONE, FORMER_INSTRUCTIONS, USER_NAME)


def carried_metadata(pieces: Iterable[Piece], redaction: Redaction) -> bytes | None:
    """Return the metadata of the pieces that a memory cites as one JSON object, None where there are none.

    Of two members with one name the later is taken; what makes it too long is left out. Where a turn was said, by
    whom, and what to remember of it, is no part of it.
    """
    merged: dict[str, Any] = {}
    said = [piece.metadata for piece in pieces]
    for metadata in reversed(dict.fromkeys(reversed(said))):  # where one is said again, its last place counts
        if metadata == "{}":
            continue
        given: dict[str, Any] = redaction.replacing().value(orjson.loads(metadata))
        both = merged | {name: value for name, value in given.items() if name not in _NOT_CARRIED}
        if len(orjson.dumps(both)) <= MAX_CARRIED_BYTES:
            merged = both
    return orjson.dumps(merged) if merged else None
