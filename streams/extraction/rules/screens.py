"""Screens and articles: they have no speaker, so only lines with a label or a certain form are read.

A line is kept word for word: a labelled name or company, an amount that is owed or paid, a dated event that lies ahead,
a labelled project. What stands behind `Contact:` must look like a name, and a line that gives orders to an assistant is
kept by no rule: whoever wrote the screen is not the user.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from projections.dates.cues import day_ahead
from schemas.visible_text import visible
from streams.extraction.rules.finding import Finding
from streams.extraction.rules.orders import gives_orders

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator
    from datetime import date

    from schemas.vocabulary.words import MemoryType

LONGEST_LINE: Final = 200
"""Characters. Longer lines are running text, whose claims are not known."""
LONGEST_PART: Final = 500
"""Characters of the lines that are kept together."""
_BUTTONS: Final = (
    "back next ok cancel done skip save edit close more menu home share search settings login log in sign up help send"
    " open view all on off yes no add delete start stop continue submit"
    " 返回 取消 确定 完成 分享 更多 首页 设置 搜索 登录 我的 保存"
)
_CHROME: Final = frozenset(_BUTTONS.split())
"""What stands on buttons and bars, word by word."""
_CLOCK: Final = re.compile(r"\d{0,2}(?::\d\d)?(?: ?[AaPp][Mm])?")
MOST_NAME_WORDS: Final = 6
"""Words of a person's or company's name, with a title or a legal form."""
MOST_NAME_HAN: Final = 24
"""Characters of a name written in Han: the longest company names have about twenty."""

_LABEL: Final = r"^\W{0,3}(?:"
_PERSON = re.compile(
    _LABEL + r"(?:公司|公司名称|单位|联系人|姓名|客户|收件人|甲方|乙方)\s*[:：]\s*|(?:company|employer|contact|"
    r"contact person|customer|client|full name|name|organi[sz]ation)\s*:\s*)(?P<what>[^\s:：].{1,60})$",
    re.IGNORECASE,
)
_PROJECT = re.compile(
    _LABEL + r"(?:项目|项目名称|课题)\s*[:：]\s*|(?:project|project name)\s*:\s*)(?P<what>[^\s:：].{1,80})$",
    re.IGNORECASE,
)
_MONEY = re.compile(
    r"[¥￥$€£]\s?\d[\d,]{0,20}(?:\.\d{1,20})?|\d[\d,]{0,20}(?:\.\d{1,20})?\s?(?:万元|元|块|人民币|美元|欧元|dollars"
    r"|euros?|"
    r"pounds|usd|eur|gbp|cny|rmb)(?![a-z])",
    re.IGNORECASE,
)
_OWED = re.compile(
    r"合计|总计|总额|金额|付款|支付|已付|实付|应付|账单|欠款|余额|转账|收款|还款|工资|房租|发票|报销|"
    r"\b(?:total|amount due|amount|invoice|payment|paid|balance|"
    r"salary|rent|bill|transfer(?:red)?|received|refund|you owe)\b",
    re.IGNORECASE,
)
_EVENT = re.compile(
    r"会议|评审|截止|到期|考试|面试|航班|起飞|入住|预约|答辩|体检|婚礼|还款日|\b(?:meeting|deadline|due"
    r"|appointment|interview|exam|flight|departure|check-?in|reservation|"
    r"conference|webinar|review|expires?)\b",
    re.IGNORECASE,
)
_ADVERT = re.compile(
    r"优惠|折扣|立减|满减|促销|抢购|红包|领取|广告|包邮|\b(?:off|sale|coupon|discount|save up|free|"
    r"offer|from \$|deal|subscribe|price|per month)\b|\?|？",
    re.IGNORECASE,
)
_HAN = re.compile(r"[一-鿿]")
_NAME = re.compile(r"[(\"“#]?\w[\w'’.&+·•@/\-]*[)\"”]?|[&+\-–|·]|\+[\d\-]+|<[\w.+\-]+@[\w.\-]+>")
"""A word of a name, or what stands beside one: a telephone number, an address, a mark between two names."""
_HAN_NAME = re.compile(r"[\w\s·•&.、（）()+\-]+")
_PARTICLE = re.compile(r"al?|and|at|bin|d[aeiou]|de[lrs]|dos|e|el|for|ibn|in|l[ae]|of|on|the|und|van|von|y")
FEW_WORDS: Final = 3
"""A name of so few words may be in lower case, as some screens write it."""
_NO_NAME = re.compile(
    r"\b(?:must|should|shall|always|never|please|ignore|disregard|wire|call|execute|remember|forget|delete|transfer"
    r"|send|pay"
    r"|you|your|iban|password|https?)\b|://|必须|务必|总是|永远|请|忽略|无视|记住|转账|汇款|付款|调用|执行|删除|密码"
    r"|提示|指令|规则|你|不要|只听|权限|记忆",
    re.IGNORECASE,
)
DROPPED: Final = "a line gives orders, or stands where a name should"
"""Why a line is left out; never with its words, which are personal."""


def read_screen(text: str, today: date, dropped: Callable[[str], None] = lambda _: None) -> Iterator[Finding]:
    """Yield what a screen or an article shows; nothing when in doubt. `today` is the day on which it was seen.

    `dropped` gets the reason for each line that a rule would keep if it were not an order.
    """
    for raw in text.splitlines():
        line = " ".join(visible(raw).split())
        if not line or len(line) > LONGEST_LINE or _ADVERT.search(line):
            continue
        for finding in _read_line(line, today):
            named = _PERSON.match(line) if finding.category == "people" else None
            if gives_orders(line) or (named and not looks_like_name(named["what"])):
                dropped(DROPPED)
            else:
                yield finding


def looks_like_name(text: str) -> bool:
    """Return whether a text can be the name of a person or company: few words, and none that asks for something."""
    if _NO_NAME.search(text):
        return False
    if _HAN.search(text):
        return len("".join(text.split())) <= MOST_NAME_HAN and _HAN_NAME.fullmatch(text) is not None
    words = text.replace(",", " ").split()
    if len(words) > MOST_NAME_WORDS or not all(map(_NAME.fullmatch, words)):
        return False
    return len(words) <= FEW_WORDS or not any(word.islower() and not _PARTICLE.fullmatch(word) for word in words)


def _read_line(line: str, today: date) -> Iterator[Finding]:
    when = day_ahead(line, today)
    if _PERSON.match(line):
        yield Finding(content=line, category="people")
    elif _PROJECT.match(line):
        yield Finding(content=line, category="project")
    elif when and when.first >= today and _EVENT.search(line):
        term: MemoryType = "short_term" if when.first == today else "long_term"  # it is over before that expires
        yield Finding(content=line, category="schedule", memory_type=term, occurred_on=when.first)
    elif _MONEY.search(line) and _OWED.search(line):
        yield Finding(content=line, category="finance")


def shown_together(text: str, known: Collection[str]) -> Iterator[str]:
    """Yield the lines of substance of a screen, in parts of at most LONGEST_PART characters; `known` are left out.

    A line of substance is no button or clock, and no order to an assistant.
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
            if cut.strip() in known or not _is_substance(cut) or gives_orders(cut) or _PERSON.match(cut):
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
