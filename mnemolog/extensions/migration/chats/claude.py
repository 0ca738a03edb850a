"""Claude's export: `conversations.json`, alone or in its zip, in which each conversation has `chat_messages`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mnemolog.cli.lines.event_lines import BadLine
from mnemolog.extensions.migration.chats.conversations import items
from mnemolog.extensions.migration.chats.message import MEDIA, TOOLS, Item, Items, LeftOut, Message, whole
from mnemolog.extensions.migration.rows import BadRow, instant

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mnemolog.extensions.migration.chats.archive import Part


def read(part: Part) -> Items:
    """Yield the contents of the conversations. Raises Unreadable."""
    return items(part, _conversation)


def _conversation(name: str, number: int, conversation: object) -> Iterator[Item]:
    messages = conversation.get("chat_messages") if isinstance(conversation, dict) else None
    if not isinstance(conversation, dict) or not isinstance(messages, list):
        yield BadLine(name, number, "this is no conversation of Claude: it has no chat_messages")
        return
    for nth, message in enumerate(_shown(messages, conversation.get("current_leaf_message_uuid"))):
        key = str(message.get("uuid") or nth)
        try:
            yield _message(str(conversation.get("uuid") or number), key, message, number)
        except BadRow as error:
            yield BadLine(name, number, f"message {key}: {error}")


def _shown(messages: list[Any], leaf: object) -> list[dict[str, Any]]:
    """Return the displayed messages: those on the path to the last one, if the export names it, else all."""
    found = [message for message in messages if isinstance(message, dict)]
    by_id = {message.get("uuid"): message for message in found}
    if leaf not in by_id:
        return found
    path: list[dict[str, Any]] = []
    while (message := by_id.pop(leaf, None)) is not None:
        path.append(message)
        leaf = message.get("parent_message_uuid")
    return path[::-1]


def _message(session: str, key: str, message: dict[str, Any], place: int) -> Message | LeftOut:
    """Return a message, or the reason to leave it out. Raises BadRow."""
    sender = message.get("sender")
    if sender not in ("human", "assistant"):
        return TOOLS
    text = whole(_text(message))
    if not text:
        return MEDIA
    return Message(
        session=session,
        key=key,
        place=place,
        role="user" if sender == "human" else "assistant",
        text=text,
        at=instant("created_at", message.get("created_at")),
    )


def _text(message: dict[str, Any]) -> str:
    """Return the words, without thoughts and the actions of tools, for which `text` has remarks."""
    blocks = message.get("content")
    if isinstance(blocks, list) and blocks:
        texts = [block.get("text") for block in blocks if isinstance(block, dict) and block.get("type") == "text"]
        return "\n".join(text for text in texts if isinstance(text, str) and text)
    text = message.get("text")
    return text if isinstance(text, str) else ""
