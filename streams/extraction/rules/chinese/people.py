"""Chinese statements about others: family, friends, colleagues, pets, and their dates."""

from __future__ import annotations

import re
from itertools import takewhile
from typing import TYPE_CHECKING, Final

from projections.dates.numerals import NUMERAL
from projections.dates.yearly import birth_date
from streams.extraction.rules.chinese.clauses import without_particles
from streams.extraction.rules.finding import Finding, profile

if TYPE_CHECKING:
    from collections.abc import Iterator

    from streams.extraction.rules.chinese.clauses import Clause

FAMILY: Final = (
    r"老公|老婆|丈夫|妻子|爱人|媳妇|先生|太太|男朋友|女朋友|男友|女友|对象|未婚夫|未婚妻|爸爸|妈妈|父亲"
    r"|母亲|爸|妈|老爸|老妈|哥哥|姐姐|弟弟|妹妹|"
    r"哥|姐|弟|妹|大哥|大姐|二哥|二姐|表哥|表姐|表弟|表妹|堂哥|堂姐|堂弟|堂妹|儿子|女儿|大儿子|小儿子|"
    r"大女儿|小女儿|孩子|宝宝|闺女|爷爷|奶奶|外公|外婆|姥姥|姥爷|"
    r"叔叔|舅舅|姑姑|姨妈|阿姨|侄子|侄女|外甥|外甥女|孙子|孙女|双胞胎"
)
_FRIENDS: Final = r"(?:最好的|好|男性|女性|发小)?(?:朋友|闺蜜|哥们儿?|兄弟|发小|室友|舍友|死党)"
_COLLEAGUES: Final = (
    r"同事|老板|领导|上司|主管|经理|导师|老师|客户|合伙人|搭档|同学|邻居|房东|组长|下属|实习生|秘书|医生|教练"
)
_PETS: Final = (
    r"猫|狗|猫咪|狗狗|小猫|小狗|兔子|仓鼠|鹦鹉|乌龟|金毛|柯基|柴犬|布偶|橘猫|边牧|泰迪|博美|哈士奇|二哈"
    r"|拉布拉多|萨摩耶?|比熊|法斗|英短|美短|蓝猫|暹罗|加菲|狸花猫?|三花|宠物"
)
_NAMED: Final = r"(?:的)?(?:名字|小名|大名|乳名|外号)?(?:叫做?|名叫|名字叫|名字是|的名字是)"
_NAME: Final = r"(?P<name>[一-鿿]{1,4}|[A-Z][A-Za-z]{1,19}(?: [A-Z][a-z]+)?)"
_NO_NAME = re.compile(r"^(?:我|你|他|她|它|了|什么|不|过|来|去|到|人|外卖|大家|啥|醒|住|停|回|得|一声|车)")
_RELATIVE = re.compile(rf"^我(?:们|家)?的?(?:有个?)?(?P<who>{FAMILY}){_NAMED}{_NAME}$")
_FRIEND = re.compile(rf"^我(?:有一?个)?的?(?P<who>{_FRIENDS}){_NAMED}{_NAME}$")
_PET = re.compile(rf"^我(?:们)?(?:家)?(?:的)?(?:养了?)?(?:有)?(?:[一两]?只|条)?(?:小)?(?P<who>{_PETS}){_NAMED}{_NAME}$")
_HAS_PET = re.compile(
    rf"^(?:家里)?(?:养了?|有)(?:[一两]?[只条个])?(?:小|大)?(?P<who>{_PETS}|[一-鿿]{{1,3}}[猫狗]){_NAMED}{_NAME}$"
)
_PET_CALLED = re.compile(rf"^我?(?:们?家)?(?:里)?(?:养了?|有)(?:[一两]?[只条个])?叫{_NAME}的小?(?P<who>{_PETS})$")
_KEEPS_PET = re.compile(rf"^(?:家里)?(?:养了?|有)(?:[一两]?[只条个])?(?:小|大)?(?P<who>{_PETS})$")
_THEN_NAMED = re.compile(rf"^(?:[它他她]|名字)?(?:叫做?|名叫){_NAME}$")
_HAS_NAMED = re.compile(rf"^有一?个(?P<who>{FAMILY}|{_FRIENDS}|{_COLLEAGUES}){_NAMED}{_NAME}$")
_NEW_LOVE = re.compile(r"^(?:有|交|谈|找到?)了?(?:一?个)?新?的?(?P<who>男朋友|女朋友|男友|女友|对象)了?$")
_HAS_CHILD = re.compile(
    r"^有(?:了)?(?:[一两二三四]个|个)?(?:[^我你他她]{0,6}的)?(?P<who>儿子|女儿|孩子|双胞胎|妹妹|弟弟|哥哥|姐姐)$"
)
_AGED = re.compile(rf"^我们?家?的?(?P<who>{FAMILY})(?:今年|现在|刚|快|已经)*{NUMERAL}岁(?:半|多)?了?$")
_KEEPS_TWO = re.compile(rf"^我?们?(?:家里?)?(?:有|养了?|收养了)(?:两[只条个])(?:小)?(?P<who>{_PETS})$")
_EACH = re.compile(r"^一[只条个]叫(?P<one>[一-鿿]{1,4}?)(?:和|还有)?(?:另)?一[只条个]叫(?P<two>[一-鿿]{1,4})$")
_DAY_OF = re.compile(r"^(?:我们?的?)?(?P<who>[一-鿿]{0,4}?)(?:的)?(?P<what>生日|结婚纪念日|纪念日|忌日)(?:是|在)")


