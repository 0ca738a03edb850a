"""English phrases for days, as rows of a pattern and the function that reads its groups."""

from __future__ import annotations

import re
from typing import Final

from projections.dates.numerals import COUNT, MANY
from projections.dates.phrases import Phrase, counted_from, day_of, months_of, period, range_of, said, weekday, year_of

MONTH: Final = (
    r"(?P<m>jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?"
    r"|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)(?:\.(?= ?\d))?"
)
YEAR: Final = r"(?P<y>(?:19|20)\d\d)"
_ORDINAL: Final = r"(?P<d>\d{1,2})(?:st|nd|rd|th)"
_DAY: Final = rf"{_ORDINAL}?"
_WEEKDAY: Final = r"(?P<w>mon|tues?|wed(?:nes)?|thu(?:rs)?|fri|sat(?:ur)?|sun)(?:day)?"
_FULL_WEEKDAY: Final = r"(?P<w>mon|tues|wednes|thurs|fri|satur|sun)day"
_HOURS: Final = r"(?: (?:early |late )?(?:morning|afternoon|evening|night|noon|lunchtime))?"
_ON: Final = r"(?:(?:on|by|until|till|before|since|from|after|for) )"
_SEASON: Final = r"(?P<s>spring|summer|autumn|fall|winter)"
_UNIT: Final = r"(?P<unit>day|week|fortnight|month|year)s?"
_PERIOD: Final = r"(?P<unit>week|weekend|month|quarter|year)"
_END: Final = (
    r"(?=\s*(?:[,.;:!?)(]|$)"
    r"|\s+(?:at|in|and|but|or|so|if|i|we|he|she|they|it|my|our|for|to|because|from|with|is|was)\b)"
)
"""What follows "on the 3rd" when it is a day and not a floor, a birthday or an attempt."""
_PART: Final = r"(?:the )?(?P<part>early|mid|late|(?:beginning|start|middle|end)(?= of))(?: of)?"
_NEAR: Final = "(?P<rel>last|next|this)"
_IN: Final = "in|during|since|until|till|before|after|by|from"
_NOT_OF: Final = rf"(?! of\b| in {MONTH.replace('?P<m>', '?:')}\b)"
"""Excludes a following month: "last week in May" is not the week before this one."""
_DATED: Final = rf"(?:{_FULL_WEEKDAY.replace('?P<w>', '?:')},? (?:the )?)?"
_ROWS: Final = (
    (rf"(?P<y>(?:19|20)\d\d)[-/.](?P<m>\d{{1,2}})[-/.]{_DAY}", day_of),
    (rf"{_DATED}{_DAY} (?:of )?{MONTH}(?:,? {YEAR}\b)?", day_of),
    (rf"{_DATED}{MONTH} (?:the )?{_DAY}(?!:|\s?[ap]\.?m\b|,? years?\b)(?:,? {YEAR}\b)?", day_of),
    (rf"(?:{_PART}[ -])?{MONTH},? (?:of )?(?:{YEAR}|(?P<yr>(?:last|this|next) year))", months_of),
    (rf"(?!this (?-i:may)\b)(?:{_NEAR}|{_IN}) (?:{_PART}[ -])?{MONTH}(?! ?\d)", months_of),
    (rf"{_PART}[ -]{MONTH}(?! ?\d)", months_of),
    (r"(?P<said>(?:the )?day (?:before yesterday|after tomorrow)|the night before last)", said),
    (r"(?P<said>last night|tonight|this (?:morning|afternoon|evening))", said),
    (rf"(?P<said>yesterday|today|tomorrow)(?! never\b){_HOURS}", said),
    (rf"(?P<rel>(?:the )?coming|this past|this coming|past|last|this|next) {_WEEKDAY}{_HOURS}{_NOT_OF}", weekday),
    (rf"{_ON}{_WEEKDAY}{_HOURS}", weekday),
    (rf"{_FULL_WEEKDAY}{_HOURS}", weekday),
    (rf"(?:(?:on )?the )?{_FULL_WEEKDAY}{_HOURS} (?P<rel>after next|before last)", weekday),
    (rf"(?:on )?{_FULL_WEEKDAY}{_HOURS} (?:of )?the week (?P<week>after next|before last)", weekday),
    (rf"(?:on )?{_FULL_WEEKDAY}{_HOURS} (?:of )?(?P<week>last|this|next) week", weekday),
    (rf"(?P<week>last|this|next) week,? (?:on )?{_FULL_WEEKDAY}{_HOURS}", weekday),
    (rf"(?P<n>{COUNT}) weeks? (?P<way>from|on) (?:this )?{_FULL_WEEKDAY}", counted_from),
    (rf"{_FULL_WEEKDAY} (?P<way>week)", counted_from),
    (rf"(?P<n>{COUNT}) {_UNIT} (?P<way>from|after) (?P<said>today|tomorrow|yesterday)", counted_from),
    (rf"(?P<rel>this past|this coming|last|past|this|next) {_PERIOD}{_NOT_OF}", period),
    (r"the (?P<unit>week|weekend|month|year) (?P<rel>before last|after next)", period),
    (r"the (?P<rel>coming) (?P<unit>week|weekend|month|year)", period),
    (r"(?:at|over|on|during|for|by) the (?P<unit>weekend)", period),
    (rf"(?P<n>{COUNT})(?P<half> and a half)? {_UNIT} (?P<way>ago|from now|from today)", counted_from),
    (rf"(?P<n>an?) {_UNIT}(?P<half> and a half) (?P<way>ago|from now)", counted_from),
    (rf"(?P<half>half a) {_UNIT} (?P<way>ago|from now)", counted_from),
    (rf"in (?:about )?(?P<n>{COUNT}) {_UNIT}['’]?s?(?: time)?(?! (?:of|working|living|as an?)\b)", counted_from),
    (rf"in (?P<half>half a) {_UNIT}(?:'s time)?(?! of\b)", counted_from),
    (rf"(?:the |these )?(?P<way>last|past|next|coming) (?P<n>{MANY}) {_UNIT}", range_of),
    (rf"(?:the|these) (?P<way>last|past) {_UNIT}", range_of),
    (r"(?:the )?(?P<part>beginning|start|middle|end) of (?P<rel>the|this|next|last) (?P<unit>week|month|year)", period),
    (r"(?P<part>early|late) (?P<rel>this|next|last) (?P<unit>week|month|year)", period),
    (rf"(?:the )?{_ORDINAL} of (?P<rel>last|this|next) month", day_of),
    (rf"(?P<rel>last|this|next) month,? on the {_DAY}", day_of),
    (rf"(?:on|by|until|since|before|after) the {_ORDINAL}{_END}", day_of),
    (rf"{_SEASON},? (?:of |in )?(?:{YEAR}|(?P<yr>(?:last|this|next) year))", months_of),
    (rf"(?:(?P<rel>last|past|this|next)|(?:{_IN})(?: the)?) {_SEASON}(?! \d)", months_of),
    (rf"(?:of|{_IN}) {YEAR}", year_of),
)
_BEGIN: Final = r"(?<![\w@#/_-])(?<!\w\.)"
ENGLISH: Final[tuple[Phrase, ...]] = tuple(
    (re.compile(rf"{_BEGIN}(?:{pattern})(?:['’]s\b)?(?![\w]|[-_/@]\w|\.\w)", re.IGNORECASE), read)
    for pattern, read in _ROWS
)
ENGLISH_DATES: Final = ENGLISH[:3]
"""The rows for a day of a month, with or without a year."""
