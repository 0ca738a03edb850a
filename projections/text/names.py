"""Names of people, animals, places and organisations in a memory, read by rules in both languages.

A name is read only if the words around it tell its kind: `sister Nora`, `called Rex`, `works at Casa Lima`,
`moved to Oslo`, 妹妹叫小雨, 在远洋设计院工作, 住在苏州. A capital letter alone does not make a name.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

    from schemas.vocabulary.words import EntityKind

_NAME: Final = r"(?:St\. )?[A-Z][\w'’-]{0,30}(?: [A-Z][\w'’-]{0,30}){0,3}"
_RELATIVES: Final = (
    r"mother|mom|mum|father|dad|son|daughter|husband|wife|boyfriend|girlfriend|fianc[ée]e?|partner|grandmother|grandma"
    r"|grandfather|grandpa|sister|brother|aunt|uncle|cousin|niece|nephew|friend|roommate|flatmate|neighbou?r|boss"
    r"|manager|colleague|coworker|co-worker|teacher|coach|doctor|dr|dentist|therapist|cat|dog|puppy|kitten|rabbit"
    r"|hamster|parrot|horse|pony|turtle"
)
_ENGLISH: Final[tuple[tuple[EntityKind, re.Pattern[str]], ...]] = (
    ("person", re.compile(rf"(?i:\b(?:{_RELATIVES})\b)\.?,? (?:(?:is|was|named|called) ){{0,2}}({_NAME})")),
    ("person", re.compile(rf"\b(?:called|named) ({_NAME})")),
    ("person", re.compile(rf"\b(?:with|met|told|saw|visited|helped|married|loves?|misses?|[Uu]ser and) ({_NAME})")),
    ("person", re.compile(rf"\b(?:with|met|told|saw|visited) {_NAME}(?:, {_NAME}){{0,3}},? and ({_NAME})")),
    (
        "person",
        re.compile(
            rf"(?:^|[.!?] )({_NAME}) (?:gave|told|said|is|was|has|had|loves?|likes?|works?|lives?|and|does|did|invited"
            r"|helped|asked|wants?|bought|came|went)\b"
        ),
    ),
    (
        "organisation",
        re.compile(rf"\b(?:work\w*|intern\w*|job|employed)\b[^.,;]{{0,40}}? (?:at|for) (?:the )?({_NAME})"),
    ),
    (
        "organisation",
        re.compile(
            rf"\b(?:company|firm|employer|startup|school|university|hospital)(?: (?:is|called|named)){{0,2}} ({_NAME})"
        ),
    ),
    (
        "organisation",
        re.compile(
            r"\b((?:St\. )?(?:[A-Z][\w'’-]{0,30} ){1,3}"
            r"(?:Inc|Ltd|GmbH|Corp|University|Hospital|School|College|Bank|Museum))\b"
        ),
    ),
    (
        "place",
        re.compile(
            r"\b(?:liv(?:es?|ed)|mov(?:ed?|ing)|born|based|grew up|stay\w*|travel\w*|trip|fl(?:ew|y|ies|ying)"
            rf"|went|go(?:es|ing)?|been|visit\w*)\b[^.;]{{0,30}}? (?:in|to|from|near) ({_NAME})"
        ),
    ),
    ("place", re.compile(rf"\b(?:in|near) ({_NAME})")),
)
_HAN: Final = r"[\u4e00-\u9fff·]"
_KIN: Final = (
    "妈妈|母亲|爸爸|父亲|儿子|女儿|丈夫|老公|妻子|老婆|男朋友|女朋友|男友|女友|奶奶|外婆|姥姥|爷爷|外公|姐姐|妹妹|哥哥|弟弟"
    "|表姐|表妹|表哥|表弟|堂姐|堂妹|堂哥|堂弟|姑姑|阿姨|叔叔|舅舅|朋友|闺蜜|同事|同学|室友|邻居|老板|上司|老师|教练|医生"
    "|猫|狗|宠物|兔子|仓鼠|鹦鹉"
)
_OF_KIN: Final = re.compile(rf"^(?:{_KIN})(?={_HAN}{{2,4}}$|[A-Z])")
_SHORTEST: Final = 2
"""The fewest characters of a Chinese place name."""
_END: Final = r"(?=[，。；、,.;\s]|$|和|跟|今年|在|很|的)"
_CHINESE: Final[tuple[tuple[EntityKind, re.Pattern[str]], ...]] = (
    ("person", re.compile(rf"(?:{_KIN})(?:的名字)?(?:叫做?|名叫|是)({_HAN}{{2,4}}?){_END}")),
    ("person", re.compile(rf"(?:{_KIN}|和|跟|与|叫)((?:小|阿|老){_HAN})(?!家|板|师|时)")),
    ("organisation", re.compile(rf"在({_HAN}{{2,10}}?)(?:工作|上班|任职|实习|当|做)")),
    (
        "organisation",
        re.compile(rf"({_HAN}{{2,8}}?(?:公司|集团|银行|大学|学院|医院|设计院|研究院|事务所|中学|小学))"),
    ),
    (
        "place",
        re.compile(
            rf"(?:住在|搬[到去]|定居在?|老家在|家乡是|出生在|来自|去过|(?<!过)去(?![年世掉])|到(?![底时处达了]))({_HAN}{{2,6}}?)"
            rf"(?:{_END}|(?=玩|旅行|旅游|出差|工作|读书|住))"
        ),
    ),
)
_NO_NAME: Final = frozenset(
    """I I'm I've I'd User The A An And But Or He She They It We You His Her Their My Our Your This That These Those
    Monday Tuesday Wednesday Thursday Friday Saturday Sunday January February March April May June July August September
    October November December Christmas Easter Halloween Thanksgiving English Chinese Spanish French German Japanese
    Korean Italian Portuguese Russian Mom Mum Dad Mother Father OK Yes No TV AM PM Dr Mr Mrs Ms""".split()  # noqa: SIM905
)
_NO_CHINESE_NAME: Final = re.compile(
    r"用户|自己|[他她我你它们的了这那哪里过着吗呢吧]|大家|一起|今天|昨天|明天|现在|最近|以前|后来|国外|外地|外面|上班|工作|时候"
    r"|^(?:[一两几]|家里|公司|学校|医院|银行|大学|集团|学院|朋友|同事|同学|老师|小(?:时|心|说|学|孩|区|吃|组)|老(?:板|家|人|师|是))$"
)


_ACTIVITY: Final = (
    "爬山|登山|徒步|跑步|游泳|健身|露营|钓鱼|滑雪|滑冰|潜水|冲浪|骑车|骑行|散步|逛街|购物|唱歌|跳舞|看电影|看展|拍照|摄影|泡温泉"
    "|旅游|旅行|度假|出差|开会|面试|培训|体检|复查|看病|看医生|做手术|住院|打疫苗|考试|上课|上学|上班|吃饭|聚餐|喝酒|约会|相亲"
    "|参加.*|接孩子|办事|玩"
)
_DOES: Final = re.compile(rf"(?:{_ACTIVITY})$")
"""An activity that follows the place where it happens."""
_NO_PLACE: Final = re.compile(
    r"[爬打看吃喝买卖做学参考钓逛听找接送取拿办领拍泡洗剪跑踢玩唱跳练]"
    r"|[零〇一二两三四五六七八九十百千万亿几半多\d]{1,8}(?:块钱?|元|岁|[天年月周点号楼层斤分万亿倍]|公斤|小时|个.{0,6}|以上|左右)?$"
)
"""A beginning that rules out a place, such as a verb or a number: 去打疫苗, 涨到三万."""


@dataclass(frozen=True, slots=True)
class Named:
    """A name and the kind of entity that bears it."""

    name: str
    kind: EntityKind


def names_in(text: str) -> Iterator[Named]:
    """Yield the names in a text, the surest first; a name is repeated for each match of a rule."""
    for kind, pattern in _ENGLISH:
        for match in pattern.finditer(text):
            if (name := _english(match[1])) is not None:
                yield Named(name, kind)
    for kind, pattern in _CHINESE:
        for match in pattern.finditer(text):
            name = match[1] if kind != "place" else _place(match[1])
            if name and _NO_CHINESE_NAME.search(name) is None:
                yield Named(name, kind)


def without_kin(name: str) -> str:
    """Return a name without a leading Chinese word of relationship: 男朋友陈浩 becomes 陈浩."""
    return _OF_KIN.sub("", name)


def _place(name: str) -> str | None:
    """Return a place without the activity after it (香山徒步 becomes 香山); None if no place is left."""
    bare = _DOES.sub("", name)
    return None if _NO_PLACE.match(bare) or len(bare) < _SHORTEST else bare


def _english(name: str) -> str | None:
    """Return a name without the words at its ends that are not names; None if nothing is left."""
    words = name.split()
    while words and words[0] in _NO_NAME:
        words = words[1:]
    while words and words[-1] in _NO_NAME:
        words = words[:-1]
    bare = re.sub(r"['’]s$", "", " ".join(words)).strip("'’-")
    return bare if len(bare) > 1 else None
