"""Messages in exports of chats: the speaker, the words, the time, and the session."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mnemolog.cli.lines.event_lines import BadLine

Role: TypeAlias = Literal["user", "assistant"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """One message with a text."""

    session: str
    """The conversation that it belongs to, or the day in a chat between people."""
    key: str
    """Its identifier within the session, together with its text."""
    place: int
    """Its number, or its line, in the export."""
    role: Role
    text: str
    at: str | None
    """The time in RFC 3339; None if the export has none."""
    name: str | None = None
    """The speaker's name in a chat between people."""
    sender_id: str | None = None
    """The program's own id of the speaker, if it has one."""


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A part of an export that is not a turn; `what` names its kind, in the plural."""

    what: str


Item: TypeAlias = "Message | LeftOut | BadLine"
Items: TypeAlias = "Iterator[tuple[Item, int]]"
"""The contents of an export, each with its share of the bytes."""

SERVICE: LeftOut = LeftOut("notices of the program")
MEDIA: LeftOut = LeftOut("pictures, recordings and files without a text")
TOOLS: LeftOut = LeftOut("instructions, thoughts and calls of tools")
FORWARDED: LeftOut = LeftOut("forwarded messages")
CHANNELS: LeftOut = LeftOut("posts of channels")


def whole(text: str) -> str:
    """Return a text with U+FFFD for each lone surrogate, and without white space around it."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace").strip()
