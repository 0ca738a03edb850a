"""A policy: the wishes of a tenant, or of one of its agents, about the content and cost of memories."""

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
    """Instructions for the extractors. A policy without any field is the default, and has no effect."""

    instructions: str = ""
    """Text for the model, after its rules."""
    categories: Mapping[str, str] = field(default_factory=dict)
    """The content of each category, for the model."""
    attributes: Mapping[str, str] = field(default_factory=dict)
    """Additional attributes with their meaning; the profile shows them under `other`."""
    shapes: Mapping[str, str] = field(default_factory=dict)
    """The shapes of those attributes that a JSON Schema defines: `single`, `list` or `map`."""
    never: tuple[str, ...] = ()
    """Words and phrases: a statement that contains one of them is not remembered."""
    never_categories: tuple[str, ...] = ()
    never_attributes: tuple[str, ...] = ()
    tokens_per_user_day: int | None = None
    """The most model tokens for a user per UTC day; then the rules extract. None means unlimited."""
    tokens_per_tenant_day: int | None = None
    """The same for all users of the tenant together."""
    when_refused: str = REJECT
    """The action for a window without a usable answer by a model: `reject`, or `rules` to extract by rules for now."""
    redaction: Mapping[str, str] = field(default_factory=dict)
    """The action for each kind of number or secret: `redact`, `refuse` or `keep`; `all` means the other kinds."""
    redaction_patterns: tuple[OwnPattern, ...] = ()
    """Patterns of further texts that must not be kept."""

    @property
    def is_default(self) -> bool:
        """Return whether the policy has no effect."""
        return self == Policy()

    @property
    def has_budget(self) -> bool:
        """Return whether it limits the cost of the model."""
        return self.tokens_per_user_day is not None or self.tokens_per_tenant_day is not None

    @property
    def policy_id(self) -> str:
        """Sixteen hex digits of SHA-256 over the fields that are set, so that fields added later do not change it."""
        blank = asdict(Policy())
        said = {name: value for name, value in asdict(self).items() if value != blank[name]}
        return hashlib.sha256(orjson.dumps(said, option=orjson.OPT_SORT_KEYS)).hexdigest()[:ID_DIGITS]

    def shape_of(self, attribute: str | None) -> str | None:
        """Return the shape of one of its attributes; None for other attributes and for lists."""
        shape = self.shapes.get(attribute) if attribute is not None else None
        return None if shape == MANY else shape

    def encoded(self) -> bytes:
        """Return the policy as JSON, with its fields sorted by name."""
        return orjson.dumps(asdict(self), option=orjson.OPT_SORT_KEYS)

    @classmethod
    def decoded(cls, data: bytes) -> Policy:
        """Return the policy from JSON, ignoring fields of newer versions. Raises ValueError, TypeError."""
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
        """Return the reason why a statement must not be remembered; None if it may."""
        if category in self.never_categories:
            return f"the policy never remembers {category}"
        if attribute in self.never_attributes:
            return f"the policy never remembers {attribute}"
        said = plain_words(f"{content}\n{value or ''}")
        if any(stands_in(plain_words(phrase), said) for phrase in self.never):
            return "the policy never remembers such words"
        return None


def _patterns_of(said: object) -> tuple[OwnPattern, ...]:
    """Return the patterns from JSON. Raises TypeError, and UnfitPattern for an unusable pattern."""
    if not isinstance(said, list):
        raise TypeError("the patterns are no list")
    found = tuple(OwnPattern(**each) for each in said)
    for own in found:
        if not all(isinstance(part, str) for part in (own.name, own.pattern, own.action)):
            raise TypeError("a field of a pattern has another type")
        compiled(own.pattern)
    return found
