"""Wishes about memory in the user's own words: not to keep something, to forget something, to remember something.

Rules recognise them before a model sees the text. A cue counts only at the beginning of a clause, where an order can
occur: "I never save money", 我总是忘记带钥匙 and "don't forget Lena's birthday" do not ask to leave anything out.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

ASKED_TO_FORGET: Final = "asked_to_forget"
"""The event type of a candidate whose content describes what to forget."""
ASKED_TO_WITHDRAW: Final = "asked_to_withdraw"
"""The event type of a candidate whose content is the id of the turn to withdraw."""

_NOT: Final = (
    r"(?:do not|don'?t|never|no need to|you (?:don'?t|do not) (?:need|have) to|i'?d rather you (?:didn'?t|did not))"
)
_KEEP: Final = r"(?:save|store|record|log|remember|memori[sz]e|retain|note|write|keep|put|add|file)"
_THIS: Final = (
    r"(?:this|that|it|these|those|any(?:thing)? of (?:this|that|it)|anything|the following|what i|my|the last|the next)"
)
_START: Final = (
    r"(?:^|[^\w\s'\"“”‘「『]\s{0,3}|\b(?:please|pls|so|and|but|also|ok|okay|just|hey|or|btw|though|because|wait|oh|um|no"
    r"|actually|seriously|lol|haha)[, ]{1,2})"
)
_US: Final = r"(?:just |strictly |only )?between (?:us|you and me|ourselves|the two of us)"
_LEAD: Final = r"(?:(?:please|pls|can you|could you|would you|you|can we|let's|ever|just|also) ){0,3}"

_NOT_KEEP: Final = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        rf"{_START}{_LEAD}{_NOT} (?:ever )?{_KEEP} (?:down )?(?:a (?:note|record) of )?{_THIS}\b",
        rf"\b(?:please|(?:can|could|would|if|that|prefer) you) (?:please )?(?:not|don'?t|didn'?t) {_KEEP} {_THIS}\b",
        rf"{_START}{_LEAD}{_NOT} (?:save|store|record|log|keep)(?=\s{{0,3}}(?:[^\w\s]|$|(?:pls|please)\b))",
        (
            rf"\b(?:you (?:(?:must|should)n'?t|can'?t|cannot|(?:must|may|should) not)|(?:don'?t|do not) want you to"
            rf"|sure not to) {_KEEP} {_THIS}\b|\bno (?:sav|stor|record|logg|keep)ing {_THIS}\b"
            rf"|\bwant {_THIS} (?:saved|stored|kept)\b"
        ),
        rf"(?:{_START}|\bis )not to be (?:saved|stored|recorded|logged|kept|remembered)\b",
        (
            r"(?<!\bi )(?<!\bwe )(?<!\bthey )(?<!\byou )(?<!\bsaid )\b(?:do not|don'?t) (?:save|store|log|record)"
            r" (?:this|that|it)\b(?=(?: please| pls| ok| okay| thx| thanks| lol| haha| man| btw){0,2}\W{0,9}$)"
        ),
        r"\boff the record\b(?! (?:player|store|label|shop|book|deal))",
        r"\b(?:this|that|it)(?:'s| is) (?:strictly |just )?(?:private|confidential)(?= ?[:–—])",
        r"\bnot for (?:the record|your (?:memory|records|notes))\b",
        rf"\b(?:keep|leave) {_THIS}(?: \w{{1,9}})? (?:out of|off|away from) (?:your |the )?(?:memory|record|notes|log)",
        (
            r"\b(?:this|that|it|strictly|(?:let'?s )?keep (?:this|that|it)) ?"
            rf"(?:'s|is|stays|(?:should|has to|must) stay)? ?(?:{_US}|(?:just |strictly |only )?to yourself)\b"
        ),
        rf"{_START}{_US}(?=\s*(?:[^\w\s]|$))",
        (
            rf"{_START}{_LEAD}(?:forget|ignore|disregard|delete|erase) (?:that )?(?:what )?i (?:just |ever )?"
            r"(?:said|told you|mentioned|brought|wrote)\b(?! about)"
        ),
        (
            rf"{_START}{_LEAD}(?:delete|erase|unsave|disregard) (?:that|this)(?: (?:last )?(?:message|one|bit"
            rf"|part))?(?: from (?:your|the) \w{{1,9}})?(?=\s*(?:[,.!]|$|and\b|please\b))"
        ),
        r"\b(?:pretend|act like|imagine) (?:that )?i (?:never|didn'?t|did not) (?:sa(?:y|id)|t(?:ell|old)|mention)",
        (
            r"(?<![让叫劝][我你他她咱])(?<![让叫劝][我你他她咱]们)(?<!说)(?:别|不要|不用|无需|不必|请勿|切勿|勿|(?<!\w)(?:不许|不准|甭)|不(?:想让?|希望|愿意?)你|你(?:不能|不可以?))(?:再|去)?(?:把[^，。！？]{1,12})?(?:给我|帮我|替我)?"
            r"(?:记(?![恨仇错性得者不])|保存|存(?![钱款在])|储存|录(?:下|入)|写(?:进|入|到|下)|收录|留(?:存|档|底|记录|着|(?!\w))|放进?(?:到|在)?(?:你的)?记忆)(?:下来|住)?(?:[这那](?:[个些句条段]|件事))?"
        ),
        r"(?:就|全|权)?当(?:作|做)?我?(?:从来|什么都|啥都)?没(?:有)?(?:说|讲|提|听[到见])",
        r"(?:咱|咱们|咱俩|我们|我们俩|你我|你和我)(?:两个|两人|俩)?之间(?:的|说|知道|$|[，。：:！])|你知我知|不要?(?:外传|记录在案)",
        r"(?:替我|帮我|给我|请|要)保密|(?:用|看|听|说|聊)完(?:就|了?请?|马上)(?:删|忘)|私下(?:里)?(?:跟你|和你|对你)?说|(?:悄悄|偷偷)(?:地)?(?:跟你|和你|告诉)",
    )
)
_MAY_NOT_KEEP: Final = re.compile(
    r"n'?t\b|\bnot\b|cannot|never|\bno \w|saved|stored|kept|record|keep|leave|between|yourself|forget|ignore|disregard"
    r"|delete|erase|unsave|pretend|act like|imagine|private|confidential|[别不无勿甭没间知传录密删忘私悄偷]",
    re.IGNORECASE,
)
"""Every request not to keep something contains one of these; a sentence without them is not examined further."""
_FILLER: Final = re.compile(
    r"\b(?:please|pls|ok|okay|this|that|it|any|of|anywhere|anything|though|just|so|by the way|btw|and|but|or|in|into|to"
    r"|your|wait|next|bit|sentences?|words|hold on|hang on|that's|ah|um|uh|no|yeah"
    r"|memory|memories|notes?|records?|down|thanks|thank|you|sorry|actually|hey|for|me|at|all|what|i|said"
    r"|told|mentioned|the|thx|ty|omg|god|promise|deal|seriously|really|dude|man|lot|right"
    r"|following|haha|lol|stays?|is|one|thing|part|bit|last|message|about|ever|oh|well|also|my|strictly)\b"
    r"|[等一面句这那个些你请哦啊吧了刚才刚说的我话事件句下来千万先可以吗谢好嗯不过但是它任何东西以上以下内容条段消息进去到记忆里就把给只在都也还哈呢一录存住啦嘛呀真求拜托边能不别]"
    r"|\W|_",
    re.IGNORECASE,
)
_ASIDE: Final = re.compile(
    r"\b(?:(?:don'?t|do not|never|can'?t|not to|nobody|no ?one) (?:ever |you dare )?(?:else )?(?:tell|mention|repeat"
    r"|share|say|show|bring|spread|leak|let|talk|knows?|can|must|may|should|needs?)\b|(?:keep|it'?s|this is|that'?s)"
    r" (?:it |this |that |a )?(?:secret|private|quiet|confidential|personal)\b|not a (?:word|soul)\b)[^,;.!?()]{0,50}"
    r"|(?:谁|任何人|千万|绝对)?[都也]?(?:别|不要|不许|不准|不能|甭)(?:再|也)?(?:[跟和对让给向往说讲提传]|告诉|到处|泄露|透露)"
    r"[^，。！？；,!?;)）]{0,16}|你知道就[好行]"
    r"|(?:^|[,，;；:：(（-])\s{0,3}(?:(?:because|cause|cuz|since|so|or|and|but) )?"
    r"(?:(?:it|that|this|he|she|they|his|her|their|not|too|otherwise|i'd)\b|(?:i|my \w{1,12}|people|everyone)"
    r" (?:would|will|could|might|can|reads?|must)\b"
    r"|[他她它这那]|因为|不然|否则|免得|省得|怕|万一|要是|传出去|还没|太|丢|不想|不好|挺|很|有点).*",
    re.IGNORECASE,
)
"""Words that only accompany a request: not to tell anyone, a reason, a remark on the preceding statement."""
_FORWARD: Final = re.compile(r"[:：]|\b(?:next|following)\b|下面|接下来|以下|下[一个句]", re.IGNORECASE)
_NUMBER: Final = re.compile(
    r"(?:[Mm]y|[Oo]ur|我的?)[^,，:：\d]{1,40}?(?:is|[:：是])\s?[\d., k万-]{2,20}[a-z元块]{0,8}\W{0,9}"
)
"""A sentence that states one number; a request after it is about that number alone."""
_ELSEWHERE: Final = re.compile(
    r"\W{0,9}(?:(?:ok|so|but|and|oh)[, ]{1,2})?(?:(?:any(?:ways?|how)|by the way|btw)\b|对了|另外|顺便|话说)",
    re.IGNORECASE,
)
"""The beginning of a sentence that changes the subject."""
_REMEMBER: Final = tuple(
    re.compile(pattern, re.IGNORECASE | re.DOTALL)
    for pattern in (
        (
            r"^\W{0,9}(?:(?:please|pls|also|and|hey|ok|okay|so|can you|could you|you should)[, ]{1,2}){0,3}"
            r"(?:remember(?: this| that)?(?! (?:when|how|what|who|why|me\b|the time|to\b|us\b|last))"
            r"|(?:do not|don'?t) forget that|(?:keep|bear) in mind(?: that)?|note to self|note(?: this)? down"
            r"|(?:make|take) (?:a )?note(?: of this| that)?|memori[sz]e(?: this| that)?"
            r"|(?:save|store|add|put|commit) (?:this|that|it)? ?(?:to|in|into) (?:your )?memory"
            r"|(?:save|store|write|keep) (?:this|that)(?! (?:o|away|between|to|private|secret|quiet))(?: \w{1,9}){0,3}"
            r"(?= ?[:：,–—-])|for the record|for future reference)\s{0,3}[:：,—–-]?\s{1,3}(?P<what>\S.*)"
        ),
        (
            r"^\W{0,9}(?:请|麻烦|你|要|一定要|一定|给我|帮我|替我|也|还有|那|，){0,4}(?:记住|记一下|记下来?|备注一下|备忘|记着|记录一下"
            r"|(?:记得|别忘了|不要忘记|别忘记)(?=我|咱|他|她|[^，。！？\n带拿买去打]{1,6}(?:不|是|有|在|会|叫|对|喜欢|过敏)))(?:一下|这个|这点|这件事|哦|了"
            r"|啊)?\s{0,3}[：:，,]?\s{0,3}(?P<what>[^？?]{2,})$"
        ),
    )
)
_ABOUT: Final = (
    r"(?:everything|anything|all|whatever|the (?:bit|part|thing|stuff|fact|memory|note|info(?:rmation)?)s?)"
    r"(?: (?:i|that i) (?:told|said)(?: to)?(?: you)?)?(?: you (?:know|have(?: (?:saved|stored|kept))?|saved|stored))?"
    r"(?: about| on| that| of| concerning| regarding)"
)
_FORGET: Final = tuple(
    re.compile(pattern, re.IGNORECASE | re.DOTALL)
    for pattern in (
        (
            r"^\W{0,9}(?:(?:do not|don'?t) (?:tell|mention)(?: \w{1,9}){1,3}[,;:]? but[, ]{1,2})?"
            r"(?:(?:please|pls|kindly|also|and|hey|ok|okay|so|actually|can you|could you|would you|you can"
            r"|i want you to)[, ]{1,2}){0,3}"
            rf"(?:forget|delete|erase|remove|wipe|scrub|drop|unlearn|stop remembering)(?: (?:that|about|{_ABOUT}"
            rf"|what i (?:just |ever )?(?:told|said)(?: to)?(?: you)?"
            r"(?: about)?|what you know about)|(?= my )|(?= (?:where|what|who|when|how old) (?:\w+ )?(?:i|i'm|my)\b)"
            r"|(?= the [^,;?!\n]{1,60} (?:stuff|thing)\b)"
            r"|(?<=forget)(?! (?:\w{2,6}day|it|that|this|\w{4,5}thing)\b)(?=(?: (?-i:[A-Z])[\w'-]{1,30}){1,2}\W{0,9}$))"
            r"\s{1,3}(?P<what>(?!it\b|that\b|this\b|him\b|her\b"
            r"|them\b)[^,;?!\n]{1,120}?)"
            r"(?: (?:from|in) (?:your |the )?(?:memory|records?|notes?|whatever\b[^,;?!\n]{0,60}))?(?: thing"
            r"| stuff)?\s{0,3}(?:[,;?!\n].*)?$"
        ),
        (
            r"^\W{0,9}(?:请|麻烦|你|可以|帮我|给我|替我|那就){0,3}(?:忘掉|忘记|删掉|删除|清除|删去|忘了(?=.{2,40}吧\W{0,9}$)|(?:别|不要|不用|不必|无需)再?记得)(?:一下)?(?:关于)?"
            r"(?:我(?:刚才|之前)?[说讲提]过?的)?(?P<what>[^？?，,]{1,40}?)(?:的?(?:这件事|那件事|那段|相关的?|记忆|事情?|信息|记录))?(?:吧|了|都)?"
            r"(?:[，,]?\s{0,3}(?:其他|其它|别的|剩下|其余)[^？?，,]{0,12})?\W{0,9}$"
        ),
        (
            r"(?:^|[，,。])\W{0,9}(?:请|麻烦|你|可以|帮我|给我){0,3}把(?:关于)?(?:我(?:刚才|之前)?[说讲提]过?的?)?(?P<what>[^？?，,]{1,40}?)"
            r"(?:的?(?:这件事|那件事|那段|那句|相关的?|记忆|事情?|信息|记录|部分))*(?:都|全|全部|给|从记忆里)*(?:忘掉|忘了|忘记|删掉|删除|删了|清除|清掉)"
        ),
        r"^\W{0,9}(?P<what>[^？?，,]{1,30}?)(?:的?(?:这件事|那件事|这事|那事|那段|这段))(?:你|就|请|都){0,3}(?:忘了|忘掉|忘记|删了|删掉)吧?",
    )
)
_REQUEST: Final = re.compile(r"^\W{0,9}(?:please |hey |ok )?(?:can|could|would) you\b", re.IGNORECASE)
_BACK: Final = re.compile(
    rf"{_KEEP} (?:down )?(?:that|what i)\b|^\W{{0,9}}(?:等等|等一下|哎|对了)?[，,]?\s{{0,3}}(?:刚[才刚]|那[句个])",
    re.IGNORECASE,
)
_AHEAD: Final = re.compile(
    r"\b(?:next|following|(?:about to|going to|gonna|will|i'll) (?:say|tell|share))\b"
    r"|接下来|下面|下一[句条段]|等[会下]|待会|马上要|[我]?要说的",
    re.IGNORECASE,
)
"""Words by which a request not to keep something refers to the text after it."""
_POINTS_BACK: Final = re.compile(
    r"\bi (?:just |ever )?(?:said|told you|mentioned|wrote) that\b|\bwhat i (?:just )?(?:said|told you|mentioned)\b"
    r"|\b(?:last|previous) (?:bit|part|message|sentence|one|thing)\b|刚[才刚](?:那|说|的|这)|上[面一](?:那|这|句|条)"
    r"|前面(?:那|说|的)|那[句条]",
    re.IGNORECASE,
)
"""Words by which a request refers to the text before it; the text after it is kept."""
_NAMES: Final = re.compile(r"\bwhat i (?:just )?(?:said|told you|mentioned) about \w", re.IGNORECASE)
"""Words by which a request names one thing; the sentences around it are kept."""
_SENTENCE: Final = re.compile(
    r"(?:[(（\[【][^()（）\[\]【】\n]{1,80}[)）\]】]|[^。！？!?\n.])+(?:\.(?=\S)[^。！？!?\n.]*)*[。！？!?\n.]*\s*"
)
_ASKS: Final = re.compile(r"[?？]\W{0,9}$")


@dataclass(frozen=True, slots=True)
class Wishes:
    """The wishes about memory in a user's text."""

    kept: str
    """The text without the parts that the user does not want kept; "" if nothing is left."""
    to_remember: tuple[str, ...] = ()
    """The statements to remember, word for word."""
    to_forget: tuple[str, ...] = ()
    """The descriptions of the memories to forget."""
    is_withdrawal: bool = False
    """Whether the text only asks not to keep the preceding turn."""
    is_ahead: bool = False
    """Whether the text only asks not to keep the next turn."""
    told: str = ""
    """The kept text without the sentences that ask to forget something."""


