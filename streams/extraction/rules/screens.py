"""Screens and articles: they have no speaker, so only lines with a label or a certain form are read.

A line is kept word for word if it is a labelled name or company, an amount that is owed or paid, a dated event that
lies ahead, or a labelled project. What follows `Contact:` must look like a name. No rule keeps a line that gives orders
to an assistant: the author of a screen is not the user.
"""

from __future__ import annotations

import re
import unicodedata
from typing import TYPE_CHECKING, Final

from projections.dates.cues import day_ahead
from schemas.visible_text import visible
from streams.extraction.rules.cues import cues_beside
from streams.extraction.rules.finding import Finding

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator
    from datetime import date

    from schemas.vocabulary.words import MemoryType

_CUES: Final = cues_beside(__file__)
_CLOCK: Final = re.compile(r"\d{0,2}(?::\d\d)?(?: ?[AaPp][Mm])?")
_HAN = re.compile(r"[一-鿿]")
_NAME = re.compile(r"[(\"“#]?\w[\w'’.&+·•@/\-]*[)\"”]?|[&+\-–|·]|\+[\d\-]+|<[\w.+\-]+@[\w.\-]+>")
"""A word of a name, or what may accompany one: a telephone number, an address, a mark between two names."""
_HAN_NAME = re.compile(r"[\w\s·•&.、（）()+\-]+")
_PARTICLE = re.compile(r"al?|and|at|bin|d[aeiou]|de[lrs]|dos|e|el|for|ibn|in|l[ae]|of|on|the|und|van|von|y")

LONGEST_LINE: Final = 200
"""The most characters of a line. Longer lines are running text, whose claims are not known."""
LONGEST_PART: Final = 500
"""The most characters of lines that are kept together."""
_BUTTONS: Final = (
    "back next ok cancel done skip save edit close more menu home share search settings login log in sign up help send"
    " open view all on off yes no add delete start stop continue submit"
    " 返回 取消 确定 完成 分享 更多 首页 设置 搜索 登录 我的 保存"
)
_CHROME: Final = frozenset(_BUTTONS.split())
"""The words on buttons and bars."""
MOST_NAME_WORDS: Final = 6
"""The most words of a person's or company's name, with a title or a legal form."""
MOST_NAME_HAN: Final = 24
"""The most characters of a name written in Han: the longest company names have about twenty."""

FEW_WORDS: Final = 3
"""A name of at most this many words may be in lower case, as some screens write it."""
DROPPED: Final = "a line gives orders, or stands where a name should"
"""The reason why a line is left out. It never quotes the line, which is personal."""


def read_screen(text: str, today: date, dropped: Callable[[str], None] = lambda _: None) -> Iterator[Finding]:
    """Yield what a screen or an article shows; nothing when in doubt. `today` is the day on which it was seen.

    `dropped` gets the reason for each line that a rule would keep if it gave no orders, and if its name looked like
    one.
    """
    for raw in text.splitlines():
        line = " ".join(visible(raw).split())
        if not line or len(line) > LONGEST_LINE or _CUES["advert"].search(line):
            continue
        for finding in _read_line(line, today):
            named = _CUES["person"].match(line) if finding.category == "people" else None
            if gives_orders(line) or (named and not looks_like_name(named["what"])):
                dropped(DROPPED)
            else:
                yield finding


def looks_like_name(text: str) -> bool:
    """Return whether a text can be the name of a person or company: few words, and none that asks for something."""
    if _CUES["no_name"].search(text):
        return False
    if _HAN.search(text):
        return len("".join(text.split())) <= MOST_NAME_HAN and _HAN_NAME.fullmatch(text) is not None
    words = text.replace(",", " ").split()
    if len(words) > MOST_NAME_WORDS or not all(map(_NAME.fullmatch, words)):
        return False
    small = (word for word in words if word.islower() and not _PARTICLE.fullmatch(word))
    return len(words) <= FEW_WORDS or not any(small)


def gives_orders(line: str) -> bool:
    """Return whether a line speaks to an assistant, or asks for what only an assistant would do."""
    return _CUES["order"].search(unicodedata.normalize("NFKC", line)) is not None


def _read_line(line: str, today: date) -> Iterator[Finding]:
    when = day_ahead(line, today)
    if _CUES["person"].match(line):
        yield Finding(content=line, category="people")
    elif _CUES["project"].match(line):
        yield Finding(content=line, category="project")
    elif when and when.first >= today and _CUES["event"].search(line):
        term: MemoryType = "short_term" if when.first == today else "long_term"  # a short-term memory outlives it
        yield Finding(content=line, category="schedule", memory_type=term, occurred_on=when.first)
    elif _CUES["money"].search(line) and _CUES["owed"].search(line):
        yield Finding(content=line, category="finance")


def shown_together(text: str, known: Collection[str]) -> Iterator[str]:
    """Yield the lines of substance of a screen, in parts of at most LONGEST_PART characters, without `known` lines.

    A line of substance is no button or clock, no labelled person, and no order to an assistant.
    """
    part = ""
    for raw in text.splitlines():
        line = " ".join(visible(raw).split())
        while line:
            cut = (
                line
                if len(line) <= LONGEST_PART
                else line[: line.rfind(" ", 0, LONGEST_PART) + 1] or line[:LONGEST_PART]
            )
            line = line[len(cut) :]
            if cut.strip() in known or not _is_substance(cut) or gives_orders(cut) or _CUES["person"].match(cut):
                continue
            if part and len(part) + len(cut) > LONGEST_PART:
                yield part
                part = ""
            part = f"{part} · {cut.strip()}" if part else cut.strip()
    if part:
        yield part


def _is_substance(line: str) -> bool:
    """Return whether a line says more than buttons and clocks do."""
    words = line.casefold().split()
    return not _CLOCK.fullmatch(line.strip()) and any(map(str.isalnum, line)) and not _CHROME.issuperset(words)
