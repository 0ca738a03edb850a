"""Spoken dates, resolved against the day on which they were said; None where that would take a guess.

The day is that of the observation's effective time by its speaker's clock (`schemas/inputs/zone.py`). A month and day
without a year mean the next such day; `下周三` and `next Wednesday` both mean the week after the present one (from
Monday), `周三` and `on Wednesday` the next Wednesday from today on, or that of the week after where `下周` or
`next week` stands apart from it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date, timedelta
from typing import TYPE_CHECKING, Final, TypeAlias

from streams.extraction.rules.numbers import NUMERAL, number

if TYPE_CHECKING:
    from collections.abc import Callable

_Readers: TypeAlias = "tuple[tuple[re.Pattern[str], Callable[[re.Match[str], date], date | None]], ...]"


@dataclass(frozen=True, slots=True)
class Dated:
    """A date in a text, and the span (half open) of its words; `last` is the last of several days."""

    day: date
    start: int
    end: int
    last: date | None = None

    @property
    def written(self) -> str:
        """The day or the days in ISO 8601: `2026-11-09`, `2026-11`, `2026-11-02/2026-11-08`."""
        if self.last is None or self.last == self.day:
            return self.day.isoformat()
        if self.day.day == 1 and self.last == _last_of_month(self.day):
            return self.day.isoformat()[:7]
        return f"{self.day}/{self.last}"


_YEARS: Final = (1000, 9000)
"""Outside of these, adding weeks could leave the calendar."""
_WEEKDAYS: Final = {c: n for n, c in enumerate("一二三四五六")} | {"日": 6, "天": 6}
_EN_WEEKDAYS: Final = {d: n for n, d in enumerate(("mon", "tue", "wed", "thu", "fri", "sat", "sun"))}
_MONTHS: Final = {
    m: n
    for n, m in enumerate(("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"), start=1)
}
_ZH_DAYS: Final = {"今": 0, "明": 1, "后": 2, "大后": 3}
_ZH_DAYS_AGO: Final = {"今": 0, "昨": 1, "前": 2}
_ZH_AGO = re.compile(r"(今|昨|(?<![目以之])前)(?:天|晚|日)")
_EN_AGO = re.compile(
    r"\b(?:(?:the day before )?yesterday|last night|"
    r"last (?P<w>monday|tuesday|wednesday|thursday|friday|saturday|sunday))\b",
    re.IGNORECASE,
)
_EN_NUMBERS: Final = {"a": 1, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "ten": 10}
_MONTH: Final = (
    r"(?P<{0}>jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|"
    r"oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)\.?"
)
_ISO = re.compile(r"(?<!\d)(?P<y>(?:19|20)\d\d)[-/.](?P<m>\d{1,2})[-/.](?P<d>\d{1,2})(?!\d)")
_ZH_FULL = re.compile(
    rf"(?:(?P<y>(?:19|20)\d\d)年|(?P<rel>今年|明年))?(?P<m>{NUMERAL})月(?P<d>{NUMERAL})(?:[日号]|(?!\d|"
    r"个|[零〇一二两三四五六七八九十]))"
)
_LUNAR = re.compile(r"[农農阴陰旧舊]历|[農陰舊]曆")
"""The lunar calendar: its months are not those of a date."""
_ZH_MONTH = re.compile(rf"(?P<rel>下个?月|这个?月|本月)(?P<d>{NUMERAL})[日号]")
_ZH_WEEK = re.compile(
    r"(?<![每隔])(?P<rel>下下个?|下个?|这个?|本|上上?个?)?(?:周|星期|礼拜)(?P<w>[一二三四五六日天])(?![个])"
)
_ZH_DAY = re.compile(r"(?P<rel>大后|今|明|后)(?:天|日(?!本)|早上?|晚)(?!生)")
_ZH_IN = re.compile(rf"(?P<n>{NUMERAL})(?P<unit>天|周|个?星期)(?:以?后|之后)")
_EN_FULL = re.compile(
    rf"\b(?:{_MONTH.format('m1')}\s+(?:the\s+)?(?P<d1>\d{{1,2}})(?:st|nd|rd|th)?(?!\d|:|\s?[ap]m)"
    r"|(?:the\s+)?(?P<d2>\d{1,2})(?:st|nd|rd|"
    rf"th)?\s+(?:of\s+)?{_MONTH.format('m2')})(?:,?\s+(?P<y>(?:19|20)\d\d))?\b",
    re.IGNORECASE,
)
_EN_WEEK = re.compile(
    r"\b(?P<rel>(?:a week from|next|this|coming|on|by|until|before|last)\s+)?(?:this\s+)?"
    r"(?P<w>mon|tues?|wed(?:nes)?|thu(?:rs)?|fri|sat(?:ur)?|sun)(?:day)?\b(?!s)",
    re.IGNORECASE,
)
_ZH_NEXT_WEEK = re.compile(r"(?P<rel>下下?)个?(?:周|星期|礼拜)(?![一二三四五六日天年])(?!.{0,20}(?:前|然后|再|完))")
_EN_NEXT_WEEK = re.compile(r"\bnext week\b", re.IGNORECASE)
"""The week of a weekday that is named apart from it: `next week I fly on Friday`."""
_AND = re.compile(r"\b(?:and|but|or|then|so|before|after)\b", re.IGNORECASE)
_EN_DAY = re.compile(
    r"\b(?P<rel>the day after tomorrow|tomorrow|tonight|today|this (?:morning|afternoon|evening))\b", re.IGNORECASE
)
_EN_IN = re.compile(
    r"\bin (?P<n>\d{1,3}|an?|one|two|three|four|five|six|ten)\s+(?P<unit>days?|weeks?)(?:'s? time)?\b", re.IGNORECASE
)


_ZH_SPAN = re.compile(
    r"(?<!每)(?:(?P<rel>上上|下下|上|下|这|本)个?(?P<unit>周(?!年)|星期|礼拜"
    r"|月)(?P<end>(?<!月)末)?(?!(?:个?[一二三四五六日天](?![个直些次]))"
    r"|\d|[零〇一二三四五六七八九十]{1,3}[日号])"
    rf"|(?P<n>{NUMERAL}|半(?=年))(?P<of>天|周|个?(?:星期|礼拜)|个月|(?<=半)年)(?P<way>以?前|之前|以?后|之后))"
)
"""A week or month by its distance, and so many days, weeks or months ago or ahead."""
_EN_SPAN = re.compile(
    r"\b(?:(?P<rel>last|next|this|this past|this coming) (?P<unit>weekend|week|month)\b|the (?P<over>week|month) "
    r"(?P<side>before last|after next)\b|(?P<n>\d{1,3}|an?|one|two|three|four|five|six|ten|a couple of) "
    r"(?P<of>days?|weeks?|months?) (?P<way>ago|from now)\b)",
    re.IGNORECASE,
)
_MOVED = re.compile(
    r"(?P<zh>(?:改|推迟|提前|挪|延期|延后|移|调)(?:到|至|成|在))"
    r"|\b(?:moved|pushed|postponed|rescheduled|delayed|shifted|put off"
    r"|brought forward)(?: (?:my|our|the) [\w' ]{2,40}?)?(?: back| forward| up)? (?:to|until|till|for)(?= )",
    re.IGNORECASE,
)
_NOT_MOVED = re.compile(r"(?:没有?|不[会能用要]?|别)[改推提挪延移调]|\b(?:not|never)\b|n't\b", re.IGNORECASE)
_NAME = re.compile(r" [A-Z]")
"""What follows a day that begins a name: Friday Harbor."""
_BETWEEN: Final = len(" the ")
"""Characters between what moved something and its new day: who moved to Oslo on Friday moved no appointment."""
_SATURDAY: Final = 5
_FURTHEST: Final = 400
"""Days, weeks or months: more are not counted so."""


def spoken_span(text: str, today: date) -> Dated | None:
    """Return the week, weekend, month or day that a text of either language names by its distance from today, or None.

    `last week` is the one from Monday to Sunday before this one; `two weeks ago` is the day fourteen days back, and
    `two months ago` the whole month.
    """
    if not _YEARS[0] <= today.year <= _YEARS[1]:
        return None
    return _chinese_span(text, today) or _english_span(text, today)


def _chinese_span(text: str, today: date) -> Dated | None:
    m = _ZH_SPAN.search(text)
    if m is None:
        return None
    if m["rel"]:
        count = {"上上": -2, "上": -1, "下": 1, "下下": 2}.get(m["rel"], 0)
        return _span(m, "weekend" if m["end"] else "month" if m["unit"] == "月" else "week", count, today)
    count = 6 if m["n"] == "半" else number(m["n"]) or 0
    return _span(m, _unit(m["of"]), -count if "前" in m["way"] else count, today, ago=True)


def _english_span(text: str, today: date) -> Dated | None:
    m = _EN_SPAN.search(text)
    if m is None:
        return None
    if m["rel"]:
        said = m["rel"].lower()
        return _span(m, m["unit"].lower(), {"last": -1, "next": 1}.get(said, -1 if "past" in said else 0), today)
    if m["over"]:
        return _span(m, m["over"].lower(), -2 if "before" in m["side"].lower() else 2, today)
    count = _count(m["n"])
    return _span(m, m["of"].lower().rstrip("s"), -count if m["way"].lower() == "ago" else count, today, ago=True)


_SURE = re.compile(
    r"(?:大后|明|后|昨|(?<![目以之])前|今)天(?!生)|(?:昨|今|明)晚|(?:上上?|下下?)个?(?:周|星期"
    r"|礼拜)[一二三四五六日天](?!个)"
    r"|\b(?:the day (?:after tomorrow|before yesterday)|tomorrow|tonight|today|yesterday|last night"
    r"|(?:last|next) (?:mon|tues|wednes|thurs|fri|satur|sun)day)\b",
    re.IGNORECASE,
)
_REPEATED = re.compile(r"每|天天|总是|经常|\b(?:every|each|usually|always|often|never)\b", re.IGNORECASE)


def certain_day(text: str, today: date) -> Dated | None:
    """Return the day that a text of either language names by words for one day only (昨天, next Friday), or None."""
    m = None if _REPEATED.search(text) else _SURE.search(text)
    if m is None:
        return None
    said = m.group()
    found = days_ago(said, today) or chinese_date(said, today) or english_date(said, today)
    return Dated(found.day, m.start(), m.end()) if found else None


_CHANGES_EN: Final = (
    r"(?:moved|relocated|settled|joined|started|(?:got|was|were|been|am) (?:married|divorced|engaged)|became|hired)"
)
_EN_SINCE = re.compile(
    r"\bsince (?:(?:the )?(?:early|mid|late|(?:start|beginning|end|summer|spring|autumn|fall|winter) of)[ -])?"
    rf"(?:{_MONTH.format('m1')}\b(?!,? \d{{1,2}}\b)(?:,? (?:of )?(?P<y1>(?:19|20)\d\d)\b)?"
    r"|(?P<y2>(?:19|20)\d\d)\b(?!-)|(?P<last>last (?:year|month)))"
    rf"|\b{_CHANGES_EN}\b[^,]{{0,60}}? in (?:{_MONTH.format('m3')}\b(?! \d{{1,2}}\b)"
    r"(?:,? (?:of )?(?P<y3>(?:19|20)\d\d)\b)?"
    r"|(?P<y4>(?:19|20)\d\d)\b)",
    re.IGNORECASE,
)
_ZH_CHANGES: Final = r"搬|定居|落户|移居|移民|跳槽|跳[到去]|入职|加入|转行|改行|结婚|领证|离婚|订婚"
_ZH_YEAR: Final = r"(?P<y{0}>(?:19|20)\d\d年|去年|前年|今年)"
_ZH_OF: Final = r"(?P<m{0}>1[0-2]|[1-9]|十[一二]?|[一二三四五六七八九])月(?:份|初|底|中旬)?"
_ZH_SINCE = re.compile(
    rf"(?:自从?|从)?(?:{_ZH_YEAR.format(1)}(?:{_ZH_OF.format(1)})?|{_ZH_OF.format(2)})(?:起|开始|以来|就(?!要))"
    rf"|(?:自从?|从){_ZH_YEAR.format(3)}(?:{_ZH_OF.format(3)})?(?![到至前之底末初春夏秋冬\d一二三四五六七八九十])"
    rf"|(?:{_ZH_YEAR.format(4)}(?:{_ZH_OF.format(4)})?|{_ZH_OF.format(5)})"
    rf"(?=我?(?:就|才|又|刚刚?|已经|终于|正式|全家|一个人){{0,3}}(?:从[^我，]{{1,8}}?)?(?:{_ZH_CHANGES}))"
)


def since(text: str, today: date) -> date | None:
    """Return the first day of the year or month since which a text of either language says that something is so.

    A month without a year is the last that has begun: `since March`, 我四月搬到了深圳. None where none is named, or a
    day to come.
    """
    if not _YEARS[0] <= today.year <= _YEARS[1]:
        return None
    if m := _EN_SINCE.search(text):
        if m["last"]:
            before = date(today.year, today.month, 1) - timedelta(days=1)
            return date(today.year - 1, 1, 1) if m["last"].lower().endswith("year") else before.replace(day=1)
        said = m["m1"] or m["m3"]
        year = m["y1"] or m["y2"] or m["y3"] or m["y4"]
        return _begun(int(year) if year else None, _MONTHS[said[:3].lower()] if said else None, today)
    if m := _ZH_SINCE.search(text):
        groups = m.groupdict()
        spelt = next((groups[f"y{n}"] for n in (1, 3, 4) if groups[f"y{n}"]), None)
        month = next((groups[f"m{n}"] for n in range(1, 6) if groups.get(f"m{n}")), None)
        far = {"今年": 0, "去年": 1, "前年": 2}
        year_of = None if spelt is None else today.year - far[spelt] if spelt in far else int(spelt[:4])
        return _begun(year_of, number(month) if month else None, today)
    return None


def _begun(year: int | None, month: int | None, today: date) -> date | None:
    if year is None:
        year = today.year if month is None or month <= today.month else today.year - 1
    first = _day(year, month or 1, 1)
    return first if first and first <= today else None


def span_ahead(text: str, today: date) -> Dated | None:
    """Return the week or month after this one that a text names by its distance, or None."""
    far = spoken_span(text, today)
    return far if far and far.day > today else None


def _unit(said: str) -> str:
    return "day" if said == "天" else "month" if said in ("个月", "年") else "week"


def _count(said: str) -> int:
    low = said.lower()
    return int(low) if low.isdigit() else 2 if "couple" in low else _EN_NUMBERS.get(low, 1)


def _span(m: re.Match[str], unit: str, count: int, today: date, *, ago: bool = False) -> Dated | None:
    """Return the days of a unit so many ahead (or back); counted from today, days and weeks are a day."""
    if abs(count) > _FURTHEST or (ago and count == 0):
        return None
    if unit == "month":
        years, month = divmod(today.month - 1 + count, 12)
        first = date(today.year + years, month + 1, 1)
        return Dated(first, m.start(), m.end(), _last_of_month(first))
    if ago:
        return Dated(today + timedelta(days=count * (7 if unit == "week" else 1)), m.start(), m.end())
    monday = today - timedelta(days=today.weekday()) + timedelta(weeks=count)
    if unit == "weekend":
        return Dated(monday + timedelta(days=_SATURDAY), m.start(), m.end(), monday + timedelta(days=6))
    return Dated(monday, m.start(), m.end(), monday + timedelta(days=6))


def _last_of_month(first: date) -> date:
    return (first.replace(day=1) + timedelta(days=31)).replace(day=1) - timedelta(days=1)


def chinese_date(text: str, today: date) -> Dated | None:
    """Return the date that a Chinese text names, or None. A date that has passed is returned as it is."""
    return None if _LUNAR.search(text) else _first(_CHINESE, text, today)


def english_date(text: str, today: date) -> Dated | None:
    """Return the date that an English text names, or None. 3/4 is not read: which is the month is not known."""
    return _first(_ENGLISH, text, today)


def spoken(text: str, day: date, today: date) -> Dated | None:
    """Return where a text of either language, said on `today`, names a day; None where it does not."""
    dates = (chinese_date(text, today), english_date(text, today), days_ago(text, today))
    return next((dated for dated in dates if dated is not None and dated.day == day), None)


def moved_to(text: str, today: date) -> Dated | None:
    """Return the day to which a text of either language says that something was moved, today at the earliest."""
    m = _MOVED.search(text)
    if m is None or _NOT_MOVED.search(text, 0, m.end()):
        return None
    tail = text[m.end() :]
    dated = chinese_date(tail, today) if m["zh"] else english_date(tail, today)
    if dated is None or dated.day < today or dated.start > _BETWEEN or _NAME.match(tail, dated.end):
        return None
    return Dated(dated.day, m.end() + dated.start, m.end() + dated.end)


def days_ago(text: str, today: date) -> Dated | None:
    """Return the day that a text of either language names by how long ago it was (昨天, last Friday), or None."""
    for pattern, past in ((_ZH_AGO, chinese_past), (_EN_AGO, english_past)):
        if (m := pattern.search(text)) and (day := past(m.group(), today)):
            return Dated(day, m.start(), m.end())
    return None


def chinese_past(text: str, today: date) -> date | None:
    """Return the day on which a Chinese text says that something happened, today at the latest, or None."""
    if m := _ZH_AGO.search(text):
        return today - timedelta(days=_ZH_DAYS_AGO[m[1]])
    return _not_after(chinese_date(text, today), today)


def english_past(text: str, today: date) -> date | None:
    """Return the day on which an English text says that something happened, today at the latest, or None."""
    if m := _EN_AGO.search(text):
        if not m["w"]:
            return today - timedelta(days=2 if "before" in m.group() else 1)
        return today - timedelta(days=(today.weekday() - _EN_WEEKDAYS[m["w"][:3].lower()] - 1) % 7 + 1)
    return _not_after(english_date(text, today), today)


def _not_after(dated: Dated | None, today: date) -> date | None:
    return dated.day if dated and dated.day <= today else None


def birth_date(text: str) -> str | None:
    """Return `YYYY-MM-DD`, or `MM-DD` where no year is said, of the first full date in a text of either language."""
    if _LUNAR.search(text):
        return None
    if m := _ISO.search(text) or _ZH_FULL.search(text):
        groups = m.groupdict()
        year, month, day = groups["y"], number(groups["m"]), number(groups["d"])
    elif m := _EN_FULL.search(text):
        year, month, day = m["y"], _MONTHS[(m["m1"] or m["m2"])[:3].lower()], int(m["d1"] or m["d2"])
    else:
        return None
    # 2000 was a leap year: without a year, 29 February is a birthday.
    whole = _day(int(year or 2000), month, day)
    return None if whole is None else whole.isoformat() if year else whole.isoformat()[5:]


def _first(readers: _Readers, text: str, today: date) -> Dated | None:
    """Return the date of the first pattern that matches; the most certain ones, with a year or a month, come first."""
    if not _YEARS[0] <= today.year <= _YEARS[1]:
        return None
    for pattern, resolve in readers:
        if (m := pattern.search(text)) and (day := resolve(m, today)):
            return Dated(day, m.start(), m.end())
    return None


def _day(year: int, month: int | None, day: int | None) -> date | None:
    try:
        return date(year, month or 0, day or 0)
    except ValueError:
        return None


def _coming(year: int | None, month: int, day: int, today: date) -> date | None:
    if year:
        return _day(year, month, day)
    this = _day(today.year, month, day)
    return this if this and this >= today else _day(today.year + 1, month, day)


def _zh_full(m: re.Match[str], today: date) -> date | None:
    month, day = number(m["m"]), number(m["d"])
    if not month or not day:
        return None
    year = int(m["y"]) if m["y"] else {"今年": today.year, "明年": today.year + 1}.get(m["rel"] or "")
    return _coming(year, month, day, today)


def _zh_month(m: re.Match[str], today: date) -> date | None:
    ahead = today.month if m["rel"].startswith("下") else today.month - 1
    return _day(today.year + ahead // 12, ahead % 12 + 1, number(m["d"]))


def _zh_week(m: re.Match[str], today: date) -> date | None:
    said, weekday = m["rel"] or "", _WEEKDAYS[m["w"]]
    monday = today - timedelta(days=today.weekday())
    if not said and (other := _ZH_NEXT_WEEK.search(m.string, 0, m.start())):  # 下周我星期二考试
        said = other["rel"]
    if not said:
        return today + timedelta(days=(weekday - today.weekday()) % 7)
    weeks = said.count("下") - said.count("上")
    return monday + timedelta(days=weekday, weeks=weeks)


def _en_week(m: re.Match[str], today: date) -> date | None:
    said, weekday = (m["rel"] or "").strip().lower(), _EN_WEEKDAYS[m["w"][:3].lower()]
    # "sun", "sat" and "wed" are other words too: without a preposition only the full name of the day counts.
    if said == "last" or (not said and not m.group().lower().endswith("day")):
        return None
    ahead = today + timedelta(days=(weekday - today.weekday()) % 7)
    if said == "next" or (said in ("", "on", "by", "until", "before") and _is_of_next_week(m)):
        return today + timedelta(days=7 - today.weekday() + weekday)
    return ahead + timedelta(days=7) if said.startswith("a week") else ahead


def _is_of_next_week(m: re.Match[str]) -> bool:
    """Return whether a weekday's text names the next week too, and nothing begins anew between the two."""
    week = _EN_NEXT_WEEK.search(m.string)
    if week is None:
        return False
    first, second = sorted((week.span(), m.span()))
    return _AND.search(m.string, first[1], second[0]) is None


