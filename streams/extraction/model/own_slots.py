"""Slots with one value: whether a line states that the user's slot has a value.

A value of such a slot replaces the older one, so a wrong guess by the model would erase a true fact. The line must be
about the user, and give the value in words that suit the slot: "My name is Amy" names the user, "Momo hates fish" does
not; "I moved to Oslo" gives a home, "I flew to Oslo" does not. Denials, wishes and the past do not count.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from projections.dates.numerals import NUMERAL, number
from projections.text.scripts import HAN
from streams.extraction.model import wording
from streams.extraction.model.pets import spans_of
from streams.extraction.rules.places import CHINESE_CITIES

if TYPE_CHECKING:
    from collections.abc import Iterator

_APOSTROPHE: Final = str.maketrans("\u2019\u02bc", "''")

_OTHERS: Final = (
    r"(?:he|she|they|it|who|whose|which|his|her|their|you|your"
    r"|(?:my|our) (?!(?:own |full |first |last |real |new |current |present |day )?"
    r"(?:name|job|work|company|employer|firm|profession|occupation|career|age|birthday|home"
    r"|place|flat|house|apartment"
    r"|office|team|desk|role|position|studio|native|mother tongue|language|relationship|wife and I|husband and I"
    r"|partner and I|girlfriend and I|boyfriend and I|family and I)\b))"
)
_GAP: Final = rf"(?:(?!\b(?:I\b|{_OTHERS}\b))[^.;!?]){{0,80}}?"
_LIVES: Final = r"(?:(?!\b(?:he|she|they|who|it)\b)[^.;!?,]){0,50}?"
_MOVES: Final = r"(?:(?!\b(?:he|she|they|who|it|the|an?|this)\b)[^.;!?,]){0,50}?"
_IS: Final = r"(?:(?!\b(?:my|our|with|at|for|to|of|he|she|they|who|it|you|your|his|her|\w+ing)\b)[^.;!?]){0,40}?"
_I: Final = r"\b(?:I|we)(?:'(?:m|ve|d|ll|re))?\b"
_ARTICLE: Final = r"(?:an? |the )?"
_ENGLISH: Final = {
    "user_name": (
        r"\b(?:my|our) (?:\w+ )?name(?:'s|s? is|s? are|:)? (?:actually |really |just )?$"
        r"|^(?:\w+[, ]+){0,2}name(?: is|'s|:) $"
        r"|\bcall(?:s|ed)? me (?:just )?$|\bI(?:'m| am) (?:called |named |known as |just |actually )?$|\bI go by $"
        r"|^(?:(?:hi|hello|hey|yes)\W{1,3})?(?:this is|it's) $"
    ),
    "city": (
        rf"{_I}(?P<gap>{_GAP})\b(?:(?:liv(?:e|ing|ed)|settled|based|resid(?:e|ing)|stuck|at home)\b{_LIVES}"
        rf"|(?:mov(?:e|ed|ing)|relocated)\b{_MOVES})\b(?:in|to|near|around|outside|at|into|of) {_ARTICLE}$"
        rf"|\bmy (?:home|place|flat|house|apartment|city|home city)(?: is|'s)? (?:now )?(?:in )?$"
        r"|\b(?:I've|have|I) been in $"
        r"|\bI(?:'m| am)(?: [A-Z]\w+,)?(?: (?:an?|the) (?!tourist|visitor|guest|stranger)(?:[a-z]+[ -]){1,4})"
        r"(?:in|based in) $"
        r"|\bI work as (?:an?|the) (?:[a-z]+[ -]){1,4}in $"
    ),
    "employer": (
        rf"{_I}(?P<gap>{_GAP})\b(?:work(?:ing|ed)?|employed|job|joined|hired|started|start"
        rf"|intern\w*|position|role|teach\w*"
        rf"|consult\w*|freelanc\w*)\b{_GAP}\b(?:at|for|with|by|in|of) {_ARTICLE}$"
        rf"|{_I}(?: just| recently| have)? (?:joined|run|own|founded|started"
        rf"|manage) (?:(?!my |our )\w+ ){{0,3}}?(?:called |named )?$"
        r"|\b(?:I've|have|I) been (?:at|with) (?:the )?$"
        r"|\bI(?:'m| am| was hired as)(?: [A-Z]\w+,)?(?: (?:an?|the) (?:[\w-]+ ){1,5})(?:at|for|with|of) (?:the )?$"
        r"|\b(?:my|our) (?:own |new |current )?(?:company|employer|firm|startup|studio"
        r"|workplace)(?: is|'s|,)? (?:called |named )?$"
        r"|\b(?:my|our) (?:new |current |day )?(?:job|work|team|office|role|position"
        r"|boss) (?:is )?(?:at|with|for) (?:the )?$"
    ),
    "occupation": (
        rf"{_I}(?P<gap>{_GAP})\b(?:work(?:ing|ed)? as|job as"
        rf"|employed as|train(?:ed|ing) as"
        rf"|serve as|work in|works? with|living as|qualified as|promoted to|retired)\b{_GAP}$"
        rf"|{_I}{_GAP}(?:\b(?:am|be|been|became|become)\b|'m){_IS}$"
        r"|\bas an? (?:\w+ ){0,2}$"
        r"|\b(?:my|our) (?:\w+ )?(?:job|work|profession|occupation|career|role|position)(?: title)?(?: is|'s|:| as)"
        r" (?:[\w-]+ ){0,3}$"
        r"|\bI (?:also |now |currently )?(?:work |do )$"
    ),
    "age": (
        r"\bI(?:'m| am) (?:(?:only|now|already|just|almost|currently|\w+,|an?) ){0,3}$"
        r"|\bI(?:'ve)?(?: just| recently)? turned(?: just)? $|\bmy age(?: is|:)? $"
        r"|\bat (?:the )?age (?:of )?$|\baged? $"
    ),
    "relationship_status": (
        rf"(?:{_I}|\band I\b|\bme\b)(?P<gap>{_GAP})"
        r"(?:'m|'re|'ve|\b(?:am|are|got|get|getting|been|become|became|stay|stayed|be|have))"
        r" (?:\w+ ){0,2}$|\bmy (?:relationship|marital) status(?: is|:)? $|\bI (?:just |still "
        r"|recently |now |currently )?$"
    ),
    "language": (
        rf"{_I}{_GAP}\b(?:speak|write|talk|understand|fluent|native|grew up)\b{_GAP}$"
        r"|\bmy (?:\w+ ){0,2}(?:language|tongue)(?: is|'s|:)? $"
        r"|\b(?:answer|reply|respond|write|talk|speak|chat|switch|continue|replies|answers)\b[^.;!?]{0,40}$"
    ),
    "communication_style": (
        r"\b(?:answer|repl|respon|talk|speak|tone|style|keep|be|explain|write|text|prefer|like"
        r"|want|please)\w*\b[^.;!?]{0,60}$"
        r"|^(?:more |less |no |a bit )?$|\bI(?:'m| am) (?:\w+ ){0,2}$"
    ),
}
"""Patterns for the words before the value, up to it."""
_ENGLISH_AFTER: Final = {
    "user_name": r"(?:,? is| was) (?:what they call me|my (?:\w+ )?name)\b| here(?:$|\W)",
    "employer": r"(?: has| just| recently)? hired me\b| is my (?:employer|company)\b",
    "age": r"[- ]?(?:years?[- ]old|yrs|yo\b|y/o)",
    "occupation": r" by (?:trade|profession|training)\b| here(?:$|\W)| for a living\b",
    "city": r" is (?:my home|where I live)\b",
}
"""Patterns for the words after the value, which suffice if the line is in the first person or names no other person."""
_NOT_SO: Final = re.compile(
    r"\b(?:not|never|no longer|might|may|could|would|wish\w*|hop(?:e|ing)|plan\w*|dream\w*|think\w* (?:of|about)"
    r"|consider\w*|used to|if|almost|nearly|will|going to|gonna|want\w*|wanna|looking for"
    r"|appl(?:y|ied|ying)|interview\w*"
    r"|quit|left|leaving|resigned|fired|laid off|former(?:ly)?|previous(?:ly)?|ex|back then"
    r"|as a (?:kid|child)|when I was"
    r"|next (?:year|month)|flew|visit\w*|pretend\w*|feel like)\b|n't\b|'ll\b|(?<!have )(?<!'ve )\b(?:lived|worked)\b",
    re.IGNORECASE,
)
_AS_REQUESTED: Final = frozenset({"language", "communication_style"})
"""Slots that hold requests, for which the future counts too."""
_VERBS: Final = re.compile(
    r"(?:drive|teach|run|manage|farm|nurse|sell|repair|fix|bake|design|build)\w*\b", re.IGNORECASE
)

_ZH_OTHERS: Final = re.compile(
    r"[他她它谁]|老公|老婆|丈夫|妻子|爱人|媳妇|先生|太太|男朋?友|女朋?友|对象|未婚|[爸妈爹娘]|父"
    r"|母(?!语)|哥|姐|弟|妹|儿子|女儿|孩子|宝宝"
    r"|闺女|闺蜜|爷|奶|外公|外婆|姥|叔|舅|姑|姨|侄|外甥|孙|朋友|室友|舍友|同事|老板|领导|上司"
    r"|客户|同学|邻居|房东|老师"
    r"|猫|狗|兔|仓鼠|鹦鹉|乌龟|宠物|金毛|柯基|柴犬"
)
_WITH: Final = re.compile(
    r"(?:和|跟|与|同|陪|带着?)[^，,。]{1,8}?(?=一起|都|也|现在|刚|住|搬|在|结|是|上|昨|分|离|和平|$)"
)
_ZH_ADVERBS: Final = re.compile(
    r"(?:(?:大家好|你好|您好|嗨|哈喽|早上好|对|嗯|哦|那|其实|现在|目前|如今|眼下|刚刚?|已经?"
    r"|一直|就|还|也|都|是|真的|平时|终于|正式"
    r"|最近|上周|这周|前[两几]天|[今去前]年|[上这]个?月|[今昨]天|以来|后来|然后|所以|因为|不过"
    r"|但是?|而且|[零〇一二两三四五六七八九十\d]{1,4}年?月?[日号]?"
    r"|年|和[^，,]{1,6}(?:一起)?|跟[^，,]{1,6}(?:一起)?|从[^，,]{1,8}|在[^，,]{1,10}|本人|请"
    r"|以后|你|您|一个人|可以|叫|快|马上)[\s，,]*){0,6}"
)
_ZH_OWN: Final = re.compile(r"我|咱|本人|鄙人|在下")
_CHINESE: Final = {
    "user_name": (
        r"(?:叫|喊|唤|称呼|管)我(?:做|为|一声)?$|(?:我|本人)?的?(?:名字|姓名|大名|本名|真名|全名"
        r"|小名|昵称|网名|英文名)(?:就|其实)?(?:叫做?|是|[:：])$"
        r"|(?:我|本人)?(?:就|其实)?(?:叫做?|名叫|姓|免贵姓)$|我就?是$"
        r"|我的?(?:英文|中文)?名$|本人$"
    ),
    "city": (
        r"(?:住在?|居住在|家在|家住|定居(?:在|于)?了?|搬(?:到|来|去|回|进)了?|生活在|落户在?"
        r"|坐标|现居|常驻|安家在?|移居到?|常住)[^，,。]{0,6}$"
        r"|是$|在$"
    ),
    "employer": (
        r"(?:就职于|任职于|供职于|入职了?|加入了?|跳槽到了?|跳去了?|去了|进了|公司(?:是|叫)?"
        r"|单位(?:是|叫)?|东家是|[给为]|开了?(?:家|一家)?)[^，,。]{0,3}$"
        r"|是$|在$"
    ),
    "occupation": r"(?:是|做|当上?|干|从事|担任|任|职业|工作|成了|转行)[^，,。]{0,14}$",
    "verb": r"[我在][^，,。]{0,8}$",
    "age": r"(?:我|今年|现在|都|已经?|刚好?|正好|就|满|年龄是?|年纪|快|马上|虚岁|周岁|，|,|^|了)\s*$",
    "relationship_status": r"(?:我|们|是|已经?|还|一直|刚刚?|了|现在|目前|都|处于|就|去年|今年|，|,|^)[^，,。]{0,4}$",
    "language": r"(?:说|讲|用|语言|母语|学|会|写)[^，,。]{0,6}$|^请?$",
    "communication_style": r"[^。]{0,40}$",
}
_ZH_AFTER: Final = {
    "city": (
        r"(?:市|那边|这边|这里)?(?:生活|定居|安家|住|租房|买了?房|(?P<job>工作|上班|上学|读书|念书"
        r"|当|做|开|教|打工|读|上大学))|待了"
    ),
    "employer": (
        r"[^，,。]{0,8}?(?:上班|工作|任职|就职|做|当|干"
        r"|实习|担任|教书|供职|打工|打拼|负责|送|跑|开发)(?!了[一半两几]?[个]?(?:[上下]午|天|会|小时|晚))"
    ),
    "age": r"\s{0,3}(?:周?岁|了|啦|咯|出头|多|$|，|,)",
}
"""Patterns for the words that must follow 在 or an age."""
_ZH_NOT_SO: Final = re.compile(
    r"(?<!差)不(?!过)|没(?!错)|想|打算|计划|可能|也许|准备|如果|要是|要搬|要去|以前|曾|之前|原来"
    r"|本来|差点|梦想|希望|找(?!到)|应聘|面试"
    r"|离开|离职|辞|小时候|[飞飛]|是来|旅游|旅行|出差|来自|假装"
)
_ZH_VERBS: Final = "开教卖做写跑修"
_ZH_BIRTHDAY: Final = re.compile(
    r"(?:我|本人)的?(?:[阳农阴公]历|身份证上的)?生日|我[^，,。]{0,14}(?:出生|生的|生人)|(?:^"
    r"|[，,])(?:生日|出生)|过生日|我是[^，,。]{0,14}生"
)
_EN_BIRTHDAY: Final = re.compile(
    r"\b(?:my|our) (?:own |\d{1,3}(?:st|nd|rd|th) )?(?:birthday|b-?day|date of birth|dob)\b|\bI(?: was|'m"
    r"| am)? born\b|\bI(?:'ll)? turn\b"
    r"|^(?:birthday|born|date of birth)\b",
    re.IGNORECASE,
)
_ASKS: Final = {
    "user_name": r"\bname\b|\bcall you\b|叫什么|名字|称呼|贵姓|怎么叫",
    "city": r"\bwhere\b|\bcity\b|\btown\b|住|哪[里儿座个]?(?:城市)?|城市",
    "employer": (
        r"\bwhere\b[^?]{0,60}\bwork|\bcompany\b|\bemployer\b|\bfirm\b"
        r"|公司|单位|哪[里儿家][^？?]{0,40}(?:上班|工作)"
    ),
    "occupation": (
        r"\bwhat do you do\b|\bjob\b|\boccupation\b|\bprofession\b|\bliving\b|\bwork\b|工作|职业"
        r"|做什么|干什么"
    ),
    "age": r"\bhow old\b|\bage\b|多大|几岁|年纪|年龄",
    "birthday": r"\bbirthday\b|\bborn\b|生日|出生",
    "relationship_status": r"\bmarried\b|\bsingle\b|\brelationship\b|\bpartner\b|结婚|单身|对象|感情|恋爱",
    "language": r"\blanguage\b|\bspeak\b|语言|母语|哪国话",
    "communication_style": r"\bhow\b|\bstyle\b|\btone\b|\bprefer\b|怎么|语气|风格|方式",
}
_YOURS: Final = r"(?:\w+ )?(?:name|age|job|work|city|home|birthday|company|employer|language|occupation|status)"
_OF_YOU: Final = re.compile(rf"\byou\b|\byour {_YOURS}\b|[你您]")
_OF_YOURS: Final = re.compile(rf"\byour (?!{_YOURS})")
"""A question about a person or thing of the user."""
_BARE: Final = re.compile(
    r"\W*(?:(?:it's|it is|that's|just|in|at|on|an?|the|i'm|i am|well|oh|sure|um|yes|hi|call me"
    r"|i live in|是|在|叫|嗯|哦|对|就|我)[\s,，]*){0,4}",
    re.IGNORECASE,
)
_ELSEWHERE: Final = re.compile(
    r"[\u0370-\u1fff\u3040-\u30ff\uac00-\ud7af]"
    r"|\b(?:je|j'|mon|suis|llamo|soy|vivo|trabajo|ich|bin|wohne|heiße|heisse|mein|meine|arbeite"
    r"|sono|chiamo|abito|lavoro"
    r"|sou|moro|trabalho|meu|minha|ik|mijn|woon|heet|werk|jag|heter|bor|jeg|nazywam|mieszkam|jestem|adım|benim)\b",
    re.IGNORECASE,
)
"""Signs that a text is neither English nor Chinese, and that its words are therefore unknown here."""


_ENGLISH_SAID: Final = {slot: re.compile(words) for slot, words in _ENGLISH.items()}
_ENGLISH_SPOKEN: Final = {slot: re.compile(words, re.IGNORECASE) for slot, words in _ENGLISH.items()}
_ENGLISH_BEHIND: Final = {slot: re.compile(words) for slot, words in _ENGLISH_AFTER.items()}
_CHINESE_SAID: Final = {slot: re.compile(words) for slot, words in _CHINESE.items()}
_ZH_BEHIND: Final = {slot: re.compile(words) for slot, words in _ZH_AFTER.items()}
_ASKED: Final = {slot: re.compile(words, re.IGNORECASE) for slot, words in _ASKS.items()}


@dataclass(frozen=True, slots=True)
class Said:
    """A line with its preceding lines."""

    text: str
    before: str = ""
    """The two previous lines, which may name the subject of a sentence that has none."""
    question: str = ""
    """The previous line if it is the assistant's, else ""."""


