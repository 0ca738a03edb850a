"""Chinese questions for slots of the profile, read by rules: the slot, and the person named before it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from projections.profile.slot_asked import DAYS_OF_OTHERS, slot_of

if TYPE_CHECKING:
    from projections.profile.slot_asked import SlotAsked

_WHAT: Final = r"(?:什么|啥|哪些|哪种|哪)"
_WHERE: Final = r"(?:哪个|哪家|哪一家|哪间|哪座|哪|什么|啥)"
_WORK: Final = r"(?:工作|上班|任职|就职|供职|打工)"
_VERB: Final = r"[吃喝看听玩做用]?"

_RULES: Final = tuple(
    (re.compile(pattern), attributes)
    for attributes, patterns in (
        (
            ("employer",),
            (
                rf"(?:在|是在|为|给)?{_WHERE}(?:公司|单位|企业|机构|厂|地方){_WORK}",
                rf"(?:在|是在|为|给)?(?:哪个|哪家|哪一家|哪间|哪)(?:里|儿)?{_WORK}",
                r"(?:工作单位|雇主)",
                rf"(?:就职|任职|供职|上班|工作)(?:于|在){_WHERE}",
            ),
        ),
        (
            ("city",),
            (
                rf"(?:居住|定居|住)(?:在)?{_WHERE}",
                rf"(?:在)?{_WHERE}(?:城市|地方|里|儿|城)?(?:生活|居住|定居|住)",
                r"家(?:住)?在(?:哪|什么地方)",
                r"(?:居住地|现居|居住的城市|住的城市)",
                r"(?:还)?住在[^吗么]{1,12}[吗么]",
            ),
        ),
        (
            ("occupation",),
            (
                r"是?(?<!(?<!现)在)(?:做|干|从事)(?:的是)?(?:什么|啥)(?:样的)?(?:工作|职业|行业|行)?(?:的|为生|谋生)?$",
                r"(?:有)?(?:什么|啥)(?:工作|职业|职位)",
                r"(?:的)?(?:职业|职位|工作)(?:是|叫)?(?:什么|啥)",
                r"(?:在)?哪(?:一)?行(?:业)?(?:工作)?",
            ),
        ),
        (("age",), (r"(?:有)?多大(?:了|年纪|岁数|年龄)?$", r"(?:是)?(?:几岁|多少岁)", r"年龄", r"什么年纪")),
        (
            ("birthday",),
            (
                r"(?:过)?生日",
                r"(?:是)?(?:在)?(?:哪天|哪一天|什么时候|何时|哪年|哪一年|几月)(?:几号)?出生",
                r"出生(?:日期|年月|于哪|在哪天|于什么时候)",
            ),
        ),
        (
            ("relationship_status",),
            (
                r"(?:已经)?(?:结婚|离婚|订婚)(?:了)?(?:吗|没|么)",
                r"(?:是)?(?:不是)?(?:单身|已婚|未婚)",
                r"(?:婚姻|感情|恋爱)(?:状况|状态)",
                r"有(?:没有)?(?:对象|男朋友|女朋友|男友|女友)",
            ),
        ),
        (("language", "skills"), (r"母语", rf"(?:会)?(?:说|讲|会)(?:{_WHAT}|几种|哪几种)(?:语言|外语|话)")),
        (("allergies",), (rf"(?:有没有|对|有)?{_WHAT}?(?:食物|东西|药物|药|水果)?(?:过敏|不耐受|忌口)",)),
        (
            ("pet_names",),
            (
                r"(?:有)?养(?:了|着)?(?:没有)?(?:什么|哪些|几只|啥)?(?P<thing>宠物|猫|狗)",
                r"有(?:没有|什么|哪些)(?P<thing>宠物)",
            ),
        ),
        (
            ("family",),
            (
                r"家里(?:有|都有)(?:谁|哪些人|几口人)",
                r"有(?:没有|几个)(?P<thing>兄弟姐妹|哥哥|姐姐|弟弟|妹妹|孩子|儿子|女儿)",
            ),
        ),
        (DAYS_OF_OTHERS, (r"(?P<thing>(?:结婚)?纪念日)",)),
        (("dislikes",), (rf"(?:最)?(?:不喜欢|讨厌|不爱|反感){_VERB}(?:的)?(?:\w{{0,4}}?是)?{_WHAT}",)),
        (("likes",), (r"最(?:喜欢|爱)的(?P<thing>\w{1,6}?)(?:是|叫)", rf"(?:最|都)?(?:喜欢|爱){_VERB}{_WHAT}")),
        (("interests",), (r"(?:兴趣爱好|爱好|兴趣)", rf"对{_WHAT}(?:东西|事情|事)?(?:感|有)兴趣")),
        (("skills",), (rf"(?:会|擅长|精通)[弹拉吹打做玩]?{_WHAT}",)),
        (("personality_traits",), (r"(?:的)?性格",)),
        (
            ("user_name",),
            (
                r"(?:名字|姓名|大名|全名)?(?:是|叫)(?:什么|啥)(?:名字)?$",
                r"(?:的)?(?:名字|姓名)(?:是|叫)?(?:什么|啥)?$",
                r"姓什么|贵姓",
                r"(?:应该|该)?(?:怎么|如何)(?:称呼|叫)(?P<after>.{0,8})$",
                r"是谁$",
                r"^谁是(?P<after>.{1,12})$",
            ),
        ),
    )
    for pattern in patterns
)
_PAST: Final = re.compile(r"以前|之前|过去|原来|从前|曾经|原先|上一家|上一份|前一家|那时")
_SIMPLE: Final = str.maketrans(
    "妳麼裡裏過歲職業養爸媽單嗎會說講對誰結離歡愛興爺貓紀稱從間個現還樣語",
    "你么里里过岁职业养爸妈单吗会说讲对谁结离欢爱兴爷猫纪称从间个现还样语",
)
"""The traditional characters that occur in the rules, with their simplified forms."""
_ENDING: Final = " \t\n?!.,;:。？！，；：呢呀啊来着的"
_FILLERS: Final = re.compile(
    r"(?:(?:19|20)\d\d年|去年|前年)?(?:的?[春夏秋冬][天季])?(?:\d{1,2}|十[一二]?|[一二三四五六七八九])月份?(?:\d{1,2}[日号])?"
    r"|(?:19|20)\d\d年|去年|前年|昨天|今天|[上这]个?(?:月|周|星期)|[春夏秋冬][天季]|以后|之后|"
    r"请问|你(?:还)?(?:知道|记得)|告诉我|现在|目前|如今|今年|平时|一般|到底|究竟|以前|之前|过去|原来|从前|曾经|原先|那时候?"
    r"|上一家|上一份|前一家|什么时候|哪一天|哪天|何时|几月几号|几号|最近|通常|应该|[ ,，、]"
)
_EDGE: Final = re.compile(
    r"^(?:是|在|那|还|都|对|有|的|家里的|家里|家){1,6}|(?:是|在|还|都|对|有|的|会|最|过|家里|家){1,6}$"
)
_PRONOUN: Final = re.compile(r"^(?:我们|咱们|他们|她们|你们|用户|本人|主人|自己|我|你|您|他|她|它|ta)")


def asked_in_chinese(text: str) -> SlotAsked | None:
    """Return the slot that a case folded question asks for; None if it asks for none."""
    plain = text.translate(_SIMPLE).rstrip(_ENDING)
    for pattern, attributes in _RULES:
        if m := pattern.search(plain):
            found = m.groupdict()
            whose = _whose(found.get("after") or plain[: m.start()])
            return slot_of(attributes, whose, found.get("thing"), past=_PAST.search(plain) is not None)
    return None


def _whose(said: str) -> str:
    """Return the person named by the words around the slot; empty for the user."""
    bare = _EDGE.sub("", _FILLERS.sub("", said))
    if m := _PRONOUN.match(bare):
        bare = _EDGE.sub("", bare[m.end() :])
    return bare
