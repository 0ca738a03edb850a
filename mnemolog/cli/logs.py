"""Logging to stderr: text for a person, or JSON lines for a machine; libraries that repeat themselves are throttled."""

from __future__ import annotations

import logging
import re
import sys
import time
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

import orjson

from projections.log_limit import LogLimit
from schemas.disclosure import trace

if TYPE_CHECKING:
    from collections.abc import Callable

QUIET: Final = (
    *("faust", "mode", "aiokafka", "uvicorn", "openai", "asyncio", "streams.transports"),
    *("httpx", "httpx2", "httpcore", "httpcore2", "mcp"),
)
"""Libraries of which only warnings are shown."""


class Lines(logging.Formatter):
    """Formats records as text. A traceback shows places, without the messages, which may quote a user's words."""

    def __init__(self) -> None:
        super().__init__("%(asctime)s %(levelname)s %(name)s: %(message)s")

    def formatException(self, ei: Any) -> str:  # noqa: ANN401, N802 - logging's own
        """Return the traceback of an error."""
        return trace(ei[1]) if ei[1] is not None else ""


class JsonLines(Lines):
    """Formats records as one JSON object a line: time, level, logger, message, and the traceback if there is one."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line."""
        line = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        if record.exc_info:
            line["traceback"] = self.formatException(record.exc_info)
        return orjson.dumps(line).decode()


def start_logging(level: str, form: str) -> None:
    """Log to stderr from now on; `level` and `form` are LOG_LEVEL and LOG_FORMAT."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines() if form == "json" else Lines())
    handler.addFilter(OncePerMinute())
    logging.basicConfig(level=level.upper(), handlers=[handler], force=True)
    logging.getLogger("mode.timers").setLevel(logging.ERROR)  # it warns of every timer that a busy machine delays
    logging.getLogger("opentelemetry.trace").setLevel(logging.ERROR)  # it quotes the tracestate of any request
    for name in QUIET:
        logging.getLogger(name).setLevel(max(logging.WARNING, logging.getLevelName(level.upper())))


TALKATIVE: Final = ("aiokafka", "faust", "mode")
"""Libraries that retry several times a second, and log each attempt."""
_BROKER: Final = re.compile(r"(?<![\w.-])[\w.-]+:\d{2,5}\b|\bnode\w* (?:with id )?\[?([\w-]+)")


class OncePerMinute:
    """A filter for a handler: one line a minute for each broker, or for each message that names none."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        """`clock` returns seconds."""
        self._clock = clock
        self._limits: dict[str, LogLimit] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        """Return whether to log a record; a record that is logged mentions how many were dropped since the last."""
        if record.name.partition(".")[0] not in TALKATIVE:
            return True
        about = _about(record)
        if about not in self._limits:
            self._limits[about] = LogLimit(clock=self._clock)
        held_back = self._limits[about].admit()
        if held_back:
            text = f"{record.getMessage()} (and {held_back} more about this in the last minute)"
            record.msg, record.args = text, ()
        return held_back is not None


def _about(record: logging.LogRecord) -> str:
    found = _BROKER.search(record.getMessage())
    return (found[1] or found[0]) if found else f"{record.name} {record.msg}"
