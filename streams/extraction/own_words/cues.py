"""Cues: what the words of a sentence say of it, each as a row for both languages."""

from __future__ import annotations

import re
from typing import Final

from projections.text.analyser import terms

_ROWS: Final = (
    (
        "finance",
        (
            r"[¥￥$€£]\s?\d|(?<!\d)\d[\d,.]{0,15}\s?(?:k|usd|eur|gbp|dollars?|euros?|pounds|bucks|quid)\b|\b(?:rent"
            r"|mortgage"
            r"|salary|loan|debt|owe"
            r"|savings|budget|invoice|tax(?:es)?|pension|insurance)\b|股票|基金|房租|房贷|工资|薪水|存款|贷款|欠"
            r"|借了|还款"
            r"|保险|\d(?:块|元|万)"
        ),
    ),
    (
        "project",
        (
            r"\b(?:project|startup|thesis|dissertation|repo|codebase|deploy\w*|app i|prototype|manuscript)\b|项目"
            r"|论文|创业|毕业设计|代码库|产品上线"
        ),
    ),
    (
        "preference",
        (
            r"\b(?:love|like|hate|prefer|enjoy|favou?rite|adore|can'?t stand|dislike|allergic|vegan|vegetarian)s?\b"
            r"|喜欢|讨厌|最爱|爱吃|爱喝|偏爱|不爱|过敏|吃素"
        ),
    ),
    (
        "interest",
        (r"\b(?:into|hobby|hobbies|interested in|fan of|passionate|obsessed)\b|兴趣|爱好|迷上|热爱"),
    ),
    (
        "habit",
        (
            r"\b(?:every (?:day|morning|evening|night|week|\w+day)|usually|always|daily|weekly|routine|twice a"
            r"|once a)\b"
            r"|每[天周晚早次月年]|经常|总是|习惯|平时"
        ),
    ),
    (
        "people",
        (
            r"\b(?:mother|mom|mum|father|dad|parents?|wife|husband|girlfriend|boyfriend|partner|fianc[eé]e?"
            r"|sisters?|brothers?"
            r"|sons?|daughters?|kids?|children|baby|grandm\w+|grandpa\w*|grandfather|aunt|uncle|cousins?|nephew"
            r"|niece|friends?|boss"
            r"|manager|colleagues?|roommate|neighbou?rs?|dog|cat|puppy|kitten|pets?)\b"
            r"|妈|爸|父母|老婆|老公|妻子|丈夫|女朋友|男朋友|女友|男友|对象|哥|姐|弟|妹|儿子|女儿|孩子|宝宝|爷爷"
            r"|奶奶|外公|外婆|姥|舅|姑|叔|姨|朋友|同事|老板"
            r"|室友|邻居|老师|狗|猫"
        ),
    ),
)
_CATEGORIES: Final = tuple((name, re.compile(pattern, re.IGNORECASE)) for name, pattern in _ROWS)
_REQUEST: Final = re.compile(
    r"(?:(?:please|pls|hey|hi|hello|ok|okay|so|and|now|then|also)[, ]{1,3}){0,4}(?:(?:can|could|would|will) you|help me"
    r"|give me|tell me"
    r"|show me|write|find|recommend|suggest|explain|list|make me|create|generate|translate|summari[sz]e|share"
    r"|teach me|let me"
    r"|let'?s|look up|search|check|remind|i (?:want|need|would like|'d like|wish|hope) you\b|i'?d like you)"
    r"|(?:给|替|为|帮).{1,20}写|(?:那|那么|请问?|麻烦|拜托|好的?)?[，,]?(?:你?能不?能|可以|请|帮我|帮忙|给我|告诉我"
    r"|教我|推荐|介绍|分享"
    r"|讲讲?|说说|写一?[个篇首段]|列出|翻译|查一?[下查]"
    r"|提醒我|我(?:想|要|希望)你|能否)",
    re.IGNORECASE,
)
_ANSWER: Final = r"(?:answer|reply|respond|write|call|use|say|tell|give|send|explain|talk|ask|start|end|add|suggest)"
_STANDING: Final = re.compile(
    r"(?:^|[,.;!] ?|\b(?:please|pls|also|and|so|just) )(?:from now on|in (?:the )?future|going forward|always|never"
    rf"|stop|don'?t|do not|no more)\b(?: \w+){{0,2}}? {_ANSWER}"
    rf"|\b{_ANSWER}\b.{{0,40}}\b(?:from now on|every time|going forward)\b"
    r"|(?:以后|往后|今后|从现在(?:起|开始)|每次|下次).{0,12}(?:别|不要|不用|少|多|用|叫|给|跟我|回|说|写|直接|简)"
    r"|(?:别|不要)(?:再|老|总)?(?:跟我|给我|叫我|用[“「\"]|说[“「\"]|加)",
    re.IGNORECASE,
)
_NOTHING: Final = re.compile(
    r"(?:oh|ah|wow|(?:ha){1,6}|lol|hmm?|well|yes|yeah|ok(?:ay)?|sure|great|cool|nice|good|right"
    r"|no)?[,.! ]{0,3}(?:thank(?:s| you)"
    r"|you'?re (?:welcome|right|so|very|the best|amazing)|(?:that|this|it)(?:'s| is| sounds| was)? (?:a )?(?:very "
    r"|really |so "
    r"|such )*(?:great|good|nice|cool|awesome|amazing|true|right|fine|interesting|helpful|lovely|wonderful|ok"
    r"|okay)\W{0,6}$"
    r"|nice to (?:meet|see|hear)|good (?:morning|night|evening|idea|luck|point)|see you|talk (?:to you )?(?:soon"
    r"|later)|bye"
    r"|have a (?:nice|good|great)|hello|hi there|how are you|take care|congrat|sounds (?:good|great)|no (?:problem"
    r"|worries)|i see\b)"
    r"|(?:哇|嗯{1,3}|好的?|哈{1,6}|是的?|对|啊|哦)?[，,！!。 ]{0,2}(?:谢谢|多谢|感谢|辛苦|你好|您好|早上好|晚安"
    r"|晚上好|再见"
    r"|拜拜|明天见|不客气|没关系|加油|很高兴认识你|好主意"
    r"|你(?:真|说得|太|很|好)|听起来|说得对|原来如此|明白了|知道了|我会试试|好建议)",
    re.IGNORECASE,
)
_ASKS: Final = re.compile(
    r"[?？][\"'”」』)）\s]{0,4}$"
    r"|(?:吗|么|(?:什么|怎么|怎样|谁|哪|几|多少|为何|[你您]).{0,12}呢|(?<![要可才就也都我从])不)[。！!～~…\s]{0,4}$"
)
_GOES_ON: Final = re.compile(
    r"[，,；;。.!！～~—]+\s*|(?<=[一-鿿])\s+(?=[一-鿿])|\s(?=(?:i|i'm|im|i've|my|we)\b)|(?=[我咱])", re.IGNORECASE
)
"""Where a sentence that begins with thanks or a greeting may say something."""
FEW_TERMS: Final = 2
"""Fewer of them behind that say nothing."""
_SUPPOSED: Final = re.compile(
    r"^(?:and |but |so )?(?:if (?:only )?i (?:had|were|was|lived|could|won|worked)\b|i wish\b|i (?:was |am "
    r"|'m )?(?:just )?jok(?:e|ing)\b"
    r"|(?:just )?(?:kidding|joking)\b|imagine\b|suppose\b|i(?:'ve)? heard (?:that )?some)"
    r"|\b(?:told me|thinks?|says?|said"
    r"|suggested) (?:that )?i should\b"
    r"|\bjk\b|\b(?:just )?(?:kidding|joking)\b"
    r"|^(?:如果|要是|假如|假设)(?:我|咱|能|可以|有).{0,30}(?:就|会|该|好了)|^(?:我)?听说|开玩笑|逗你的|骗你的|^歌词",
    re.IGNORECASE,
)
_LIMITED: Final = re.compile(
    r"\b(?:if|unless|except|only|when(?:ever)?|until|after \d|before \d|but not|big ones|not big|supposed|pretend"
    r"|wish|would|could"
    r"|might|maybe|perhaps|possibly|used to|almost|nearly|imagine|not sure|without|in the (?:evening|morning)|at night"
    r"|or something|or whatever)\b|如果|要是|假如|除非|除了|除外|只有|只在|只要|的时候|时候才|以前|曾经|也许|可能|大概"
    r"|希望|差点|的话|不确定",
    re.IGNORECASE,
)


