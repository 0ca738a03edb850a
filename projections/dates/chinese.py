"""Chinese phrases for days, as rows: a pattern, and what its groups mean on a day."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from projections.dates import phrases
from projections.dates.numerals import NUMERAL, number
from projections.dates.phrases import WEEKDAYS, Meaning, Phrase, sure
from projections.dates.spans import SEASONS, Days, counted, day_from, months, part, season, unit_from, week_from

if TYPE_CHECKING:
    from datetime import date

_YEARS: Final = {
    "大前年": -3,
    "前年": -2,
    "去年": -1,
    "上一年": -1,
    "今年": 0,
    "明年": 1,
    "下一年": 1,
    "后年": 2,
    "大后年": 3,
}
_SAID: Final = {"大前": -3, "前": -2, "昨": -1, "今": 0, "明": 1, "后": 2, "大后": 3}
_UNITS: Final = {"天": "day", "日": "day", "周": "week", "星期": "week", "礼拜": "week", "周末": "weekend"} | {
    "月": "month", "季度": "quarter", "年": "year",
}  # fmt: skip
_PARTS: Final = {
    "初": "begin",
    "上旬": "early",
    "中": "mid",
    "中旬": "mid",
    "下旬": "late",
    "上半年": "half",
    "下半年": "other",
}
_HOURS: Final = (
    r"(?:的?(?:凌晨|清晨|一?大早上?|早上|早晨|上午|中午|下午|傍晚|晚上|夜里|半夜|深夜|早(?![上晨就已饭餐])|晚(?![上饭餐会宴点]))"
    rf"(?!的?{NUMERAL}[点时:：]))?"
)
"""A part of the day, where no hour follows it."""
_SPELT: Final = r"(?:(?P<y>(?:19|20)\d\d)年)"
_YEAR: Final = rf"(?:{_SPELT}的?|(?P<yr>{'|'.join(sorted(_YEARS, key=len, reverse=True))})的?)"
_FAR: Final = r"上{2,3}|下{2,3}|(?<![早晚马路网身楼地手一之以])上|(?<![一之以楼乡])下|这|本"
_REL: Final = rf"(?P<rel>{_FAR})"
_PART: Final = r"(?P<part>初|中旬|底|末|上旬|下旬)"
_NOT_BEFORE: Final = r"(?<![目以之眼面从当提生跟午])"
"""Of 前 in 目前, 以前 and the like, which begin no day."""
_WEEK: Final = r"个?(?:周|星期|礼拜)"
_MONTH: Final = r"(?P<m>1[0-2]|0?[1-9]|十[一二]?|[一二三四五六七八九])月"
_NO_NUMBER: Final = r"\d零〇一二两三四五六七八九十百几数半"
_BARE: Final = rf"(?<![{_NO_NUMBER}每隔逢第])"
_NO_ROOM: Final = rf"(?<![A-Za-z{_NO_NUMBER}月第])"
_TO_31: Final = r"[12]\d|3[01]|[1-9]|[二三]?十[一二三四五六七八九]?|[一二三四五六七八九]"
_IN: Final = r"(?P<unit>天|周(?![年末岁])|个?(?:星期|礼拜)|个?月|年)"
_DATE: Final = rf"(?P<m>{NUMERAL})月(?:份的?)?(?P<d>{NUMERAL})(?:[日号]|(?!\d|个|[{_NO_NUMBER}]))"


def _year(m: re.Match[str], today: date) -> int | None:
    """Return the year that a phrase names, by its number or by its distance."""
    groups = m.groupdict()
    if groups.get("y"):
        return int(groups["y"])
    return today.year + _YEARS[groups["yr"]] if groups.get("yr") else None


def _is_spelt(m: re.Match[str]) -> bool:
    return bool(m.groupdict().get("y"))


def _far(m: re.Match[str]) -> int:
    """Return how many weeks, months or quarters ahead a phrase names, or back."""
    rel = m.groupdict().get("rel") or ""
    return rel.count("下") - rel.count("上")


def _date(m: re.Match[str], today: date) -> Meaning | None:
    month, day = number(m["m"]), number(m["d"])
    return phrases.day_of_year(month, day, _year(m, today), today, relative=not _is_spelt(m)) if month and day else None


def _day_of_month(m: re.Match[str], today: date) -> Meaning | None:
    day = number(m["d"])
    if not day:
        return None
    if not m.groupdict().get("rel"):
        return phrases.day_of_month(day, today)
    of = unit_from("month", today, _far(m)).first
    return phrases.day_of_year(of.month, day, of.year, today)


def _month(m: re.Match[str], today: date) -> Meaning | None:
    month, year = number(m["m"]), _year(m, today)
    if not month:
        return None
    relative = not _is_spelt(m)
    found = (
        phrases.month_of_year(month, today) if year is None else sure(months(year, month), "month", relative=relative)
    )
    return _partly(found, m)


def _partly(found: Meaning, m: re.Match[str]) -> Meaning:
    name = m.groupdict().get("part")
    if not name or not found.past or not found.coming:
        return found
    said = _PARTS.get(name.removeprefix("年"), "end")
    return Meaning(part(found.past, said), part(found.coming, said), found.default, "part", found.relative)


def _whole_year(m: re.Match[str], today: date) -> Meaning:
    year = _year(m, today) or today.year
    return _partly(sure(months(year, 1, 12), "year", relative=not _is_spelt(m)), m)


def _season(m: re.Match[str], today: date) -> Meaning:
    month, year, rel = SEASONS[m["s"]], _year(m, today), m.groupdict().get("rel") or ""
    if year is not None:
        return sure(season(year, month), "season", relative=not _is_spelt(m))
    if "上" in rel:
        return phrases.season_before(month, today)
    if "下" in rel:
        return phrases.season_after(month, today)
    found = phrases.season_of_year(month, today)
    return Meaning(found.past, found.coming, "past" if rel else None, "season")


def _said(m: re.Match[str], today: date) -> Meaning:
    return sure(day_from(today, _SAID[m["said"]]))


def _weekday(m: re.Match[str], today: date) -> Meaning:
    day = WEEKDAYS["日" if m["w"] == "天" else m["w"]]
    if m.groupdict().get("rel"):
        return phrases.weekday_of(_far(m), day, today)
    return phrases.weekday(day, today)


def _weekdays(m: re.Match[str], today: date) -> Meaning | None:
    """Return several days of one week; those of each week are no days."""
    if not m["rel"]:
        return None
    first, last = (WEEKDAYS["日" if m[name] == "天" else m[name]] for name in ("w", "w2"))
    monday = week_from(today, _far(m)).first
    return sure(Days(day_from(monday, first).first, day_from(monday, max(first, last)).last), "range")


def _weekend(m: re.Match[str], today: date) -> Meaning:
    this = unit_from("weekend", today, _far(m))
    if m["rel"]:
        return sure(this, "weekend")
    return Meaning(this if this.first < today else unit_from("weekend", today, -1), this, unit="weekend")


def _period(m: re.Match[str], today: date) -> Meaning:
    unit = _UNITS[m["unit"]]
    return _partly(sure(unit_from(unit, today, _far(m)), unit), m)


def _counted(m: re.Match[str], today: date) -> Meaning | None:
    unit, half = _UNITS[m["unit"].removeprefix("个")], bool(m["half"] or m["more"])
    times = number(m["n"]) if m["n"] else 0
    if times is None or not (times or half):
        return None
    days = counted(unit, today, times, back=m.groupdict().get("way") == "前", half=half)
    # what was three days later names no day; in three days does
    return sure(days, unit) if m.groupdict().get("way") == "前" else Meaning(None, days, "coming", unit)


def _range(m: re.Match[str], today: date) -> Meaning | None:
    times = number(m["n"] or "一")
    sign = 1 if m["way"] in ("未来", "接下来", "今后") else -1
    return phrases.range_of(_UNITS[m["unit"].removeprefix("个")], sign * times, today) if times else None


_ROWS: Final = (
    (r"(?<!\d)(?P<y>(?:19|20)\d\d)[-/.](?P<m>\d{1,2})[-/.](?P<d>\d{1,2})(?!\d)", _date),
    (rf"{_YEAR}?{_DATE}", _date),
    (rf"{_REL}个?月的?(?P<d>{NUMERAL})[日号]", _day_of_month),
    (rf"{_NO_ROOM}(?P<d>{_TO_31})号(?![线楼门机车馆厅院室桌选电床文公球店码房库])", _day_of_month),
    (rf"{_YEAR}{_MONTH}份?{_PART}?", _month),
    (rf"(?<![{_NO_NUMBER}年个第]){_MONTH}份?{_PART}?(?![{_NO_NUMBER}个大天])", _month),
    (rf"{_YEAR}(?<!的)(?P<part>年?(?:[初底末]|中(?![考学国秋午]))|上半年|下半年)?(?!级|货)", _whole_year),
    (rf"(?<![{_NO_NUMBER}每去今明前后])年(?P<part>初|底|末)(?![一二三四五六七大])", _whole_year),
    (rf"(?:{_YEAR}|(?P<rel>上一?个|下一?个|这个)的?)(?P<s>[春夏秋冬])[天季]", _season),
    (r"(?<!每个)(?<![每到])(?P<s>[春夏秋冬])天", _season),
    (
        rf"(?P<said>大前|大后|昨|{_NOT_BEFORE}前|今|(?<![聪证表声])明(?!(?<=说明)天气)|(?<![以然之最午背身今])后)天(?![生性]){_HOURS}",
        _said,
    ),
    (r"(?P<said>昨|今|明)(?:日(?!本|方舟)|晚上?|夜|早上?|晨)(?!报)", _said),
    (rf"{_NOT_BEFORE}(?P<said>前)(?:晚|日(?!本))", _said),
    (rf"{_REL}{_WEEK}(?P<w>[一二三四五六日天])(?![个次直回遍]){_HOURS}", _weekday),
    (rf"{_BARE}{_WEEK}(?P<w>[一二三四五六日天])(?![个次直回遍]){_HOURS}", _weekday),
    (
        rf"(?P<rel>{_FAR})?{_WEEK}(?P<w>[一二三四五六日天])(?:到|至|[-~—])(?:{_WEEK})?(?P<w2>[一二三四五六日天])",
        _weekdays,
    ),
    (rf"(?P<rel>{_FAR}){_WEEK}末", _weekend),
    (rf"{_BARE}(?P<rel>)周末", _weekend),
    (rf"{_REL}一?个?(?P<unit>周|星期|礼拜|月|季度){_PART}?(?![年围到刊报日末])", _period),
    (rf"(?<![{_NO_NUMBER}每个腊正冬])(?P<unit>月)(?P<part>初|底|末)", _period),
    (
        rf"{_BARE}(?:(?P<n>{NUMERAL})|(?P<half>半)){_IN}(?P<more>半)?[以之]?(?P<way>前|后)(?![端台面缀途来辈])",
        _counted,
    ),
    (rf"再过(?P<n>{NUMERAL}|(?P<half>半)){_IN}(?P<more>半)?(?:[以之]?后)?", _counted),
    (rf"(?P<way>最近|过去|近|未来|接下来|今后)的?这?(?P<n>{NUMERAL})?{_IN}", _range),
    (rf"(?<![从到在])(?P<way>这)(?P<n>{NUMERAL}){_IN}", _range),
)
CHINESE: Final[tuple[Phrase, ...]] = tuple((re.compile(pattern), read) for pattern, read in _ROWS)
CHINESE_DATES: Final = CHINESE[:2]
"""Those for a day of a month, with its year or without."""
LUNAR: Final = re.compile(r"[农農阴陰旧舊]历|[農陰舊]曆|正月|腊月")
"""The lunar calendar: its months are not those of a date."""
