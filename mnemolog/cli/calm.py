"""What libraries say again and again while a broker is away: once a minute for each, and how often it was said."""

from __future__ import annotations

import re
import time
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    import logging
    from collections.abc import Callable

TALKATIVE: Final = ("aiokafka", "faust", "mode")
"""They try again several times a second, and say so each time."""
PAUSE_SECONDS: Final = 60.0
_BROKER: Final = re.compile(r"[\w.-]+:\d{2,5}\b|\bnode\w* (?:with id )?\[?([\w-]+)")


class OncePerMinute:
    """A filter for a handler. A line that names no broker counts as itself, whatever its arguments."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        """`clock` tells seconds."""
        self._clock = clock
        self._said: dict[str, tuple[float, int]] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        """Tell whether a record is to be said; one that is says how many were not since the last."""
        if record.name.partition(".")[0] not in TALKATIVE:
            return True
        about = _about(record)
        now = self._clock()
        last, unsaid = self._said.get(about, (now - PAUSE_SECONDS, 0))
        if now - last < PAUSE_SECONDS:
            self._said[about] = (last, unsaid + 1)
            return False
        self._said[about] = (now, 0)
        if unsaid:
            record.msg, record.args = f"{record.getMessage()} (and {unsaid} more about this in the last minute)", ()
        return True


def _about(record: logging.LogRecord) -> str:
    found = _BROKER.search(record.getMessage())
    return (found[1] or found[0]) if found else f"{record.name} {record.msg}"
