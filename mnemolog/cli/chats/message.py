"""Messages as they stand in exports of chats: who said what, when, and in which session."""

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
    """The conversation, or the day of a chat among people, that it belongs to."""
    key: str
    """What names it in its session, together with its text."""
    place: int
    """Its number, or its line, in the export."""
    role: Role
    text: str
    at: str | None
    """RFC 3339; None where the export has no time."""
    name: str | None = None
    """Who said it in a chat among people."""
    sender_id: str | None = None
    """The program's own id of that person, where it has one."""


@dataclass(frozen=True, slots=True)
class LeftOut:
    """Something of an export that is no turn: `what` says of which kind it is, in the plural."""

    what: str


Item: TypeAlias = "Message | LeftOut | BadLine"
Items: TypeAlias = "Iterator[tuple[Item, int]]"
"""What an export holds, each with its share of the bytes."""

SERVICE: LeftOut = LeftOut("notices of the program")
MEDIA: LeftOut = LeftOut("pictures, recordings and files without a text")
TOOLS: LeftOut = LeftOut("instructions, thoughts and calls of tools")
FORWARDED: LeftOut = LeftOut("forwarded messages")
CHANNELS: LeftOut = LeftOut("posts of channels")


def whole(text: str) -> str:
    """Return a text with U+FFFD for each half of a character that stands alone, and no white space around it."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace").strip()