def says(said: Said, attribute: str, value: str) -> bool:
    """Return whether a line gives the slot of its speaker the value. Lines in other languages always pass."""
    wanted = _plain(value).strip(" .。,，!！\"'“”「」")
    text = _plain(said.text)
    if _ELSEWHERE.search(text):
        return True
    at = 0
    for sentence in wording.SENTENCE.finditer(text):
        before = f"{said.before}\n{text[:at]}"
        at = sentence.end()
        if attribute == "birthday":
            if _birthday(sentence.group(), before):
                return True
        elif any(_fits(sentence.group(), span, attribute, before) for span in _spans(sentence.group(), wanted)):
            return True
    return _answers(_plain(said.question), text, attribute, wanted)


def of_the_assistant(text: str) -> str:
    """Return the assistant's words to the user in the user's first person: "you live" as "I live"."""
    said = re.sub(r"\b[Yy]ou(?:'re| are)\b", "I am", _plain(text))
    said = re.sub(r"\b[Yy]our\b", "my", re.sub(r"\b[Yy]ou(?=\b)", "I", said))
    return re.sub("[你您]", "我", said)


def _plain(text: str) -> str:
    plain = unicodedata.normalize("NFKC", text).translate(_APOSTROPHE)
    return re.sub(r"\b(St|Dr|Mr|Mrs|Ms|Prof)\.", r"\1", plain)


