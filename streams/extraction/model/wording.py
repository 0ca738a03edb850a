"""The wording of statements: the words that two texts share, and statements about the user in the third person."""

from __future__ import annotations

import re
import unicodedata
from typing import Final

from projections.dates.numerals import number
from projections.text.scripts import HAN

SENTENCE: Final = re.compile(r"[^。！？!?\n.]+(?:\.(?=\w)[^。！？!?\n.]+){0,50}")
_LATIN: Final = re.compile(r"[^\W\d_\u3400-\u9fff]+")
_DIGITS: Final = re.compile(r"\d{1,12}")
_HAN: Final = re.compile(r"[\u3400-\u9fff]+")
_NUMERALS: Final = re.compile(r"[零〇一二两三四五六七八九十百千]{1,7}")
_STEM: Final = 5
"""How many letters of words are compared: `paints` and `painted` are the same, `paint` and `paper` are not."""
_COMMON_WORDS: Final = (
    "a an the and or but not no of to in on at by for from with as is are was were be been am do does did has "
    "have had will would can could should shall may might must i me my we us our you your he him his she her it "
    "its they them their this that these those there here what which who how when where why so too very just also "
    "user users s t re ve ll m d if then than about some any all one more most said "
)
_COMMON: Final = frozenset(_COMMON_WORDS.split())
_MOST_COMMON: Final = 0.2
_COMMON_HAN: Final = frozenset(
    "的了是在有和与也都就很不我你他她它们这那个吗呢吧啊呀哦嗯一上下来去到说用户要会能对把被给"
)

_QUOTED: Final = re.compile(r"“[^”]{0,500}”|\"[^\"]{0,500}\"|「[^」]{0,500}」|『[^』]{0,500}』")
_BE: Final = {"am": "is", "have": "has", "don't": "doesn't", "haven't": "hasn't", "were": "was"}
_AUXILIARY_WORDS: Final = (
    "will would can could should shall may might must can't couldn't won't wouldn't shouldn't had hadn't did "
    "didn't was wasn't has is used got went left met took began put paid spent bought sold lent made saved said "
    "told felt saw came knew thought found gave kept lost read ran sent slept spoke taught wore won wrote ate "
    "drank drove forgot grew heard held hurt let built broke chose fell flew cut became "
)
_AUXILIARY: Final = frozenset(_AUXILIARY_WORDS.split())
_ADVERB: Final = r"(?:(?:really|also|just|always|never|usually|often|still|only|already|now|actually|even|recently) )"
_CONTRACTED: Final = {"m": "am", "ve": "have", "ll": "will", "d": "would"}
_I_VERB: Final = re.compile(rf"\bI (?P<adverb>{_ADVERB}?)(?P<verb>[A-Za-z]+(?:[’'][a-z]+)?)")
_MY: Final = re.compile(r"(?<![\w-])(?:[Mm]y|[Oo]ur)(?![\w-])")
_ME: Final = re.compile(r"(?<![\w-])(?:me|I)(?![\w-])")
_BEGINS: Final = re.compile(r"(?:^|[.!?] )the user\b")
_FIRST_PERSON: Final = re.compile(r"(?<![\w-])(?:I|[Mm]y|me)(?![\w-])|(?<!自)我(?!们)")


def terms(text: str) -> frozenset[str]:
    """Return the terms of a text to compare: stems of words, numbers in digits, pairs of Chinese characters.

    Common words, and pairs of common characters, are left out.
    """
    plain = unicodedata.normalize("NFKC", text).casefold()
    found = {word[:_STEM] for word in _LATIN.findall(plain) if word not in _COMMON}
    found.update(digits.lstrip("0") or "0" for digits in _DIGITS.findall(plain))
    if plain.isascii():
        return frozenset(found)
    found.update(str(value) for run in _NUMERALS.findall(plain) if (value := number(run)) is not None)
    for run in _HAN.findall(plain):
        pairs = (run[i : i + 2] for i in range(len(run) - 1))
        found.update(pair for pair in pairs if not _COMMON_HAN.issuperset(pair))
        found.update(run if len(run) == 1 and run not in _COMMON_HAN else ())
    return frozenset(found)


def letters(text: str) -> str:
    """Return only the letters and digits of a text, case-folded: two spellings of the same line share them."""
    return "".join(filter(str.isalnum, unicodedata.normalize("NFKC", text).casefold()))


def is_english(text: str) -> bool:
    """Return whether a text is English: at least a fifth of its words are common English words."""
    words = _LATIN.findall(unicodedata.normalize("NFKC", text).casefold())
    return bool(words) and len([word for word in words if word in _COMMON]) >= len(words) * _MOST_COMMON


def of_the_user(content: str, name: str | None = None) -> str:
    """Return a first-person statement as one about the user, or about the person called `name`; others unchanged.

    A statement with quotation marks is unchanged, too.
    """
    spoken = _QUOTED.sub(" ", content)
    if not _FIRST_PERSON.search(spoken) or _QUOTED.search(content):
        return content
    if HAN.search(content):
        return re.sub(r"(?<!自)我(?!们)", name or "用户", content)
    text = re.sub(r"\bI[’'](m|ve|ll|d)\b", lambda m: f"I {_CONTRACTED[m[1]]}", content)
    who = name or "the user"
    text = _I_VERB.sub(lambda m: f"{who} {m['adverb']}{_third(m['verb'])}", text)
    text = re.sub(r"\bmyself\b", "themselves", text)
    text = re.sub(r"\b[Mm]ine\b", f"{who}'s", text)
    text = _ME.sub(who, _MY.sub(f"{who}'s", text))
    return _BEGINS.sub(lambda m: m.group().replace("the user", "The user"), text)


def _third(verb: str) -> str:
    low = verb.lower().replace("’", "'")
    if low in _BE:
        return _BE[low]
    if low in _AUXILIARY or low.endswith(("ed", "n't")):
        return verb
    if low.endswith(("s", "x", "z", "ch", "sh", "o")):
        return f"{verb}es"
    return f"{verb[:-1]}ies" if re.search(r"[^aeiou]y$", low) else f"{verb}s"
