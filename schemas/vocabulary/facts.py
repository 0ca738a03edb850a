"""Facts: the subject of a memory, and the key of the fact that it states.

The key of a fact about the user is its attribute. The key of any other fact also has its subject, so that the fact does
not fill the user's profile.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

from schemas.text import plain_words
from schemas.vocabulary.attributes import LISTS, MAPS, is_single
from schemas.vocabulary.relations import same_relation

_USER: Final = frozenset({"", "user", "i", "me", "myself", "self", "用户", "我", "本人", "自己", "我自己"})
"""Names that mean the user."""
_WHOSE: Final = re.compile(r"(?:(?:my|our|the|user's|users')\s+(?=\S)|(?:我们?|用户)(?:家里?)?的(?=\S))+")
"""Possessives before a name: `my mother` and `the user's mother` are the same."""
_BETWEEN: Final = "\n"
"""The separator of subject and attribute in a key: a normalised subject has no line end."""


@lru_cache(maxsize=4096)
def subject_of(about: str | None) -> str | None:
    """Return the subject of a fact, in the one spelling of its name or relation; None for the user."""
    if about is None:
        return None
    name = plain_words(about.replace("’", "'"))
    if whose := _WHOSE.match(name):
        name = name[whose.end() :]
    return None if name in _USER else same_relation(name)


def key_of(subject: str | None, attribute: str | None) -> str | None:
    """Return the key of a fact about a subject; None without an attribute."""
    if subject is None or attribute is None:
        return attribute
    return f"{subject}{_BETWEEN}{attribute}"


def has_one_value(subject: str | None, attribute: str) -> bool:
    """Return whether a newer value of a key replaces the older one.

    For the user, that is true of single-valued attributes; for other subjects, of all but lists and maps.
    """
    return is_single(attribute) if subject is None else attribute not in (*LISTS, *MAPS)
