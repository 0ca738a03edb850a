"""Recalled text: memories that an agent put into the prompt. They are known already, and are not the user's words.

The frames are exactly those of the systems that mnemolog replaces: PowerMem's message, Evatar's `## 用户记忆`, Luna's
sections. Any other text, however similar, is the user's own.
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


def recalled_spans(text: str) -> list[tuple[int, int]]:
    """Return the spans (half open, in order) of a turn's text that were recalled from memory.

    In PowerMem's message, all but the question was recalled; without `Now the user is asking:`, only the list was.
    """
    spans: list[tuple[int, int]] = []
    place = 0
    question = -1
    may_close = True
    while frame := _RECALLED.search(text, place):
        place = frame.end()
        if frame["message"] is not None and may_close:
            closing = _CLOSES.search(text, place)
            may_close = closing is not None  # if there is none from here on, there is none further on
            if closing is not None:
                place = question = closing.end()
        spans.append((frame.start(), place))
    if question >= 0 and (end := _ENDS.search(text, question)):
        spans.append(end.span())
    return sorted(spans)


def without_recalled(texts: list[str]) -> list[str]:
    """Return the texts of a turn's pieces without what was recalled; "" for a piece that was recalled as a whole.

    A frame may go on from one piece to the next: the pieces are read as one text.
    """
    spans = recalled_spans("".join(texts))
    remaining: list[str] = []
    begin = 0
    for text in texts:
        kept = ""
        place = begin
        end = begin + len(text)
        for first, last in spans:
            kept += text[place - begin : max(place, min(first, end)) - begin]
            place = max(place, min(last, end))
        remaining.append(kept + text[place - begin :])
        begin = end
    return remaining
