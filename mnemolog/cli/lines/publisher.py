"""Publishes event lines in batches: maps refusals to their lines, and waits out an outage."""

from __future__ import annotations

import asyncio
import re
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from mnemolog.cli.lines.event_lines import BadLine, EventLine
from mnemolog.client.errors import Refused, Unavailable

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence

MAX_BATCH_EVENTS: Final = 500
MAX_BATCH_BYTES: Final = 7 * 1024 * 1024
"""Less than the 8 MiB of a request, with room for JSON's separators between events."""
MAX_OUTAGE_SECONDS: Final = 120.0
"""The longest wait for an outage to end."""
LONGEST_PAUSE_SECONDS: Final = 5.0
_PLACE: Final = re.compile(r"\$\[(\d+)\]")


@dataclass(slots=True)
class LinePublisher:
    """Takes lines in order; the lines that it has counted are durable."""

    send: Callable[[Sequence[EventLine]], Awaitable[Mapping[int, str]]]
    """Sends one request, whose lines all had ids or all had none; returns the reasons of refused lines by their places.

    Raises Refused if nothing was done, Unavailable, MnemologError.
    """
    refuse: Callable[[BadLine], None]
    say: Callable[[str], None]
    most: int = MAX_BATCH_EVENTS
    """The most lines in one request."""
    accepted: int = 0
    reached: str = ""
    """The last settled line, as FILE:LINE."""
    max_outage_seconds: float = MAX_OUTAGE_SECONDS
    _batch: list[EventLine] = field(default_factory=list)
    _bytes: int = 0

    async def take(self, line: EventLine | BadLine) -> None:
        """Add the next line; send a full batch. Raises MnemologError."""
        if isinstance(line, BadLine):
            self.refuse(line)
            return
        is_full = len(self._batch) >= self.most or self._bytes + line.size >= MAX_BATCH_BYTES
        if is_full or (self._batch and self._batch[0].is_named != line.is_named):
            await self.flush()
        self._batch.append(line)
        self._bytes += line.size

    async def flush(self) -> None:
        """Send the pending lines. Raises MnemologError."""
        if self._batch:
            await self._publish(self._batch)
            self.reached = f"{self._batch[-1].file}:{self._batch[-1].line}"
        self._batch, self._bytes = [], 0

    async def _publish(self, lines: Sequence[EventLine]) -> None:
        """Publish all lines except those that the server refuses."""
        left = list(lines)
        while left:
            try:
                not_taken = await self._send(left)
            except Refused as error:
                bad = _places(error, len(left))
                if not bad and len(left) > 1:  # the refusal names no event
                    await self._publish(left[: len(left) // 2])
                    left = left[len(left) // 2 :]
                    continue
                bad = bad or {0: error.detail}
                for place, why in bad.items():
                    self.refuse(BadLine(left[place].file, left[place].line, why))
                left = [line for place, line in enumerate(left) if place not in bad]
            else:
                for place, why in not_taken.items():
                    self.refuse(BadLine(left[place].file, left[place].line, why))
                self.accepted += len(left) - len(not_taken)
                return

    async def _send(self, lines: Sequence[EventLine]) -> Mapping[int, str]:
        deadline, pause = time.monotonic() + self.max_outage_seconds, 0.5
        while True:
            try:
                return await self.send(lines)
            except Unavailable as error:
                if time.monotonic() >= deadline:
                    raise
                self.say(f"{error.detail}; trying again")
                await asyncio.sleep(max(pause, error.retry_after_seconds or 0.0))
                pause = min(LONGEST_PAUSE_SECONDS, pause * 2)


def _places(error: Refused, count: int) -> dict[int, str]:
    """Return the faults of the request's events by their places, as far as the refusal names them."""
    found: dict[int, list[str]] = {}
    for fault in error.errors:
        place = _PLACE.match(str(fault.get("path")))
        if place is not None and int(place[1]) < count:
            path = "$" + str(fault["path"])[place.end() :]
            found.setdefault(int(place[1]), []).append(f"{path}: {fault.get('message')}")
    return {place: "; ".join(faults) for place, faults in found.items()}
