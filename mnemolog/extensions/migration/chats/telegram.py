"""Telegram Desktop's export: `result.json`, of one chat or of all.

Each message has its sender, and its text is a string or a list of strings and entities (links, bold words). Days are in
UTC, because `date` follows the clock of the machine that made the export.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from mnemolog.cli.lines.event_lines import BadLine
from mnemolog.extensions.migration.chats.message import (
    CHANNELS,
    FORWARDED,
    MEDIA,
    SERVICE,
    Items,
    LeftOut,
    Message,
    whole,
)
from mnemolog.extensions.migration.json_arrays import nested
from mnemolog.extensions.migration.rows import BadRow, instant

if TYPE_CHECKING:
    from mnemolog.extensions.migration.chats.archive import Part

FILES: Final = re.compile(r"result\.json")
_DAY: Final = len("2026-01-05")
_DELETED: Final = "a deleted account"


def read(part: Part) -> Items:
    """Yield the contents of the chats. Raises Unreadable."""
    with part.opened() as stream:
        seen = 0
        for place, (around, element) in enumerate(nested(part.name, stream, "messages"), 1):
            here = stream.tell()
            try:
                yield _message(around[-1], element, place), here - seen
            except BadRow as error:
                yield BadLine(part.name, place, str(error)), here - seen
            seen = here


def owner_of(part: Part) -> str | None:
    """Return the sender's id of the export's owner; None if it cannot be determined. Raises Unreadable.

    An export of all chats names its owner. In a chat with one person, the owner is the other sender.
    """
    with part.opened() as stream:
        for around, element in nested(part.name, stream, "messages"):
            person = around[0].get("personal_information")
            if isinstance(person, dict) and person.get("user_id") is not None:
                return f"user{person['user_id']}"
            chat, sender = around[-1], element.get("from_id") if isinstance(element, dict) else None
            if len(around) > 1 or chat.get("type") not in ("personal_chat", "bot_chat"):
                return None
            if isinstance(sender, str) and sender.startswith("user") and sender != f"user{chat.get('id')}":
                return sender
    return None


def _message(chat: dict[str, Any], element: object, place: int) -> Message | LeftOut:
    """Return a message, or the reason to leave it out. Raises BadRow."""
    if not isinstance(element, dict):
        raise BadRow("is no object")
    kind = str(chat.get("type") or "")
    if kind.endswith("channel"):
        return CHANNELS
    if element.get("type") != "message":
        return SERVICE
    if element.get("forwarded_from") is not None or element.get("forwarded_from_id") is not None:
        return FORWARDED
    text = whole(_text(element.get("text")))
    if not text:
        return MEDIA
    at = instant("date", _time(element))
    if at is None:
        raise BadRow("date is empty")
    sender_id, name = str(element.get("from_id") or ""), element.get("from")
    is_bot = kind == "bot_chat" and sender_id == f"user{chat.get('id')}"
    return Message(
        session=f"{chat.get('id')}:{at[:_DAY]}",
        key=str(element.get("id") or place),
        place=place,
        role="assistant" if is_bot else "user",
        text=text,
        at=at,
        name=whole(name) if isinstance(name, str) and name.strip() else sender_id or _DELETED,
        sender_id=sender_id,
    )


def _time(element: dict[str, Any]) -> object:
    seconds = element.get("date_unixtime")
    if isinstance(seconds, str) and seconds.isascii() and seconds.isdigit():
        return int(seconds)
    return element.get("date")


def _text(given: object) -> str:
    """Return a text, or the joined texts of a list of strings and entities, as displayed."""
    if isinstance(given, str):
        return given
    pieces = given if isinstance(given, list) else []
    texts = (one.get("text") if isinstance(one, dict) else one for one in pieces)
    return "".join(text for text in texts if isinstance(text, str))
