"""Repairs: where the user takes back a word and says another one, the last word counts.

"I live in Paris, sorry, I mean Lyon" is read as "I live in Lyon". Where it is not clear what is taken back, the words
stay as they are, and fill no key.
"""

from __future__ import annotations

import re
from difflib import SequenceMatcher
from typing import TYPE_CHECKING, Final

from projections.text.scripts import HAN

if TYPE_CHECKING:
    from collections.abc import Callable

_BREAK: Final = r"(?:\s?[,;.…—–]{1,5}\s?|\s-+\s|^)"
_WORDS: Final = (
    r"(?:(?:oh|uh|um|er|erm|eh|ah|ugh|hmm|oops|well|ok|okay)[, ]+)?"
    r"(?:sorry|no(?=[, —–-]+(?:wait|sorry|i mean|not)|[,—–])|nope|wait|hang on|hold on|i mean(?! it\b)"
    r"|i meant|i should say"
    r"|or rather|rather|make that|scratch that|strike that|correction|my mistake|my bad|oops|typo|let me correct that"
    r"|i misspoke|i mistyped|(?:er|uh|um|erm|eh)(?=,)|well(?= \d)|(?<=well, )actually|actually,? (?:it|that)(?:'s| is))"
)
_CUE: Final = re.compile(
    rf"{_BREAK}(?P<words>{_WORDS}(?:[,.:!—– -]{{1,6}}(?:sorry|no|wait|i mean|i meant|not that|actually|that'?s wrong"
    rf"|it'?s|it is"
    r"|that'?s|it was|make that|should be|rather|to)){0,4})[,:.!—–-]{0,6}\s{1,3}"
    r"(?P<right>(?!(?:who|what|why|how|when|really|seriously|come on|you know|no|not|nothing|for|about|if|but|that"
    r"|to be)\b)[^,.!?;\n]{1,80})",
    re.IGNORECASE,
)
_STAR: Final = re.compile(r"(?:^|\n)\s{0,9}\*(?P<right>[\w'-]{2,30})")
_SAME_NAME: Final = (
    r"(?:^|[,.;—–\n]\s{0,3}|\b(?:sorry|no|oops|actually|wait)[, ]+)(?:it'?s |her name is |his name is )?not "
    r"(?P<wrong>[\w'-]{1,30}(?: [A-Z][\w'-]{1,30})?), ?(?:but |it'?s |(?:her|his|its|my) name is )?"
)
_NOT_X_Y: Final = re.compile(rf"{_SAME_NAME}(?P<right>[\w'-]{{1,30}}(?: [A-Z][\w'-]{{1,30}})?)(?=[.!?,\n]|$)")
_Y_NOT_X: Final = re.compile(
    r"(?P<right>(?:[A-Z][\w'-]{1,30}|\d{1,9})(?: [A-Z][\w'-]{1,30})?), not "
    r"(?P<wrong>(?:[A-Z][\w'-]{1,30}|\d{1,9})(?: [A-Z][\w'-]{1,30})?)(?=[.,!?\n]|$)"
)
_SPELT: Final = re.compile(
    r"(?:^|[.!?,\n]\s{0,3})(?:(?:actually|sorry|no|oh|and)[, ]+)?(?:it|that|the name)(?:'s| is) (?:actually )?"
    r"(?:spelled|spelt|written|pronounced) (?P<right>[A-Z][\w'-]{1,30})[.!]?",
    re.IGNORECASE,
)
_ZH_NOT: Final = re.compile(
    r"(?<!的)(?:不是|并不是)(?P<wrong>[^，,。是！？]{1,12})[，,]?(?:而|应该|其实)?是(?P<right>[^，,。！？\n]{1,14})"
)
_ZH_YES: Final = re.compile(r"是(?P<right>[^，,。是！？]{1,12})[，,](?:而)?不是(?P<wrong>[^，,。！？\n]{1,12})")
_ZH_SLIP: Final = (
    r"(?:不对|不不|错了|(?:上次|刚才|刚刚)?我?[说写打记算输]错(?:了|字了)?(?!了)|口误|笔误|手滑|更正(?:一下)?|纠正一下|(?<!不是)我是说|我是想说"
    r"|我的意思是|我意思是|准确(?:地|来)?说|应该说|等(?:等|下|一下)(?!就|再|要|会|还|去|回|给|发|做|到)|抱歉|对不起|不好意思)"
)
_ZH_CUE: Final = re.compile(
    rf"(?:[，,。…—\s]{{1,6}}|^)(?:(?:啊|哦|噢|呃|嗯|哎|哎呀)[，, ]?)?(?:{_ZH_SLIP}"
    r"|(?:[啊哦噢呃哎]|[哎呃]呀)不(?=[是，, ])|(?<=[…。])不是(?=[，,]))"
    rf"(?:[，,：:。！\s]{{0,6}}{_ZH_SLIP}){{0,4}}[，,：:。！\s]{{0,6}}(?:应该)?(?:就)?(?P<be>是)?[，,：:\s]{{0,4}}"
    rf"(?P<right>(?![谁什怎我为])[^，,。！？\n]{{1,20}}|我[^，,。！？\n]{{1,20}})"
)
_EARLIER: Final = re.compile(
    r"(?:上次|之前|刚才|昨天|前面)我?[说写打记]错了?\W*$"
    r"|\b(?:typed|said|wrote|got) (?:it|that) wrong (?:before|last time|earlier)\W*$",
    re.IGNORECASE,
)
_ZH_SLIPPED: Final = re.compile(rf"[，,。…\s]{{0,6}}{_ZH_SLIP}[，,：:。！\s]{{0,6}}$")
_SLIP: Final = re.compile(
    r"\b(?:typo|no wait|wait,? no|autocorrect(?:ed)?|scratch that|strike that|correction:|i misspoke|i mistyped)\b"
    r"|[说打写记]错[了字]|口误|笔误|[哦噢啊]不，|，不对，",
    re.IGNORECASE,
)
"""What says that a word was wrong, wherever the right one stands."""
_WORD: Final = re.compile(r"[一-鿿]|[^\W_]+(?![一-鿿])")
_ZH_VERB: Final = re.compile(
    r"住在?|对(?=.{1,9}过敏)|来自|搬到|搬去|位于|叫做|名叫|在|是|叫|有|去|到|姓|养了|喜欢|最?爱喝|最?爱吃|爱|买了|订了|定在|改到|约了|今年|："
)
_NUMBER: Final = re.compile(
    r"\d[\d.,:]*|\b(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|twenty|thirty|forty|fifty)\b"
    r"|(?<=[有是共])[一二两三四五六七八九十]+",
    re.IGNORECASE,
)
_SUBJECT: Final = re.compile(r"^(?:i|we|my|our|he|she|they|his|her|their)(?:'m|'ve|'re|'s)?\b", re.IGNORECASE)
_SINCE: Final = re.compile(r" (?:since|as of|from|because|now)\b.*$", re.IGNORECASE)
_ZH_DATE: Final = re.compile(
    r"[\d一二两三四五六七八九十百千万零初腊正][\d一二两三四五六七八九十百千万零初腊正月号日点分年]*"
)
_ZH_TAIL: Final = re.compile(r"(?:住|上班|工作|上学|读书|过敏|的)$")
_RESTATED: Final = re.compile(r"^(?:我|咱|他|她|我们|今年)")
_TAKEN_BACK: Final = re.compile(r"mean|correct|misspoke|scratch|strike|mistake", re.IGNORECASE)
_MOST_WORDS: Final = 4
_FEW_WORDS: Final = 3
_FUNCTION: Final = frozenset(
    re.findall(
        r"\S+",
        "a an the to in at on of for from with by as is are was were am be been i'm my his her our their its and or"
        " called named about into have has had do does did not",
    )
)
"""What begins the words that another word can take the place of."""
_ALIKE: Final = 0.5
_CLAUSE: Final = re.compile(r"[.!?。！？\n]\s*")


