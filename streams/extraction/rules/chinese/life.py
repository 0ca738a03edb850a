"""Chinese statements about daily life: dated plans, habits, money, projects and whereabouts."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from projections.dates.cues import day_ahead, moved_to, span_ahead
from streams.extraction.rules.chinese.about_self import keeps_birthday
from streams.extraction.rules.chinese.clauses import without_idioms, without_particles
from streams.extraction.rules.finding import Finding, plan
from streams.extraction.rules.places import chinese_city

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import date

    from streams.extraction.rules.chinese.clauses import Clause

_PLANNED = re.compile(
    r"要|得(?=[去交带回把])|将|准备|打算|约了|会议|开会|例会|评审|考试|面试|笔试|出差|旅游|旅行|看牙|"
    r"看医生|体检|复查|复诊|手术|交(?:稿|付|货|作业|报告)|截止|到期|婚礼|"
    r"聚会|聚餐|过生日|生日会|满月|结婚(?!纪念)|答辩|汇报|出发|入职|报到|开学|航班|飞机|高铁|火车|"
    r"演唱会|比赛|有课|上课|搬家|deadline|ddl|上线|发布|签约|见客户|团建|预约|家长会"
    r"|[去飞](?=[一-鿿]{2})|考[研博公]|[高中国省]考|拔牙|胃镜|拆线|开庭|回(?:老家|国|学校)"
    r"|有(?=.{0,8}(?:会|课|考|约|局|活动|演出|讲座|培训))",
    re.IGNORECASE,
)
_NO_PLAN = re.compile(
    r"[^约订为定好]了(?=.)|的时候|[和跟]你|天气|气温|降温|升温|下雨|下雪|再聊|再说|再见|再来|见吧|不用|不要|不想|"
    r"不去|取消|别|没空|没有|想要|想去|主要|需要你|重要$|要不|快要|还要多久|了$|聊聊"
)
_HABITUAL = re.compile(
    r"每天|每晚|每早|每周|每个?周末|每个?星期|每个?礼拜|每个?月|每年|天天|习惯|经常|常常|通常|一般|"
    r"(?:早上|晚上|中午|睡前|饭后|下班后)我?都"
)
_WEEKLY = re.compile(r"每(?:个)?(?:周|星期|礼拜)[一二三四五六日天]")
"""周四 in 每周二和周四 is no date."""
_NO_OBJECT = re.compile(
    r"^(?:[和跟、及与到至]|每?(?:周|星期|礼拜)[一二三四五六日天]|早上|上午|中午|下午|傍晚|晚上"
    r"|[0-9一二三四五六七八九十]{1,3}[点次]半?|都|也|会|要)*"
    r"(?:去|来|做|练|吃|喝|看|玩|打|跑|学|写|上|用|弄"
    r"|有)?[0-9一二三四五六七八九十两俩半几]{0,3}(?:[次遍回]|个?(?:半|多)?(?:小时|钟头|分钟))?$"
)
_HAS_HABIT = re.compile(r"^有(.{2,12})的习惯$")
_NO_HABIT = re.compile(
    r"^(?:不知道|觉得|想|很|好|累|忙|烦|都[很好在想]|被|没|是|在想|感|会(?=.{0,3}(?:觉|感|忘|想|配))|说"
    r"|忘|会忘|喜欢|爱|讨厌|有|能|可以|这样|那样|认为|记不|来说|情况|于|上|了|的|开心|难|怕)|元|块|钱|"
    r"工资|房租|房贷"
)
_MONEY: Final = (
    r"(?:[¥￥$€£]\s?\d[\d,.]{0,20}\s?[万千亿kKwW]?|(?:\d[\d,.]{0,20}|"
    r"[零一二两三四五六七八九十百千万半几]{1,8})\s?[万千百亿wWkK]?多?(?:元|块钱?|人民币|美元|美金|刀|欧元|"
    r"英镑|日元|港币|万(?![一-鿿]{0,2}[人次步年])))"
)
_PAID = re.compile(
    r"(?:付|交|还|花|买|赚|存|借|欠|转|投|工资|房租|房贷|车贷|贷款|信用卡|月薪|年薪|收入|薪水|奖金|"
    rf"报销|卖|亏|租金|学费|欠款|定金|押金|预算).{{0,16}}?{_MONEY}"
    rf"|{_MONEY}.{{0,4}}的(?:工资|房租|房贷|车贷|贷款|月薪|年薪|奖金|学费|存款|押金|定金|基金|股票|债)"
)
_HOLDS = re.compile(
    r"(?:持有|(?:买|入|建仓|定投|加仓|卖)了?|手[里上]有).{0,12}(?:股票|基金|ETF|比特币|以太坊|国债|黄金"
    r"|股(?![市东]))|持有.{2,12}"
)
_NO_MONEY = re.compile(r"一块[儿去来]|没钱|便宜|太贵|好贵|值多少|想买|想要|不想|多好|万一|百万富翁")
_WORK_ON: Final = r"(?:正在|在|最近在|目前在|负责|主导|参与|接了|启动了?|筹备|牵头)"
_PROJECT = re.compile(
    rf"{_WORK_ON}(?:做|开发|写|搞|筹备|设计|研发|推进|跟进|准备|负责)?(?:一个|一款|一本|一篇|"
    r"个)?(?P<what>[^，我你他她]{2,20}?(?:项目|App|APP|app|系统|平台|网站|小程序|课题|软件|毕业论文|"
    r"毕设|小说))(?:$|的?(?:开发|设计|重构|前端|后端|研发|推进|筹备|项目))"
)
_NO_PROJECT = re.compile(r"看(?:一?部|一?本|着)?|玩|用|这个项目|那个项目|什么项目|没")
_HERE = re.compile(
    r"^(?:(?:今天|现在|此刻|这会儿|正|刚|这两天|这几天|这周)+(?:我)?(?:就|正|还)?(?:在|到了?|抵达了?)(?P<where>.+))$"
)
_PLACES = re.compile(
    r"^(?:去)?(?:机场|火车站|高铁|飞机上|医院|车站|酒店|公司|学校|图书馆|健身房|外地|国外|老家|家里|"
    r"办公室|咖啡馆|咖啡店)"
)


def life(clause: Clause, today: date) -> Iterator[Finding]:
    """Yield plans, habits, money, projects and whereabouts. `today` is the day on which the clause was said."""
    if moved := moved_to(clause.text, today):
        yield plan(_third_person(without_particles(clause.text)), moved.first, today)
        return
    if clause.past:
        return
    money = list(_money(clause))
    yield from money
    yield from _project(clause)
    if money:
        return
    dated = list(_here(clause)) or list(_plan(clause, today))
    yield from dated or _habit(clause)


def _third_person(text: str) -> str:
    """Say `用户` for 我, and `用户` where a dropped subject means it is left as it is: the words stay."""
    return re.sub(r"我们|(?<!自)我", "用户", without_idioms(text))


def _plan(clause: Clause, today: date) -> Iterator[Finding]:
    if keeps_birthday(clause):
        return
    weekly = _WEEKLY.search(clause.text)
    when = None if weekly else day_ahead(clause.text, today) or span_ahead(clause.text, today)
    if when is None or when.first < today or not _PLANNED.search(clause.text) or _NO_PLAN.search(clause.text):
        return
    if clause.subject == "other" and re.match(
        r"^(?:你|您|他|她|它|大家|别人|老板|[这那](?!周|个?月|个?星期|个?礼拜))", clause.text
    ):
        return
    yield plan(_third_person(without_particles(clause.text)), when.first, today)


def _habit(clause: Clause) -> Iterator[Finding]:
    core = without_particles(clause.core)
    if clause.subject == "me" and (m := _HAS_HABIT.match(core)):
        yield Finding(content=f"用户有{m[1]}的习惯", category="habit")
        return
    if not clause.mine or _NO_OBJECT.match(core) or _NO_HABIT.search(core) or not _HABITUAL.search(clause.adverbs):
        return
    if clause.subject == "none" and not re.search(r"每|天天", clause.adverbs):
        return
    yield Finding(content=f"用户{clause.adverbs.replace('我', '')}{core}", category="habit")


def _money(clause: Clause) -> Iterator[Finding]:
    if clause.subject == "other" and not re.match(r"^我的?(?:们|家)?(?:每|工资|月|年|房|车|存|收)", clause.text):
        return
    if _NO_MONEY.search(clause.text):
        return
    if _PAID.search(clause.text) or (clause.subject != "none" and _HOLDS.search(clause.text)):
        said = _third_person(without_particles(clause.text))
        yield Finding(content=said if "用户" in said else f"用户{said}", category="finance")


def _project(clause: Clause) -> Iterator[Finding]:
    if clause.subject == "other" and not re.match(r"^我(?:们|所在的?)?(?:公司|团队|组|部门|小组|工作室)", clause.text):
        return
    if clause.subject == "none" and not re.match(r"^(?:最近|目前|现在|正|在|负责|参与)", clause.text):
        return
    m = _PROJECT.search(clause.text)
    if m and not _NO_PROJECT.search(m["what"]) and "没" not in clause.text:
        said = _third_person(without_particles(clause.text))
        yield Finding(content=said if "用户" in said else f"用户{said}", category="project")


def _here(clause: Clause) -> Iterator[Finding]:
    said = without_particles(clause.text)
    m = _HERE.match(re.sub(r"^我", "", said))
    if not m or not clause.mine:
        return
    where = m["where"]
    if re.search(r"的时候|了(?=.)", where):
        return
    if _PLACES.match(where) or (chinese_city(where) and not re.search(r"工作|上班|住|生活|定居", where)):
        yield Finding(content=_third_person(said) if "我" in said else f"用户{said}", memory_type="short_term")