_JUST_NOW: Final = re.compile(
    r"\bbrb\b|\bi'?m (?:at|on|in|sitting|waiting|stuck|standing|lying)\b (?:\w+ )?(?:the|an?|work|home|line|traffic"
    r"|bed)\b.{0,40}\b(?:now|rn|at the moment)\b"
    r"|(?:现在|正|刚刚?|此刻)在(?:去|到)?(?:机场|车站|火车|地铁|路上|高铁|飞机|公交|医院|超市|商场|排队|开会|餐厅|咖啡"
    r"|健身房|家里|外面|门口)",
    re.IGNORECASE,
)


def category_of(text: str) -> str:
    """Return Evatar's category of a sentence: the first row that has a word of it."""
    return next((name for name, pattern in _CATEGORIES if pattern.search(text)), "fact")


def asks_for_something(text: str) -> bool:
    """Return whether a sentence asks the listener to do something, once."""
    return _REQUEST.match(text) is not None


def asks_for_good(text: str) -> bool:
    """Return whether a sentence says how the listener is to answer, or what to do, from now on."""
    return _STANDING.search(text) is not None


def is_question(text: str) -> bool:
    """Return whether a sentence asks something, with a question mark or without."""
    return _ASKS.search(text) is not None


def says_nothing(text: str) -> bool:
    """Return whether a sentence only thanks, greets, agrees, jokes or supposes, or says what others advise."""
    rest = text
    while rest and (found := _NOTHING.match(rest)):
        goes_on = _GOES_ON.search(rest, found.end())
        rest = rest[goes_on.end() :] if goes_on else ""
    return (rest != text and len(terms(rest)) < FEW_TERMS) or _SUPPOSED.search(text) is not None