def repaired(text: str) -> str:
    """Return a text with the last word counting, where it is clear what that is."""
    for pattern, step in _STEPS:
        for _ in range(_MOST_WORDS):
            if (found := pattern.search(text)) is None or (after := step(text, found)) == text:
                break
            text = after
    return text


def is_unclear(text: str) -> bool:
    """Return whether a text that was repaired still takes back a word."""
    found = filter(None, (pattern.search(text) for pattern in (_CUE, _ZH_CUE, _SLIP)))
    # At the end of a statement "I mistyped before" is said of an earlier one.
    return any(len(_WORD.findall(text[: one.start()])) > 1 and not _EARLIER.search(text) for one in found)


def takes_back(text: str) -> bool:
    """Return whether a turn begins by repairing a word of the one before."""
    found = next(filter(None, (pattern.match(text) for pattern, _ in _STEPS)), None)
    if found is None:
        return False
    right = found["right"].strip()
    return not (_SUBJECT.match(right) or _RESTATED.match(right))


def repaired_behind(before: str | None, text: str) -> str:
    """Return a user's text with the last word counting, and with what it repairs of the user's text before it."""
    if not before or not takes_back(text):
        return repaired(text)
    said = before.rstrip(" \n.!。！")
    joined = f"{said}，{text}" if HAN.search(said) else f"{said}, {text}"
    after = repaired(joined)
    return repaired(text) if after == joined else after


def _replaced(text: str, found: re.Match[str]) -> str:
    """Return a text where what was said for a repaired word before is that word, and the repair itself is not."""
    wrong, right = found["wrong"].strip(), found["right"].strip()
    before, after = text[: found.start()], text[found.end() :]
    if not before.strip(" ,，"):
        return text
    if wrong in before:
        return f"{before.replace(wrong, right)}{after}"
    return text


