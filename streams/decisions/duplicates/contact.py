"""Contact details: a number or address that replaces an earlier one."""

from __future__ import annotations

import re
from typing import Final

from schemas.vocabulary.attributes import name_and_date, same_value

_ANEW: Final = re.compile(
    r"^(?:the )?user's [\w -]{2,30} (?:is now|(?:has )?changed to) |^用户的?[^，。]{1,10}[换改变]成了?", re.IGNORECASE
)
_KINDS: Final = {
    **dict.fromkeys(
        ("phone", "phone number", "mobile", "cell", "number", "手机", "手机号", "电话", "电话号码"), "phone"
    ),
    **dict.fromkeys(("email", "e-mail", "email address", "邮箱", "邮件"), "email"),
    **dict.fromkeys(("address", "home address", "地址", "家庭地址", "住址"), "address"),
    **dict.fromkeys(("wechat", "微信", "微信号"), "wechat"),
}
"""The kinds of contact details, by their names."""


def takes_place(content: str, value: str | None, older: str | None) -> bool:
    """Return whether a statement says that a number or address replaces `older`.

    Both are values of `accounts`, such as `phone: 07700 900456`. Unless the statement mentions a change, both are kept.
    """
    if not value or not older or not _ANEW.search(content):
        return False
    return _kind(value) == _kind(older) and not same_value(value, older)


def _kind(value: str) -> str:
    name = name_and_date(value)[0].casefold()
    return _KINDS.get(name, name)
