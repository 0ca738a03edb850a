"""Importing: what many users had elsewhere is embedded and appended where they are held, and waited for."""

from __future__ import annotations

import asyncio
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import numpy as np

from mnemolog.commands.batch import WAITING, inbox_record, wait_for
from mnemolog.imports.snapshot import Importable, parse_snapshot
from mnemolog.imports.wake_lines import WAKE_LINES, parse_wake_line
from mnemolog.imports.wakes import import_wakes
from mnemolog.publishing.router import MARGIN_SECONDS
from projections.partitions.assignment import NotHeld
from projections.state.evolve import is_decided
from projections.state.memory import ACTIVE
from schemas import codec
from schemas.log import NewRecord, Position
from schemas.messages.inbox import ImportMemory
from schemas.text import digest
from schemas.topics import INBOX

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from mnemolog.imports.wake_lines import ImportableWake
    from mnemolog.worker.worker import Worker
    from schemas.identity import Owner
    from schemas.messages.decision import Decision, Outcome
    from schemas.messages.inbox import UserItem

    Items: TypeAlias = list[dict[str, Any]]

EMBEDDED_AT_ONCE: Final = 64
OTHER_CONTENT: Final = (
    "imported before with other content, which stays: for another memory give another source_system or memory_id"
)


def parse_line(raw: object, *, tenant: str, user_id: str | None, accepted_at: datetime) -> Importable | ImportableWake:
    """Check one line of an export that is imported. Raises InvalidEvent."""
    if isinstance(raw, dict) and raw.get("type") in WAKE_LINES:
        return parse_wake_line(raw, tenant=tenant, user_id=user_id)
    return parse_snapshot(raw, tenant=tenant, user_id=user_id, accepted_at=accepted_at)


async def import_all(
    worker: Worker, tenant: str, raws: Sequence[dict[str, Any]], user_id: str | None, wait: float
) -> Items:
    """Import checked lines; return what became of each: `{memory_id, action, reason}`, in their order.

    Raises NotHeld, PeerUnavailable, LogUnavailable, EmbedderUnavailable, and then some may have been imported: sent
    again, each is still once.
    """
    now = worker.clock.now()
    all_ = [parse_line(raw, tenant=tenant, user_id=user_id, accepted_at=now) for raw in raws]
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


async def import_here(worker: Worker, some: Sequence[Importable | ImportableWake], wait: float) -> Items:
    """Import what users of this worker have; what was imported before is not embedded again."""
    until = time.monotonic() + wait
    memories = await _import_memories(worker, [one for one in some if isinstance(one, Importable)], until)
    wakes = await import_wakes(worker, [one for one in some if not isinstance(one, Importable)], until)
    known, woken = iter(memories), iter(wakes)
    return [next(known if isinstance(one, Importable) else woken) for one in some]


async def _import_memories(worker: Worker, some: Sequence[Importable], until: float) -> Items:
    states = {one.owner: worker.shards.state(one.owner) for one in some}
    new: dict[str, Importable] = {}  # the first of each
    for one in some:
        if not is_decided(states[one.owner], one.command_id):
            new.setdefault(one.command_id, one)
    siblings = {_there(one, one.snapshot.memory_id): one.memory_id for one in some}
    last = dict[str, str]()  # of what each leads to, the id of what is decided last
    for group in _groups(list(new.values()), EMBEDDED_AT_ONCE):
        vectors = await worker.embedder.embed([one.snapshot.content for one in group])
        now, records = worker.clock.now(), list[NewRecord]()
        for one, vector in zip(group, vectors, strict=True):
            worker.shards.require(one.owner)
            by = siblings.get(_there(one, one.snapshot.superseded_by))
            spelt = np.asarray(vector, "<f4").tobytes()
            items: list[UserItem] = [one.item(now, spelt, worker.embedder.model, by)]
            for each in [*items, *one.shares(now, one.memory_id)]:
                last[one.command_id] = each.envelope.event_id
                records.append(inbox_record(worker, each))
        await worker.log.append(records)
    await wait_for(worker, [(o.owner, last[i]) for i, o in new.items()], until)
    await _share_known(worker, some, until)
    return [await _became(worker, one, new.get(one.command_id)) for one in some]


