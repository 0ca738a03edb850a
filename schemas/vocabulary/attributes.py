"""The closed list of profile attributes: which have one value, a list or a map, and when two values are the same.

The profile keeps any other attribute under `other`, as a list, unless a policy gives it another shape.
"""

from __future__ import annotations

import re
from typing import Final

from schemas.text import plain_words

SINGLE: Final = (
    "user_name",
    "age",
    "birthday",
    "occupation",
    "employer",
    "city",
    "relationship_status",
    "language",
    "communication_style",
)
"""Attributes with one value: the newest by effective time wins."""

LISTS: Final = (
    "likes",
    "dislikes",
    "interests",
    "skills",
    "allergies",
    "personality_traits",
    "pet_names",
    "family",
    "friends",
    "accounts",
    "sensitive_topics",
    "usage_patterns",
)
"""Attributes whose values accumulate."""

MAPS: Final = ("important_dates",)
"""Attributes whose values are `name: date`; the newest date of a name wins."""

ONE, MANY, BY_NAME = "single", "list", "map"
"""The shapes of attributes that a policy adds: one value, many, or one for each name."""

OPPOSITES: Final = {"likes": "dislikes", "dislikes": "likes"}
"""A thing has only one of the two attributes: the one that was said last."""

STATES: Final = frozenset({"city", "employer", "occupation", "relationship_status", "school", "home", "job"})
"""Attributes whose value does not apply before its day, even if an extractor says that it already does."""
NICKNAME: Final = "nickname"
"""The attribute that extractors use for a nickname: it is kept as `user_name` while no other is known, else as a pet
name."""

_ARTICLE = re.compile(r"(?:the|an|a)\s+(?=\S)")
_TRAILING: Final = ".。!！?？,，;；:：、…~～·'\"’”」』)）"


def is_single(attribute: str) -> bool:
    """Return whether a newer value of this attribute replaces the older one; False for unknown attributes."""
    return attribute in SINGLE


def same_value(a: str, b: str) -> bool:
    """Return whether two values mean the same to a reader.

    They are compared after NFKC, case folding, collapsing white space, and dropping trailing punctuation and one
    leading article. A value that would become empty is compared with its punctuation.
    """
    return plain_value(a) == plain_value(b)


def name_and_date(value: str) -> tuple[str, str]:
    """Return the name and the date in a map's value, `name: date`, with an ASCII or a full-width colon."""
    name, _, date = value.replace("\uff1a", ":").partition(":")
    return name.strip(), date.strip()


def plain_value(value: str) -> str:
    """Return the normalised spelling that values with the same meaning share."""
    text = plain_words(value)
    bare = text.rstrip(_TRAILING + " ")
    return (bare[match.end() :] if (match := _ARTICLE.match(bare)) else bare) or text
