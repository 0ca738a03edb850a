"""The tense of the words around a phrase for days: past, future, or recurring."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from functools import cached_property
from typing import TYPE_CHECKING, Final

from projections.dates.english import MONTH

if TYPE_CHECKING:
    from projections.dates.phrases import Tense

_SENTENCE: Final = re.compile(r"[^.!?。！？\n;；]+(?:\.(?=\w)[^.!?。！？\n;；]*)*")
_CLAUSE: Final = re.compile(
    r"[,，、:：]|\s(?=(?:but|and|so|then|because|after|before|when) (?:i|we|he|she|they|it|my|our|the|then|is|are)\b)"
    r"|(?<=[一-鿿])(?:\s|(?=但是?|不过|然后|因为|所以))",
    re.IGNORECASE,
)
_PAST: Final = re.compile(
    r"\b(?:was|were|wasn['’]t|weren['’]t|had|did|didn['’]t|went|(?<!['’]ve )(?<!have )(?<!has )got|came|saw|met|left"
    r"|lost|won|broke|bought|sold|took|gave|made|found|ate|drank|fell|felt|told|said|slept|spent|ran|drove|flew|paid|sent"
    r"|wrote|died|been|began|became|heard|kept|knew|thought|taught|caught|brought|built|grew|held|hurt|quit|rode|sang"
    r"|split|spoken|seen|done|gone|(?:have|has)n['’]t|spoke|stood|swam|threw|wore|woke|froze"
    r"|(?<!place )(?<!band )(?<!bar )(?<!one )called"
    r"|(?:(?:have|has)\s|['’]ve\s)\w{1,20}(?:one|en|un|wn)"
    r"|(?!called|need|sched|plann|book|invit|suppos|exci|tire|bore|worri|interest|marri|scar|regist|signed up for"
    r"|enrol|hundred|bed)\w{2,20}ed)\b"
    r"|(?<!报名)(?<![除为约订定报极])了(?!解|不)|(?<![不超通经难再])过(?![去来年程敏几两段])|刚刚?(?!好)"
    r"|(?<=[走来去领买结搬办做考离分学辞])的(?![时人话地])|才(?=[一-鿿]{1,8}的(?![一-鿿]))",
    re.IGNORECASE,
)
_WILL: Final = re.compile(
    r"\b(?:will|won['’]t|going to|gonna|shall|due|to be|wants?|plans?|would|need|must|hope|can|could|should|might"
    r"|(?<!in )(?<!by )(?<!on )(?<!since )(?<!from )(?<!last )(?-i:may)(?! \d)|let['’]s)\b|['’]ll\b"
    r"|想要?|(?<!重)要(?!求)|(?<![不机社])会(?!议)|打算|准备|约了|[定订]了|计划|将|得去|记得",
    re.IGNORECASE,
)
_PRESENT: Final = re.compile(
    r"\b(?:is|are|am|have|has|i|we|you|he|she|they|my|our)\b|['’](?:m|re|s)\b|[去有见来到开考飞走面试是]", re.IGNORECASE
)
SINCE: Final = re.compile(r"\bsince\s+(?:the\s+)?$|[自从]$", re.IGNORECASE)
_STARTING: Final = re.compile(
    r"\b(?:(?<!to )start|starts|starting|begin(?:s|ning)?|due) (?:(?:on|in|from) )?(?:the )?$"
    r"|(?:moved|pushed|postponed|rescheduled|delayed|shifted)(?: back| forward)? (?:to|until|till|for) $"
    r"|(?:改|推迟|提前|挪|延期|延后|移|调)(?:到|至|成|在)$",
    re.IGNORECASE,
)
_NOW: Final = re.compile(r"\b(?:is|are|am|will)\b|['’](?:m|re|ll)\b", re.IGNORECASE)
_FOR_THEN: Final = re.compile(r"\b(?:from|for|(?<!\d )(?:until|till)) (?:the )?$", re.IGNORECASE)
_ON_TO: Final = re.compile(rf" ?(?:to|until|till|through|[-–—]) ?(?:\d|{MONTH}\b)", re.IGNORECASE)
_FROM_THEN: Final = re.compile(r"份?(?:起|开始|就(?:[去来要能可该得不没有回上走]|入职|报到)[^，,。]{0,20}了)")
_TOLD: Final = re.compile(
    r"\b(?:back then|in those days|as an? (?:kid|child|teen(?:ager)?|student|boy|girl)|growing up"
    r"|when (?:i|we) (?:was|were) (?:an? |in |at |still )?(?:kids?|child(?:ren)?|little|small|young|teen|school|\d\d?)"
    r"|in my (?:early |mid |late )?(?:teens|twenties|thirties|forties|childhood|youth|[2-6]0s))\b"
    r"|那时候?|那会儿|那阵子|那几?年|当年|小时候|小学时|年轻的?时候?|上学时|童年",
    re.IGNORECASE,
)
"""Words that place a story in an undated past: the years of its summers and months are unknown."""
_USUAL: Final = re.compile(
    r"\b(?:every|each|usually|always|often|typically|normally|especially|mostly|mainly)\b"
    r"|每|逢|平时|通常|经常|总是|一般|尤其|都(?!没)",
    re.IGNORECASE,
)
_IS: Final = re.compile(r"\b(?:today is|today['’]s|it['’]?s|it is) (?:a )?$|今天(?:就|又)?是?$", re.IGNORECASE)
"""Precedes a weekday that only says which day today is."""
_YEARLY: Final = re.compile(r"\b(?:birthday|bday|anniversary|born)\b|生日|纪念日|出生", re.IGNORECASE)
_MONTHLY: Final = re.compile(
    r"\b(?:rent|bills?|salary|payday|paid|instal+ments?|mortgage)\b|房租|工资|发薪|还款|还贷|扣款|账单", re.IGNORECASE
)
_LEAD: Final = 80
"""How many characters before a phrase are searched for a word that tells its tense."""


class Context:
    """A text whose sentences and clauses are each examined once, so that many phrases cost little more than one."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._breaks: dict[tuple[int, int], list[tuple[int, int]]] = {}
        self._tenses: dict[tuple[int, int], Tense | None] = {}

    def sentence(self, at: int) -> tuple[int, int]:
        """Return the begin and end of the sentence that contains an offset."""
        index = bisect_right(self._sentences, (at, len(self.text))) - 1
        return self._sentences[index] if index >= 0 else (0, len(self.text))

    def tense(self, begin: int, end: int, unit: str) -> Tense | None:
        """Return the tense of a phrase from the word before it, else from its clause, else from its sentence."""
        sentence, lead = self.sentence(begin), max(0, begin - _LEAD)
        if SINCE.search(self.text, lead, begin):
            return "past"
        if _STARTING.search(self.text, lead, begin):
            return "coming"
        clause = self._clause(begin, end)
        past = max((m.end() for m in _PAST.finditer(self.text, max(lead, clause[0]), begin)), default=begin)
        is_now = _NOW.search(self.text, past, begin)  # the flat that we found is free in May
        tense = "coming" if is_now else self._tense(clause) or self._tense(sentence)
        if unit == "season" and tense == "coming" and not _WILL.search(self.text, *sentence):
            return None  # Rome is lovely in the spring
        return tense

    def is_past(self, begin: int, end: int, *, is_soon: bool) -> bool:
        """Return whether the clause of a phrase, or the sentence that it opens, is in the past: In March, we moved.

        A settled plan that begins at that time does not count: booked from May, 五月起不上夜班了.
        """
        clause, sentence, lead = self._clause(begin, end), self.sentence(begin), max(0, begin - _LEAD)
        is_for = _FOR_THEN.search(self.text, lead, begin) and not _ON_TO.match(self.text, end)
        if is_soon and (is_for or _FROM_THEN.match(self.text, end)):
            return False
        leads = clause[0] == sentence[0] and not self.text[end : clause[1]].strip()
        is_since = SINCE.search(self.text, lead, begin) is not None
        return is_since or self._tense(sentence if leads else clause) == "past"

    def is_told(self, at: int) -> bool:
        """Return whether the words before an offset place it in an undated past: back then, 小时候."""
        return _TOLD.search(self.text, max(self.sentence(at)[0], at - _LEAD), at) is not None

    def comes_back(self, begin: int, end: int, unit: str) -> bool:
        """Return whether the words around a phrase mark it as recurring: usually on Monday, born on May 4."""
        if unit in ("weekday", "weekend"):
            is_usual = _USUAL.search(self.text, *self._clause(begin, end))
            return bool(is_usual or _IS.search(self.text, max(0, begin - _LEAD), begin))
        said = {"number": _MONTHLY, "date": _YEARLY, "month": _YEARLY}.get(unit)
        return said is not None and said.search(self.text, *self.sentence(begin)) is not None

    @cached_property
    def _sentences(self) -> list[tuple[int, int]]:
        return [m.span() for m in _SENTENCE.finditer(self.text)]

    def _clause(self, begin: int, end: int) -> tuple[int, int]:
        sentence = first, last = self.sentence(begin)
        if sentence not in self._breaks:
            parted = (m.span() for m in _CLAUSE.finditer(self.text, first, last))
            self._breaks[sentence] = [(first, first), *parted, (last, last)]
        breaks, end = self._breaks[sentence], min(end, last)  # a month's full stop may end its sentence
        return breaks[bisect_right(breaks, (begin, begin)) - 1][1], breaks[bisect_left(breaks, (end, end))][0]

    def _tense(self, of: tuple[int, int]) -> Tense | None:
        if of not in self._tenses:
            is_past, will = _PAST.search(self.text, *of), _WILL.search(self.text, *of)
            is_coming = will or (not is_past and _PRESENT.search(self.text, *of))
            self._tenses[of] = None if is_past and will else "past" if is_past else "coming" if is_coming else None
        return self._tenses[of]
