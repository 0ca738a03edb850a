"""Finds what an agent recalled and put into the prompt: it is known already, and no words of the user's.

The frames are those of the systems that mnemolog replaces, exactly as they write them: PowerMem's message, Evatar's
`## 用户记忆`, Luna's sections. Anything else that looks alike is the user's own.
"""

from __future__ import annotations

import re
from typing import Final

_LISTED: Final = r"- [^\n]*(?:\n[ \t]*- [^\n]*)*\n?"
_MESSAGE: Final = (
    r"(?P<message>Here['’]s what I remember from our past conversations that might be relevant:"
    rf"(?:[ \t]*\n){{1,3}}[ \t]*(?:Memorise:[ \t]*\n[ \t]*)?{_LISTED})"
)
_BLOCK: Final = r"## 用户记忆[ \t]*(?:\n[ \t]*- \[(?:long_term|short_term)\] \[[^\]\n]*\] [^\n]*)+\n?"
_PROFILE: Final = r"=== 🧑\u200d?💼 用户信息 ===[ \t]*(?:\n[ \t]*• (?:姓名|生日|职业|喜好|性格):[^\n]*)+\n?"
_EPISODE: Final = r"• (?:(?!\n\n|\n[ \t]*• ).)*?\(重要性: [^)\n]{1,9}/4\)[ \t]*$"
_EPISODES: Final = rf"=== 💭 相关回忆 ===[ \t]*(?:\n[ \t]*{_EPISODE})+\n?"
_RECALLED: Final = re.compile(rf"^[ \t]*(?:{_MESSAGE}|{_BLOCK}|{_PROFILE}|{_EPISODES})", re.MULTILINE | re.DOTALL)
_CLOSES: Final = re.compile(r"^[ \t]*Now the user is asking:[ \t]*", re.MULTILINE)
_ENDS: Final = re.compile(
    r"^[ \t]*Please respond naturally, as if you['’]re continuing our conversation\.[^\n]*", re.MULTILINE
)


def recalled(text: str) -> list[tuple[int, int]]:
    """Return the stretches (half open, in order) of a turn that were recalled from memory.

    Of PowerMem's message that is everything around the question; without `Now the user is asking:` the list alone.
    """
    stretches, place, asked = list[tuple[int, int]](), 0, -1
    is_closed = True
    while found := _RECALLED.search(text, place):
        place = found.end()
        if found["message"] is not None and is_closed:
            closing = _CLOSES.search(text, place)
            is_closed = closing is not None  # else there is none further on either
            if closing is not None:
                place = asked = closing.end()
        stretches.append((found.start(), place))
    if asked >= 0 and (end := _ENDS.search(text, asked)):
        stretches.append(end.span())
    return sorted(stretches)


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
