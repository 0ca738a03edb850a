"""The definitions of the two tools that a model may call by itself, in the words that the model reads."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, get_args

from schemas.vocabulary.words import Category, MemoryType, Scope

NOTHING_KNOWN: Final = "Nothing is known about that."
"""The note of a model's search without relevant results."""
CALLER_FIELDS: Final = ("user_id", "agent_id", "app_id")
"""The arguments that name the owner and the application; the request or the URL gives them, never the model."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """A tool's name, its purpose, and the JSON schema of its arguments."""

    name: str
    description: str
    parameters: dict[str, Any]

    @property
    def as_function(self) -> dict[str, Any]:
        """The tool as an OpenAI function schema."""
        function = {"name": self.name, "description": self.description, "parameters": self.parameters}
        return {"type": "function", "function": function}


def text(description: str, **more: object) -> dict[str, Any]:
    """Return the JSON schema of an argument that is text."""
    return {"type": "string", "description": description, **more}


def _arguments(required: str, **properties: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": [required], "additionalProperties": False}


OF_WHOM: Final = text("Only what is about this person or thing, such as my mother; user: the user.")
OF_SPEAKER: Final = text("Only what this person said of themselves; user: the user.")
ADD: Final = Tool(
    name="memory_add",
    description=(
        "Remember a fact for later conversations: something lasting that was said about the user, their plans or their "
        "world. Not for small talk, and not for what was just found with memory_search."
    ),
    parameters=_arguments(
        "content",
        content=text("The fact as one self-contained sentence, in the language of the conversation."),
        scope=text(
            "personal: only for this user. global: for everyone, such as how an office is reached.",
            enum=list(get_args(Scope)),
            default="personal",
        ),
        memory_type=text(
            "long_term is kept; short_term is gone after 48 hours.",
            enum=list(get_args(MemoryType)),
            default="long_term",
        ),
        about=text("Whom or what the fact is about, such as my mother or Lena; left out for the user."),
        type=text("What kind of fact it is.", enum=list(get_args(Category)), default="fact"),
        session_id=text("The conversation that it comes from, if it has an id."),
    ),
)
SEARCH: Final = Tool(
    name="memory_search",
    description=(
        "Look up what is remembered from earlier conversations, by words and by meaning. Use it when the user refers "
        "to something that this conversation does not tell."
    ),
    parameters=_arguments(
        "query",
        query=text("What to look for, as a question or in a few words."),
        scope=text(
            "all: this user's memories and those for everyone. personal, global: only the one or the other.",
            enum=["all", "global", "personal"],
            default="all",
        ),
        about=OF_WHOM,
        speaker=OF_SPEAKER,
        limit={
            "type": "integer",
            "description": "How many results at most.",
            "minimum": 1,
            "maximum": 100,
            "default": 5,
        },
        include={
            "type": "array",
            "description": "memories: what was remembered. turns: what was said, word for word.",
            "items": {"type": "string", "enum": ["memories", "turns"]},
            "minItems": 1,
            "maxItems": 2,
            "default": ["memories", "turns"],
        },
        min_relevance={
            "type": "number",
            "description": "Leave out what is less likely than this to be about it; left out, what is unlikely.",
            "minimum": 0,
            "maximum": 1,
        },
    ),
)
TOOLS: Final = (ADD, SEARCH)
