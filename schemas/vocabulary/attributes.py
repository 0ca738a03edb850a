"""The closed list of profile attributes: which hold one value, which a list, which a map, and when values are the same.

Any other word is kept by the profile under `other`, as a list, unless a policy gave it another shape.
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
"""One value each: the newest by effective time wins."""

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
"""Values accumulate."""

MAPS: Final = ("important_dates",)
"""Values are `name: date`; the newest date of a name wins."""

ONE, MANY, BY_NAME = "single", "list", "map"
"""Shapes of the attributes that a policy brings: one value, many, or one for each name."""

OPPOSITES: Final = {"likes": "dislikes", "dislikes": "likes"}
"""A thing stands in one of the two: what was said last."""

STATES: Final = frozenset({"city", "employer", "occupation", "relationship_status", "school", "home", "job"})
"""Attributes whose value is not there yet where its day is still to come, even if an extractor says that it is."""
NICKNAME: Final = "nickname"
"""What some call the user, as extractors say it: kept as `user_name` while no other is known, else as a pet name."""

_ARTICLE = re.compile(r"(?:the|an|a)\s+(?=\S)")
_TRAILING: Final = ".。!！?？,，;；:：、…~～·'\"’”」』)）"


def is_single(attribute: str) -> bool:
    """Return whether a newer value of this attribute takes the place of the older one. False for unknown words."""
    return attribute in SINGLE


def same_value(a: str, b: str) -> bool:
    """Return whether two values mean the same to a reader.

    Compared after NFKC, case folding, white space collapsed, trailing punctuation and one leading article dropped.
    A value that would become empty is compared with its punctuation.
    """
    return plain_value(a) == plain_value(b)


def name_and_date(value: str) -> tuple[str, str]:
    """Return the two parts of a map's value, `name: date`, whichever colon stands between them."""
    name, _, date = value.replace("\uff1a", ":").partition(":")
    return name.strip(), date.strip()


def plain_value(value: str) -> str:
    """Return the spelling that values which mean the same share."""
    text = plain_words(value)
    bare = text.rstrip(_TRAILING + " ")
    return (bare[match.end() :] if (match := _ARTICLE.match(bare)) else bare) or text
