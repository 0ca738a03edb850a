"""Time phrases in two positions: "In the morning he runs" and "He runs in the morning", 周末我 and 我周末.

A phrase is moved only if its position does not affect the meaning: the statement is short and has one verb to which
the phrase can belong. "In the morning he only drinks tea", "On Sunday he decided to run" and "Every day he does not
run" mean something else with the phrase at the end.
"""

from __future__ import annotations

import re
from typing import Final

from streams.decisions.duplicates.english import NEGATIONS, words

_WEEKDAY = r"(?:mon|tues|wednes|thurs|fri|satur|sun)day"
_PART = r"(?:morning|afternoon|evening|night)"
_SEASON = r"(?:spring|summer|autumn|fall|winter)"
_MONTH = r"(?:january|february|march|april|may|june|july|august|september|october|november|december)"
_DATE = rf"(?:{_MONTH} \d{{1,2}}(?: (?:st|nd|rd|th))?|\d{{1,2}}(?: (?:st|nd|rd|th))?(?: of)? {_MONTH})(?: \d{{4}})?"
_PHRASE = re.compile(
    rf"(?:in|during) the (?:early |late )?(?:{_PART}s?|{_SEASON})"
    rf"|in (?:the )?{_SEASON}|in {_MONTH}(?: \d{{4}})?|in \d{{4}}"
    r"|at (?:night|noon|midnight|dawn|weekends|the weekend|lunchtime)"
    rf"|on (?:weekends|weekdays|the weekend|{_WEEKDAY}s?(?: {_PART}s?)?|{_DATE}|\d{{4}}-\d\d-\d\d)"
    rf"|(?:every|each) (?:other )?(?:day|week|month|year|weekend|{_PART}|{_WEEKDAY}(?: {_PART})?|{_SEASON}|{_MONTH})"
    rf"|(?:this|next|last) (?:week|month|year|weekend|{_WEEKDAY}(?: {_PART})?|{_SEASON}|{_MONTH})"
    rf"|this {_PART}|last night|tonight|nowadays|these days"
    rf"|(?:today|tomorrow|yesterday)(?: {_PART})?"
    r"|(?:before|after) (?:breakfast|lunch|dinner|supper|work|school|bed)"
    r"|\d{1,2} (?:days|weeks|months|years) ago"
)
_LONGEST: Final = 6
"""The most units of a phrase: "on the 3rd of May 2023" without its article."""

_MOST_UNITS: Final = 14
"""The most units of a statement in which a phrase is moved; longer ones may have several verbs or nouns for it."""


_SUBJECTS: Final = words("i we he she it they you the my his her our their user")
_OTHER_VERBS: Final = frozenset(
    f"{stem}{end}"
    for stem in words(
        "want decide plan promise agree hope try ask tell say think know remember forget learn hear see announce expect"
        " intend need offer refuse suggest mention believe claim wish order book arrange schedule seem fail help let"
        " make told said thought knew remembered forgot learnt heard saw meant made"
    )
    for end in ("", "s", "d", "ed", "ned")
)
_BLOCKING: Final = (
    NEGATIONS
    | _OTHER_VERBS
    | words("only just even almost ever still already yet mostly mainly usually often sometimes also")
    | words("that which who whom whose what if when while because so but and or than as until till since though")
    | words("although about of from between ? :")
)
"""Words with which a phrase at the end may belong to something else than at the front."""

_LIKING: Final = words(
    "like likes liked love loves loved hate hates hated dislike dislikes enjoy enjoys enjoyed prefer prefers"
)
_BEFORE_ING: Final = _LIKING | words("go goes went start starts started am is are was were be")
_DETERMINERS: Final = words("the a an my his her our their your this")

_CLOCK_TIME = r"(?:早上|早晨|清晨|上午|中午|下午|傍晚|晚上|夜里|深夜|凌晨)"
_CHINESE_WEEKDAY = r"(?:周|星期|礼拜)[一二三四五六日天]"
_CHINESE_DATE = r"(?:\d{4}年)?\d{1,2}月(?:\d{1,2}[日号])?|\d{4}年"
_CHINESE_PHRASE = (
    rf"(?:在)?(?:(?:每个?|平时的?|工作日的?)?周末(?:的?{_CLOCK_TIME})?"
    rf"|每(?:天|日|周|个?星期|个?月|年|晚|早)(?:的?{_CLOCK_TIME})?"
    rf"|(?:每个?|上个?|下个?|这个?)?{_CHINESE_WEEKDAY}(?:的?{_CLOCK_TIME})?"
    rf"|(?:前天|昨天|今天|明天|后天)(?:的?{_CLOCK_TIME})?|(?:昨|今|明)晚"
    rf"|(?:上|下|这)(?:周|个?星期|个?月|个?周末)|(?:去|今|明|前)年(?:[春夏秋冬]天)?|[春夏秋冬]天"
    rf"|{_CHINESE_DATE}|{_CLOCK_TIME})(?:的时候|时)?"
)
_CHINESE_SUBJECT = r"(?:用户|我们|咱们|他们|她们|你们|大家|我|你|他|她)"
_FRONTED = re.compile(rf"^(?:在)?({_CHINESE_PHRASE}) ?,? ?({_CHINESE_SUBJECT})(?![的们之])")
_PLACED = re.compile(rf"^({_CHINESE_SUBJECT})在({_CHINESE_PHRASE})(?![的里])")


def with_phrase_last(clauses: list[list[str]]) -> list[list[str]]:
    """Return the clauses of an English statement with its opening time phrase moved to the end.

    They are unchanged without such a phrase, with further clauses, or if the phrase may belong to something else.
    """
    match [clause for clause in clauses if clause]:
        case [units]:
            length = _phrase_length([unit.casefold() for unit in units[: _LONGEST + 1]])
            phrase, rest = units[:length], units[length:]
        case [phrase, rest] if _PHRASE.fullmatch(" ".join(phrase).casefold()):
            pass
        case _:
            return clauses
    if not phrase or not rest or not _may_move(rest):
        return clauses
    return [[*rest, *phrase]]


def with_phrase_behind_subject(text: str) -> str:
    """Return a Chinese statement with its opening time phrase moved after the subject, as 我周末 for 周末我."""
    if text.isascii():
        return text
    moved = _FRONTED.sub(lambda match: f"{match[2]}{match[1].removeprefix('在')}", text)
    return _PLACED.sub(r"\1\2", moved)


def _phrase_length(folded: list[str]) -> int:
    for length in range(min(_LONGEST, len(folded)), 0, -1):
        if _PHRASE.fullmatch(" ".join(folded[:length])):
            return length
    return 0


def _may_move(rest: list[str]) -> bool:
    folded = [unit.casefold() for unit in rest]
    if len(rest) > _MOST_UNITS or not (folded[0] in _SUBJECTS or rest[0][0].isupper()):
        return False
    if not _BLOCKING.isdisjoint(folded) or _phrase_length(folded[-1:]) or folded[0] == "s":
        return False
    for before, word, after in zip(["", *folded], folded, [*rest[1:], ""], strict=False):
        if word == "to" and not (before in _LIKING or after.casefold() in _DETERMINERS or after[:1].isupper()):
            return False
        if word.endswith("ing") and len(word) > len("thing") and before not in _BEFORE_ING:
            return False
    return True
