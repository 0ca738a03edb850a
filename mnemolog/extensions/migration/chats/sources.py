"""Exports of chats from any program: their contents, and the events that these become."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from datetime import UTC, tzinfo
from typing import TYPE_CHECKING, Final, assert_never

from mnemolog.cli.lines.event_lines import BadLine
from mnemolog.extensions.migration.chats import chatgpt, claude, conversations, openai_messages, telegram, whatsapp
from mnemolog.extensions.migration.chats.archive import Part, parts, total_of
from mnemolog.extensions.migration.chats.message import LeftOut, Message
from mnemolog.extensions.migration.chats.turns import Turns
from mnemolog.extensions.migration.rows import Rows, Unreadable
from schemas.inputs.input_events import DEFAULT_USER
from schemas.inputs.zone import zone_named

if TYPE_CHECKING:
    import re
    from collections.abc import Iterator

    from mnemolog.extensions.migration.chats.message import Items
    from mnemolog.extensions.migration.chats.whatsapp import Dates
    from mnemolog.extensions.migration.rows import Line
    from mnemolog.extensions.migration.systems import Chats

_FILES: Final[dict[Chats, re.Pattern[str]]] = {
    "chatgpt": conversations.FILES,
    "claude": conversations.FILES,
    "whatsapp": whatsapp.FILES,
    "telegram": telegram.FILES,
    "openai-messages": openai_messages.FILES,
}
MOST_NAMES: Final = 20
"""The most speakers that are listed when the user must be chosen from them."""


@dataclass(slots=True)
class Survey:
    """A summary of the contents of an export."""

    turns: int = 0
    sessions: set[str] = field(default_factory=set)
    speakers: Counter[str] = field(default_factory=Counter)
    """The number of turns of each speaker, by name, or by role in talks with an assistant."""
    ids: dict[str, str] = field(default_factory=dict)
    """The speakers' names by the program's ids."""
    first: str | None = None
    last: str | None = None
    left_out: Counter[str] = field(default_factory=Counter)
    bad: list[BadLine] = field(default_factory=list)

    def take(self, item: Message | LeftOut | BadLine) -> None:
        """Count one item."""
        match item:
            case BadLine():
                self.bad.append(item)
            case LeftOut():
                self.left_out[item.what] += 1
            case Message():
                self.turns += 1
                self.sessions.add(item.session)
                self.speakers[item.name or item.role] += 1
                if item.sender_id and item.name:
                    self.ids[item.sender_id] = item.name
                if item.at is not None:
                    self.first = min(self.first or item.at, item.at)
                    self.last = max(self.last or item.at, item.at)
            case _:
                assert_never(item)


class Export:
    """An export of chats, which can be read repeatedly."""

    def __init__(self, system: Chats, name: str, *, dates: Dates | None = None, timezone: str | None = None) -> None:
        """Find its files. Raises OSError, or ValueError for an unknown time zone."""
        zone = UTC if timezone is None else zone_named(timezone)
        if zone is None:
            raise ValueError(
                f"{timezone!r} is no time zone: give an IANA name, such as Europe/Berlin, or an offset, +08:00"
            )
        self._system: Chats = system
        self._name = name
        self._parts = parts(name, _FILES[system])
        self._dates: Dates | None = dates
        self._zone: tzinfo = zone
        self._timezone = timezone

    def survey(self) -> Survey:
        """Return a summary of its contents. Raises OSError."""
        found = Survey()
        for part in self._parts:
            for item, _ in self._items(part):
                found.take(item)
        return found

    def rows(self, user_id: str | None, me: str | None) -> Rows:
        """Return its events, for a user or the owner; `me` names the user among the people of a chat.

        Raises OSError, or Unreadable if the user is not known.
        """
        turns = Turns(system=self._system, user_id=user_id or DEFAULT_USER, me=self.who(me), timezone=self._timezone)

        def read() -> Iterator[tuple[Line, int]]:
            for part in self._parts:
                yield from turns.of(part.name, self._items(part))

        return Rows(total_of(self._parts), "bytes", read)

    def who(self, me: str | None) -> str | None:
        """Return the user among the people of a chat, as the export or `me` names them. Raises OSError, Unreadable.

        Return None if there is no choice, because a talk with an assistant has only one user.
        """
        if self._system == "telegram" and me is None:
            me = next(filter(None, map(telegram.owner_of, self._parts)), None)
        if self._system not in ("telegram", "whatsapp"):
            return me
        survey = self.survey()
        if me is not None and (me in survey.speakers or me in survey.ids):
            return me
        named = [f"{name} ({count})" for name, count in survey.speakers.most_common(MOST_NAMES)]
        rest = len(survey.speakers) - len(named)
        wrong = "it does not say who the user is" if me is None else f"nobody is called {me} in it"
        others = f" and {rest} more" if rest > 0 else ""
        raise Unreadable(f"{self._name}: {wrong}: name one with --me, of {', '.join(named) or 'nobody'}{others}")

    def _items(self, part: Part) -> Items:
        match self._system:
            case "chatgpt":
                return chatgpt.read(part)
            case "claude":
                return claude.read(part)
            case "whatsapp":
                return whatsapp.read(part, self._dates, self._zone)
            case "telegram":
                return telegram.read(part)
            case "openai-messages":
                return openai_messages.read(part)
            case _:
                assert_never(self._system)
