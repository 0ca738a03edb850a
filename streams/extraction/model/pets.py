"""Pets: whether a line names an animal of the user."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

_PET: Final = (
    r"(?:cat|dog|puppy|kitten|rabbit|bunny|hamster|parrot|bird|budgie|fish|goldfish|turtle|tortoise|horse|pony"
    r"|guinea pig|pet|corgi|labrador|poodle|beagle|retriever|terrier|spaniel|tabby)s?"
)
_OWN: Final = r"\b(?:I|we)\b[^.!?]{0,30}?\b(?:have|has|got|own|adopted|keep|bought|rescued)\b|\b(?:my|our)\b"
_LINK: Final = r"(?:'s names?)?(?:,? (?:is|are|is called|is named|called|named|whose names? (?:is|are))|,|:| -)? "
_NAMES: Final = r"(?:[A-Z]\w+(?:,| and|, and) ){0,4}"
_ENGLISH: Final = re.compile(rf"(?i:{_OWN}) (?:[\w-]+ ){{0,4}}?{_PET}{_LINK}{_NAMES}$")
_ENGLISH_AFTER: Final = re.compile(rf"(?:,| is|, who is) (?:my|our) (?:[\w-]+ ){{0,2}}?{_PET}\b")
_ZH_PET: Final = r"(?:[猫狗]|猫咪|狗狗|小?兔子?|仓鼠|鹦鹉|乌龟|金毛|柯基|柴犬|布偶|宠物|[一-鿿]{1,2}[猫狗])"
_CHINESE: Final = re.compile(
    rf"(?:我|咱|(?:^|[，,。])(?:家里?|还|也|又)?(?:养|有|领养))[^。！？!?他她]{{0,12}}?{_ZH_PET}(?:的?名字)?"
    r"(?:[，,]?(?:它|名字)?(?:叫做?|名叫|是)|[，,：:])(?:[一-鿿]{1,4}[和、]){0,4}$"
)
_ZH_CALLED: Final = re.compile(r"(?:我|养了?|有)[^。！？!?他她]{0,6}叫$")
_ZH_BEHIND: Final = re.compile(rf"(?:的[^。，,]{{0,4}}|[，,]?是我们?家?的?[^。，,]{{0,4}}?){_ZH_PET}")
_OTHERS: Final = re.compile(r"我(?:的)?(?:朋友|同事|邻居|室友|姐|妹|哥|弟|妈|爸)")


def names_pet(text: str, value: str) -> bool:
    """Return whether a line gives the name to an animal of the user, in English or Chinese."""
    plain = text.replace("\u2019", "'")
    return any(_names(plain[:start], plain[start:end], plain[end:]) for start, end in spans_of(value.strip(), plain))


def _names(head: str, value: str, tail: str) -> bool:
    if _OTHERS.search(head):
        return False
    chinese = _CHINESE.search(head) or (_ZH_CALLED.search(head) and _ZH_BEHIND.match(tail))
    if chinese or (not head.strip() and _ZH_BEHIND.match(tail)):
        return True
    return value[:1].isupper() and (_ENGLISH.search(head) or _ENGLISH_AFTER.match(tail)) is not None


def spans_of(value: str, text: str) -> Iterator[tuple[int, int]]:
    """Yield the spans of a value in a text, ignoring case."""
    low, wanted = text.lower(), value.lower()
    start = low.find(wanted) if wanted and len(low) == len(text) else -1
    while start >= 0:
        yield start, start + len(wanted)
        start = low.find(wanted, start + len(wanted))
