"""Forms: kinds of answer that are recognised by how they are written, such as e-mail addresses, prices or dates.

A text that contains the form may answer a question without sharing a word with it: a screenshot that shows
`luna@example.com` answers "What is the e-mail address?".
"""

from __future__ import annotations

import re
from typing import Final

_MONTH: Final = r"(?:jan|feb|mar|apr|may|june?|july?|aug|sept?|oct|nov|dec)(?:uary|ruary|ch|il|ust|ember|tember|ober)?"
_WHAT: Final = (
    r"\b(?:what|which)(?:['’]?s| is| are| was| were)?(?: the| her| his| their| your| my)?"
    r"(?: (?!first |last |next |best |same |whole )\w+){0,2} "
)
"""`What is the `, `Which `: the words that precede the word for a form."""
_PRICE_ASKED: Final = (
    r"\bprices?\b|\bcosts?\b|\bfees?\b|\bfare\b|\bamount\b|\bhow much (?:is|are|was|were|money)\b"
    r"|\bhow much\b.{0,60}\b(?:pay|paid|spend|spent|charged?|earn|worth|credit|discount)\b"
    r"|价格|价钱|费用|票价|房租|工资|多少钱|几块钱"
)
_DATE: Final = (
    rf"\b{_MONTH}\.? \d|\b\d{{1,2}}(?:st|nd|rd|th)?(?: of)?,? {_MONTH}\b|\b\d{{4}}[-./年] ?\d{{1,2}}"
    r"|\b\d{1,2}[/.]\d{1,2}[/.]\d{2,4}\b|\d{1,2}月|\d[日号]"
)
_ASKED: Final = (
    rf"\be-?mail (?:address|id)|{_WHAT}e-?mail\b(?! did| does| do| was| is)|邮箱|邮件地址",
    r"\bweb ?(?:site|page|address)|\burl\b|\blink\b|网址|网站|链接",
    r"\b(?:tele)?phone number|\b(?:contact|mobile|cell) number|电话号码|电话是|手机号",
    _PRICE_ASKED,
    r"\bper ?cent(?:age)?\b|百分之几|百分比",
    rf"{_WHAT}times?\b(?! (?:management|zone|travel))|几点",
    rf"{_WHAT}(?:date|day)\b|\bdate of\b|日期|几号|几月|哪一?天",
    rf"{_WHAT}year\b|哪一?年",
    r"\btemperature|气温|温度|体温|多少度",
    r"\b(?:file|memory|storage|download|app|disk) size\b|内存|文件大小|安装包",
    r"\bversion\b|版本",
)
"""The questions for each form."""
_WRITTEN: Final = (
    r"[\w.+-]@[\w-]{1,64}\.\w",
    r"https?://|\bwww\.|\b[\w-]+\.(?:com|org|net|io|co|cn|de|uk|fr|jp|app|dev)\b",
    r"(?<![\d.])\+?\d(?:[ ()-]{0,2}\d){6,14}(?!\d)",
    r"[$€£¥₹]\s?\d|\d\s?(?:usd|eur|gbp|rmb|dollars?|euros?|pounds?|yuan|元|块|万|美元|欧元)|\brs\.? ?\d",
    r"\d ?[%％]|\bper ?cent\b|百分之",
    r"\b\d{1,2}:\d\d\b|\b\d{1,2} ?[ap]\.?m\b|\d{1,2}点|[一二三四五六七八九十两]点(?!儿?[^钟半一二三四五])",
    _DATE,
    r"(?<!\d)(?:19|20)\d\d(?!\d)",
    r"\d ?°|\d ?度|\d ?degrees\b",
    r"\d ?[kmgt]b\b",
    r"\bv?\d+\.\d+(?:\.\d+)+|\b(?:version|v)\.? ?\d|版本 ?\d",
)
"""What each form looks like."""
_QUESTIONS: Final = tuple(re.compile(form, re.IGNORECASE) for form in _ASKED)
_ASKING: Final = re.compile(
    r"mail|web|url|link|number|price|cost|fee|fare|amount|much|cent|time|date|day|year|temperature|size|version"
    r"|邮|网|链接|电话|手机|价|费|租|资|多少|几|百分|日期|哪|温|内存|文件|安装包|版本",
    re.IGNORECASE,
)
"""A question that contains none of these asks for no form."""
_TEXTS: Final = tuple(re.compile(form, re.IGNORECASE) for form in _WRITTEN)
_SIGNS: Final = re.compile(r"[\d@]|www|[a-z]\.[a-z]|per ?cent|百分之|点", re.IGNORECASE)
"""A text that contains none of these, like most texts, has no form."""
ALL_FORMS: Final = (1 << len(_WRITTEN)) - 1


def forms_asked(query: str) -> int:
    """Return the forms that a question asks for, one bit each; 0 for none."""
    if not _ASKING.search(query):
        return 0
    return sum(1 << n for n, form in enumerate(_QUESTIONS) if form.search(query))


def forms_of(text: str, forms: int = ALL_FORMS) -> int:
    """Return which of the given forms a text contains, one bit each."""
    if not _SIGNS.search(text):
        return 0
    return sum(1 << n for n, form in enumerate(_TEXTS) if forms >> n & 1 and form.search(text))
