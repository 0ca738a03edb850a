"""Wakes as they are raised: one stream over all partitions, whichever workers have them, read again and again.

Nothing is queued. A stream keeps for each partition the offset of the ledger up to which it has told, asks the shards
(its own, or those of the worker that has them) for what stands behind it, and goes on from there, also when the
partition moves or the caller comes back with the position that it heard last.
"""

from __future__ import annotations

import asyncio
import logging
import re
import time
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final

import orjson

from mnemolog.cluster.peers import PeerUnavailable
from projections.partitions.assignment import NotHeld
from projections.queries.wake_views import wake_view
from projections.shard.errors import ShardDamaged, ShardUnavailable
from schemas.identity import Owner

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping

    from mnemolog.worker.worker import Worker

LOOK_EVERY_SECONDS: Final = 0.5
HEARTBEAT_SECONDS: Final = 15.0
ASK_SECONDS: Final = 5.0
WAKES_AT_ONCE: Final = 50
"""Of one partition; a decision is not divided."""
RETRY_MILLISECONDS: Final = 1_000
"""After which a caller who lost the stream is asked to come back."""

log = logging.getLogger("mnemolog.wake_streaming")
_POSITIONS: Final = re.compile(r"\d{1,9}:\d{1,18}(,\d{1,9}:\d{1,18})*")