def _spans(sentence: str, value: str) -> Iterator[tuple[int, int]]:
    """Yield the spans of a value in a sentence, or else the span from the value's first word to its last."""
    found = list(spans_of(value, sentence))
    if value.isdigit():
        found = [m.span() for m in re.finditer(rf"\d+|{NUMERAL}", sentence) if number(m.group()) == int(value)]
    if not found and (terms := wording.terms(value)) and terms <= wording.terms(sentence):
        words = [m.span() for m in re.finditer(r"[^\W_]+", sentence) if wording.terms(m.group()) & terms]
        found = [(words[0][0], words[-1][1])] if words else []
    yield from found


def _fits(sentence: str, span: tuple[int, int], attribute: str, before: str) -> bool:
    if HAN.search(sentence):
        return _chinese(sentence, span, attribute, before)
    return _english(sentence, span, attribute)


def _english(sentence: str, span: tuple[int, int], attribute: str) -> bool:
    head, value, tail = sentence[: span[0]], sentence[span[0] : span[1]], sentence[span[1] :]
    head = _NO_SUBJECT.sub(lambda m: f"I {m.group().lstrip().lower()}", head)
    if tail.startswith("'s") and not tail.startswith("'s my"):
        return False
    clause = _NEW_CLAUSE.split(head)[-1]
    if attribute not in _AS_REQUESTED and _NOT_SO.search(clause):
        return False
    after = _ENGLISH_BEHIND.get(attribute)
    if after and after.match(tail) and not re.search(rf"\b{_OTHERS}\b", clause):
        return _NAMES_NOBODY.search(clause) is None or re.search(_I, clause) is not None
    if attribute == "occupation" and _VERBS.match(value) and re.search(r"\bI (?:also |now |mostly )?$", head):
        return True
    m = _ENGLISH_SAID[attribute].search(head) or _ENGLISH_SPOKEN[attribute].search(head)
    return m is not None and _goes_with(attribute, m, value, tail)


