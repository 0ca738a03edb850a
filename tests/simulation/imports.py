"""Imports of a simulated run, by a chance of their own: sent again on the same and later days, forgotten between."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from random import Random
from typing import TYPE_CHECKING, Final

from simulation.scripted_extractor import fact, vector
from simulation.steps import Step

from schemas import codec
from schemas.identity import OURS, commanded_memory_id, derived_id, import_id
from schemas.log import NewRecord
from schemas.messages.envelope import Envelope, Sealed
from schemas.messages.inbox import ForgetMemory, ImportMemory, ReviseMemory
from schemas.topics import INBOX, partition_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    from simulation.steps import Phase

    from schemas.identity import Owner
    from schemas.messages.inbox import UserItem

FIRST_FACT: Final = 10_000
"""Of imports: what is said in a run has lower numbers."""
LIFE: Final = timedelta(hours=48)


def add_imports(
    seed: int,
    phases: Sequence[Phase],
    partitions: int,
    users: Sequence[Owner],
    formed: Mapping[Owner, Sequence[str]],
    *,
    wild: bool,
) -> dict[Owner, list[str]]:
    """Add imports behind what each user asks for on each day; return the memories that must come of them.

    In wild runs a user's own memories come back too, as from an export: they are known, or were never formed.
    """
    chance, number = Random(f"imports {seed}"), FIRST_FACT  # noqa: S311 - repeatable on purpose
    made: dict[Owner, list[ImportMemory]] = {}
    for phase in phases:
        for owner, steps in zip(users, phase.asked, strict=False):
            items: list[UserItem] = []
            for _ in range(chance.choice((0, 0, 1, 2, 3))):
                number += 1
                item = _import(owner, number, phase.at, chance)
                made.setdefault(owner, []).append(item)
                items.append(item)
                memory_id = commanded_memory_id(owner, item.envelope.event_id)
                if chance.random() < 0.2:
                    items.append(ReviseMemory(envelope=_named(item, "share", "nova"), memory_id=memory_id))
                if chance.random() < 0.3:
                    items.append(ForgetMemory(envelope=_named(item, "forget"), memory_id=memory_id))
            items += [
                replace(item, envelope=replace(item.envelope, occurred_at=phase.at), access_count=9)
                for item in made.get(owner, ())  # of the days before too: the file is imported again
                if chance.random() < 0.3
            ]
            if wild and formed.get(owner) and chance.random() < 0.5:
                own = chance.choice(formed[owner])
                items.append(_import(owner, number := number + 1, phase.at, chance, source_memory=own))
            steps += [_step(item, partitions, chance) for item in items]
    return {
        owner: [commanded_memory_id(owner, item.envelope.event_id) for item in items] for owner, items in made.items()
    }


def _import(owner: Owner, number: int, at: datetime, chance: Random, source_memory: str | None = None) -> ImportMemory:
    kind = chance.choice(("trait", "brief", "event", "city"))
    word = fact(kind, number)
    # no two are of one instant, or which of two cities holds would depend on the order in which they come
    formed_at = at - timedelta(hours=chance.randrange(1, 1_000), microseconds=number)
    system = "evatar" if source_memory is None else OURS
    source_memory = source_memory or str(number)
    return ImportMemory(
        envelope=Envelope(
            event_id=import_id(owner, system, owner.user_id, source_memory),
            tenant=owner.tenant,
            user_id=owner.user_id,
            agent_id=chance.choice((None, "luna")),
            occurred_at=at,
        ),
        source_system=system,
        source_user=owner.user_id,
        source_memory=source_memory,
        content=Sealed.clear(word),
        vector=Sealed.clear(vector(word).astype("<f4").tobytes()),
        embedding_model="hash",
        kind="episodic" if kind == "event" else "semantic",
        memory_type="short_term" if kind == "brief" else "long_term",
        attribute="city" if kind == "city" else None,
        value=Sealed.clear(f"town {word}") if kind == "city" else None,
        source_ids=[],
        happened_at=formed_at,
        formed_at=formed_at,
        last_accessed_at=formed_at + timedelta(minutes=chance.randrange(60)),
        expires_at=formed_at + LIFE if kind == "brief" else None,
        status=chance.choice(("active", "active", "active", "expired", "forgotten")),
    )


def _named(item: ImportMemory, *cause: str) -> Envelope:
    """Return the envelope of a command that follows an import."""
    return replace(item.envelope, event_id=derived_id(*cause, item.envelope.event_id), agent_id=(*cause[1:], None)[0])


def _step(item: UserItem, partitions: int, chance: Random) -> Step:
    owner, again, value = item.envelope.owner, chance.random() < 0.2, codec.encode(item)
    partition = partition_of(owner.key, partitions)
    return Step(chance.random(), NewRecord(topic=INBOX.name, partition=partition, key=owner.key, value=value), again)
