"""The key dialogue of an episode that is told again and again: what was said first stays, as much as fits."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import orjson

from schemas.messages.envelope import Sealed

if TYPE_CHECKING:
    from collections.abc import Iterable

MOST_LINES: Final = 50
MOST_BYTES: Final = 16 * 1024
"""As JSON: a decision writes the whole dialogue for each merge, and must not become larger than the log takes."""


def united(before: tuple[str, ...], spoken: Iterable[str]) -> Sealed | None:
    """Return the dialogue with what is new added, as a message carries it; None where nothing is added.

    What is there stays, however long; a line that does not fit is left out.
    """
    lines = list(dict.fromkeys(before))
    size = len(orjson.dumps(lines))
    for line in spoken:
        more = len(orjson.dumps(line)) + 1
        if line not in lines and len(lines) < MOST_LINES and size + more <= MOST_BYTES:
            lines.append(line)
            size += more
    return Sealed.clear(orjson.dumps(lines)) if len(lines) > len(set(before)) else None
