"""Tense: whether a statement is about the past, and whether one outside a slot tells the user's work or home."""

from __future__ import annotations

import re
from typing import Final

from projections.text.analyser import fold

_PAST: Final = re.compile(
    r"\b(?:used to|formerly|previously|former|no longer|in the past|years ago)\b"
    r"|^(?:in \d{4},? )?(?:the )?user (?:once )?(?:lived|worked|resided|was)\b"
    r"|以前|(?<![一二三四五六日天号年月点])之前|曾(?=[经在是任住做当])|过去|从前|原来|原先|小时候|年轻时|不再"
)
_USER: Final = r"^(?:in \d{4},? )?(?:the )?user (?:now |currently |still |also |used to |formerly |previously |once )*"
_ZH_USER: Final = r"^(?:\d{4}年)?用户(?:现在|目前|如今|以前|之前|曾经|曾|过去|从前|原来|原先)*"
_WORK: Final = re.compile(
    rf"{_USER}(?:works?|worked|working) (?:at|for|in|as|with)\b|{_ZH_USER}在.{{1,20}}(?:工作|上班|任职|就职)"
)
_HOME: Final = re.compile(rf"{_USER}(?:lives?|lived|living|resides?|resided) in\b|{_ZH_USER}(?:居住|定居|住)(?:在|过)?")
_TELLS: Final = {"employer": _WORK, "occupation": _WORK, "city": _HOME}


def is_past(content: str) -> bool:
    """Return whether a statement is about something that was true and no longer is."""
    return _PAST.search(fold(content)) is not None


def tells(content: str, attribute: str) -> bool:
    """Return whether a statement tells the user's present or past work (employer, occupation) or home (city)."""
    pattern = _TELLS.get(attribute)
    return pattern is not None and pattern.search(fold(content)) is not None
