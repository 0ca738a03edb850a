"""Importing: snapshots of many users are embedded and appended where their users are held, and waited for."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import numpy as np

from mnemolog.accepting import MARGIN_SECONDS
from mnemolog.snapshots import parse_snapshot
from projections.evolve import is_decided
from projections.shards import NotHeld
from schemas import codec
from schemas.log import NewRecord
from schemas.topics import INBOX

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mnemolog.composition import Worker
    from mnemolog.snapshots import Importable
    from schemas.inbox import UserItem

    Items: TypeAlias = list[dict[str, Any]]

EMBEDDED_AT_ONCE: Final = 64
WAITING: Final = "waiting"
"""The action of what the log has and remember has not decided yet."""


async def import_all(
    worker: Worker, tenant: str, raws: Sequence[dict[str, Any]], user_id: str | None, wait: float
) -> Items:
    """Import checked snapshots; return what became of each: `{memory_id, action, reason}`, in their order.

    Raises NotHeld, PeerUnavailable, LogUnavailable, EmbedderUnavailable, and then some may have been imported: sent
    again, each is still once.
    """
    now = worker.clock.now()
    all_ = [parse_snapshot(raw, tenant=tenant, user_id=user_id, accepted_at=now) for raw in raws]
    places: dict[str | None, list[int]] = {}
    for place, one in enumerate(all_):
        places.setdefault(worker.peers.owner(worker.shards.partition(one.owner)), []).append(place)

    async def at(url: str | None, some: Sequence[int]) -> Items:
        if url is None:
            return await import_here(worker, [all_[place] for place in some], wait)
        body = {"tenant": tenant, "user_id": user_id, "wait": wait, "snapshots": [raws[place] for place in some]}
        answer = await worker.peers.ask(url, "/v1/internal/import", body, wait + MARGIN_SECONDS)
        items: Items = answer["items"]
        return items

    answers = await asyncio.gather(*(at(url, some) for url, some in places.items()))
    found = {
        place: item
        for some, items in zip(places.values(), answers, strict=True)
        for place, item in zip(some, items, strict=True)
    }
    return [found[place] for place in range(len(all_))]


async def import_here(worker: Worker, some: Sequence[Importable], wait: float) -> Items:
    """Import memories of users of this worker; those that were imported before are not embedded again."""
    states = {one.owner: worker.shards.state(one.owner) for one in some}
    new = {o.command_id: o for o in some if not is_decided(states[o.owner], o.command_id)}
    last = dict[str, str]()  # of what each leads to, the id of what is decided last
    for group in _groups(list(new.values()), EMBEDDED_AT_ONCE):
        vectors = await worker.embedder.embed([one.snapshot.content for one in group])
        now, records = worker.clock.now(), list[NewRecord]()
        for one, vector in zip(group, vectors, strict=True):
            worker.shards.require(one.owner)
            items: list[UserItem] = [one.item(now, np.asarray(vector, "<f4").tobytes(), worker.embedder.model)]
            partition = worker.shards.partition(one.owner)
            for each in [*items, *one.shares(now)]:
                last[one.command_id] = each.envelope.event_id
                value = codec.encode(each)
                records.append(NewRecord(topic=INBOX.name, partition=partition, key=one.owner.key, value=value))
        await worker.log.append(records)
    if wait and new:
        deciding = [asyncio.ensure_future(worker.remember.decided(o.owner, last[i])) for i, o in new.items()]
        try:
            await asyncio.wait(deciding, timeout=wait)
        finally:
            for waiter in deciding:
                waiter.cancel()
            await asyncio.gather(*deciding, return_exceptions=True)
    return [_became(worker, one, is_new=new.pop(one.command_id, None) is not None) for one in some]


def _became(worker: Worker, one: Importable, *, is_new: bool) -> dict[str, Any]:
    """Return what became of a snapshot; the second of the same in a request was imported with the first."""
    try:
        decisions = worker.shards.of(one.owner).ledger.decided(one.owner, one.command_id)
    except NotHeld:  # it is in the log: whoever has the partition now decides it
        decisions = []
    outcome = next((o for d in decisions for o in d.outcomes), None)
    if outcome is None:
        return {"memory_id": one.memory_id, "action": WAITING, "reason": "the log has it; it will be decided"}
    if not is_new:
        return {"memory_id": outcome.memory_id, "action": "nothing", "reason": "imported before"}
    return {"memory_id": outcome.memory_id, "action": outcome.action, "reason": outcome.reason}


def _groups(some: Sequence[Importable], size: int) -> list[Sequence[Importable]]:
    return [some[at : at + size] for at in range(0, len(some), size)]