def wishes_of(text: str) -> Wishes:
    """Return the wishes about memory in a user's text."""
    plain = text.replace("’", "'")
    sentences = [(m.start(), m.end()) for m in _SENTENCE.finditer(plain)]
    said = [plain[begin:end].strip(" \t") for begin, end in sentences]
    requests = [_request(one) for one in said]
    if not any(requests):
        return _wishes(text, sentences, said, range(len(said)))
    own = ["".join(request) if request else _own(one) for one, request in zip(said, requests, strict=True)]
    spared = {at for place, one in enumerate(requests) if one for at in _covered(place, one, said, own)}
    kept = [at for at in range(len(said)) if at not in spared]
    is_back = requests[0] is not None and not requests[0][0] and _BACK.search(said[0]) is not None
    is_only = not any(own)
    is_ahead = is_only and _AHEAD.search(plain) is not None
    return replace(
        _wishes(text, sentences, said, kept), is_withdrawal=is_back or (is_only and not is_ahead), is_ahead=is_ahead
    )


def _wishes(text: str, sentences: Sequence[tuple[int, int]], said: Sequence[str], kept: Sequence[int]) -> Wishes:
    """Return the wishes in the kept sentences of a text; the text is unchanged if all of them are kept."""
    to_forget = {at: what for at in kept if (what := _what(_FORGET, said[at]))}

    def words(places: Sequence[int]) -> str:
        return text if len(places) == len(said) else "".join(text[slice(*sentences[at])] for at in places).strip()

    return Wishes(
        words(kept),
        tuple(what for at in kept if (what := _what(_REMEMBER, said[at]))),
        tuple(to_forget.values()),
        told=words([at for at in kept if at not in to_forget]),
    )


