"""Contradictions: statements that end others by 不再, "no longer", a negation, another number or another favourite.

Two statements contradict each other only if all their other words are equal and both are about the user; in doubt, both
remain. `taken_back` reads the value of a slot that a statement takes back, whatever the wording of the memory that
filled it.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from schemas.text import nfkc
from streams.decisions.duplicates.english import expanded
from streams.decisions.duplicates.equivalence import content_words

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_USER: Final = ("user", "i", "my", "we", "our", "用", "我")
"""The first words of statements about the user; 用 is from 用户."""
_MOST_WORDS: Final = 24
"""The most words of a statement. A longer one says several things, of which a difference may affect only one."""

_AUXILIARIES: Final = frozenset({"do", "did"})
_DENIALS: Final = (
    ("no", "longer"),
    ("used", "to"),
    ("not",),
    ("never",),
    ("不", "再"),
    ("从", "不"),
    ("以", "前"),
    ("曾", "经"),
    ("不",),
    ("没",),
)
_PAST: Final = frozenset({("used", "to"), ("以", "前"), ("曾", "经")})
"""Denials of the present that leave the past as it was: a later present does not end them."""
_AT_THE_END: Final = (("any", "more"), ("anymore",), ("any", "longer"), ("了",))
_PASSING: Final = frozenset(
    {"today", "tonight", "tomorrow", "yesterday", "now", "this", "next", "last", "ago", "morning", "week", "month"}
    | {"year", "今", "明", "昨", "周", "刚", "次"}
)
"""Words of statements about one day or time, which statements about other days do not contradict."""

_NUMBER: Final = re.compile(r"\d+(?:\.\d+)?|[一二三四五六七八九十百千万两]")
_HAS: Final = frozenset(
    {"have", "be", "own", "weigh", "earn", "pay", "rent", "salary", "cost"} | set("有是养重高租资薪")
)
_OF_TIME: Final = frozenset(
    {"at", "on", "in", "for", "since", "floor", "ago", "room", "number"} | set("月号日点楼年第")
)
_YEAR: Final = re.compile(r"(?:19|20)\d\d")

_NOW: Final = frozenset({"now", "already", "currently"})
_ZH_NOW: Final = (("现", "在"), ("目", "前"), ("已", "经"), ("如", "今"))
"""Words that only mark a statement as current: I have three cats now."""

_FAVOURITES: Final = (("favorite",), tuple("最喜欢"), tuple("最爱"))
_ONE_IS: Final = frozenset({"be", "是"})

_MAY_TAKE_BACK: Final = re.compile(
    r"no longer|not(?<![a-z]not)(?![a-z])|cannot|n['’]t|quit|left|lost|resigned|broke|split|stopped|gave up|given up"
    r"|retired|fired|laid off|died|passed away|is dead|put(?<![a-z]put)(?![a-z])|rainbow bridge"
)
"""Signs of a withdrawal in a folded text. Each branch begins with a letter, which makes the search quick."""
_ZH_MAY_TAKE_BACK: Final = re.compile(r"[死世走星桥不没离辞跳退戒分裁失误]")
_DAYS_IN_BRACKETS: Final = re.compile(r"\s?[（(]\d{4}(?:-\d\d){0,2}(?:(?: to |至|/)\d{4}(?:-\d\d){0,2})?[）)]")
"""The days in brackets that the rules add after "last week"."""
ANY: Final = "*"
"""Stands for any value: "User quit their job"."""
_I: Final = r"^(?:the )?(?:user|i)(?: has| have)? (?:now |just |recently |finally |officially )?"
_NO_MORE: Final = r"(?:is |am |does |do )?(?:no longer|not)"
_REST: Final = r"(?P<value>[^,;]{1,60}?)(?: any ?more| any longer| at all| after all)?[.!]*$"
_WO: Final = r"^(?:用户|我)(?:们)?(?:已经|现在|目前|后来|今年)*"
_ZH: Final = r"(?P<value>[^,。;、]{1,20}?)"
_LATELY: Final = (
    r"(?: (?:today|yesterday|recently|again|for good|(?:last|this) [A-Za-z]{3,9}"
    r"|(?:on|in) [A-Z]\w{2,9}|in \d{4}|(?:a|one|two|three|\d{1,2}|a few) (?:days?|weeks?|months?|years?) ago))?[.!]*$"
)
_ZH_LATELY: Final = (
    r"(?:今天|昨天|前天|上周|上个?月|上个?星期|这个?月|这周|[去今前]年|刚刚?|终于|最近|已经|\d{1,2}月|月初|月底){0,3}"
)
_WHY: Final = r"(?:,[^?]{1,80})?"
"""A reason after the end of an allergy: the doctor tested me, 脱敏治疗成功了."""
_TAKES: Final = r"(?:drink|eat|watch|play|smoke|wear|read|listen to|use|practi[cs]e|go to|do)"
_TAKING: Final = r"(?:drinking |eating |watching |playing |wearing |reading |listening to |using |doing |going to )?"
_PET: Final = (
    r"(?:cat|dog|puppy|kitten|rabbit|bunny|hamster|parrot|bird|fish|turtle|horse|pony|guinea pig|pet|goldfish)"
)
_ZH_PET: Final = r"(?:小?[猫狗兔鸟鱼]咪?狗?子?|仓鼠|鹦鹉|乌龟|金毛|柯基|柴犬|布偶|橘猫|边牧|泰迪|博美|哈士奇|宠物)"
_ZH_DEATH_WHEN: Final = (
    r"(?:今天|昨天|前天|昨晚|今早|上周|上个?月|上个?星期|去年|前几天|前两天|刚刚?|已经|突然|还是){0,3}"
)
_TAKEN_BACK: Final = tuple(
    (attributes, re.compile(pattern, re.IGNORECASE))
    for attributes, pattern in (
        (
            ("allergies",),
            (
                rf"{_I}{_NO_MORE} (?:allergic|intolerant) to (?P<value>[^,;]{{1,60}}?)"
                rf"(?: any ?more| any longer| at all| after all)?{_WHY}[.!]*$"
            ),
        ),
        (("employer",), rf"{_I}{_NO_MORE} (?:works?|working|employed) (?:at|for|with|by) {_REST}"),
        (("employer",), rf"{_I}(?:quit|left|lost|resigned from) (?:my|his|her|their|the|a) job (?:at|with) {_REST}"),
        (
            ("employer",),
            rf"{_I}left (?P<value>[^,;]{{1,60}}?) last (?:week|month|year|summer|winter|spring|autumn|fall)[.!]*$",
        ),
        (("employer",), rf"{_I}left (?P<value>[^,;]{{1,60}}?)(?: for good)?[.!]*$"),
        (("employer",), rf"{_I}(?:quit|resigned|left|lost) (?:my|his|her|their|the) job(?P<value>){_LATELY}"),
        (("employer",), rf"{_I}(?:resigned|quit)(?P<value>){_LATELY}"),
        (("employer", "occupation"), rf"{_I}retired(?P<value>){_LATELY}"),
        (("employer",), rf"{_I}(?:(?:was|got|is|has been) )?(?:fired|laid off|let go)(?P<value>){_LATELY}"),
        (("family", "friends"), rf"{_I}(?:broke|split) up with (?:(?:my|their) \w+ )?(?P<value>[A-Z]\w+){_LATELY}"),
        (
            ("family", "friends"),
            (
                rf"^(?:the )?(?:(?:user|i) and )?(?P<value>[A-Z]\w+)(?: and (?:the )?(?:user|i))? (?:broke"
                rf"|split) up{_LATELY}"
            ),
        ),
        (
            ("pet_names",),
            (
                rf"^(?:(?:the )?user's (?:{_PET} )?)?(?P<value>[A-Z]\w{{1,14}}) (?:has )?"
                r"(?:just |sadly |suddenly |recently )?(?:died|passed away|is dead"
                r"|(?:was|had to be) put (?:down|to sleep)|crossed the rainbow bridge)\b[^?]{0,60}$"
            ),
        ),
        (("pet_names",), rf"^(?:the )?user had to put (?P<value>[A-Z]\w{{1,14}}) (?:down|to sleep){_LATELY}"),
        (
            ("pet_names",),
            (
                rf"^(?:用户(?:们?家)?(?:里)?的?(?:{_ZH_PET})?)?{_ZH} ?{_ZH_DEATH_WHEN}"
                r"(?:死|去世|过世|离世|走|没|[去回]了?(?:喵星|汪星|彩虹桥))了?[.!。]*$"
            ),
        ),
        (("likes", "interests"), rf"{_I}(?:is |am )?no longer {_TAKES}e?s? {_REST}"),
        (("likes", "interests"), rf"{_I}(?:do|does) not {_TAKES} (?P<value>[^,;]{{1,60}}?) any ?(?:more|longer)[.!]*$"),
        (
            ("likes", "interests"),
            rf"{_I}(?:quit|stopped|gave up|have given up|has given up) {_TAKING}(?P<value>[^,;]{{1,60}}?){_LATELY}",
        ),
        (("occupation",), rf"{_I}{_NO_MORE} (?:works?|working) as (?:an? )?{_REST}"),
        (("city",), rf"{_I}{_NO_MORE} (?:lives?|living|based) in {_REST}"),
        (
            ("likes", "interests"),
            rf"{_I}{_NO_MORE} (?:likes?|loves?|enjoys?|interested in|into|fan of|a fan of) {_REST}",
        ),
        (("dislikes",), rf"{_I}{_NO_MORE} (?:dislikes?|hates?|minds?|afraid of|scared of) {_REST}"),
        (("skills",), rf"{_I}{_NO_MORE} (?:plays?(?: the)?|speaks?) {_REST}"),
        (("relationship_status",), rf"{_I}{_NO_MORE} (?P<value>single|married|engaged|in a relationship)\b"),
        (("allergies",), rf"{_WO}(?:不再?|没有?)对{_ZH}(?:过敏|不耐受)了?{_WHY}$"),
        (("allergies",), rf"{_WO}对{_ZH}(?:现在|已经)?(?:不再?|没有?)过敏了?{_WHY}$"),
        (("allergies",), rf"{_WO}的?{_ZH}过敏(?:其实|原来)?是(?:误诊|被误诊的)了?$"),
        (("employer",), rf"{_WO}不再?在{_ZH}(?:工作|上班|任职|就职|干|做)了?$"),
        (("employer",), rf"{_WO}离开了?{_ZH}了?$"),
        (("employer",), rf"{_WO}从{_ZH}(?:离职|辞职|跳槽|退休)了?$"),
        (
            ("employer",),
            rf"{_WO}{_ZH_LATELY}(?:辞职|离职|辞了?工作|被裁员?|失业|被辞退|被开除|下岗|辞)(?P<value>)了[.!。]*$",
        ),
        (("employer", "occupation"), rf"{_WO}{_ZH_LATELY}退休(?P<value>)了[.!。]*$"),
        (("family", "friends"), rf"{_WO}{_ZH_LATELY}[和跟与]{_ZH}{_ZH_LATELY}(?:分手|离婚)了[.!。]*$"),
        (("likes", "interests"), rf"{_WO}不再(?:吃|喝|看|听|玩|抽|打|练|穿|用|追){_ZH}了?$"),
        (("likes", "interests"), rf"{_WO}不(?:吃|喝|看|听|玩|抽|打|练|追){_ZH}了$"),
        (("likes", "interests"), rf"{_WO}{_ZH_LATELY}戒掉?了?(?:喝|吃|抽)?{_ZH}了?$"),
        (("city",), rf"{_WO}不再?住在?{_ZH}了?$"),
        (("likes", "interests"), rf"{_WO}不再?(?:喜欢|爱)(?:吃|喝|看|听|玩)?{_ZH}了?$"),
        (("interests",), rf"{_WO}(?:不再?|没有?)对{_ZH}感?兴趣了?$"),
        (("dislikes",), rf"{_WO}不再?(?:讨厌|怕|害怕){_ZH}了?$"),
        (("occupation",), rf"{_WO}不(?:再是|再做|再当|是){_ZH}了?$"),
        (("relationship_status",), rf"{_WO}(?:不再?是?|不再)(?P<value>单身|已婚)了?$"),
    )
)


def taken_back(content: str) -> tuple[tuple[str, ...], str] | None:
    """Return the slots and the value that a statement about the user takes back; None if it takes back nothing.

    "User is no longer allergic to nuts" takes back `nuts` in `allergies`; "User quit their job" takes back `ANY`
    employer.
    """
    may = _MAY_TAKE_BACK.search(content.casefold()) or (not content.isascii() and _ZH_MAY_TAKE_BACK.search(content))
    if not may:
        return None
    plain = expanded(" ".join(nfkc(_DAYS_IN_BRACKETS.sub("", content)).split()))
    for attributes, pattern in _TAKEN_BACK:
        if match := pattern.match(plain):
            return attributes, match["value"].strip() or ANY
    return None


def end_keys(words: tuple[str, ...]) -> Iterator[tuple[object, ...]]:
    """Yield keys of content words; if one statement `ends` another, they share a key."""
    if _comparable(words):
        yield "affirmed", _affirmed(words)[1]
    if (favourite := _favourite(words)) is not None:
        yield "favourite", favourite
    if _HAS.isdisjoint(words):
        return  # no word introduces a number
    words = _of_now(words)
    for at in range(len(words) if _comparable(words) else 0):
        if _tells_number(words, at):
            yield "number", words[:at], words[at + 1 :]


def ends(newer: str, older: str) -> bool:
    """Return whether a statement contradicts an earlier one of the same user.

    Of what is now a favourite the one before is none any more; "my favourite cup is broken" only remarks on it.
    """
    one, other = content_words(newer), content_words(older)
    if one == other:
        return False
    if _comparable(one) and _comparable(other) and _denies(one, other):
        return True
    if (favourite := _favourite(one)) is not None and favourite == _favourite(other) and _of_now(one) != one:
        return True
    one, other = _of_now(one), _of_now(other)
    return _comparable(one) and _comparable(other) and _other_number(one, other)


def _favourite(words: Sequence[str]) -> tuple[str, ...] | None:
    """Return the words before the value of a favourite, of which the user has one: ("favorite", "food").

    None where the statement names no favourite, or several ("my favourite colours are", in the plural).
    """
    rest = _of_now(words)
    at = next((n for n, word in enumerate(rest) if n and word in _ONE_IS), None)
    if at is None or not _comparable(rest) or rest[at - 1].endswith("s"):
        return None
    before = tuple(word for word in rest[:at] if word not in (*_USER, "户"))
    return before if any(_position(list(before), one) is not None for one in _FAVOURITES) else None


def _of_now(words: Sequence[str]) -> tuple[str, ...]:
    """Return the words without those that only mark a statement as current."""
    rest = [word for word in words if word not in _NOW]
    for now in _ZH_NOW:
        if (at := _position(rest, now)) is not None:
            del rest[at : at + len(now)]
    return tuple(rest[:-1] if rest[-1:] == ["了"] else rest)


def _comparable(words: Sequence[str]) -> bool:
    return 1 < len(words) <= _MOST_WORDS and words[0] in _USER and _PASSING.isdisjoint(words) and "?" not in words


def _denies(newer: tuple[str, ...], older: tuple[str, ...]) -> bool:
    denial, affirmed = _affirmed(newer)
    denied_before, before = _affirmed(older)
    if bool(denial) == bool(denied_before) or denied_before in _PAST:
        return False
    return affirmed == before


def _affirmed(words: tuple[str, ...]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the denial of a statement, () without one, and its other words, with verbs without their -s."""
    rest = list(words)
    found: tuple[str, ...] = ()
    for denial in _DENIALS:
        at = _position(rest, denial)
        if at is None:
            continue
        found = denial
        del rest[at : at + len(denial)]
        if at and rest[at - 1] in _AUXILIARIES and at < len(rest):
            del rest[at - 1]
        for ending in _AT_THE_END:
            if tuple(rest[-len(ending) :]) == ending:
                del rest[-len(ending) :]
                break
        break
    return found, tuple(_plain(word) for word in rest)


