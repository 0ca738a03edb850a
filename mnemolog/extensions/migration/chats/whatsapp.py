"""WhatsApp's export of a chat: `_chat.txt`, alone or in its zip.

A message begins with its time and sender: `[05.01.26, 08:00:00] Ann: …` on an iPhone, `05/01/2026, 8:00 am - Ann: …` on
Android, in the format of the phone's language; lines without such a beginning continue the previous message. The whole
file is used to determine which number is the day. Times follow the phone's clock, without an offset.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import pairwise
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from mnemolog.cli.lines.event_lines import MAX_LINE_BYTES, BadLine
from mnemolog.extensions.migration.chats.message import MEDIA, SERVICE, Items, LeftOut, Message, whole
from mnemolog.extensions.migration.rows import Unreadable
from schemas.identity import derived_id

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import tzinfo

    from mnemolog.extensions.migration.chats.archive import Part

FILES: Final = re.compile(r"_chat\.txt|[^/]{0,100}WhatsApp[^/]{0,150}\.txt")
Dates: TypeAlias = Literal["dmy", "mdy", "ymd"]

_MARKS: Final = "\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff"
_MARK: Final = re.compile(f"[{_MARKS}]")
_NOTICE: Final = "\u200e"
"""The mark at the beginning of a notice that WhatsApp itself writes instead of a message, on an iPhone."""
_SPACE: Final = "[ \u00a0\u202f]"
_HALVES: Final = "上午|下午|午前|午後|凌晨|中午|晚上|오전|오후"
_HEAD: Final = re.compile(
    rf"[{_MARKS}]{{0,4}}\[?(?P<a>\d{{1,4}})(?P<sep>[./-]){_SPACE}?(?P<b>\d{{1,2}})(?P=sep){_SPACE}?(?P<c>\d{{1,4}})\.?,?"
    rf"{_SPACE}(?:(?:klo|um|at|às|à|kl\.?|o){_SPACE})?(?:(?P<before>{_HALVES}){_SPACE}?)?"
    r"(?P<hour>\d{1,2})[:.](?P<minute>\d{2})(?:[:.](?P<second>\d{2}))?"
    rf"(?:{_SPACE}?(?P<after>[aApP]\.?{_SPACE}?[mM]\.?|[صم]))?(?:\]|{_SPACE}[-–]){_SPACE}(?P<rest>.*)",
    re.DOTALL,
)
_SENDER: Final = re.compile(r"(?P<name>[^:\n]{1,100}): ?(?P<text>.*)", re.DOTALL)
_ATTACHED: Final = re.compile(
    r"\u200e?<[^<>\n:]{1,20}: [^<>\n]{1,200}\.\w{2,5}>\Z"
    r"|\A\u200e?(?:[A-Z]{3}-\d{8}-WA\d{4}\.\w{0,5} \([^()\n]{3,40}\)|[^\n]{1,200} "
    r"\((?:file attached|Datei angehängt|archivo adjunto|fichier joint|arquivo anexado"
    r"|file allegato|bestand bijgevoegd|文件附件|檔案附件)\))(?:\n|\Z)"
)
"""A reference to a file, `<attached: 1.jpg>` or `IMG-1.jpg (file attached)`; any further text is its caption."""
_EDITED: Final = re.compile(r"\s?(?:\u200e<[^<>\n]{1,60}>|<This message was edited>)\Z")
_PLACEHOLDER: Final = re.compile(r"<[^<>\n@/]{1,60}>")
_PLACEHOLDERS: Final = frozenset(
    {
        *("null", "image omitted", "video omitted", "audio omitted", "sticker omitted", "gif omitted"),
        *("document omitted", "contact card omitted", "this message was deleted", "you deleted this message"),
        *("missed voice call", "missed video call", "waiting for this message", "live location shared"),
    }
)
_LATER: Final = ("p", "下午", "午後", "오후", "晚上", "م")
_NOON: Final = 12
_MONTHS: Final = 12
_YEAR_DIGITS: Final = 4


@dataclass(frozen=True, slots=True)
class _Entry:
    """A message or a notice as written in the file."""

    line: int
    date: tuple[str, str, str]
    separator: str
    hour: int
    minute: int
    second: int
    rest: str


def read(part: Part, dates: Dates | None, zone: tzinfo) -> Items:
    """Yield the contents of the chat; `dates` is the order of day, month and year, by default inferred from the file.

    Raises Unreadable, also if the order cannot be inferred.
    """
    order = dates or _order_of(part)
    met: Counter[tuple[str, str, str]] = Counter()
    session = ("", "")
    for entry, size in _entries(part):
        moment = _moment(entry, order)
        if moment is None:
            yield BadLine(part.name, entry.line, f"{'/'.join(entry.date)} is no date as {order}: say --dates"), size
            continue
        found = _said(entry)
        if isinstance(found, LeftOut):
            yield found, size
            continue
        name, text = found
        day = moment.date().isoformat()
        if session[0] != day:
            session = (day, derived_id(day, moment.isoformat(), name, text)[:8])
            met.clear()
        key = (moment.isoformat(), name, text)
        met[key] += 1
        message = Message(
            session=f"{day}:{session[1]}",
            key=f"{moment.isoformat()}:{name}:{met[key]}",
            place=entry.line,
            role="user",
            text=text,
            at=moment.replace(tzinfo=zone).isoformat(),
            name=name,
        )
        yield message, size


def _entries(part: Part) -> Iterator[tuple[_Entry, int]]:
    """Yield the messages with all their lines. Raises Unreadable."""
    entry: _Entry | None = None
    lines: list[str] = []
    with part.opened() as stream:
        number = seen = 0
        while raw := stream.readline(MAX_LINE_BYTES):
            number += 1
            try:
                line = raw.decode("utf-8-sig" if number == 1 else "utf-8").rstrip("\r\n")
            except UnicodeDecodeError as error:
                raise Unreadable(f"{part.name} is no text in UTF-8 from line {number} on: {error}") from error
            head = _HEAD.fullmatch(line)
            if head is None or (begun := _entry(number, head)) is None:
                if entry is None and line.strip():
                    raise Unreadable(f"{part.name} is no chat of WhatsApp: line {number} begins with no time")
                lines.append(line)
                continue
            if entry is not None:
                here = stream.tell()
                yield replace(entry, rest="\n".join(lines)), here - seen
                seen = here
            entry, lines = begun, [begun.rest]
        if entry is None:
            raise Unreadable(f"{part.name} is empty")
        yield replace(entry, rest="\n".join(lines)), stream.tell() - seen


def _entry(line: int, head: re.Match[str]) -> _Entry | None:
    hour, minute, second = int(head["hour"]), int(head["minute"]), int(head["second"] or 0)
    half = (head["before"] or head["after"] or "").casefold()
    if half:
        hour = hour % _NOON + (_NOON if half.startswith(_LATER) else 0) if hour <= _NOON else hour
        hour = _NOON if half == "中午" and hour == 0 else hour
    if hour > 23 or minute > 59 or second > 59:  # noqa: PLR2004 - of a clock
        return None
    return _Entry(line, (head["a"], head["b"], head["c"]), head["sep"], hour, minute, second, head["rest"])


def _order_of(part: Part) -> Dates:
    """Return the order in which a file writes its dates. Raises Unreadable if it cannot be inferred."""
    entries = [(one.date, one.separator) for one, _ in _entries(part)]
    dates = list(dict.fromkeys(date for date, _ in entries))
    if any(len(year) == _YEAR_DIGITS for year, _, _ in dates):
        return "ymd"
    days_first = any(int(first) > _MONTHS for first, _, _ in dates)
    months_first = any(int(second) > _MONTHS for _, second, _ in dates)
    if days_first != months_first:
        return "dmy" if days_first else "mdy"
    if entries[0][1] != "/":
        return "dmy"  # the month comes first only with slashes
    by_day, by_month = (_steps_back([(y, m, d) for d, m, y in dates]), _steps_back([(y, m, d) for m, d, y in dates]))
    if by_day == by_month or days_first:
        raise Unreadable(
            f"{part.name} does not tell whether {'/'.join(dates[0])} has the day first: say --dates dmy or mdy"
        )
    return "dmy" if by_day < by_month else "mdy"


def _steps_back(days: list[tuple[str, str, str]]) -> int:
    numbers = [tuple(map(int, day)) for day in days]
    return sum(later < earlier for earlier, later in pairwise(numbers))


def _moment(entry: _Entry, order: Dates) -> datetime | None:
    day, month, year = (int(entry.date[order.index(which)]) for which in "dmy")
    try:
        return datetime(year + (2000 if year < 100 else 0), month, day, entry.hour, entry.minute, entry.second)  # noqa: DTZ001, PLR2004
    except ValueError:
        return None


def _said(entry: _Entry) -> tuple[str, str] | LeftOut:
    """Return the speaker and the words, or the reason to leave the entry out."""
    found = _SENDER.fullmatch(entry.rest)
    if found is None:
        return SERVICE
    text = found["text"].rstrip()
    without = _EDITED.sub("", _ATTACHED.sub("", text))
    if without.startswith(_NOTICE):
        return SERVICE if len(without) == len(text) and "omitted" not in text else MEDIA
    said = whole(without.replace(_NOTICE, ""))
    if not said or _PLACEHOLDER.fullmatch(said) or said.casefold().rstrip(".") in _PLACEHOLDERS:
        return MEDIA
    return whole(_MARK.sub("", found["name"])).removeprefix("~").strip(), said
