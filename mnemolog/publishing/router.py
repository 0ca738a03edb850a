"""Accepting events of many users: each worker looks at those of its own, and all of them are appended, or none."""

from __future__ import annotations

import asyncio
from base64 import b64encode
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any, TypeAlias

from mnemolog.log.health import at_leisure
from mnemolog.publishing.publisher import Conflict, record_of
from schemas import codec
from schemas.record_size import check_size

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mnemolog.worker.worker import Worker
    from schemas.messages.observations import Observation

    Items: TypeAlias = list[dict[str, Any]]

MARGIN_SECONDS = 30.0
"""How much longer than a caller's wait another worker is waited for."""


async def accept(worker: Worker, events: Sequence[Observation], wait: float) -> tuple[Items, bool]:
    """Return where the log has each event, with its state if `wait` (seconds) is given, and whether all are final.

    Raises Conflict, and then nothing was appended; NotHeld, PeerUnavailable, LogUnavailable, and then some may have
    been: sent again, each is still once; RecordTooLarge, and then nothing was.
    """
    places: dict[str | None, list[int]] = {}
    for place, event in enumerate(events):
        url = worker.peers.owner(worker.shards.partition(event.envelope.owner))
        places.setdefault(url, []).append(place)
    if len(places) > 1:
        await asyncio.gather(*(_at(worker, url, events, some, 0.0, only_check=True) for url, some in places.items()))
    answers = await asyncio.gather(*(_at(worker, url, events, some, wait) for url, some in places.items()))
    found: dict[int, dict[str, Any]] = {}
    for some, (items, _) in zip(places.values(), answers, strict=True):
        found.update(zip(some, items, strict=True))
    return [found[place] for place in range(len(events))], all(final for _, final in answers)


async def accept_here(
    worker: Worker, events: Sequence[Observation], wait: float, *, only_check: bool = False
) -> tuple[Items, bool]:
    """Accept, or only check, events of users of this worker. Raises NotHeld, Conflict, LogUnavailable."""
    if only_check:
        await worker.publishing.check(events)
        return [], False
    accepted = await worker.publishing.publish(events)
    items: Items = [{"event_id": a.event_id, "position": str(a.position)} for a in accepted]
    if not wait:
        return items, False
    names = [(e.envelope.owner, e.envelope.event_id) for e in events]
    final = await worker.publishing.wait(names, wait)
    states = {
        owner: await worker.publishing.states(owner, [i for o, i in names if o == owner])
        for owner in dict.fromkeys(o for o, _ in names)
    }
    return [item | states[owner].get(i, {}) for item, (owner, i) in zip(items, names, strict=True)], final


async def _at(
    worker: Worker,
    url: str | None,
    events: Sequence[Observation],
    places: Sequence[int],
    wait: float,
    *,
    only_check: bool = False,
) -> tuple[Items, bool]:
    """Accept the events at some places of a request, at the worker that has their users. Raises as `accept`."""
    some = [events[place] for place in places]
    if only_check:
        for event in some:
            check_size(record_of(event, worker.shards.partition(event.envelope.owner)))
    if url is None:
        try:
            return await accept_here(worker, some, wait, only_check=only_check)
        except Conflict as conflict:
            raise Conflict({places[n]: at for n, at in conflict.places.items()}) from None
    messages = [b64encode(codec.encode(event)).decode() for event in some]
    body = {"messages": messages, "wait": wait, "only_check": only_check}
    with at_leisure() if wait else nullcontext():  # it ends by itself what waits for the log there
        found = await worker.peers.ask(url, "/v1/internal/events", body, wait + MARGIN_SECONDS)
    if conflicts := found["conflicts"]:
        raise Conflict({places[int(n)]: at for n, at in conflicts.items()})
    return found["items"], found["final"]