def _without_wrong(text: str, found: re.Match[str]) -> str:
    """Return a text that says only what is right: "Margo, not Mango"."""
    before, after = text[: found.start()], text[found.end() :]
    return f"{before.replace(found['wrong'], found['right'])}{found['right']}{after}"


def _zh_not(text: str, found: re.Match[str]) -> str:
    before, after = _ZH_SLIPPED.sub("", text[: found.start()]), text[found.end() :]
    if found["wrong"] in before:
        return f"{before.replace(found['wrong'], found['right'])}{after}"
    again = _replaced(text, found)
    return again if again != text else f"{before}是{found['right']}{after}"


def _zh_yes(text: str, found: re.Match[str]) -> str:
    before, after = text[: found.start()], text[found.end() :]
    return f"{before.replace(found['wrong'], found['right'])}是{found['right']}{after}"


def _spelt(text: str, found: re.Match[str]) -> str:
    before, right = text[: found.start()], found["right"]
    names = re.findall(r"\b[A-Z][\w'-]+", before)
    best = max(names, key=lambda name: SequenceMatcher(None, name.lower(), right.lower()).ratio(), default=None)
    if best is None or SequenceMatcher(None, best.lower(), right.lower()).ratio() < _ALIKE:
        return text
    return f"{before.replace(best, right)}.{text[found.end() :]}"


def _cued(  # noqa: PLR0911 - one for each way in which words are replaced
    text: str, found: re.Match[str]
) -> str:
    """Return a text in which the words behind a cue stand for those before it."""
    before, right, after = text[: found.start()], found["right"].strip(" ,"), text[found.end() :]
    if not before.strip():
        return text
    begin = max((m.end() for m in _CLAUSE.finditer(before)), default=0)
    head, clause = before[:begin], before[begin:]
    said, right_words = clause.split(), right.split()
    plain = [word.strip(",;:").lower() for word in said]
    right = _SINCE.sub("", right)
    right_words = right.split()
    is_next = "." in text[found.start() : found.start("words")] and not _TAKEN_BACK.search(found["words"])
    if is_next and (_SUBJECT.match(right) or len(right_words) > _FEW_WORDS):
        return text  # another statement
    if _SUBJECT.match(right):
        return f"{head}{right[:1].upper()}{right[1:]}{after}"
    number = _NUMBER.search(right)
    if number and not number.start() and (last := list(_NUMBER.finditer(clause))):
        rest = clause[last[-1].end() :] if len(right_words) == 1 else ""
        return f"{head}{clause[: last[-1].start()]}{right}{rest}{after}"
    anchor = right_words[0].lower()
    if len(right_words) > 1 and anchor in plain:
        place = len(plain) - 1 - plain[::-1].index(anchor)
        return f"{head}{' '.join([*said[:place], right])}{after}"
    count = next((n for n, word in enumerate(reversed(plain)) if word in _FUNCTION), len(right_words))
    if len(right_words) > _MOST_WORDS or not 0 < count <= _FEW_WORDS:
        return text
    return f"{head}{' '.join([*said[: len(said) - count], right])}{after}"


def _zh_cued(text: str, found: re.Match[str]) -> str:
    before, right, after = text[: found.start()], found["right"].strip(), text[found.end() :]
    begin = max((m.end() for m in re.finditer(r"[。！？\n]", before)), default=0)
    head, clause = before[:begin], before[begin:]
    if not clause.strip() or not HAN.search(clause):
        return text
    if _RESTATED.match(right):
        return f"{head}{right}{after}"
    verbs = list(_ZH_VERB.finditer(clause))
    if own := next((verb for verb in reversed(verbs) if right.startswith(verb.group())), None):
        return f"{head}{clause[: own.start()]}{right}{after}"
    tail = found_tail.group() if (found_tail := _ZH_TAIL.search(clause)) and not _ZH_TAIL.search(right) else ""
    numbers = [
        n
        for n in _ZH_DATE.finditer(clause)
        if re.search(r"\d|[月号岁个只条点楼人年块元柜]", clause[n.start() : n.end() + 1])
    ]
    if numbers and (own := _ZH_DATE.match(right)):
        unit = clause[numbers[-1].end() :]
        rest = right[own.end() :] or unit
        return f"{head}{clause[: numbers[-1].start()]}{own.group()}{rest}{after}"
    if verbs and verbs[-1].end() < len(clause):
        return f"{head}{clause[: verbs[-1].end()]}{right}{tail}{after}"
    return text


_STEPS: Final[tuple[tuple[re.Pattern[str], Callable[[str, re.Match[str]], str]], ...]] = (
    (_SPELT, _spelt),
    (_STAR, _spelt),
    (_NOT_X_Y, _replaced),
    (_Y_NOT_X, _without_wrong),
    (_CUE, _cued),
    (_ZH_YES, _zh_yes),
    (_ZH_NOT, _zh_not),
    (_ZH_CUE, _zh_cued),
)