def _goes_with(attribute: str, m: re.Match[str], value: str, tail: str) -> bool:
    """Return whether the value and the words after it suit the words before it."""
    if attribute == "age":
        return not re.match(r" ?(?:[a-z%]+)", tail) or re.match(_AGE_GOES_ON, tail) is not None
    if attribute == "user_name" and re.search(r"(?i)\bI(?:'m| am) $", m.group()) and not value[:1].isupper():
        return False
    if m.group().endswith("been in ") and not re.match(r"(?: \w+){0,4} (?:since|for)\b", tail):
        return False
    gap = re.sub(r"^ [A-Z]\w+(?: [A-Z]\w+)?,", "", m.groupdict().get("gap") or "")  # "I'm Priya, a teacher at"
    return not _NAMES_NOBODY.search(gap) or re.search(r"(?:\band|,|\bthen|\bto)\s*(?:\w+ )?$", gap) is not None


_NEW_CLAUSE: Final = re.compile(r"[;,]|\b(?:but|and) (?=(?:then |now )?(?:I|we|now|moved|joined|started|work|live)\b)")
_NO_SUBJECT: Final = re.compile(
    r"^\s*(?:just|recently|still|currently|been|now|working|living|moved|started|moving|joined|turned|based)\b",
    re.IGNORECASE,
)
"""Beginnings of sentences that omit "I"."""
_NAMES_NOBODY: Final = re.compile(r"\b[A-Z][a-z]+")
_AGE_GOES_ON: Final = r" ?(?:years|yrs?|yo|y|and|or|now|today|but|so|this|next|last|yesterday|on|since|in|with|from)\b"