def people(clause: Clause) -> Iterator[Finding]:
    """Yield the people and pets that the user names as theirs. The value of family is relation and name."""
    bare = without_particles(clause.text)
    core = without_particles(clause.core)
    if m := _RELATIVE.match(bare):
        yield from _family(m["who"], m["name"])
    elif m := _PET.match(bare) or _PET_CALLED.match(bare):
        yield from _pet(m["who"], m["name"])
    elif m := _FRIEND.match(bare):
        yield from _friend(m["who"], m["name"])
    elif m := _AGED.match(bare):
        named = _THEN_NAMED.match(without_particles(clause.rest[0])) if clause.rest else None
        if named and not _NO_NAME.match(named["name"]):
            yield from _family(m["who"], named["name"])
    elif clause.subject in ("me", "none") and not clause.past:
        yield from _had(core, clause)
    yield from _pets_each(bare, clause)
    yield from _days(bare)


def _had(core: str, clause: Clause) -> Iterator[Finding]:
    """Yield whom a clause without 我的 says that the user has: 养了只猫叫豆包, 有新男朋友了."""
    if m := _HAS_PET.match(core):
        yield from _pet(m["who"], m["name"])
    elif (m := _KEEPS_PET.match(core)) and (
        n := next(filter(None, map(_THEN_NAMED.match, map(without_particles, clause.rest[:2]))), None)
    ):
        yield from _pet(m["who"], n["name"])
    elif (
        clause.subject == "me"
        and (m := _NEW_LOVE.match(clause.core))
        and clause.rest
        and (n := _THEN_NAMED.match(without_particles(clause.rest[0])))
    ):
        yield from _family(m["who"], n["name"])
    elif m := _HAS_NAMED.match(core):
        who = m["who"]
        if re.fullmatch(FAMILY, who):
            yield from _family(who, m["name"])
        elif re.fullmatch(_FRIENDS, who):
            yield from _friend(who, m["name"])
    elif (clause.subject == "me" or core != clause.text or clause.text.startswith("有")) and (
        m := _HAS_CHILD.match(core)
    ):
        yield from _children(m["who"], core, clause)


_TWO_NAMES: Final = re.compile(r"^(?:分别)?(?:叫做?|名叫)(?P<one>[一-鿿]{1,4}?)[和、跟](?P<two>[一-鿿]{1,4})$")
_ONE_AGED: Final = re.compile(rf"^(?!我|你|他|她|今年|已经|都)[一-鿿]{{2,3}}(?:今年)?{NUMERAL}(?:岁|个月)$")


def _children(who: str, core: str, clause: Clause) -> Iterator[Finding]:
    """Yield the children or siblings that the user has, by the names and ages that the next clauses give them."""
    after = list(map(without_particles, clause.rest))
    if after and (m := _THEN_NAMED.match(after[0])) and not _NO_NAME.match(m["name"]):
        yield from _family(who, m["name"])
    elif after and (m := _TWO_NAMES.match(after[0])):
        yield profile("family", f"{who}{m['one']}、{m['two']}", f"用户{core}，{after[0]}")
    else:
        aged = list(takewhile(_ONE_AGED.match, after))
        yield profile("family", who, "，".join([f"用户{core}", *aged]))


def _pets_each(bare: str, clause: Clause) -> Iterator[Finding]:
    keeps = _KEEPS_TWO.search(bare)
    named = _EACH.match(without_particles("".join(clause.rest[:2]))) if keeps else None
    if keeps and named:
        for name in named.groups():
            yield from _pet(keeps["who"], name)


def _days(bare: str) -> Iterator[Finding]:
    m = _DAY_OF.match(bare)
    if not m or not (day := birth_date(bare)):
        return
    who = m["who"]
    if m["what"] == "生日":
        if who and re.fullmatch(rf"{FAMILY}|{_FRIENDS}|{_COLLEAGUES}", who):
            yield profile("important_dates", f"{who}: {day}", f"用户的{who}的生日是{day}")
    elif bare.startswith(("我", "结婚")) and (not who or re.fullmatch(rf"{FAMILY}", who)):
        yield profile("important_dates", f"{m['what']}: {day}", f"用户的{m['what']}是{day}")


def _family(who: str, name: str) -> Iterator[Finding]:
    if not _NO_NAME.match(name):
        yield profile("family", f"{who}{name}", f"{_theirs(who)}叫{name}")


def _friend(who: str, name: str) -> Iterator[Finding]:
    if not _NO_NAME.match(name):
        yield profile("friends", name, f"{_theirs(who)}叫{name}")


def _pet(who: str, name: str) -> Iterator[Finding]:
    if not _NO_NAME.match(name):
        yield profile("pet_names", name, f"{_theirs(who)}叫{name}")


def _theirs(who: str) -> str:
    """Return who somebody is to the user, with one 的: 用户最好的朋友."""
    return f"用户{'' if '的' in who else '的'}{who}"
