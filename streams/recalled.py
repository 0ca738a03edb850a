"""Finds what an agent recalled and put into the prompt: it is known already, and no words of the user's.

The frames are those of the systems that mnemolog replaces: PowerMem's message and its `Memorise:`, Evatar's
`## 用户记忆`, Luna's sections.
"""

from __future__ import annotations

import re
from typing import Final

_MESSAGE: Final = (
    r"^[ \t]*Here['’]s what I remember from our past conversations\b"
    r"(?:(?!Now the user is asking:).)*(?:Now the user is asking:[ \t]*|\Z)"
)
_ENDING: Final = r"^[ \t]*Please respond naturally, as if you['’]re continuing our conversation\.(?:(?!\n\n).)*"
_LISTED: Final = r"^[ \t]*(?:Memorise:|## 用户记忆)[ \t]*(?:\n+[ \t]*- [^\n]*)*\n?"
_SECTION: Final = r"^[ \t]*=== [^\n]*(?:用户信息|相关回忆)[ \t]*===[ \t]*(?:\n+[ \t]*• [^\n]*)*\n?"
_RECALLED: Final = re.compile(rf"{_MESSAGE}|{_LISTED}|{_SECTION}", re.MULTILINE | re.DOTALL)
_ENDS: Final = re.compile(_ENDING, re.MULTILINE | re.DOTALL)


def recalled(text: str) -> list[tuple[int, int]]:
    """Return the stretches (half open, in order) of a turn that were recalled from memory."""
    stretches = [match.span() for match in _RECALLED.finditer(text)]
    if stretches and (end := _ENDS.search(text, stretches[-1][1])):
        stretches.append(end.span())
    return stretches


def without_recalled(texts: list[str]) -> list[str]:
    """Return the texts of a turn's pieces, which together are its text, without what was recalled; "" where all was."""
    stretches, begin, left = recalled("".join(texts)), 0, list[str]()
    for text in texts:
        kept, place, end = "", begin, begin + len(text)
        for first, last in stretches:
            kept += text[place - begin : max(place, min(first, end)) - begin]
            place = max(place, min(last, end))
        left.append(kept + text[place - begin :])
        begin = end
    return left