def _chinese(sentence: str, span: tuple[int, int], attribute: str, before: str) -> bool:
    head, tail = sentence[: span[0]], sentence[span[1] :]
    value = sentence[span[0] : span[1]]
    kind = "verb" if attribute == "occupation" and value[:1] in _ZH_VERBS else attribute
    m = _CHINESE_SAID[kind].search(head)
    if m is None:
        return False
    start = max(head.rfind("，", 0, m.start() + 1), head.rfind(",", 0, m.start() + 1)) + 1
    clause, subject = head[start:], head[start : max(start, m.start())]
    if attribute not in _AS_REQUESTED and _ZH_NOT_SO.search(clause):
        return False
    return _complement(attribute, m.group(), value, tail) and _is_own(clause, subject, attribute, before, head[:start])


def _is_own(clause: str, subject: str, attribute: str, before: str, earlier: str) -> bool:
    """Return whether the user is the subject of a clause, explicitly or implicitly."""
    alone = _WITH.sub("", clause) if _ZH_OWN.search(clause) else clause
    if _ZH_OTHERS.search(alone) and not re.search(r"(?:叫|喊|唤|称呼|管)我", clause):
        return False
    if _ZH_OWN.search(clause):
        return True
    if _ZH_ADVERBS.fullmatch(subject) is None:
        return False
    if attribute == "relationship_status" and re.match(rf"我(?!(?:家|们)?的?(?:{_ZH_OTHERS.pattern}))", earlier):
        return True
    return not _ZH_OTHERS.search(before + earlier)


