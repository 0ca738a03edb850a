"""Usage: the events that each key with a quota has published today, and their model tokens; kept across restarts.

A worker counts the events that it accepts and adds the counts that the other workers last reported. Between two reports
a key can therefore exceed its quota, at most by the events that the other workers accept in that time. Extraction runs
even later: events that were accepted before the tokens of a day were spent are still extracted.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections import Counter
from datetime import date, timedelta
from typing import TYPE_CHECKING, Any, Final, NoReturn

from mnemolog.access.key_file import write_private
from mnemolog.access.verifier import TooMany

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from mnemolog.access.key import Key
    from schemas.instant import Clock
    from schemas.messages.inbox import CandidatesExtracted, ExtractionRejected
    from streams.extraction.protocol import Window

SAVE_SECONDS: Final = 5.0
"""How often the counts are written; a killed process loses at most the counts of this time."""

log = logging.getLogger("mnemolog.access")


class Usage:
    """Counts events and the model's tokens by key and UTC day."""

    def __init__(self, path: Path, clock: Clock) -> None:
        """Read the earlier counts; a file that cannot be read counts as empty."""
        self._path = path
        self._clock = clock
        self._day = clock.now().date()
        self._own: Counter[str] = Counter()
        self._others: Counter[str] = Counter()
        self._own_tokens: Counter[str] = Counter()
        self._others_tokens: Counter[str] = Counter()
        self._is_saved = True
        try:
            found = json.loads(path.read_bytes())
            if date.fromisoformat(found["day"]) == self._day:
                self._own.update({str(key_id): int(events) for key_id, events in found["events"].items()})
                self._own_tokens.update({str(key_id): int(n) for key_id, n in found.get("tokens", {}).items()})
        except FileNotFoundError:
            pass
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            log.warning("%s cannot be read: today's quotas of keys begin anew", path)

    def take(self, key: Key, events: int) -> None:
        """Count events that a key publishes. Raises TooMany, and counts none, if a daily quota is exceeded."""
        quota, tokens = key.limits.events_per_day, key.limits.model_tokens_per_day
        if quota is None and tokens is None:
            return
        self._turn_day()
        if tokens is not None and self._own_tokens[key.key_id] + self._others_tokens[key.key_id] >= tokens:
            self._refuse(f"the events of the key {key.key_id} have cost the {tokens} model tokens of a day (UTC)")
        if quota is not None and self._own[key.key_id] + self._others[key.key_id] + events > quota:
            self._refuse(f"the key {key.key_id} may publish {quota} events a day (UTC)")
        self._own[key.key_id] += events
        self._is_saved = False

    def spend(self, item: CandidatesExtracted | ExtractionRejected, window: Window) -> None:
        """Charge the tokens of an extraction to the keys that sent its window, in proportion to their characters.

        Each share is rounded up. Pieces without a key (directly from Kafka) are charged to no key.
        """
        tokens = item.tokens_in + item.tokens_out
        sent: Counter[str | None] = Counter()
        for piece in window.pieces:
            sent[piece.by] += len(piece.text) or 1  # a picture may have no text
        keys = {key_id: characters for key_id, characters in sent.items() if key_id is not None}
        if not keys or tokens == 0:
            return
        self._turn_day()
        whole = sent.total()
        for key_id, characters in keys.items():
            self._own_tokens[key_id] += -(-tokens * characters // whole)
        self._is_saved = False

    def _refuse(self, what: str) -> NoReturn:
        now = self._clock.now()
        midnight = now.replace(hour=0, minute=0, second=0, microsecond=0) + timedelta(days=1)
        raise TooMany(f"{what}: send the others tomorrow", (midnight - now).total_seconds())

    async def counts(self) -> dict[str, Any]:
        """Return this worker's own counts: `{day, events: {key id: number}, tokens: {key id: number}}`."""
        self._turn_day()
        return self._counted()

    def count_others(self, others: Iterable[Mapping[str, Any]]) -> None:
        """Replace the counts of all other workers with their latest reports."""
        self._turn_day()
        events: Counter[str] = Counter()
        tokens: Counter[str] = Counter()
        for other in others:
            if other["day"] == self._day.isoformat():
                events.update(other["events"])
                tokens.update(other.get("tokens", {}))
        self._others, self._others_tokens = events, tokens

    async def run(self) -> None:
        """Write the counts every SAVE_SECONDS until cancelled."""
        while True:
            await asyncio.sleep(SAVE_SECONDS)
            self.save()

    def save(self) -> None:
        """Write the counts, if they have changed."""
        if self._is_saved:
            return
        content = json.dumps(self._counted()).encode()
        try:
            write_private(self._path, content)
        except OSError as error:
            log.warning("%s cannot be written (%s): a restart forgets what was counted", self._path, error.strerror)
            return
        self._is_saved = True

    def _counted(self) -> dict[str, Any]:
        return {"day": self._day.isoformat(), "events": dict(self._own), "tokens": dict(self._own_tokens)}

    def _turn_day(self) -> None:
        today = self._clock.now().date()
        if today > self._day:  # setting the clock back does not grant a second quota
            self._day, self._own, self._others = today, Counter(), Counter()
            self._own_tokens, self._others_tokens = Counter(), Counter()
