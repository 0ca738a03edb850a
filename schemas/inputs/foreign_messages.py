"""Messages in the formats of other libraries: content in parts or missing, and other words for a role.

Stored messages are strict. This module is for the edges, where callers pass on their existing history.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

_ROLES: Final = {
    "user": ("human", "humanmessage", "humanmessagechunk", "customer", "person"),
    "assistant": ("ai", "aimessage", "aimessagechunk", "model", "bot", "chatbot", "gpt", "agent"),
    "system": ("systemmessage", "developer"),
    "tool": ("toolmessage", "function", "functionmessage", "ipython"),
}
_KNOWN: Final = {word: role for role, words in _ROLES.items() for word in (role, *words)}
_OF_OTHERS: Final = frozenset(
    {
        *("tool_calls", "tool_call_id", "function_call", "refusal", "annotations", "audio", "reasoning_content"),
        *("reasoning", "id", "status", "type", "parts", "from", "value", "additional_kwargs", "response_metadata"),
        *("usage_metadata", "invalid_tool_calls", "example", "cache_control", "phase"),
    }
)
"""Members of messages that are ignored here."""
_DEEPEST: Final = 4


def role_of(word: str) -> str:
    """Return the role that a word means, ignoring case; an unknown word is unchanged."""
    return _KNOWN.get(word.strip().lower(), word)


def text_of(content: object, depth: int = _DEEPEST) -> str | None:
    """Return the text of a content, with one line for each part; None if it contains no text."""
    if isinstance(content, str):
        return content
    if isinstance(content, list | tuple) and depth:
        texts = [text for part in content if (text := text_of(part, depth - 1)) is not None]
        return "\n".join(texts) if texts else None
    if isinstance(content, Mapping) and depth and content.get("type") not in ("thinking", "reasoning", "tool_result"):
        return text_of(content.get("text"), depth - 1)
    return None


def _is_foreign(content: object) -> bool:
    """Return whether a content without text is valid in other libraries: None, a part, or a list of parts."""
    if isinstance(content, list | tuple):
        return all(isinstance(part, str | Mapping) for part in content)
    return content is None or (isinstance(content, Mapping) and isinstance(content.get("type"), str))


def message_of(given: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return a message with a role, a text and its other members; None if it has no text.

    Members that are not understood are left unchanged, to be checked later.
    """
    role = next((given[name] for name in ("role", "type", "from") if isinstance(given.get(name), str)), None)
    content = next((given[name] for name in ("content", "parts", "value") if given.get(name) is not None), None)
    text = text_of(content)
    if text is None and _is_foreign(content) and ("content" in given or not _OF_OTHERS.isdisjoint(given)):
        return None
    kept = {name: value for name, value in given.items() if name not in _OF_OTHERS}
    if role is not None:
        kept["role"] = role_of(role)
    return kept if text is None else kept | {"content": text}