class UnknownPosition(ValueError):
    """The Last-Event-ID is none that a stream has given."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Listener:
    """Whose wakes a stream tells: all of a tenant, or those of one user, and of those what an agent is to hear."""

    tenant: str
    user_id: str | None = None
    agent_id: str | None = None


async def wakes_part(worker: Worker, listener: Listener, since: Mapping[int, int | None]) -> dict[str, Any]:
    """Return what this worker's partitions have since an offset of each ledger, and how far that reaches.

    `{partition: {"items": [{"offset", "wake"}], "reached"}}`; without an offset there are no items.
    """
    found: dict[str, Any] = {}
    for partition, offset in since.items():
        if partition not in worker.shards.held():
            continue
        shard = worker.shards.at(partition)
        reached, items = shard.offset(shard.ledger_topic), list[dict[str, Any]]()
        if offset is not None and offset < reached:
            raised = shard.ledger.wakes.raised_since(listener.tenant, listener.user_id, offset, WAKES_AT_ONCE)
            now = worker.clock.now()
            items = [{"offset": r.offset, "wake": wake_view(worker.shards, r, now, listener.agent_id)} for r in raised]
            reached = reached if len(items) < WAKES_AT_ONCE else items[-1]["offset"] + 1
        found[str(partition)] = {"items": items, "reached": reached}
    return found


async def begin(worker: Worker, listener: Listener, last_event_id: str | None) -> dict[int, int]:
    """Return where a stream begins: behind what its caller heard last, else now. Raises as `_look`, UnknownPosition."""
    partitions = range(worker.shards.partitions)
    if listener.user_id is not None:
        owner = worker.shards.partition(Owner(listener.tenant, listener.user_id))
        partitions = range(owner, owner + 1)
    told = read_positions(last_event_id) if last_event_id else {}
    new: dict[int, int | None] = {partition: None for partition in partitions if partition not in told}
    found = await _look(worker, listener, new) if new else {}
    if len(found) < len(new):
        raise PeerUnavailable("partitions are moving between workers: ask again in a moment")
    reached = {int(partition): part["reached"] for partition, part in found.items()}
    return {p: offset for p, offset in (told | reached).items() if p in partitions}


async def stream(
    worker: Worker, listener: Listener, positions: dict[int, int], *, heartbeat_seconds: float = HEARTBEAT_SECONDS
) -> AsyncIterator[bytes]:
    """Yield server-sent events until the worker stops: each wake at least once, and heartbeats in between.

    The first block has no data, so it is no event; its id is kept all the same, by the rules of server-sent events: who
    hangs up before the first wake comes back to where the stream began.
    """
    yield b"retry: %d\n%s\n" % (RETRY_MILLISECONDS, _id(positions))
    told_at = time.monotonic()
    while not worker.stopping.is_set():
        full = False
        for name, part in (await _look(worker, listener, positions)).items():
            partition, items = int(name), part["items"]
            full = full or len(items) >= WAKES_AT_ONCE
            for item, following in pairwise([*items, None]):
                whole = following is None or following["offset"] != item["offset"]
                if whole:
                    positions[partition] = item["offset"] + 1
                if listener.agent_id in (None, item["wake"]["agent_id"]) or item["wake"]["agent_id"] is None:
                    yield _event(item["wake"], positions if whole else None)
                    told_at = time.monotonic()
            positions[partition] = max(positions[partition], part["reached"])
        if time.monotonic() - told_at >= heartbeat_seconds:
            yield b": nothing new\n\n"
            told_at = time.monotonic()
        if not full:
            await _pause(worker)


async def _pause(worker: Worker) -> None:
    """Wait for a moment, or until the worker stops."""
    stopping = asyncio.ensure_future(worker.stopping.wait())
    try:
        await asyncio.wait({stopping}, timeout=LOOK_EVERY_SECONDS)
    finally:
        stopping.cancel()


async def _look(worker: Worker, listener: Listener, since: Mapping[int, int | None]) -> dict[str, Any]:
    """Ask whoever has the partitions; what moves, or does not answer, is left out, and asked for the next time."""
    by_url: dict[str | None, dict[int, int | None]] = {}
    for partition, offset in since.items():
        try:
            by_url.setdefault(worker.peers.owner(partition), {})[partition] = offset
        except NotHeld:
            continue
    asked = [
        _here(worker, listener, some) if url is None else _there(worker, url, listener, some)
        for url, some in by_url.items()
    ]
    return {name: part for parts in await asyncio.gather(*asked) for name, part in parts.items()}


async def _here(worker: Worker, listener: Listener, since: Mapping[int, int | None]) -> dict[str, Any]:
    try:
        found = await wakes_part(worker, listener, since)
    except (NotHeld, ShardUnavailable):
        return {}
    except ShardDamaged as error:
        worker.fail(error)  # with its next start the shard is folded anew
        return {}
    return found if worker.is_in_session() else {}


async def _there(worker: Worker, url: str, listener: Listener, since: Mapping[int, int | None]) -> dict[str, Any]:
    asked = {
        "tenant": listener.tenant,
        "user_id": listener.user_id,
        "agent_id": listener.agent_id,
        "since": {str(partition): offset for partition, offset in since.items()},
    }
    try:
        return await worker.peers.ask(url, "/v1/internal/wakes", asked, ASK_SECONDS)
    except PeerUnavailable:
        return {}


def read_positions(text: str) -> dict[int, int]:
    """Return the positions that an event's id spells. Raises UnknownPosition."""
    if _POSITIONS.fullmatch(text) is None:
        detail = f"Last-Event-ID {text[:100]!r} is no id of this stream: leave it out to begin now"
        raise UnknownPosition(detail)
    pairs = [entry.split(":") for entry in text.split(",")]
    return {int(partition): int(offset) for partition, offset in pairs}


def _event(wake: dict[str, Any], positions: Mapping[int, int] | None) -> bytes:
    """Spell a wake as an event; with an id when the caller may go on behind it; as a comment where JSON cannot."""
    try:
        told = orjson.dumps(wake)
    except (TypeError, ValueError):  # the wakes behind it are told all the same
        log.exception("wake %s is not told: JSON cannot carry it", wake.get("wake_id"))
        return b": a wake that JSON cannot carry was left out\n\n"
    return (b"" if positions is None else _id(positions)) + b"event: wake\ndata: " + told + b"\n\n"


def _id(positions: Mapping[int, int]) -> bytes:
    return b"id: " + ",".join(f"{p}:{offset}" for p, offset in sorted(positions.items())).encode() + b"\n"
