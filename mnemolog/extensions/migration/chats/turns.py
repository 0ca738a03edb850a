"""Messages of an export as events to publish: turns, and the end of each session.

Ids are derived from the content of the export, so that publishing the same export again, or a later one of the same
chats, creates no duplicates. A message that has been edited since becomes a turn of its own.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import orjson

from mnemolog.cli.lines.event_lines import BadLine, EventLine
from mnemolog.extensions.migration.chats.message import Message
from mnemolog.extensions.migration.rows import given
from schemas.identity import derived_id
from schemas.messages.observations import TIMEZONE, USER_NAME

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mnemolog.extensions.migration.chats.message import Items
    from mnemolog.extensions.migration.rows import Line


@dataclass(frozen=True, slots=True, kw_only=True)
class Turns:
    """The conversion of messages into turns: their program and their user."""

    system: str
    user_id: str
    me: str | None = None
    """The user in a chat between people: the name, or the program's id."""
    timezone: str | None = None
    """The time zone of the speakers' clocks."""

    def is_mine(self, message: Message) -> bool:
        """Return whether the user wrote a message."""
        named = (message.name, message.sender_id)
        return message.role == "user" and (named == (None, None) or (self.me is not None and self.me in named))

    def of(self, file: str, items: Items) -> Iterator[tuple[Line, int]]:
        """Yield the events, each with its share of the bytes."""
        last: Message | None = None
        for item, size in items:
            if isinstance(item, Message):
                if last is not None and last.session != item.session:
                    yield self._end(file, last), 0
                last = item
                yield self._turn(file, item), size
            elif isinstance(item, BadLine):
                yield item, size
        if last is not None:
            yield self._end(file, last), 0

    def _turn(self, file: str, message: Message) -> EventLine:
        return self._event(
            file,
            message,
            "TurnRecorded",
            role=message.role,
            content=message.text,
            name=None if self.is_mine(message) or message.role == "assistant" else message.name,
            metadata=given(source_system=self.system, **{TIMEZONE: self.timezone, USER_NAME: self.me}),
        )

    def _end(self, file: str, last: Message) -> EventLine:
        return self._event(file, last, "SessionEnded")

    def _event(self, file: str, message: Message, kind: str, **fields: Any) -> EventLine:  # noqa: ANN401 - any JSON
        event = given(
            type=kind,
            event_id=derived_id("chat", kind, self.system, message.session, message.key, message.text),
            user_id=self.user_id,
            session_id=f"{self.system}:{message.session}",
            occurred_at=message.at,
            **fields,
        )
        return EventLine(file, message.place, event, len(orjson.dumps(event)), is_named=False)
