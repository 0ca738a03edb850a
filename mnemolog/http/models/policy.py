"""The body of a policy, with its bounds."""

from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, Discriminator, Field, Tag, ValidationInfo, field_validator, model_validator

from mnemolog.http.models.body import Body
from mnemolog.http.models.requests import Asked, Id, Text
from schemas.own_patterns import MAX_PATTERN_CHARACTERS, MAX_PATTERNS, compiled
from schemas.redaction import ALL, KINDS, OWN, Kind
from schemas.text import plain_words
from schemas.vocabulary.attributes import BY_NAME, LISTS, MANY, MAPS, NICKNAME, ONE, SINGLE
from schemas.vocabulary.words import Category

MAX_INSTRUCTIONS = 4_000
"""Characters: they stand in the prompt of every window."""
MAX_ENTRIES = 50
MAX_PHRASE = 100
MAX_DESCRIPTION = 300
SHAPES = {"string": ONE, "array": MANY, "object": BY_NAME}
"""The shapes of attributes by their types in JSON Schema; what is described by a text is a list too."""
KNOWN = (*SINGLE, *LISTS, *MAPS, NICKNAME)
"""The attributes that there are without a policy."""


def _with_words(phrase: str) -> str:
    if not plain_words(phrase):
        raise ValueError("says nothing: give a word")
    return phrase


def _linear(pattern: str) -> str:
    compiled(pattern)
    return pattern


Description = Annotated[Text, Field(max_length=MAX_DESCRIPTION)]
Phrase = Annotated[Text, Field(max_length=MAX_PHRASE), AfterValidator(_with_words)]
Name = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]{0,39}$")]


class _Texts(Body):
    type: Literal["string"]


class SingleAttribute(Body):
    """An attribute of one value: the newest takes the place of the older one."""

    type: Literal["string"]
    description: Description = ""


class ListAttribute(Body):
    """An attribute of many values."""

    type: Literal["array"]
    items: _Texts = _Texts(type="string")
    description: Description = ""


class MapAttribute(Body):
    """An attribute of one value for each name, said as `name: value`."""

    type: Literal["object"]
    additionalProperties: _Texts = _Texts(type="string")  # noqa: N815 - a word of JSON Schema
    description: Description = ""


def _tag(said: Any) -> str | None:  # noqa: ANN401 - any JSON
    """Return which of its forms an attribute is said in; None for none of them. Tags in brackets are in no path."""
    if isinstance(said, str):
        return "(text)"
    kind = said.get("type") if isinstance(said, dict) else getattr(said, "type", None)
    return f"({kind})" if isinstance(kind, str) and kind in SHAPES else None


Attribute = Annotated[
    Annotated[Description, Tag("(text)")]
    | Annotated[SingleAttribute, Tag("(string)")]
    | Annotated[ListAttribute, Tag("(array)")]
    | Annotated[MapAttribute, Tag("(object)")],
    Discriminator(
        _tag,
        custom_error_type="no_attribute",
        custom_error_message="must be a text that says what it holds, or a JSON Schema of type string, array or object",
    ),
]


class RedactionPattern(Body):
    """What else must not be kept: a regular expression, and the word that takes the place of what it finds."""

    name: Annotated[Name, Field(description="stands in brackets in the place of what is found")]
    pattern: Annotated[
        Text,
        Field(max_length=MAX_PATTERN_CHARACTERS, description="every repeat with an end, few ways to read a text"),
        AfterValidator(_linear),
    ]
    action: Literal["redact", "refuse"] = "redact"

    @model_validator(mode="after")
    def _is_no_kind(self) -> Self:
        if self.name in (*KINDS, ALL, OWN):
            raise ValueError(f"{self.name} is a kind already: give the pattern another name")
        return self


class NewPolicy(Body):
    """What to remember, and how. A field that is left out says nothing; an empty body is the default policy."""

    instructions: Annotated[Text, Field(max_length=MAX_INSTRUCTIONS, description="for the model, in any language")] = ""
    categories: Annotated[
        dict[Category, Description], Field(description="what belongs into a category, for the model")
    ] = {}
    attributes: Annotated[
        dict[Name, Attribute],
        Field(
            max_length=MAX_ENTRIES,
            description="more attributes: of each what it holds, which is a list of texts, or a JSON Schema of it",
        ),
    ] = {}
    never: Annotated[list[Phrase], Field(max_length=MAX_ENTRIES, description="what has one of these in it")] = []
    never_categories: Annotated[list[Category], Field(max_length=7)] = []
    never_attributes: Annotated[list[Name], Field(max_length=MAX_ENTRIES)] = []
    tokens_per_user_day: Annotated[
        int | None,
        Field(ge=0, le=1_000_000_000, description="of the model, a user and UTC day; beyond them the rules extract"),
    ] = None
    tokens_per_tenant_day: Annotated[
        int | None, Field(ge=0, le=1_000_000_000_000, description="likewise, of all users of the tenant together")
    ] = None
    when_refused: Annotated[
        Literal["reject", "rules"],
        Field(description="a window to which no model gives a usable answer is rejected, or the rules extract it"),
    ] = "reject"
    redaction: Annotated[
        dict[Kind | Literal["all"], Literal["redact", "refuse", "keep"]],
        Field(description="what is done with each kind of number or secret at the door; `all` are the others"),
    ] = {}
    redaction_patterns: Annotated[
        list[RedactionPattern], Field(max_length=MAX_PATTERNS, description="what else must not be kept")
    ] = []

    @property
    def descriptions(self) -> dict[str, str]:
        """What each attribute holds."""
        return {name: said if isinstance(said, str) else said.description for name, said in self.attributes.items()}

    @property
    def shapes(self) -> dict[str, str]:
        """The shapes of those attributes that a JSON Schema says."""
        return {name: SHAPES[said.type] for name, said in self.attributes.items() if not isinstance(said, str)}

    @field_validator("never_attributes")
    @classmethod
    def _are_known(cls, names: list[str], info: ValidationInfo) -> list[str]:
        own = info.data.get("attributes")
        unknown = [name for name in names if name not in KNOWN and own is not None and name not in own]
        if unknown:
            raise ValueError(f"{unknown[0]} is no attribute: correct its name, or describe it under attributes")
        return names

    @model_validator(mode="after")
    def _are_own(self) -> Self:
        known = [name for name, shape in self.shapes.items() if shape != MANY and name in KNOWN]
        if known:
            raise ValueError(f"the shape of {known[0]} is fixed: describe it with a text")
        return self

    @model_validator(mode="after")
    def _names_differ(self) -> Self:
        names = [each.name for each in self.redaction_patterns]
        if len(names) != len(set(names)):
            raise ValueError("has two patterns of one name: give each its own")
        return self


class PolicyAsked(Asked):
    """Whose policy: the agent's own, or without an agent the tenant's."""

    agent_id: Id | None = None
