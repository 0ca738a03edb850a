"""Luna's events that are the saying itself: what the user says straight to the listener (我爱你, forgive me).

The sentence must be nothing else: 我爱你 is an event, 我爱你的歌 and 妈妈我爱你 are not. What somebody else said, what
is supposed and what is asked are left out; only a proposal may be a question.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from projections.dates.cues import day_past
from streams.extraction.rules.english.clauses import apart
from streams.extraction.rules.feelings import chinese_feeling, english_feeling
from streams.extraction.rules.finding import Finding

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import date

    from streams.extraction.rules.sentences import Sentence

SHARED: Final = "personal_share"
_THANKS: Final = "thanks"
"""A gift that the user was given and gives thanks for."""
_CHINESE_TITLES: Final = {
    "confession": "用户表白了",
    "breakup": "用户提出了分手",
    "first_kiss": "用户说起了亲吻",
    "fight": "用户吵架了",
    "makeup": "用户求和好",
    "gift": "用户送了礼物",
    _THANKS: "用户收到了礼物",
    "milestone": "用户迎来了里程碑",
    "anniversary": "用户迎来了纪念日",
}
_ENGLISH_TITLES: Final = {
    "confession": "User confessed their feelings",
    "breakup": "User wants to break up",
    "first_kiss": "User spoke of a kiss",
    "fight": "User is in a quarrel",
    "makeup": "User wants to make up",
    "gift": "User gave a gift",
    _THANKS: "User was given a gift",
    "milestone": "User reached a milestone",
}
_CALLS: Final = (
    r"(?:(?:宝贝|宝宝|亲爱的|老婆|老公|其实|真的|说真的|我想说|我要说|我想告诉你|那|今天|昨天|昨晚|刚才|刚刚)\s*)*"
)
_VERY: Final = r"(?:真的|是真的|好|很|也|最|一直|永远|会永远|超级?|特别|就是|已经|只)*"
_US: Final = r"(?:我们俩?|咱们俩?|咱俩|我俩)"
_ZH_BELOVED: Final = r"(?:女朋友|男朋友|女友|男友|老婆|老公|对象|恋人)"
_ZH_OTHER: Final = r"(?:你|他|她|女朋友|男朋友|女友|男友)"
_PLEA: Final = r"(?:吧|嘛|好吗|好不好|好么|可以吗|行吗|行不行)*"
_LONG: Final = r"(?:(?:很|好)(?:久|多年)了|[一二两三四五六七八九十几\d]+年了)"
_KISS: Final = r"(?:轻轻|偷偷|主动|突然|居然|竟然|终于|第一次|地)*(?:亲|吻|亲吻)了"
_PIECE: Final = r"[份束条只枚盒支件双套块台瓶顶]"
_THANK: Final = r"(?:真的|很|非常|太|十分|真)*(?:谢谢|感谢|多谢)"
_NO_GIFT: Final = (
    r".{0,6}(?:祝福|建议|话|歌|消息|信息|帮助|陪伴|支持|关心|照顾|提醒|回复|回答|理解|鼓励|耐心|分享|爱|链接|文章)"
)
_GIVEN: Final = r"(?:[一-鿿]{0,6}礼物|(?<!谢[你您]的)[一-鿿A-Za-z]{1,10})"
_ZH_TIMES: Final = r"[一二两三四五六七八九十百千\d]+(?:天|个月|年|周年)"
_CHINESE: Final = tuple(
    (event, re.compile(rf"^{_CALLS}(?:{said})[呀啊啦呢哦]?$"))
    for event, said in (
        ("confession", rf"我{_VERY}(?:爱上?你(?:了)?|喜欢上你了|(?:爱|喜欢|暗恋)你{_LONG})"),
        ("confession", rf"你?(?:愿意|可以|能不?)*来?[做当]我的?{_ZH_BELOVED}(?:吧|好吗|好不好|可以吗|吗)"),
        ("confession", rf"(?:{_US}|[和跟]我)(?:谈恋爱|交往|在一起){_PLEA}(?<=[吧嘛吗好行])|(?:嫁给我|娶我){_PLEA}"),
        ("breakup", rf"{_US}?(?:还是|就|现在|要不)*(?:分手|分了)吧|我(?:要|想)[跟和]你分手"),
        ("first_kiss", rf"(?:这|那)?(?:是)?(?:{_US}|我)?的?(?:第一次(?:亲吻|接吻|亲嘴)|初吻)(?:了)?"),
        ("first_kiss", rf"{_ZH_OTHER}(?:今天|昨天|昨晚|刚才|刚刚)?{_KISS}我(?:一下|一口|的?(?:脸|嘴|嘴唇|额头))?"),
        ("first_kiss", rf"我{_KISS}{_ZH_OTHER}(?:一下|一口|的?(?:脸|嘴|嘴唇|额头))?"),
        ("fight", rf"(?:{_US}|[和跟]你)?(?:又)?(?:大?吵架了|大?吵了一架|吵翻了)|我{_VERY}(?:生你的?气了?|不想理你了)"),
        ("makeup", rf"{_US}(?:重新)?和好{_PLEA}(?<=[吧嘛吗好行])|我{_VERY}原谅你(?:了|吧)|(?:求求?你)?原谅我{_PLEA}"),
        ("gift", rf"(?:我)?(?:特意|专门|亲手)*给你(?:买|挑|准备|做)了(?!药|饭).{{0,4}}{_PIECE}.{{1,12}}"),
        ("gift", rf"(?:这是)?(?:我)?(?:特意|专门)*(?:送你|送给你|给你准备)的?(?:[一两]?{_PIECE}.{{1,12}}|礼物)"),
        (_THANKS, rf"{_THANK}[你您](?:今天|昨天|昨晚|刚才|刚刚)?(?:送给?我?的|给我买的|的)(?!{_NO_GIFT}){_GIVEN}"),
        ("milestone", rf"{_US}(?:终于|正式|今天|昨天)*(?:在一起|结婚|同居|订婚|领证)了"),
        ("anniversary", rf"(?:是)?{_US}(?:在一起|结婚)的?(?:第|整整|刚好|正好|满|已经)*{_ZH_TIMES}(?:了|纪念日)?"),
    )
)  # fmt: skip
_EN_CALLS: Final = r"(?:(?:baby|babe|honey|darling|dear|so|and|but|please|today|last night) )*"
_LET_US: Final = r"let(?:'s| us)"
_LOVES: Final = (
    r"i (?:really |truly |do |just |still |also )*(?:love|adore) you(?: so much| very much| too| more than anything)?"
    r"|i (?:am|have been|have fallen) (?:so |madly |deeply )*in love with you"
    r"|i am falling (?:in love with|for) you"
)
_PROPOSES: Final = (
    r"(?:will|would) you (?:please )?(?:be my (?:girlfriend|boyfriend|partner|wife|husband)|marry me)"
    r"|be my (?:girl|boy)friend"
)
_LEAVES: Final = (
    rf"(?:{_LET_US}|we (?:should|need to|have to)) break up|i am (?:breaking up with|leaving) you"
    r"|i want to break up(?: with you)?"
)
_KISSED: Final = (
    r"(?:you|he|she|my (?:girl|boy)friend) (?:just |finally )?kissed me"
    r"(?: for the first time)?(?: (?:today|yesterday|last night))?"
    r"|(?:that|this|it) (?:was|is) (?:my|our) (?:very )?first kiss"
)
_ANGRY: Final = (
    r"i am (?:so |really |still |very )*(?:mad|angry|furious) (?:at|with) you"
    r"|i (?:do not|never) want to talk to you(?: any ?more| again)"
)
_FORGIVES: Final = rf"i forgive you|{_LET_US} (?:make up|get back together)|can we make up|(?:please )?forgive me"
_TOGETHER: Final = (
    r"we (?:just |finally )?(?:got married|moved in together)"
    r"|we are (?:finally |officially )+(?:together|a couple|engaged|married)"
)
_EN_THANK: Final = r"(?:thank you|thanks)(?: so much| a lot)? for"
_EN_NO_GIFT: Final = (
    r"(?:[\w-]+ )?(?:advice|ride|lift|call|link|tips?|time|chance|info|information|idea|ideas|message|email|answer"
    r"|recipe|list|feedback|file|code|document|summary|steps?|examples?|instructions?|explanation|numbers?|hints?|names?)\b"
)
_ENGLISH: Final = tuple(
    (event, re.compile(rf"^{_EN_CALLS}(?:{said})$", re.IGNORECASE))
    for event, said in (
        ("confession", _LOVES),
        ("confession", _PROPOSES),
        ("breakup", _LEAVES),
        ("first_kiss", _KISSED),
        ("fight", _ANGRY),
        ("makeup", _FORGIVES),
        ("gift", r"(?:(?:this|here) is|i have(?: got)?) a (?:gift|present) for you"),
        (_THANKS, rf"{_EN_THANK} (?:the|this|my|those|these) (?:[\w-]+ )?(?:gift|present)"),
        (
            _THANKS,
            rf"{_EN_THANK} (?:the|this|those|these) (?!{_EN_NO_GIFT})[\w' -]{{3,30}} you (?:gave|bought) me",
        ),
        ("milestone", _TOGETHER),
    )
)
_ZH_SORRY: Final = re.compile(r"对不起|抱歉|我错了|是我不好|是我的错")
_ZH_PARDON: Final = re.compile(
    rf"^(?:求求?你|请你?|拜托)*(?:能|可以)?(?:再)?(?:原谅我|别生(?:我的?)?气了|不要生(?:我的?)?气了)(?:这?一次)?{_PLEA}$"
)
_EN_SORRY: Final = re.compile(
    r"\b(?:i am (?:so |really |very |truly )*sorry|i apologi[sz]e|my fault|i was wrong)\b", re.IGNORECASE
)
_EN_PARDON: Final = re.compile(
    r"^(?:please |can you |will you |could you )*(?:forgive me|do not be (?:mad|angry)(?: at me)?)$", re.IGNORECASE
)
_ZH_NOT_MINE: Final = re.compile(
    r"如果|要是|假如|假设|万一|梦见|梦到|想象|听说|据说|[他她你们人]说|[对跟和]我说|说$|歌|电影|小说|台词|剧|开玩笑|骗你"
    r"|逗你|翻译|怎么"
)
_EN_NOT_MINE: Final = re.compile(
    r"\b(?:if|suppose|imagine|maybe|wish|pretend|dream\w*|kidding|joking|jk|lyrics?|song|movie|translate|says?|said"
    r"|told me|asked)\b",
    re.IGNORECASE,
)
_LONGEST: Final = 120


def addressed(sentence: Sentence, today: date) -> Iterator[Finding]:
    """Yield at most one event that a sentence is, with all its words."""
    is_chinese = sentence.language == "zh"
    clauses = sentence.clauses if is_chinese else tuple(map(apart, sentence.clauses))
    words = ("，" if is_chinese else ", ").join(clauses)
    if len(words) > _LONGEST or (_ZH_NOT_MINE if is_chinese else _EN_NOT_MINE).search(words):
        return
    event, said = _event(clauses, is_chinese=is_chinese)
    if event is None or (sentence.asks and event not in ("confession", "makeup")):
        return
    felt = (chinese_feeling if is_chinese else english_feeling)(words)
    title = (_CHINESE_TITLES if is_chinese else _ENGLISH_TITLES)[event]
    yield Finding(
        content=f"{title}：“{words}”" if is_chinese else f'{title}: "{words}"',
        kind="episodic",
        event_type="gift" if event == _THANKS else event,
        emotion=felt.emotion if felt else None,
        emotion_intensity=felt.intensity if felt else None,
        key_dialogue=(words,),
        occurred_on=day_past(said, today),
    )


def _event(clauses: tuple[str, ...], *, is_chinese: bool) -> tuple[str | None, str]:
    """Return the first event that a clause is, and the clause; an apology with a plea for pardon is `makeup`."""
    sorry, pardon = (_ZH_SORRY, _ZH_PARDON) if is_chinese else (_EN_SORRY, _EN_PARDON)
    if any(map(sorry.search, clauses)) and (asked := next(filter(pardon.match, clauses), None)):
        return "makeup", asked
    spoken = (
        (event, clause)
        for event, said in (_CHINESE if is_chinese else _ENGLISH)
        for clause in clauses
        if said.match(clause)
    )
    return next(spoken, (None, ""))
