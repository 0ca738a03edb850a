"""ChatGPT's export: `conversations.json`, alone or in its zip, in which each conversation is a tree of messages.

Edited prompts and repeated answers have siblings in the tree. The messages on the path from `current_node` to the root
are read, which are those that ChatGPT shows.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from mnemolog.cli.lines.event_lines import BadLine
from mnemolog.extensions.migration.chats.conversations import items
from mnemolog.extensions.migration.chats.message import MEDIA, TOOLS, Item, Items, LeftOut, Message, Role, whole
from mnemolog.extensions.migration.rows import BadRow, instant

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mnemolog.extensions.migration.chats.archive import Part

_SHOWN: Final = ("text", "multimodal_text")
"""Types of content that a person or the assistant wrote; the others are thoughts, code for tools, and their results."""
_CITED: Final = re.compile("\ue200[^\ue200\ue201]*\ue201")
"""The citations in an answer, marked by characters that only ChatGPT displays."""


def read(part: Part) -> Items:
    """Yield the contents of the conversations. Raises Unreadable."""
    return items(part, _conversation)


def _conversation(name: str, number: int, conversation: object) -> Iterator[Item]:
    mapping = conversation.get("mapping") if isinstance(conversation, dict) else None
    if not isinstance(conversation, dict) or not isinstance(mapping, dict):
        yield BadLine(name, number, "this is no conversation of ChatGPT: it has no mapping")
        return
    path = _shown(mapping, conversation.get("current_node"))
    session = conversation.get("conversation_id") or conversation.get("id") or (path[0][0] if path else number)
    for key, message in path:
        try:
            yield _message(str(session), key, message, number)
        except BadRow as error:
            yield BadLine(name, number, f"message {key}: {error}")


def _shown(mapping: dict[str, Any], current: object) -> list[tuple[str, dict[str, Any]]]:
    """Return the displayed messages with their node ids, oldest first."""
    if not isinstance(current, str) or current not in mapping:
        current = _last_leaf(mapping)
    path: list[tuple[str, dict[str, Any]]] = []
    passed: set[str] = set()
    while isinstance(current, str) and current not in passed and isinstance(node := mapping.get(current), dict):
        passed.add(current)
        if isinstance(message := node.get("message"), dict):
            path.append((str(message.get("id") or current), message))
        current = node.get("parent")
    return path[::-1]


def _last_leaf(mapping: dict[str, Any]) -> str | None:
    """Return the newest node without children, because older exports do not give a current one."""
    leaves = [key for key, node in mapping.items() if isinstance(node, dict) and not node.get("children")]
    return max(leaves, key=lambda key: _made(mapping[key]), default=None)


def _made(node: dict[str, Any]) -> float:
    message = node.get("message")
    at = message.get("create_time") if isinstance(message, dict) else None
    return float(at) if isinstance(at, int | float) else 0.0


def _message(session: str, key: str, message: dict[str, Any], place: int) -> Message | LeftOut:
    """Return a message, or the reason to leave it out. Raises BadRow."""
    role, content, metadata = (_object(message.get(name)) for name in ("author", "content", "metadata"))
    speaker: Role = "user" if role.get("role") == "user" else "assistant"
    is_hidden = metadata.get("is_visually_hidden_from_conversation") or message.get("weight") == 0
    is_between = role.get("role") not in ("user", "assistant") or message.get("recipient") not in (None, "all")
    if is_hidden or is_between or content.get("content_type", "text") not in _SHOWN:
        return TOOLS
    text = whole(_CITED.sub("", _text(content)))
    if not text:
        return MEDIA
    at = instant("create_time", message.get("create_time"))
    return Message(session=session, key=key, place=place, role=speaker, text=text, at=at)


def _object(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _text(content: dict[str, Any]) -> str:
    """Return written and transcribed text; pictures and recordings have none."""
    given = content.get("parts")
    texts = [one.get("text") if isinstance(one, dict) else one for one in (given if isinstance(given, list) else [])]
    return "\n".join(text for text in texts if isinstance(text, str) and text)
