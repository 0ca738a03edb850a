"""Messages as clients of other libraries have them: content in parts or missing, and other words for a role.

What is stored is strict; this is for the edges, where callers hand over the history that they have.
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
"""Members of messages that say nothing here."""
_DEEPEST: Final = 4


def role_of(word: str) -> str:
    """Return the role that a word means, in any case; a word that is not known as it is."""
    return _KNOWN.get(word.strip().lower(), word)


def text_of(content: object, depth: int = _DEEPEST) -> str | None:
    """Return the text of a content: as it is, or of its parts, a line each; None where it holds no text."""
    if isinstance(content, str):
        return content
    if isinstance(content, list | tuple) and depth:
        texts = [text for part in content if (text := text_of(part, depth - 1)) is not None]
        return "\n".join(texts) if texts else None
    if isinstance(content, Mapping) and depth and content.get("type") not in ("thinking", "reasoning", "tool_result"):
        return text_of(content.get("text"), depth - 1)
    return None


def _is_foreign(content: object) -> bool:
    """Return whether a content without text is one that other libraries have: none, a part, or parts."""
    if isinstance(content, list | tuple):
        return all(isinstance(part, str | Mapping) for part in content)
    return content is None or (isinstance(content, Mapping) and isinstance(content.get("type"), str))


def message_of(given: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return a message with a role and a text, and what else it says; None where it has no text.

    What is not understood is left as it is, for whoever checks it.
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
