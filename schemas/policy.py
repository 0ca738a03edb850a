"""A policy: what a tenant, or one of its agents, wants remembered, in which words, and at what cost."""

from __future__ import annotations

import hashlib
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Final

import orjson

from schemas.own_patterns import OwnPattern, compiled
from schemas.text import plain_words, stands_in
from schemas.vocabulary.attributes import BY_NAME, MANY, ONE

if TYPE_CHECKING:
    from collections.abc import Mapping

ID_DIGITS: Final = 16
REJECT: Final = "reject"
RULES: Final = "rules"


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """Instructions for the extractors. Without any field it is the default: all is done as if there were none."""

    instructions: str = ""
    """Words for the model, behind its rules."""
    categories: Mapping[str, str] = field(default_factory=dict)
    """What belongs into a category here, for the model."""
    attributes: Mapping[str, str] = field(default_factory=dict)
    """More attributes, with what they hold; the profile shows them under `other`."""
    shapes: Mapping[str, str] = field(default_factory=dict)
    """Those of them whose shape a JSON Schema says: `single`, `list` or `map`."""
    never: tuple[str, ...] = ()
    """Words and phrases: what has one of them in it is not remembered."""
    never_categories: tuple[str, ...] = ()
    never_attributes: tuple[str, ...] = ()
    tokens_per_user_day: int | None = None
    """Model tokens of a user's UTC day; beyond them the rules extract. None: as many as it takes."""
    tokens_per_tenant_day: int | None = None
    """Likewise of all users of the tenant."""
    when_refused: str = REJECT
    """What is done with a window to which no model gives a usable answer: `reject`, or `rules` extract meanwhile."""
    redaction: Mapping[str, str] = field(default_factory=dict)
    """What is done with each kind of number or secret: `redact`, `refuse` or `keep`; `all` is the others."""
    redaction_patterns: tuple[OwnPattern, ...] = ()
    """What else must not be kept."""

    @property
    def is_default(self) -> bool:
        """Return whether nothing is said."""
        return self == Policy()

    @property
    def has_budget(self) -> bool:
        """Return whether it bounds what the model may cost."""
        return self.tokens_per_user_day is not None or self.tokens_per_tenant_day is not None

    @property
    def policy_id(self) -> str:
        """Sixteen hex digits of SHA-256 over what is said, which a field that is added later does not change."""
        blank = asdict(Policy())
        said = {name: value for name, value in asdict(self).items() if value != blank[name]}
        return hashlib.sha256(orjson.dumps(said, option=orjson.OPT_SORT_KEYS)).hexdigest()[:ID_DIGITS]

    def shape_of(self, attribute: str | None) -> str | None:
        """Return the shape of an attribute that it brings; None of others, and of its lists."""
        shape = self.shapes.get(attribute) if attribute is not None else None
        return None if shape == MANY else shape

    def encoded(self) -> bytes:
        """Return it as JSON, the fields in the order of their names."""
        return orjson.dumps(asdict(self), option=orjson.OPT_SORT_KEYS)

    @classmethod
    def decoded(cls, data: bytes) -> Policy:
        """Return the policy of some JSON, without fields that a newer version wrote. Raises ValueError, TypeError."""
        document = orjson.loads(data)
        if not isinstance(document, dict):
            raise TypeError("a policy is a JSON object")
        texts, refused = document.get("instructions", ""), document.get("when_refused", REJECT)
        budgets = {name: document.get(name) for name in ("tokens_per_user_day", "tokens_per_tenant_day")}
        maps = {name: document.get(name, {}) for name in ("categories", "attributes", "shapes", "redaction")}
        lists = {name: document.get(name, []) for name in ("never", "never_categories", "never_attributes")}
        if not (
            isinstance(texts, str)
            and refused in (REJECT, RULES)
            and all(tokens is None or type(tokens) is int for tokens in budgets.values())
            and all(isinstance(entries, dict) for entries in maps.values())
            and all(shape in (ONE, MANY, BY_NAME) for shape in maps["shapes"].values())
            and all(isinstance(what, str) for entries in maps.values() for what in entries.values())
            and all(isinstance(words, list) for words in lists.values())
            and all(isinstance(word, str) and plain_words(word) for words in lists.values() for word in words)
        ):
            raise TypeError("a field of the policy has another type")
        return cls(
            instructions=texts,
            when_refused=refused,
            tokens_per_user_day=budgets["tokens_per_user_day"],
            tokens_per_tenant_day=budgets["tokens_per_tenant_day"],
            **maps,
            never=tuple(lists["never"]),
            never_categories=tuple(lists["never_categories"]),
            never_attributes=tuple(lists["never_attributes"]),
            redaction_patterns=_patterns_of(document.get("redaction_patterns", [])),
        )

    def forbids(self, content: str, *, category: str, attribute: str | None, value: str | None) -> str | None:
        """Return why something must not be remembered, None where it may."""
        if category in self.never_categories:
            return f"the policy never remembers {category}"
        if attribute in self.never_attributes:
            return f"the policy never remembers {attribute}"
        said = plain_words(f"{content}\n{value or ''}")
        if any(stands_in(plain_words(phrase), said) for phrase in self.never):
            return "the policy never remembers such words"
        return None


def _patterns_of(said: object) -> tuple[OwnPattern, ...]:
    """Return the patterns of some JSON. Raises TypeError, and UnfitPattern for one that may take long."""
    if not isinstance(said, list):
        raise TypeError("the patterns are no list")
    found = tuple(OwnPattern(**each) for each in said)
    for own in found:
        if not all(isinstance(part, str) for part in (own.name, own.pattern, own.action)):
            raise TypeError("a field of a pattern has another type")
        compiled(own.pattern)
    return found
