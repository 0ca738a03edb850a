"""What is liked of what happened, in Chinese: the place of a date (我很喜欢那里) and what was given (我很喜欢).

The word that is liked points back; what it points to stands in the clauses before it, in the same text.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from streams.extraction.rules.finding import profile

if TYPE_CHECKING:
    from collections.abc import Iterator

    from streams.extraction.rules.finding import Finding
    from streams.extraction.rules.sentences import Sentence

_LOOKS_BACK: Final = 4
"""Clauses."""
_THERE: Final = re.compile(
    r"^(?:而且|真的|但|不过)?我们?(?:俩|两个)?(?:都|真的|特别|非常|很|超级?|好|挺|太|也|还|最){0,4}(?P<not>不(?:太|怎么|是很)?)?(?:喜欢|爱)"
    r"(?:那里|那儿|那边|那家(?:店|餐厅|馆子|咖啡馆|咖啡店)?|那个地方|那地方)(?:的(?:氛围|气氛|环境|感觉|风景))?[了啊呀呢]{0,2}$"
)
_PLACE: Final = re.compile(
    r"(?:在|去了?|到了?)(?!一起|哪|家里?(?:吃|$)|我家|了)(?P<place>[一-鿿A-Za-z0-9·]{2,12}?)(?:第一次)?(?:约会|约了会|见面|散步|吃饭|吃了"
    r"|看了|逛|玩|过(?:了)?|庆祝|待了|拍照|喝)"
    r"|(?:在|去了|到了|去)(?P<at>(?!一起|哪)[一-鿿A-Za-z0-9·]{2,10}?)(?:了|里)?$"
)
_DEED: Final = re.compile(r"^[看吃打买喝听找接送见做拍泡逛玩]|[一-鿿][了过][一-鿿]")
"""去看了日落 and 去吃火锅 say what was done, and no place."""
_TOGETHER: Final = re.compile(r"约会|我们|咱们|我俩|[跟和].{1,6}(?:在|去|到)|一起")
_IT: Final = re.compile(
    r"^(?:而且|真的)?我(?:真的|特别|非常|很|超级?|好|挺|太|也|最){0,4}(?P<not>不(?:太|怎么|是很)?)?(?:喜欢|爱)"
    r"(?:极|死|得不得)?(?:这个礼物|这份礼物|那个礼物|它)?[了啊呀呢]{0,2}$"
)
_GIVEN: Final = re.compile(
    r"(?:送了?给?我|给我送了?|收到了?.{1,8}?送的)[了的]?(?:[一两三][个条束只本件双瓶副块张支套盒顶部枚对份幅])?(?P<thing>(?![一两三][个条束只本件双瓶副块张支套盒顶部枚对份幅])[一-鿿A-Za-z0-9]{2,10})$"
)
_NO: Final = re.compile(r"如果|要是|想(?!念)|打算|准备|听说|没|明天|下周|下个月")

_YOU: Final = re.compile(r"[你您]")


def liked(sentence: Sentence) -> Iterator[Finding]:
    """Yield the place of a date, or the gift, that a sentence says is liked or not; nothing where it is not certain."""
    clauses = () if sentence.asks else (*sentence.after, *sentence.clauses)
    for at in range(len(sentence.after), len(clauses)):
        found = _liked(clauses[at], clauses[max(0, at - _LOOKS_BACK) : at][::-1])
        if found is not None:
            yield found


def names_place(clause: str) -> bool:
    """Return whether a clause says where something is or was."""
    return _PLACE.search(clause) is not None


def _liked(said: str, before: tuple[str, ...]) -> Finding | None:
    if m := _THERE.match(said):
        for clause in before:
            if _NO.search(clause) or _YOU.search(clause):
                return None
            if place := _PLACE.search(clause):
                together = any(map(_TOGETHER.search, (said, *before)))
                named = place["place"] or place["at"]
                return _taste(named, m["not"]) if together and not _DEED.search(named) else None
    elif before and (m := _IT.match(said)) and not _NO.search(before[0]) and (given := _GIVEN.search(before[0])):
        return _taste(given["thing"], m["not"])
    return None


def _taste(thing: str, denied: str | None) -> Finding:
    named = re.sub("^一[家个间座]", "", thing)
    if denied:
        return profile("dislikes", named, f"用户不喜欢{named}")
    return profile("likes", named, f"用户喜欢{named}")
