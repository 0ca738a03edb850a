"""Chinese statements about events: Luna's event types, with the feeling and the day that the words name."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from projections.dates.cues import day_past
from streams.extraction.rules.chinese.clauses import without_idioms
from streams.extraction.rules.chinese.people import FAMILY
from streams.extraction.rules.feelings import STRONG, chinese_feeling
from streams.extraction.rules.finding import Finding

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import date

    from streams.extraction.rules.chinese.clauses import Clause
    from streams.extraction.rules.sentences import Sentence

_WHEN: Final = (
    r"(?:(?:今天|昨天|前天|昨晚|今晚|刚才|刚|上周末?[一二三四五六日天]?|上个?星期[一二三四五六日天]?|周末|上个?月|"
    r"这周|早上|上午|中午|下午|晚上|去年|前几天|终于|又|居然|竟然|已经|真的|\d{1,2}月\d{1,2}[日号])\s*){0,10}"
)
_NOT = re.compile(
    r"没|(?<!特)别(?!人)|不(?!好意思|小心|已)|想(?!哭)|(?<!重)要|打算|准备|差点|差一点|如果|经常|总是?|老是|常常|每次|每天|每周|"
    r"从不|怕|会不会|明天|后天|下周|下个?月|电影|小说|剧里|梦"
)
_SOMEBODY: Final = r"[一-鿿A-Za-z]{1,8}?"
_MINE: Final = rf"我的?(?:{FAMILY}|好?朋友|闺蜜|同事|室友|舍友|同学|老板)"
_WE: Final = rf"(?:(?:我们?俩?|咱们?俩?){_WHEN}(?:[跟和与]{_SOMEBODY})?|[跟和与]{_SOMEBODY}|{_SOMEBODY}[跟和与]我)"
_TWO: Final = rf"(?=我们|我俩|咱|我?{_WHEN}[跟和与]|{_SOMEBODY}[跟和与]我){_WE}{_WHEN}"
_EVENTS: Final = (
    ("fight", rf"{_TWO}大?(?:吵了.{{0,3}}架|吵架了|吵起来了|闹翻了|闹了?别扭了?|冷战了|大吵了?一[架场]|翻脸了)"),
    ("makeup", rf"{_TWO}(?:和好了|和好如初了?|言归于好|重归于好)"),
    ("breakup", rf"{_TWO}分手了"),
    (
        "confession",
        (
            rf"(?:我?{_WHEN}(?:鼓起勇气)?[跟向对和]{_SOMEBODY}表白了|{_SOMEBODY}{_WHEN}[跟向对和]我表白了"
            r"|我表白(?:成功|被拒绝?)了)"
        ),
    ),
    ("first_kiss", rf"{_WE}{_WHEN}(?:第一次(?:接吻|亲吻|接了吻)|.{{0,4}}初吻)|我?把初吻"),
    ("milestone", rf"是?{_WE}{_WHEN}.{{0,8}}第一次约会"),
    (
        "milestone",
        (
            rf"我们?{_WHEN}(?:升职了|毕业了|考上了?.{{2,12}}|拿到了?.{{0,8}}(?:offer|驾照|毕业证|学位|冠军|奖学金|奖)"
            r"|通过了.{2,12}|订婚了|领证了|怀孕了|求婚成功了|买房了|当爸爸?了|当妈妈?了|生了个?(?:儿子|女儿|宝宝))"
        ),
    ),
    ("milestone", rf"我们?{_WHEN}(?:人生)?第一次(?!听|知道|见到?你|用|来|聊|看到|发现|跟你|和你).{{2,14}}了.{{0,6}}$"),
    (
        "gift",
        rf"(?:{_MINE}|(?!我){_SOMEBODY}){_WHEN}(?:送了?给?我|给我送了?)(?!到|回|去|走|上|下|出|来|一程|的).{{2,20}}$",
    ),
    ("gift", rf"我{_WHEN}(?:送了|送给了?|给{_SOMEBODY}送了)(?!.{{0,6}}(?:到|回|去|走|上|一程)).{{2,20}}$"),
    ("gift", rf"我?{_WHEN}收到了?.{{0,10}}(?:送的.{{1,16}}|(?:礼物|花|玫瑰|巧克力|蛋糕|贺卡))$"),
    ("anniversary", r"(?:今天|昨天|昨晚)?是?(?:今天是)?我们.{0,8}(?:周年|纪念日)(?:纪念日)?(?:了|啦|呢)?$"),
    (
        "date",
        rf"{_TWO}.{{0,14}}(?:约会了|约了会|约会回来|(?<=在).{{2,10}}约会$)|{_TWO}.{{0,4}}(?:在|去了|到了).{{2,10}}约会",
    ),
)
_HAPPENED: Final = tuple((event, re.compile(rf"^{_WHEN}(?:{said})")) for event, said in _EVENTS)
_CONFIDES = re.compile(r"(?:从来?|还)?没有?[跟和对向](?:别人|任何人|其他人|谁)(?:说|讲|提|聊)起?过")
_FEELS = re.compile(
    rf"^{_WHEN}我{_WHEN}(?:现在|最近|这几天|心里|真的)*(?:感到|感觉)?(?P<felt>(?!.*(?:喜欢|爱)$).{{2,10}})$"
)
_WHERE = re.compile(r"^(?:就是?|是)?(?:在|去了?|到了?)(?!.*[了吗]$)[一-鿿A-Za-z0-9· ]{2,12}$")
_TODAY = re.compile(r"^(?:今天|昨天|明天)")


def confided(sentence: Sentence, today: date) -> Iterator[Finding]:
    """Yield a sentence in which the user says that nobody else knows it, as a whole."""
    if not sentence.asks and any(_CONFIDES.search(said) for said in sentence.clauses):
        yield _event_finding("personal_share", "，".join(sentence.clauses), today)


def events(clause: Clause, today: date) -> Iterator[Finding]:
    """Yield at most one event of a clause that was said on `today`."""
    text = clause.text
    if clause.past or _CONFIDES.search(text):
        return
    denied = _NOT.search(text) and not (_TODAY.match(text) and "纪念日" in text)
    event = None if denied else next((event for event, said in _HAPPENED if said.match(text)), None)
    if event is not None:
        where = clause.rest[:1] if "约会" in text and clause.rest and _WHERE.match(clause.rest[0]) else ()
        yield _event_finding(event, "，".join((text, *where)), today, _reaction(clause.rest[len(where) :]))
        return
    feels = None if denied else _FEELS.match(text)
    felt = chinese_feeling(feels["felt"]) if feels else None
    because = next((part for part in clause.rest[:1] if part.startswith("因为")), None)
    if felt is not None and (felt.intensity >= STRONG or because):
        yield _event_finding("personal_share", text, today, because)


def _reaction(rest: tuple[str, ...]) -> str | None:
    """Return the next clause if it names a feeling about the event."""
    return next((part for part in rest[:1] if chinese_feeling(part) and not re.search(r"你|吗$", part)), None)


def _event_finding(event: str, said: str, today: date, reaction: str | None = None) -> Finding:
    words = f"{said}，{reaction}" if reaction else said
    content = "，".join(_of_the_user(part) for part in words.split("，"))
    felt = chinese_feeling(words)
    return Finding(
        content=content if "用户" in content else f"用户{content}",
        kind="episodic",
        event_type=event,
        emotion=felt.emotion if felt else None,
        emotion_intensity=felt.intensity if felt else None,
        key_dialogue=(words,),
        occurred_on=day_past(said, today),
    )


def _of_the_user(said: str) -> str:
    """Return a text in the third person: 我跟我妈吵架了 is 用户跟自己妈吵架了."""
    first, *others = re.split(r"我们俩?|咱们俩?|我俩|咱俩|(?<!自)我", without_idioms(said))
    return "用户".join([first, "自己".join(others)]) if others else first
