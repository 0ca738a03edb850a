"""The importer: checks lines of an export, and sends each to the worker that holds its user."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, Any, Final

from mnemolog.imports.snapshot import Importable, parse_snapshot
from mnemolog.imports.wake_lines import WAKE_LINES, parse_wake_line
from schemas.inputs.slices import in_slices

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from mnemolog.cluster.peers import Peers
    from mnemolog.imports.memories import MemoryImporter
    from mnemolog.imports.results import Result
    from mnemolog.imports.wake_lines import ImportableWake
    from mnemolog.imports.wakes import WakeImporter
    from mnemolog.log.word_ids import WordIds
    from projections.partitions.shards import Shards
    from schemas.instant import Clock

MARGIN_SECONDS: Final = 30.0
"""The extra time-out of a request to another worker, beyond the caller's wait."""


def parse_line(
    raw: object, *, tenant: str, user_id: str | None, accepted_at: datetime, ids: WordIds
) -> Importable | ImportableWake:
    """Check one line of an export, and return it for import. Raises InvalidEvent."""
    if isinstance(raw, dict) and raw.get("type") in WAKE_LINES:
        return parse_wake_line(raw, tenant=tenant, user_id=user_id, hide=ids.hide)
    return parse_snapshot(raw, tenant=tenant, user_id=user_id, accepted_at=accepted_at, hide=ids.hide)


class Importer:
    """Imports lines of all users, on the workers that hold the users."""

    def __init__(
        self,
        shards: Shards,
        peers: Peers,
        clock: Clock,
        memories: MemoryImporter,
        wakes: WakeImporter,
        *,
        ids: WordIds,
    ) -> None:
        self._shards = shards
        self._peers = peers
        self._clock = clock
        self._memories = memories
        self._wakes = wakes
        self._ids = ids

    async def import_all(
        self, tenant: str, raws: Sequence[dict[str, Any]], user_id: str | None, wait: float
    ) -> list[Result]:
        """Import lines and wait at most `wait` seconds for the decisions; return the results in the lines' order.

        Raises NotHeld, PeerUnavailable, LogUnavailable, EmbedderUnavailable; some lines may have been imported then,
        and a retry does not import them twice.
        """
        now = self._clock.now()
        lines = [
            parse_line(raw, tenant=tenant, user_id=user_id, accepted_at=now, ids=self._ids)
            async for raw in in_slices(raws)
        ]
        places_by_url: dict[str | None, list[int]] = {}
        for place, line in enumerate(lines):
            url = self._peers.owner(self._shards.partition(line.owner))
            places_by_url.setdefault(url, []).append(place)

        async def import_at(url: str | None, places: Sequence[int]) -> list[Result]:
            if url is None:
                return await self.import_here([lines[place] for place in places], wait)
            body = {"tenant": tenant, "user_id": user_id, "wait": wait, "snapshots": [raws[place] for place in places]}
            answer = await self._peers.ask(url, "/v1/internal/import", body, wait + MARGIN_SECONDS)
            items: list[Result] = answer["items"]
            return items

        parts = await asyncio.gather(*(import_at(url, places) for url, places in places_by_url.items()))
        results = {
            place: result
            for places, part in zip(places_by_url.values(), parts, strict=True)
            for place, result in zip(places, part, strict=True)
        }
        return [results[place] for place in range(len(lines))]

    async def import_here(self, lines: Sequence[Importable | ImportableWake], wait: float) -> list[Result]:
        """Import lines of users of this worker. Raises as `import_all`."""
        until = time.monotonic() + wait
        memories = iter(
            await self._memories.import_all([line for line in lines if isinstance(line, Importable)], until)
        )
        wakes = iter(await self._wakes.import_all([line for line in lines if not isinstance(line, Importable)], until))
        return [next(memories if isinstance(line, Importable) else wakes) for line in lines]