def _iso(m: re.Match[str], _: date) -> date | None:
    return _day(int(m["y"]), int(m["m"]), int(m["d"]))


def _zh_day(m: re.Match[str], today: date) -> date | None:
    return today + timedelta(days=_ZH_DAYS[m["rel"]])


def _zh_in(m: re.Match[str], today: date) -> date | None:
    count = number(m["n"])
    return None if count is None else today + timedelta(days=count * (1 if m["unit"] == "天" else 7))


def _en_full(m: re.Match[str], today: date) -> date | None:
    month = _MONTHS[(m["m1"] or m["m2"])[:3].lower()]
    return _coming(int(m["y"]) if m["y"] else None, month, int(m["d1"] or m["d2"]), today)


def _en_day(m: re.Match[str], today: date) -> date | None:
    return today + timedelta(days={"the day after tomorrow": 2, "tomorrow": 1}.get(m["rel"].lower(), 0))


def _en_in(m: re.Match[str], today: date) -> date | None:
    said = m["n"].lower()
    count = int(said) if said.isdigit() else _EN_NUMBERS.get(said, 1)
    return today + timedelta(days=count * (7 if m["unit"].lower().startswith("week") else 1))


_CHINESE: Final[_Readers] = (
    (_ISO, _iso),
    (_ZH_FULL, _zh_full),
    (_ZH_MONTH, _zh_month),
    (_ZH_WEEK, _zh_week),
    (_ZH_DAY, _zh_day),
    (_ZH_IN, _zh_in),
)
_ENGLISH: Final[_Readers] = (
    (_ISO, _iso),
    (_EN_FULL, _en_full),
    (_EN_WEEK, _en_week),
    (_EN_DAY, _en_day),
    (_EN_IN, _en_in),
)
