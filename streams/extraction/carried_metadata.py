"""The metadata that a memory takes over from the pieces that it cites."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import orjson

from schemas.messages.observations import FORMER_INSTRUCTIONS, TIMEZONE, USER_NAME

if TYPE_CHECKING:
    from collections.abc import Iterable

    from schemas.redaction import Redaction
    from streams.extraction.protocol import Piece

MAX_CARRIED_BYTES: Final = 8 * 1024
"""The most bytes of one memory's metadata, as JSON. An answer has many memories, and must fit into one record."""
_NOT_CARRIED: Final = (TIMEZONE, FORMER_INSTRUCTIONS, USER_NAME)


def carried_metadata(pieces: Iterable[Piece], redaction: Redaction) -> bytes | None:
    """Return the metadata of the pieces that a memory cites as one JSON object, None where there are none.

    Of two members with the same name the later one counts. Metadata that would make the object too long are left out.
    Time zone, user name and instructions are never carried.
    """
    merged: dict[str, Any] = {}
    said = [piece.metadata for piece in pieces]
    for metadata in reversed(dict.fromkeys(reversed(said))):  # of equal ones the last counts
        if metadata == "{}":
            continue
        given: dict[str, Any] = redaction.replacing().value(orjson.loads(metadata))
        both = merged | {name: value for name, value in given.items() if name not in _NOT_CARRIED}
        if len(orjson.dumps(both)) <= MAX_CARRIED_BYTES:
            merged = both
    return orjson.dumps(merged) if merged else None
