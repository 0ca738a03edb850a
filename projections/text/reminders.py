"""The wording of requests to be reminded and of bare questions, which state nothing about the user."""

from __future__ import annotations

import re
from typing import Final

_ASKED: Final = re.compile(
    r"\bremind me\b(?! of\b)|\b(?:set|create|add|make|schedule) (?:me )?(?:an? |another )?(?:new )?reminder\b"
    r"|提醒(?:一?下)?我|(?:设|设置|设定|加|定|创建)(?:一?个)?提醒",
    re.IGNORECASE,
)


_ONLY_ASKS: Final = re.compile(r"[^.!。！\n?？]{1,300}[?？]\W{0,9}")


def only_asks(text: str) -> bool:
    """Return whether a text is a single question and nothing else."""
    return _ONLY_ASKS.fullmatch(text.strip()) is not None


def asks_for_reminder(text: str) -> bool:
    """Return whether a text asks to be reminded, as "remind me to call Ann tomorrow" or 明天提醒我开会 does."""
    return _ASKED.search(text) is not None
