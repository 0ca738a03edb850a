"""Clauses that mix Chinese and English, said in one language: I'm allergic to 芒果 is 我对芒果过敏.

The kinds are closed: an English frame with a Chinese noun, a Chinese one with an English verb, times, kin. What is of
no kind stays as it is.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

Language: TypeAlias = Literal["zh", "en"]

_HAN: Final = re.compile(r"[一-鿿]")
_LATIN: Final = re.compile(r"[A-Za-z]")
_FUNCTION: Final = "的了着过吗呢吧是在有我你您他她它不没很也都就要会想去来说把被跟和让给对从到"
"""Characters that make more of a text than a noun."""
_NOUN: Final = rf"(?:(?![{_FUNCTION}])[一-鿿]){{1,8}}"
_NOUNS: Final = rf"(?P<what>{_NOUN}(?: ?(?:and|,) ?{_NOUN}){{0,3}})"
_I: Final = r"^(?:(?:and|but|so|also|well|now) )?[Ii]"
_AM: Final = r"(?: am|'m)"
_VERY: Final = r"(?: (?:really|also|just|still|now|recently|absolutely|actually|currently)){0,2}"
_TAIL: Final = r"(?: (?:now|too|a lot|so much|these days|at the moment))?$"
_KIN: Final = {
    **dict.fromkeys(("mom", "mum", "mother"), "妈妈"),
    **dict.fromkeys(("dad", "father"), "爸爸"),
    **dict.fromkeys(("husband",), "老公"),
    **dict.fromkeys(("wife",), "老婆"),
    "daughter": "女儿",
    "son": "儿子",
    "boyfriend": "男朋友",
    "girlfriend": "女朋友",
    "boss": "老板",
    "cat": "猫",
    "dog": "狗",
}
_MY_KIN: Final = re.compile(rf"^(?:my|我的?) ?(?P<who>{'|'.join(_KIN)})(?: (?P<is>is) | ?(?=[一-鿿]))", re.IGNORECASE)
_WEEKDAYS: Final = dict(zip(("mon", "tue", "wed", "thu", "fri", "sat", "sun"), "一二三四五六日", strict=True))
_FAR: Final = {"next": "下", "last": "上", "this": "这"}
_DAYS: Final = {
    "today": "今天",
    "tomorrow": "明天",
    "yesterday": "昨天",
    "tonight": "今晚",
    "last night": "昨晚",
    "next year": "明年",
    "last year": "去年",
    "this year": "今年",
}
_EN_TIME: Final = re.compile(
    r"^(?:(?P<day>today|tomorrow|yesterday|tonight|last night|(?:next|last|this) year)"
    r"|(?P<far>next|last|this) (?:(?P<unit>week|month)|(?P<weekday>mon|tue|wed|thu|fri|sat|sun)[a-z]{0,6}))"
    r" ?(?=[一-鿿])",
    re.IGNORECASE,
)
_ZH_TIME: Final = {
    "今天": "today",
    "昨天": "yesterday",
    "明天": "tomorrow",
    "上周": "last week",
    "上个月": "last month",
    "上个星期": "last week",
    "下周": "next week",
    "下个月": "next month",
    "去年": "last year",
    "今年": "this year",
    "明年": "next year",
}
_TIMED: Final = re.compile(rf"^(?P<said>(?:I|We|My)\b[A-Za-z0-9' .&-]{{3,60}}?) ?(?P<when>{'|'.join(_ZH_TIME)})$")
_ENGLISH_VERB: Final = re.compile(
    r"^我(?:也|真的|现在|很|最)? ?"
    r"(?P<said>(?P<adjective>allergic to|(?:divorced|married|engaged|single|vegan|vegetarian)\b)|"
    r"(?:love|like|hate|enjoy|prefer|live in|work (?:at|as|for|in)|moved to|have|own|speak|play|joined) )"
    r"(?P<rest>[A-Za-z0-9' &.-]*)$",
    re.IGNORECASE,
)
_FAVOURITE: Final = re.compile(r"^我的? ?favou?rite (?P<kind>[a-z]{3,12}) ?是 ?", re.IGNORECASE)
_QUIT: Final = re.compile(
    r"^我(?P<when>上周|上个月|昨天|今天|刚刚?|已经)? ?quit ?了? ?"
    r"(?P<firm>[A-Z][\w&.]{1,20}(?: [A-Z][\w&.]{1,20})?)(?: ?的工作)?了?$"
)
_LABELS: Final = {
    "birthday": "生日",
    "name": "名字",
    "english name": "英文名",
    "chinese name": "中文名",
    "job": "工作",
    "phone number": "手机号",
    "email": "邮箱",
    "hometown": "家乡",
}
_LABELLED: Final = re.compile(rf"^(?:my|我的?) ?(?P<label>{'|'.join(_LABELS)}) ?(?:是|is (?=[一-鿿])) ?", re.IGNORECASE)
_TASTE: Final = re.compile(
    r"^(?P<who>我(?:也|真的|现在|很|最|超级?|特别|好){0,2}) ?(?P<verb>love|like|enjoy|hate) ?(?=[一-鿿])", re.IGNORECASE
)
_OF_AGE: Final = re.compile(r"^I(?:'m| am) (?P<age>\d{1,3}) ?岁$")
_MY_LABEL: Final = re.compile(r"^[Mm]y (?=[一-鿿])")
_IS_VALUE: Final = re.compile(r"(?<=[一-鿿]) (?P<now>is now|is|changed to|has changed to) (?=[\w@+.-]{3,40}$)")


def _object(before: str, after: str = "") -> Callable[[re.Match[str]], str]:
    """Return how the nouns of a frame stand in Chinese."""

    def said(m: re.Match[str]) -> str:
        nouns: str = m["what"]
        return f"{before}{re.sub(r' ?(?:and|,) ?', '和', nouns)}{after}"

    return said


def _named(m: re.Match[str]) -> str:
    words = m["who"].split()
    kin = _KIN[words[1].removesuffix("'s")]
    names = "name" in words or words[-1] == "called"
    return f"我{kin}{'叫' if names else '是'}{m['what']}"


_OF_ONESELF: Final = (
    (rf"{_AM}{_VERY} allergic to {_NOUNS}", _object("我对", "过敏")),
    (rf"(?:{_AM}) not allergic to {_NOUNS}(?: any ?more| after all)?", _object("我对", "不过敏")),
    (rf"{_VERY} (?:love|like|enjoy|adore) {_NOUNS}", _object("我喜欢")),
    (rf"{_VERY} (?:love|like|enjoy) eating {_NOUNS}", _object("我喜欢吃")),
    (rf"{_VERY} (?:love|like|enjoy) drinking {_NOUNS}", _object("我喜欢喝")),
    (rf"{_VERY} (?:hate|dislike|can't stand|cannot stand) {_NOUNS}", _object("我讨厌")),
    (rf" (?:don't|do not){_VERY} (?:like|love|enjoy) {_NOUNS}", _object("我不喜欢")),
    (rf"(?:{_VERY} live|{_AM}{_VERY} living) in {_NOUNS}", _object("我住在")),
    (rf"(?:'ve| have)?{_VERY} moved to {_NOUNS}", _object("我搬到了")),
    (rf"(?:{_VERY} work|{_AM}{_VERY} working) (?:at|for|in) {_NOUNS}", _object("我在", "工作")),
    (rf"{_AM}{_VERY} from {_NOUNS}", _object("我来自")),
    (rf"{_AM}{_VERY} (?:learning|studying) {_NOUNS}", _object("我在学")),
    (rf"{_VERY} speak {_NOUNS}", _object("我会说")),
    (rf"(?:{_VERY} work as|{_AM}) an? {_NOUNS}", _object("我是")),
)
_FRAMES: Final = (
    *((re.compile(rf"{_I}{frame}{_TAIL}"), said) for frame, said in _OF_ONESELF),
    (re.compile(rf"^[Mm]y name(?: is|'s) {_NOUNS}$"), _object("我叫")),
    (re.compile(rf"^(?P<who>[Mm]y (?:{'|'.join(_KIN)})(?:'s name)? is(?: called)?) {_NOUNS}$"), _named),
)


def is_mixed(text: str) -> bool:
    """Return whether a text has Chinese and Latin letters."""
    return _HAN.search(text) is not None and _LATIN.search(text) is not None


def in_one_language(clause: str) -> str:
    """Return a clause that mixes both languages as it would be said in one, in which proper nouns stay as they are."""
    if m := _TIMED.match(clause):
        return f"{m['said']} {_ZH_TIME[m['when']]}"
    at = _EN_TIME.match(clause)
    text = _time(at) + clause[at.end() :] if at else clause
    if (whole := _reframed(text)) is not None:
        return whole
    for pattern, said in _WORDS:
        if m := pattern.match(text):
            text = said(m) + text[m.end() :]
    text = _IS_VALUE.sub(lambda m: "是" if m["now"] == "is" else "换成了", text)
    return (
        re.sub(r"(?<=[一-鿿]) (?=[A-Za-z0-9])|(?<=[A-Za-z0-9]) (?=[一-鿿])", "", text)
        if text != clause
        else _close(text)
    )


def _reframed(text: str) -> str | None:
    """Return a clause in the language of its one foreign word or frame; None where it has another form."""
    if m := _QUIT.match(text):
        return f"我{m['when'] or ''}从{m['firm']}离职了"
    if m := _ENGLISH_VERB.match(text):
        return f"I {'am ' if m['adjective'] else ''}{m['said']}{m['rest']}".strip()
    if m := _OF_AGE.match(text):
        return f"我{m['age']}岁"
    bare, when = _apart(text)
    for frame, said in _FRAMES:
        if m := frame.match(bare):
            return said(m).replace("我", f"我{when}", 1)
    return None


def _kin(m: re.Match[str]) -> str:
    return f"我{_KIN[m['who'].lower()]}{'是' if m['is'] else ''}"


_WORDS: Final[tuple[tuple[re.Pattern[str], Callable[[re.Match[str]], str]], ...]] = (
    (_LABELLED, lambda m: f"我的{_LABELS[m['label'].lower()]}是"),
    (_TASTE, lambda m: f"{m['who']}{'讨厌' if m['verb'].lower() == 'hate' else '喜欢'}"),
    (_FAVOURITE, lambda m: f"我最喜欢的{m['kind']}是"),
    (_MY_KIN, _kin),
    (_MY_LABEL, lambda _: "我的"),
)
"""English words at the beginning of a Chinese clause, and what they are there."""
_SAID_LAST: Final = re.compile(
    r" (?P<since>since )?(?P<day>today|tomorrow|yesterday|tonight|last night|(?:next|last|this) year"
    r"|(?P<far>next|last|this) (?:(?P<unit>week|month)|(?P<weekday>mon|tue|wed|thu|fri|sat|sun)(?:[a-z]{0,6})))$",
    re.IGNORECASE,
)


def _apart(text: str) -> tuple[str, str]:
    """Return a clause without the English time at its end, and the time in Chinese."""
    m = _SAID_LAST.search(text)
    if m is None:
        return text, ""
    when = _time(m)
    return text[: m.start()], f"从{when}开始" if m["since"] else when


_IN_FIRM: Final = re.compile(r"^(?P<a>.{0,8}在) (?P<firm>[A-Z][\w&.]*(?: [A-Z][\w&.]*)?) (?P<b>[做当工上].*)$")


def _close(text: str) -> str:
    """Return a clause about work without the spaces around its Latin words: 我在 Google 做 PM."""
    m = _IN_FIRM.match(text)
    return re.sub(r"(?<=[一-鿿]) | (?=[一-鿿])", "", text) if m else text


def _time(m: re.Match[str]) -> str:
    if m["far"] is None:
        return _DAYS[m["day"].lower()]
    far = _FAR[m["far"].lower()]
    if m["unit"]:
        return f"{far}个月" if m["unit"].lower() == "month" else f"{far}周"
    return f"{far}周{_WEEKDAYS[m['weekday'].lower()]}"


_ENGLISH_FRAME: Final = re.compile(
    r"^(?:(?:and|but|so|also|now|currently) )?(?:I|I'm|I've|we|we're|we've|my)\b.{3,}"
    r"|^(?:and |but |now |currently )*(?:living|working|based) (?:in|at|as|for) [A-Z]",
    re.IGNORECASE,
)
_OTHERS_WORDS: Final = re.compile(
    r"[歌唱写念译句剧]|英[文语]|[台歌]词|[她他你]们?说|标题|书名|电影|意思|叫做?$|[如比]如|例如|例子|如果|要是|假如|假设|万一|听说|据说|梦|开玩笑|骗|想象"
    r"|游戏|语法|作文|邮件|简历|口语|单词|练习|改成|检查|帮[我忙]|请你|润色|修改|改[写一]"
    r"|\b(?:if|joking|kidding|said|says|told|wish|imagine|would|dream|sentence|grammar|lyrics)\b",
    re.IGNORECASE,
)
"""With it, it is not known whose the English words are."""


_SUPPOSED: Final = re.compile(
    r"(?:and |but |so )?(?:if|suppose|imagine|I wish|I'd|I would|I think|I guess|maybe)\b", re.IGNORECASE
)
"""What begins a supposition or a doubt: the sentence claims nothing."""
_NO_NOUN: Final = re.compile(rf"[{_FUNCTION}]|[一-鿿]{{9}}|^(?:[Mm]y|I) ?[一-鿿]")
"""What makes more of the Chinese in an English clause than names: I play 羽毛球 has none."""
_AND_ALSO: Final = re.compile(r"(?<=[一-鿿]) (?:but|and) (?=(?:live|work|love|like|hate|enjoy|speak) )")
_JOIN: Final = re.compile(r" (?:but|and|so) (?=(?:I|I'm|I've|my|we)\b)")


def _parts(clause: str) -> list[str]:
    """Return a mixed clause cut where the next thing is said of oneself: I work in 上海 but live in 苏州."""
    if not is_mixed(clause):
        return [clause]
    parts = _JOIN.split(clause)
    if not _ENGLISH_FRAME.match(clause):
        return parts
    first, *more = [each for part in parts for each in _AND_ALSO.split(part)]
    return [first, *(part if _ENGLISH_FRAME.match(part) else f"I {part}" for part in more)]


_I_AM: Final = re.compile(
    r"^(?:(?:Hi|Hey|Hello|你好|大家好|嗨) ?)?I(?:'m| am) (?P<name>(?![A-Z]\w*(?:ese|ian|ish|ican|ean|ench|utch)$"
    r"|(?:Vegan|Vegetarian|Single|Married|Engaged|Divorced|Pregnant|Fine|Good|Okay|Sorry|Back|Here|Sick|Happy|Sad|Tired)$)"
    r"[A-Z][a-z]{1,14})$"
)
_GOES_ON: Final = re.compile(r"^我(?:今年|在|住|做|来自|是|\d)")


def _introduced(clauses: tuple[str, ...]) -> Iterator[str]:
    """Yield clauses, the English name with which a Chinese introduction begins in Chinese: I'm Ken, 我在上海工作."""
    for said, after in zip(clauses, (*clauses[1:], ""), strict=True):
        m = _I_AM.match(said) if _GOES_ON.match(after) else None
        yield f"我叫{m['name']}" if m else said


def runs(clauses: tuple[str, ...]) -> list[tuple[Language, tuple[str, ...]]]:
    """Return the clauses of a mixed sentence in runs of one language, each clause said in one."""
    found: list[tuple[Language, list[str]]] = []
    if any(map(_SUPPOSED.match, clauses)):
        return []
    if any(map(_OTHERS_WORDS.search, clauses)):
        return [("zh", clauses)]
    for clause in (part for said in _introduced(clauses) for part in _parts(said)):
        said = in_one_language(clause) if is_mixed(clause) else clause
        is_english = _ENGLISH_FRAME.match(said) is not None and _NO_NOUN.search(said) is None
        language: Language = "en" if is_english else "zh"
        if found and found[-1][0] == language:
            found[-1][1].append(said)
        else:
            found.append((language, [said]))
    return [(language, tuple(parts)) for language, parts in found]