def _complement(attribute: str, kind: str, value: str, tail: str) -> bool:
    """Return whether the words after the value allow it to fill the slot."""
    if attribute == "user_name":
        return not tail.startswith(("的", "家"))
    behind = _ZH_BEHIND[attribute].match(tail) if attribute in _ZH_BEHIND else None
    if attribute == "age":
        return behind is not None
    if attribute in ("city", "employer") and kind.endswith("是"):
        return tail.startswith("的") if attribute == "employer" else tail.startswith(("的", "人")) and _is_city(value)
    if kind == "在" or (attribute == "employer" and kind.startswith("在")):
        return behind is not None and (attribute == "employer" or not behind["job"] or _is_city(value))
    if attribute == "occupation":
        return re.match(r"最|的(?=[^，,。\s])", tail) is None
    return attribute != "city" or not tail.startswith("的")


def _is_city(value: str) -> bool:
    return value.removesuffix("市") in CHINESE_CITIES or value.endswith(("市", "县", "区", "镇", "村"))


def _birthday(sentence: str, before: str) -> bool:
    """Return whether a sentence is about the user's own birthday."""
    if HAN.search(sentence):
        m = _ZH_BIRTHDAY.search(sentence)
        if m is None:
            return False
        return not _ZH_OTHERS.search(m.group() if "我" in m.group() else f"{before}{sentence}")
    return _EN_BIRTHDAY.search(sentence) is not None


def _answers(question: str, text: str, attribute: str, value: str) -> bool:
    """Return whether a line begins with the value and answers a question of the assistant for it."""
    asked = next((q for q in re.findall(r"[^。！!?？.\n]{0,300}[?？]", question) if _ASKED[attribute].search(q)), "")
    if not _OF_YOU.search(asked.lower()) or _ZH_OTHERS.search(asked) or _OF_YOURS.search(asked):
        return False
    first = wording.SENTENCE.search(text)
    if first is None:
        return False
    if attribute == "birthday":
        return True
    return any(_BARE.fullmatch(first.group()[:start]) for start, _ in _spans(first.group(), value))