def is_limited(text: str) -> bool:
    """Return whether a sentence says that something is so under a condition, within limits, or perhaps."""
    return _LIMITED.search(text) is not None


_FIRST_PERSON: Final = re.compile(r"\b(?:i|i'm|i've|i'd|i'll|im|ive|my|we|we're|our|me|us)\b|[我咱俺]", re.IGNORECASE)


def words_of(text: str) -> set[str]:
    """Return the words of a text that say what it is about."""
    return {word for word in terms(text) if len(word) > 1}


def in_first_person(text: str) -> bool:
    """Return whether a sentence speaks of its speaker."""
    return _FIRST_PERSON.search(text) is not None


_NOT: Final = re.compile(r"\b(?:not|no longer|no more|never)\b|n['’]t\b|不再?|没有?")
_WORDS_OF_NOT: Final = re.compile(r"\s{0,2}(?:[^\W\d_]{1,12}\s{1,2}){0,2}|[一-鿿]{0,2}")
"""What may stand between a denial and what it denies_value: "not the", "don't like", 不再喝."""


def denies_value(text: str, value: str) -> bool:
    """Return whether a sentence says of a value that it is not so: "not tabs", 不再喝茶."""
    said, wanted = text.casefold(), value.casefold()
    for found in _NOT.finditer(said):
        between, denied, behind = said[found.end() :].partition(wanted)
        is_whole = not wanted[-1:].isascii() or not behind[:1].isalnum()
        if denied and is_whole and _WORDS_OF_NOT.fullmatch(between):
            return True
    return False


def is_of_the_moment(text: str) -> bool:
    """Return whether a sentence says where somebody is, or what they do, just now."""
    return _JUST_NOW.search(text) is not None


_RETRACTED: Final = re.compile(
    r"^\W{0,3}(?:(?:just |only )?(?:kidding|joking)|jk|nah,? kidding|开玩笑|逗你的|骗你的|哈{2,6}开玩笑)",
    re.IGNORECASE,
)


def is_retraction(text: str) -> bool:
    """Return whether a sentence says that the one before it was no earnest."""
    return _RETRACTED.match(text) is not None
