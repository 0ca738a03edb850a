"""Chinese phrases for days, as rows of a pattern and the function that reads its groups."""

from __future__ import annotations

import re
from typing import Final

from projections.dates.numerals import NUMERAL
from projections.dates.phrases import Phrase, counted_from, day_of, months_of, period, range_of, said, weekday, year_of

_HOURS: Final = (
    r"(?:的?(?:凌晨|清晨|一?大早上?|早上|早晨|上午|中午|下午|傍晚|晚上|夜里|半夜|深夜|早(?![上晨就已饭餐])|晚(?![上饭餐会宴点]))"
    rf"(?!的?{NUMERAL}[点时:：]))?"
)
"""A part of the day that no hour follows."""
_SPELT: Final = r"(?:(?P<y>(?:19|20)\d\d)年)"
_YEAR: Final = rf"(?:(?:{_SPELT}|(?P<yr>大[前后]年|[前去今明后]年|[上下]一年))的?)"
_FAR: Final = r"上{2,3}|下{2,3}|(?<![早晚马路网身楼地手一之以])上|(?<![一之以楼乡])下|这|本"
_REL: Final = rf"(?P<rel>{_FAR})"
_PART: Final = r"(?P<part>初|中旬|底|末|上旬|下旬)"
_NOT_BEFORE: Final = r"(?<![目以之眼面从当提生跟午])"
"""Excludes 前 in 目前, 以前 and the like, which do not begin a day."""
_WEEK: Final = r"个?(?:周|星期|礼拜)"
_OF_WEEK: Final = "[一二三四五六日天]"
_MONTH: Final = r"(?P<m>1[0-2]|0?[1-9]|十[一二]?|[一二三四五六七八九])月"
_NO_NUMBER: Final = r"\d零〇一二两三四五六七八九十百几数半"
_BARE: Final = rf"(?<![{_NO_NUMBER}每隔逢第])"
_NO_ROOM: Final = rf"(?<![A-Za-z{_NO_NUMBER}月第])"
_TO_31: Final = r"[12]\d|3[01]|[1-9]|[二三]?十[一二三四五六七八九]?|[一二三四五六七八九]"
_IN: Final = r"(?P<unit>天|周(?![年末岁])|个?(?:星期|礼拜)|个?月|年)"
_DATE: Final = rf"(?P<m>{NUMERAL})月(?:份的?)?(?P<d>{NUMERAL})(?:[日号]|(?!\d|个|[{_NO_NUMBER}]))"


_ROWS: Final = (
    (r"(?<!\d)(?P<y>(?:19|20)\d\d)[-/.](?P<m>\d{1,2})[-/.](?P<d>\d{1,2})(?!\d)", day_of),
    (rf"{_YEAR}?{_DATE}", day_of),
    (rf"{_REL}个?月的?(?P<d>{NUMERAL})[日号]", day_of),
    (rf"{_NO_ROOM}(?P<d>{_TO_31})号(?![线楼门机车馆厅院室桌选电床文公球店码房库])", day_of),
    (rf"{_YEAR}{_MONTH}份?{_PART}?", months_of),
    (rf"(?<![{_NO_NUMBER}年个第]){_MONTH}份?{_PART}?(?![{_NO_NUMBER}个大天])", months_of),
    (rf"{_YEAR}(?<!的)(?P<part>年?(?:[初底末]|中(?![考学国秋午风風]))|上半年|下半年)?(?!级|货)", year_of),
    (rf"(?<![{_NO_NUMBER}每去今明前后])年(?P<part>初|底|末)(?![一二三四五六七大])", year_of),
    (rf"(?:{_YEAR}|(?P<rel>上一?个|下一?个|这个)的?)(?P<s>[春夏秋冬])[天季]", months_of),
    (r"(?<!每个)(?<![每到])(?P<s>[春夏秋冬])天", months_of),
    (
        rf"(?P<said>大前|大后|昨|{_NOT_BEFORE}前|今|(?<![聪证表声])明(?!(?<=说明)天气)|(?<![以然之最午背身今])后)天(?![生性]){_HOURS}",
        said,
    ),
    (r"(?P<said>昨|今|明)(?:日(?!本|方舟)|晚上?|夜|早上?|晨)(?!报)", said),
    (rf"{_NOT_BEFORE}(?P<said>前)(?:晚|日(?!本))", said),
    (rf"(?:(?P<week>{_FAR})|{_BARE}){_WEEK}(?P<w>{_OF_WEEK})(?![个次直回遍]){_HOURS}", weekday),
    (rf"(?P<week>{_FAR})?{_WEEK}(?P<w>{_OF_WEEK})(?:到|至|[-~—])(?:{_WEEK})?(?P<w2>{_OF_WEEK})", weekday),
    (rf"(?:{_REL}个?|{_BARE})(?P<unit>周末)", period),
    (rf"{_REL}一?个?(?P<unit>周|星期|礼拜|月|季度){_PART}?(?![年围到刊报日末])", period),
    (rf"(?<![{_NO_NUMBER}每个腊正冬])(?P<unit>月)(?P<part>初|底|末)", period),
    (
        rf"{_BARE}(?:(?P<n>{NUMERAL})|(?P<half>半)){_IN}(?P<more>半)?[以之]?(?P<way>前|后)(?![端台面缀途来辈])",
        counted_from,
    ),
    (rf"再过(?P<n>{NUMERAL}|(?P<half>半)){_IN}(?P<more>半)?(?P<way>(?:[以之]?后)?)", counted_from),
    (rf"(?P<way>最近|过去|近|未来|接下来|今后)的?这?(?P<n>{NUMERAL})?{_IN}", range_of),
    (rf"(?<![从到在])(?P<way>这)(?P<n>{NUMERAL}){_IN}", range_of),
)
CHINESE: Final[tuple[Phrase, ...]] = tuple((re.compile(pattern), read) for pattern, read in _ROWS)
CHINESE_DATES: Final = CHINESE[:2]
"""The rows for a day of a month, with or without a year."""
_LUNAR: Final = re.compile(r"(?:[农農阴陰旧舊]历|[農陰舊]曆|正月|腊月)(?P<month>[^，,。（(]{0,6}月)?")


def lunar_from(text: str) -> int:
    """Return the offset from which the dates of a text are in the lunar calendar; the text's length if none is."""
    m = _LUNAR.search(text)
    return len(text) if m is None else m.start() if m["month"] else 0