def _position(words: list[str], part: tuple[str, ...]) -> int | None:
    at = -1
    for _ in range(words.count(part[0])):
        at = words.index(part[0], at + 1)
        if tuple(words[at : at + len(part)]) == part:
            return at
    return None


def _plain(word: str) -> str:
    if word.endswith("ies") and len(word) > len("ties"):
        return f"{word[:-3]}y"
    if word.endswith(("ches", "shes", "sses", "xes", "zes", "oes")):
        return word[:-2]
    return word[:-1] if word.endswith("s") and not word.endswith("ss") and len(word) > len("is") else word


def _other_number(newer: tuple[str, ...], older: tuple[str, ...]) -> bool:
    """Return whether both statements give a count or an amount, and differ only in that number."""
    if len(newer) != len(older):
        return False
    differing = [at for at, (a, b) in enumerate(zip(newer, older, strict=True)) if a != b]
    if len(differing) != 1:
        return False
    return _tells_number(newer, differing[0]) and _tells_number(older, differing[0])


def _tells_number(words: tuple[str, ...], at: int) -> bool:
    """Return whether a word is a number that gives a count or an amount, not a time or a place."""
    if not _NUMBER.fullmatch(words[at]) or _YEAR.fullmatch(words[at]):
        return False
    return not _HAS.isdisjoint(words[:at]) and _OF_TIME.isdisjoint(words[max(0, at - 1) : at + 2])