def kept_of(turns: Sequence[tuple[bool, str]]) -> list[str]:
    """Return the kept text of each of a session's consecutive turns; "" where nothing is kept.

    Each turn is a pair of "is by the user" and text. A turn that only asks not to keep something removes the user's
    previous turn, or the next one if it says so. The answer to a removed turn is removed too.
    """
    wishes = [wishes_of(text) if by_user else Wishes(text) for by_user, text in turns]
    kept = [wish.kept for wish in wishes]
    last: int | None = None
    for place, ((by_user, _), wish) in enumerate(zip(turns, wishes, strict=True)):
        if by_user and wish.is_withdrawal and last is not None:
            kept[last] = ""
        if by_user and last is not None and wishes[last].is_ahead:
            kept[place] = ""
        last = place if by_user else last
    for place, (by_user, _) in enumerate(turns):
        if not by_user and place and turns[place - 1][0] and not kept[place - 1]:
            kept[place] = ""
    return kept


_SAYS_SOMETHING: Final = 9
"""The fewest bytes before a request in its sentence that are likely to be its subject: three Chinese characters."""


def _request(sentence: str) -> tuple[str, str] | None:
    """Return the sentence's own words before and after a request not to keep something; None without a request."""
    if not _MAY_NOT_KEEP.search(sentence):
        return None
    found = [match.span() for pattern in _NOT_KEEP for match in pattern.finditer(sentence)]
    if not found or any(pattern.search(sentence) for pattern in _REMEMBER):
        return None
    rest = list(sentence)
    for begin, end in found:
        rest[begin:end] = " " * (end - begin)
    first = min(found)[0]
    return _own("".join(rest[:first])), _own("".join(rest[first:]))


