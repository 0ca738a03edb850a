"""What a process logs, and how: lines of text for a person, or JSON for a machine, to stderr."""

from __future__ import annotations

import logging
import sys
from datetime import UTC, datetime
from typing import Final

import orjson

from mnemolog.cli.calm import OncePerMinute

QUIET: Final = (
    *("faust", "mode", "aiokafka", "uvicorn", "openai", "asyncio", "streams.transports"),
    *("httpx", "httpx2", "httpcore", "httpcore2", "mcp"),
)
"""Libraries whose warnings count, and whose news is nobody's."""


class JsonLines(logging.Formatter):
    """One JSON object a line: time, level, logger, message, and the traceback if there is one."""

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
    text = logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s")
    handler.setFormatter(JsonLines() if form == "json" else text)
    handler.addFilter(OncePerMinute())
    logging.basicConfig(level=level.upper(), handlers=[handler], force=True)
    logging.getLogger("mode.timers").setLevel(logging.ERROR)  # it warns of every timer that a busy machine delays
    for name in QUIET:
        logging.getLogger(name).setLevel(max(logging.WARNING, logging.getLevelName(level.upper())))
