"""Messages in the format of OpenAI's clients: a list, or a message or a conversation on each line.

They need no ids and no times. A conversation is `{"messages": […]}`, alone, in a list or on a line; messages outside of
any form one conversation. A conversation without an id is identified by its first message, and by the number of earlier
conversations that begin with the same one.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING, Any, Final

import orjson

from mnemolog.cli.lines.event_lines import BadLine, json_lines
from mnemolog.extensions.migration.chats.message import MEDIA, TOOLS, Item, Items, LeftOut, Message, whole
from mnemolog.extensions.migration.json_arrays import elements
from mnemolog.extensions.migration.rows import BadRow, instant
from schemas.identity import derived_id
from schemas.inputs.foreign_messages import message_of
from schemas.inputs.input_events import Fault, InvalidEvent

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import BinaryIO

    from mnemolog.extensions.migration.chats.archive import Part

FILES: Final = re.compile(r"[^/]{1,250}\.(?:jsonl|ndjson|json)")
_TIMES: Final = ("occurred_at", "created_at", "timestamp", "create_time", "created")
_IDS: Final = ("conversation_id", "session_id", "thread_id", "id")


def read(part: Part) -> Items:
    """Yield the contents of the file. Raises Unreadable."""
    alone, begun = _Conversation(None), Counter[str]()
    with part.opened() as stream:
        seen = 0
        for number, value in _values(part, stream):
            here = stream.tell()
            size, seen = here - seen, here
            if isinstance(value, BadLine):
                yield value, size
                continue
            messages = value.get("messages") if isinstance(value, dict) else None
            talk = _conversation(value, messages, begun) if isinstance(messages, list) else alone
            for message in messages if isinstance(messages, list) else [value]:
                yield _item(part.name, number, talk, message), size
                size = 0


class _Conversation:
    """A conversation, and the number of its messages so far. Without a name, its first words determine one."""

    def __init__(self, session: str | None) -> None:
        self.session = session
        self.met = 0

    def named(self, first: str) -> str:
        """Return the name."""
        self.session = self.session or derived_id("conversation", first, 1)
        return self.session


def _item(name: str, number: int, talk: _Conversation, message: object) -> Item:
    try:
        return _message(talk, message, number)
    except BadRow as error:
        return BadLine(name, number, str(error))


def _conversation(value: object, messages: list[Any], begun: Counter[str]) -> _Conversation:
    named = [value.get(key) for key in _IDS] if isinstance(value, dict) else []
    told = next((str(one) for one in named if isinstance(one, str | int) and str(one)), None)
    if told is not None:
        return _Conversation(told)
    first = next((text for text in map(_first_words, messages) if text), "")
    begun[first] += 1
    return _Conversation(derived_id("conversation", first, begun[first]))


def _first_words(message: object) -> str:
    given = message_of(message) if isinstance(message, dict) else None
    return str(given.get("content")) if given is not None and given.get("role") == "user" else ""


def _message(talk: _Conversation, value: object, place: int) -> Message | LeftOut:
    """Return a message, or the reason to leave it out. Raises BadRow."""
    if not isinstance(value, dict):
        raise BadRow("is no message: that is an object with role and content")
    talk.met += 1
    message = message_of(value)
    if message is None:
        return MEDIA if value.get("role") == "user" else TOOLS
    role, text, name = message.get("role"), message.get("content"), message.get("name")
    if not isinstance(role, str) or not isinstance(text, str):
        raise BadRow("is no message: it has no role and content")
    if role not in ("user", "assistant"):
        return TOOLS
    if not (text := whole(text)):
        return MEDIA
    at = next((value[key] for key in _TIMES if value.get(key) is not None), None)
    return Message(
        session=talk.named(text),
        key=str(value.get("id") or talk.met),
        place=place,
        role="user" if role == "user" else "assistant",
        text=text,
        at=instant("time", at),
        name=whole(name) or None if isinstance(name, str) and role == "user" else None,
    )


def _values(part: Part, stream: BinaryIO) -> Iterator[tuple[int, object]]:
    """Yield the elements of a list, the lines of JSON Lines, or the messages of a single object."""
    if _has_lines(part):
        for line in json_lines(part.name, stream, _line):
            yield line.line, line if isinstance(line, BadLine) else line.event
        return
    yield from enumerate(elements(part.name, stream, ("messages", "conversations", "data")), 1)


def _has_lines(part: Part) -> bool:
    """Return whether the first line that is not blank is a complete object other than a mere list of messages."""
    with part.opened() as stream:
        line = b""
        while not line.strip() and (read := stream.readline(1 << 22)):
            line = read.removeprefix(b"\xef\xbb\xbf")
        if not line.lstrip().startswith(b"{"):
            return False
        try:
            found = orjson.loads(line)
        except orjson.JSONDecodeError:
            return False
        return not isinstance(found.get("conversations"), list)


def _line(text: bytes) -> tuple[dict[str, Any], bool]:
    raw: Any = orjson.loads(text)
    if not isinstance(raw, dict):
        raise InvalidEvent([Fault("$", "is no message and no conversation: these are JSON objects")])
    return raw, True
