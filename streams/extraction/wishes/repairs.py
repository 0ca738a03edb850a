"""Repairs: where the user takes back a word and says another one, the last word counts.

"I live in Paris, sorry, I mean Lyon" is read as "I live in Lyon". Where it is not clear which word is taken back, the
text stays as it is, and fills no key.
"""

from __future__ import annotations

import re
from difflib import SequenceMatcher
from typing import TYPE_CHECKING, Final

from projections.text.scripts import HAN
from streams.extraction.rules.cues import cues_beside

if TYPE_CHECKING:
    from collections.abc import Callable

_CUES: Final = cues_beside(__file__)
_STAR: Final = re.compile(r"(?:^|\n)\s{0,9}\*(?P<right>[\w'-]{2,30})")
_WORD: Final = re.compile(r"[一-鿿]|[^\W_]+(?![一-鿿])")
_ZH_DATE: Final = re.compile(
    r"[\d一二两三四五六七八九十百千万零初腊正][\d一二两三四五六七八九十百千万零初腊正月号日点分年]*"
)
_CLAUSE: Final = re.compile(r"[.!?。！？\n]\s*")

_MOST_WORDS: Final = 4
_FEW_WORDS: Final = 3
_FUNCTION: Final = frozenset(
    re.findall(
        r"\S+",
        "a an the to in at on of for from with by as is are was were am be been i'm my his her our their its and or"
        " called named about into have has had do does did not",
    )
)
"""Function words. A repair may replace the words that follow the last one of them."""
_ALIKE: Final = 0.5


def repaired(text: str) -> str:
    """Return a text with its repairs applied, where it is clear what each of them replaces."""
    for pattern, step in _STEPS:
        for _ in range(_MOST_WORDS):
            if (found := pattern.search(text)) is None or (after := step(text, found)) == text:
                break
            text = after
    return text


def is_unclear(text: str) -> bool:
    """Return whether a repaired text still has a repair that could not be applied."""
    found = filter(None, (pattern.search(text) for pattern in (_CUES["cue"], _CUES["zh_cue"], _CUES["slip"])))
    # At the end of a statement "I mistyped before" refers to an earlier one.
    words = (_WORD.findall(text[: one.start()]) for one in found)
    return any(len(said) > 1 for said in words) and _CUES["earlier"].search(text) is None


def takes_back(text: str) -> bool:
    """Return whether a turn begins by repairing the turn before it, or a word of it."""
    found = next(filter(None, (pattern.match(text) for pattern, _ in _STEPS)), None)
    if found is None:
        return False
    right = found["right"].strip()
    is_statement = _CUES["subject"].match(right) or _CUES["restated"].match(right)
    return not is_statement or _CUES["slip"].search(found.group()) is not None


def repaired_behind(before: str | None, text: str) -> str:
    """Return a user's text with its repairs applied; if it repairs the user's text before it, both together."""
    if not before or not takes_back(text):
        return repaired(text)
    said = before.rstrip(" \n.!。！")
    joined = f"{said}，{text}" if HAN.search(said) else f"{said}, {text}"
    after = repaired(joined)
    return repaired(text) if after == joined else after


def _replaced(text: str, found: re.Match[str]) -> str:
    """Return a text without the repair itself, and with the right word wherever the wrong one stood before it."""
    wrong, right = found["wrong"].strip(), found["right"].strip()
    before, after = text[: found.start()], text[found.end() :]
    if not before.strip(" ,，"):
        return text
    if wrong in before:
        return f"{before.replace(wrong, right)}{after}"
    return text


def _without_wrong(text: str, found: re.Match[str]) -> str:
    """Return a text that has only the right word: "Margo, not Mango" becomes "Margo"."""
    before, after = text[: found.start()], text[found.end() :]
    return f"{before.replace(found['wrong'], found['right'])}{found['right']}{after}"


def _zh_not(text: str, found: re.Match[str]) -> str:
    before, after = _CUES["zh_slipped"].sub("", text[: found.start()]), text[found.end() :]
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
    """Return a text in which the words behind a cue replace those before it."""
    before, right, after = text[: found.start()], found["right"].strip(" ,"), text[found.end() :]
    if not before.strip():
        return text
    begin = max((m.end() for m in _CLAUSE.finditer(before)), default=0)
    head, clause = before[:begin], before[begin:]
    said, right_words = clause.split(), right.split()
    plain = [word.strip(",;:").lower() for word in said]
    right = _CUES["since"].sub("", right)
    right_words = right.split()
    is_next = "." in text[found.start() : found.start("words")] and not _CUES["taken_back"].search(found["words"])
    if is_next and (_CUES["subject"].match(right) or len(right_words) > _FEW_WORDS):
        return text  # another statement
    if _CUES["subject"].match(right):
        return f"{head}{right[:1].upper()}{right[1:]}{after}"
    number = _CUES["number"].search(right)
    if number and not number.start() and (last := list(_CUES["number"].finditer(clause))):
        rest = clause[last[-1].end() :] if len(right_words) == 1 else ""
        return f"{head}{clause[: last[-1].start()]}{right}{rest}{after}"
    if not {"is", "was", "are", "were"}.isdisjoint(right_words):
        return text  # another statement
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
    if _CUES["restated"].match(right):
        return f"{head}{right}{after}"
    verbs = list(_CUES["zh_verb"].finditer(clause))
    if own := next((verb for verb in reversed(verbs) if right.startswith(verb.group())), None):
        return f"{head}{clause[: own.start()]}{right}{after}"
    ends = _CUES["zh_tail"].search(clause)
    tail = ends.group() if ends and not _CUES["zh_tail"].search(right) else ""
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
    (_CUES["spelt"], _spelt),
    (_STAR, _spelt),
    (_CUES["not_x_y"], _replaced),
    (_CUES["y_not_x"], _without_wrong),
    (_CUES["cue"], _cued),
    (_CUES["zh_yes"], _zh_yes),
    (_CUES["zh_not"], _zh_not),
    (_CUES["zh_cue"], _zh_cued),
)
