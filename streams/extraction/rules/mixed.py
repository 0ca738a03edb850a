"""Clauses that mix Chinese and English, put into one language: I'm allergic to 芒果 becomes 我对芒果过敏.

Only two kinds are known: an English frame with a Chinese noun, and a Chinese frame with an English verb or label. Any
other clause stays as it is.
"""

from __future__ import annotations

import re
from typing import Final, Literal, TypeAlias

from projections.text.scripts import HAN

Language: TypeAlias = Literal["zh", "en"]

_LATIN: Final = re.compile(r"[A-Za-z]")
_NOUNS: Final = (
    r"(?P<what>(?:(?![的了着过吗呢吧是在有我你您他她它不没很也都就要会想去来说把被跟和让给对从到])[一-鿿]){1,8})"
    r"(?: (?:now|too|a lot))?$"
)
_I: Final = r"^(?:(?:and|but|so|also|well) )?I(?:'m| am|'ve| have)?(?: (?:really|also|just|still|now)){0,2}"
_ROWS: Final = tuple(
    (re.compile(pattern, re.IGNORECASE), to)
    for pattern, to in (
        (rf"{_I} not allergic to {_NOUNS}", r"我对\g<what>不过敏"),
        (rf"{_I} allergic to {_NOUNS}", r"我对\g<what>过敏"),
        (rf"{_I} (?:love|like|enjoy|adore) (?:eating |drinking )?{_NOUNS}", r"我喜欢\g<what>"),
        (rf"{_I} (?:hate|dislike|(?:don't|do not)(?: really)? like|can't stand) {_NOUNS}", r"我讨厌\g<what>"),
        (rf"{_I} (?:live|living|moved) (?:in|to) {_NOUNS}", r"我住在\g<what>"),
        (rf"{_I} work(?:ing)? (?:at|for|in) {_NOUNS}", r"我在\g<what>工作"),
        (rf"{_I} speak {_NOUNS}", r"我会说\g<what>"),
        (rf"{_I} (?:work as )?an? {_NOUNS}", r"我是\g<what>"),
        (rf"^my name(?: is|'s) {_NOUNS}", r"我叫\g<what>"),
        (r"^I(?:'m| am) (\d{1,3}) ?岁$", r"我\1岁"),
        (r"^I(?:'m| am) ([A-Z][a-z]{1,14})$", r"我叫\1"),
        (r"^我(也|真的|现在|很|最|超级?)? ?(?:love|like|enjoy) ?(?=[一-鿿])", r"我\1喜欢"),
        (r"^我(也|真的|很|最)? ?hate ?(?=[一-鿿])", r"我\1讨厌"),
        (r"^(?:my|我的?) ?birthday ?(?:是|is) ?(?=[一-鿿\d])", "我的生日是"),
        (r"^my (?=[一-鿿])", "我的"),
        (r"^(.{0,8}在) ?([A-Z][\w&.]*(?: [A-Z][\w&.]*)?) ?([做当工上]) ?", r"\1\2\3"),
    )
)
_ENGLISH_VERB: Final = re.compile(
    r"^我(?:也|真的|现在|很|最)? ?(?=(?P<is>allergic to|divorced\b|married\b|engaged\b|single\b)|(?:love|like|hate"
    r"|enjoy|prefer|live in|work (?:at|as|for|in)|moved to|have|own|speak|play|joined) )(?=[A-Za-z0-9' &.-]+$)",
    re.IGNORECASE,
)
_ENGLISH: Final = re.compile(
    r"^(?:(?:and|but|so|also|now|currently) )?(?:I|I'm|I've|we|we're|we've|my)\b.{3,}"
    r"|^(?:and |but |now |currently )*(?:living|working|based) (?:in|at|as|for) [A-Z]",
    re.IGNORECASE,
)
_NO_NOUN: Final = re.compile(
    r"[的了着过吗呢吧是在有我你您他她它不没很也都就要会想]|[一-鿿]{9}|^(?:my|I) ?[一-鿿]", re.IGNORECASE
)
"""Signs that the Chinese in an English clause is more than a name: I play 羽毛球 has none."""
_OTHERS_WORDS: Final = re.compile(
    r"[歌唱写念译句剧]|英[文语]|[台歌]词|[她他你]们?说|书名|电影|意思|叫做?$|[如比]如|例如|例子|如果|要是|假如|假设|万一|听说|据说|梦|开玩笑|骗"
    r"|想象|游戏|语法|作文|邮件|简历|口语|单词|练习|改成|检查|帮[我忙]|请你|润色|修改|改[写一]"
    r"|\b(?:joking|kidding|said|says|told|dream|sentence|grammar|lyrics)\b",
    re.IGNORECASE,
)
"""Signs that the English words may be somebody else's."""
_SUPPOSED: Final = re.compile(
    r"(?:and |but |so )?(?:if|suppose|imagine|I wish|I'd|I would|I think|I guess|maybe)\b", re.IGNORECASE
)
_JOIN: Final = re.compile(r" (?:but|and|so) (?=(?:I|I'm|I've|my|we)\b)")


def is_mixed(text: str) -> bool:
    """Return whether a text has Chinese and Latin letters."""
    return HAN.search(text) is not None and _LATIN.search(text) is not None


def in_one_language(clause: str) -> str:
    """Return a clause that mixes both languages as one in a single language, if its kind is known."""
    for pattern, to in _ROWS:
        if found := pattern.match(clause):
            return found.expand(to) + clause[found.end() :]
    verb = _ENGLISH_VERB.match(clause)
    return f"I {'am ' if verb['is'] else ''}{clause[verb.end() :]}" if verb else clause


def runs(clauses: tuple[str, ...]) -> list[tuple[Language, tuple[str, ...]]]:
    """Return the clauses of a mixed sentence in runs of one language, each clause in one; [] for a supposition."""
    found: list[tuple[Language, list[str]]] = []
    if any(map(_SUPPOSED.match, clauses)):
        return []
    if any(map(_OTHERS_WORDS.search, clauses)):
        return [("zh", clauses)]
    for clause in (part for said in clauses for part in _JOIN.split(said)):
        said = in_one_language(clause) if is_mixed(clause) or len(clauses) > 1 else clause
        language: Language = "en" if _ENGLISH.match(said) and not _NO_NOUN.search(said) else "zh"
        if found and found[-1][0] == language:
            found[-1][1].append(said)
        else:
            found.append((language, [said]))
    return [(language, tuple(parts)) for language, parts in found]