async def _share_known(worker: Worker, some: Sequence[Importable], until: float) -> None:
    """Share what was known here already, in the place of the memory that did not come to be."""
    records: list[NewRecord] = []
    commands: list[tuple[Owner, str]] = []
    now = worker.clock.now()
    for one in some:
        if not one.snapshot.shared_with:
            continue
        with suppress(NotHeld):  # whoever has it now is asked with the next import of it
            outcome = _outcome(_decisions(worker, one))
            memory = worker.shards.state(one.owner).memories.get(outcome.memory_id or "") if outcome else None
            if memory is None or memory.memory_id == one.memory_id or memory.status_at(now) != ACTIVE:
                continue
            if _differ(memory.content, one.snapshot.content):  # it is not what the agents were to know
                continue
            for each in one.shares(now, memory.memory_id):
                if not memory.known_to(each.envelope.agent_id):
                    records.append(inbox_record(worker, each))
                    commands.append((one.owner, each.envelope.event_id))
    if records:
        await worker.log.append(records)
        await wait_for(worker, commands, until)


async def _became(worker: Worker, one: Importable, first: Importable | None) -> dict[str, Any]:
    """Return what became of a snapshot; `first` is the one of its id that the request brought, if it was not known."""
    try:
        decisions = _decisions(worker, one)
        outcome = _outcome(decisions)
        is_other = outcome is not None and await _is_other(worker, one, decisions[0], outcome.memory_id)
    except NotHeld:  # it is in the log: whoever has the partition now decides it
        outcome, is_other = None, False
    memory_id = outcome.memory_id if outcome else one.memory_id
    if is_other or (first is not None and _differ(first.snapshot.content, one.snapshot.content)):
        return {"memory_id": memory_id, "action": "nothing", "reason": OTHER_CONTENT}
    if outcome is None:
        return {"memory_id": memory_id, "action": WAITING, "reason": "the log has it; it will be decided"}
    if first is not one:
        return {"memory_id": memory_id, "action": "nothing", "reason": "imported before"}
    return {"memory_id": memory_id, "action": outcome.action, "reason": outcome.reason}


async def _is_other(worker: Worker, one: Importable, decision: Decision, memory_id: str | None) -> bool:
    """Tell whether the memory of this source was imported with other words. Raises NotHeld."""
    memory = worker.shards.state(one.owner).memories.get(memory_id or "")
    if memory is not None and not _differ(memory.content, one.snapshot.content):
        return False
    # It may have been revised here since: what was imported stands in the inbox, unless that was tidied.
    record = await worker.shards.record(Position(INBOX.name, decision.item_partition, decision.item_offset))
    item = None if record is None else codec.decode(record.value)
    return isinstance(item, ImportMemory) and _differ(item.content.text, one.snapshot.content)


def _differ(a: str, b: str) -> bool:
    return a != b and digest(a) != digest(b)


def _decisions(worker: Worker, one: Importable) -> list[Decision]:
    return worker.shards.of(one.owner).ledger.decided(one.owner, one.command_id)


def _outcome(decisions: Sequence[Decision]) -> Outcome | None:
    return next((o for d in decisions for o in d.outcomes), None)


def _there(one: Importable, memory_id: str | None) -> tuple[object, ...]:
    """Return what names a memory where it was kept, and whose it becomes."""
    return one.owner, one.snapshot.source_system, one.snapshot.user_id, memory_id


def _groups(some: Sequence[Importable], size: int) -> list[Sequence[Importable]]:
    return [some[at : at + size] for at in range(0, len(some), size)]