def _covered(place: int, request: tuple[str, str], said: Sequence[str], own: Sequence[str]) -> range:
    """Return the indexes of the sentences that a request covers; in doubt, all of those around it."""
    is_forward = _FORWARD.search(said[place]) is not None
    is_number = not is_forward and place > 0 and not any(request) and _NUMBER.fullmatch(said[place - 1]) is not None
    if _NAMES.search(said[place]):
        return range(place, place + 1)
    is_own = (is_number or len(request[0].encode()) >= _SAYS_SOMETHING) and not is_forward
    begin, end = place - is_number if is_own or is_forward else 0, place + 1
    if not is_forward and place > 0 and _POINTS_BACK.search(said[place]):
        return range(begin, end)
    is_apart = any(own[begin:end])
    while end < len(said) and not (
        own[end] if is_own else _ELSEWHERE.match(said[end]) or (is_apart and said[end - 1].count("\n") > 1)
    ):
        end += 1
    return range(begin, end)


def _own(text: str) -> str:
    """Return the letters of a text's own statement; "" if it is only a request and the words that accompany one."""
    return _FILLER.sub("", _ASIDE.sub("", text))


def _what(patterns: Sequence[re.Pattern[str]], sentence: str) -> str | None:
    if _ASKS.search(sentence) and not _REQUEST.search(sentence):
        return None
    found = next(filter(None, (pattern.search(sentence) for pattern in patterns)), None)
    what = found["what"].strip(" \t\n。.!！，,?？") if found else ""
    return None if not what or (len(what) == 1 and what.isascii()) or not _FILLER.sub("", what) else what
