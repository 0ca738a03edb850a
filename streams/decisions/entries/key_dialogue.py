"""The key dialogue of an episode that is reported again: new lines join the first ones, as many as fit."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import orjson

from schemas.messages.envelope import Sealed

if TYPE_CHECKING:
    from collections.abc import Iterable

MOST_LINES: Final = 50
MOST_BYTES: Final = 16 * 1024
"""The most bytes as JSON. Each merge writes the whole dialogue into a decision, which must fit into a record."""


def united(before: tuple[str, ...], spoken: Iterable[str]) -> Sealed | None:
    """Return the dialogue with new lines added, sealed for a message; None if no line is added.

    The old lines stay, however long; a new line that does not fit is left out.
    """
    lines = list(dict.fromkeys(before))
    size = len(orjson.dumps(lines))
    for line in spoken:
        more = len(orjson.dumps(line)) + 1
        if line not in lines and len(lines) < MOST_LINES and size + more <= MOST_BYTES:
            lines.append(line)
            size += more
    return Sealed.clear(orjson.dumps(lines)) if len(lines) > len(set(before)) else None
