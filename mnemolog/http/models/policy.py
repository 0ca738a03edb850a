"""The body of a policy, with its bounds."""

from typing import Annotated

from pydantic import AfterValidator, Field

from mnemolog.http.models.requests import Asked, Body, Id, Text
from schemas.text import plain_words
from schemas.vocabulary.words import Category

MAX_INSTRUCTIONS = 4_000
"""Characters: they stand in the prompt of every window."""
MAX_ENTRIES = 50
MAX_PHRASE = 100
MAX_DESCRIPTION = 300


def _with_words(phrase: str) -> str:
    if not plain_words(phrase):
        raise ValueError("says nothing: give a word")
    return phrase


Description = Annotated[Text, Field(max_length=MAX_DESCRIPTION)]
Phrase = Annotated[Text, Field(max_length=MAX_PHRASE), AfterValidator(_with_words)]
Name = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]{0,39}$")]


class NewPolicy(Body):
    """What to remember, and how. A field that is left out says nothing; an empty body is the default policy."""

    instructions: Annotated[Text, Field(max_length=MAX_INSTRUCTIONS, description="for the model, in any language")] = ""
    categories: Annotated[
        dict[Category, Description], Field(description="what belongs into a category, for the model")
    ] = {}
    attributes: Annotated[
        dict[Name, Description],
        Field(max_length=MAX_ENTRIES, description="more attributes, each a list, and what they hold"),
    ] = {}
    never: Annotated[list[Phrase], Field(max_length=MAX_ENTRIES, description="what has one of these in it")] = []
    never_categories: Annotated[list[Category], Field(max_length=7)] = []
    never_attributes: Annotated[list[Name], Field(max_length=MAX_ENTRIES)] = []
    tokens_per_user_day: Annotated[
        int | None,
        Field(ge=0, le=1_000_000_000, description="of the model, a user and UTC day; beyond them the rules extract"),
    ] = None


class PolicyAsked(Asked):
    """Whose policy: the agent's own, or without an agent the tenant's."""

    agent_id: Id | None = None
