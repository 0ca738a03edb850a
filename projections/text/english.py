"""English stop words, and the stems that unite the forms of a word."""

from __future__ import annotations

import re
from functools import lru_cache

_STOP_WORDS = """
    a about am an and any are as at be been being but by can could did do does for from had has have he her
    hers him his how i if im in into is it its itself ive me my of on or our ours she should so some such than
    that the their theirs them then there these they this those to too us was we were what when where which
    while who whom whose why will with would you your youre yours
"""
_IRREGULAR_FORMS = """
    ate:eat eaten:eat began:begin begun:begin bought:buy broke:break broken:break brought:bring built:build
    came:come caught:catch children:child chose:choose chosen:choose drank:drink drew:draw drawn:draw
    drove:drive driven:drive feet:foot fell:fall felt:feel flew:fly flown:fly fought:fight found:find
    gave:give given:give goes:go going:go gone:go got:get gotten:get grew:grow grown:grow held:hold kept:keep knew:know
    known:know left:leave lives:life lost:lose made:make meant:mean men:man met:meet paid:pay ran:run
    rode:ride said:say sang:sing sat:sit saw:see seen:see sent:send sold:sell spent:spend spoke:speak
    spoken:speak stood:stand swam:swim taken:take taught:teach teeth:tooth thought:think threw:throw told:tell
    took:take understood:understand went:go wives:wife woke:wake women:woman won:win wore:wear worn:wear
    written:write wrote:write
"""

STOP_WORDS = frozenset(_STOP_WORDS.split())
"""Words that say nothing about a topic. They include no negation and no number."""

_IRREGULAR = dict(form.split(":") for form in _IRREGULAR_FORMS.split())
_VOWEL = re.compile("[aeiouy]")
_SHORTEST_STEM = 3
_LONGEST_KEPT = 24
"""The longest word whose stem is cached; a longer one is unlikely to recur."""


def stem(word: str) -> str:
    """Return a case folded word without -s, -ed, -ing and -e. Stop words and words of other scripts are unchanged.

    The plural rules are Harman's S stemmer (1991). A stem need not be a word; it only has to be the same for all forms.
    """
    if not (word.isascii() and word.isalpha()):
        return word
    return _stem(word) if len(word) <= _LONGEST_KEPT else _stem.__wrapped__(word)


@lru_cache(maxsize=16_384)
def _stem(word: str) -> str:
    if word in STOP_WORDS:
        return word
    root = _without_participle(_singular(_IRREGULAR.get(word, word)))
    if len(root) > _SHORTEST_STEM and root.endswith("e"):
        return root[:-1]
    if len(root) > _SHORTEST_STEM + 1 and root.endswith("i"):
        return root[:-1] + "y"
    return root


def _singular(word: str) -> str:
    if len(word) <= _SHORTEST_STEM or not word.endswith("s"):
        return word
    if word.endswith("ies") and not word.endswith(("eies", "aies")):
        return word[:-3] + "y"
    if word.endswith(("us", "ss", "aes", "ees", "oes")):
        return word
    return word[:-1]


def _without_participle(word: str) -> str:
    for ending in ("ing", "ed"):
        root = word.removesuffix(ending)
        if root != word and len(root) >= _SHORTEST_STEM and _VOWEL.search(root):
            return root[:-1] if root[-1] == root[-2] and root[-1] not in "lsz" else root
    return word
