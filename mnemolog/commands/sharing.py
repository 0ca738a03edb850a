"""Sharing a memory with another user, or with everyone: a snapshot that names its source goes to the target's inbox."""

from __future__ import annotations

from base64 import b64encode
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

import orjson

from mnemolog.access.caller import callers_key
from mnemolog.cluster.peers import ANSWER_SECONDS, PeerUnavailable
from mnemolog.commands.commands import DECISION_SECONDS, AnotherCommand
from projections.partitions.assignment import NotHeld
from projections.queries.validity import dated_view
from projections.state.evolve import is_decided
from projections.state.memory import ACTIVE
from schemas import codec
from schemas.identity import OURS, derived_id, import_id
from schemas.messages.envelope import Envelope, Sealed
from schemas.messages.inbox import ImportMemory

if TYPE_CHECKING:
    from datetime import datetime

    from mnemolog.cluster.peers import Peers
    from mnemolog.commands.commands import Commands
    from projections.partitions.shards import Shards
    from projections.state.memory import Memory
    from schemas.identity import Owner
    from schemas.instant import Clock


@dataclass(frozen=True, slots=True, kw_only=True)
class Shared:
    """The result of sharing: the memory as the other user has it, or None while the command is not decided."""

    command_id: str
    is_new: bool
    memory: dict[str, Any] | None

    @property
    def body(self) -> dict[str, Any]:
        """The result as JSON."""
        return {"command_id": self.command_id, "is_new": self.is_new, "memory": self.memory}


class Sharer:
    """Shares memories of this worker's users, and imports memories that users of other workers share with them."""

    def __init__(self, shards: Shards, commands: Commands, peers: Peers, clock: Clock) -> None:
        self._shards = shards
        self._commands = commands
        self._peers = peers
        self._clock = clock

    async def share(self, source: Owner, memory: Memory, target: Owner, agent_id: str | None) -> Shared:
        """Share an active memory of a user of this worker; each target imports it only once, even if it changes here.

        The worker that holds the target appends and decides. Raises PeerUnavailable, LogUnavailable.
        """
        vector = self._shards.of(source).ledger.vectors(source)[memory.memory_id]
        item = snapshot(source, memory, vector=vector, target=target, agent_id=agent_id, at=self._clock.now())
        try:
            url = self._peers.owner(self._shards.partition(target))
            if url is None:
                return await self.receive(item)
        except NotHeld as moving:  # about the target: this worker holds the source
            raise PeerUnavailable(str(moving)) from moving
        body = {"message": b64encode(codec.encode(item)).decode()}
        answer = await self._peers.ask(url, "/v1/internal/share", body, DECISION_SECONDS + ANSWER_SECONDS)
        return Shared(**answer)

    async def receive(self, item: ImportMemory) -> Shared:
        """Import a snapshot for a user of this worker, and wait for the decision. Raises NotHeld, LogUnavailable.

        The copy is created once for all agents; if the agent cannot see it yet, it is shared with that agent.
        """
        owner, command_id = item.envelope.owner, item.envelope.event_id
        self._shards.require(owner)
        is_new = not is_decided(self._shards.state(owner), command_id)
        if is_new:
            with suppress(AnotherCommand):  # shared twice at the same time: the first one counts
                if (await self._commands.submit(item)).outcome is None:
                    return Shared(command_id=command_id, is_new=True, memory=None)
        decisions = self._shards.of(owner).ledger.decided(owner, command_id)
        outcome = next((outcome for decision in decisions for outcome in decision.outcomes), None)
        if outcome is None or outcome.memory_id is None:
            return Shared(command_id=command_id, is_new=is_new, memory=None)
        now, agent_id = self._clock.now(), item.envelope.agent_id
        memory = self._shards.state(owner).memories[outcome.memory_id]
        if memory.status_at(now) == ACTIVE and not memory.visible_to(agent_id):  # it was imported for another agent
            agents_id = derived_id("shared", command_id, agent_id, memory.memory_id)
            answer = await self._commands.share(owner, memory.memory_id, cast("str", agent_id), agents_id)
            if answer.outcome is None:
                return Shared(command_id=agents_id, is_new=False, memory=None)
            memory = self._shards.state(owner).memories[memory.memory_id]
        view = dated_view(owner, memory, self._shards.state(owner).memories, now)
        return Shared(command_id=command_id, is_new=is_new and outcome.action != "nothing", memory=view)


def snapshot(
    source: Owner, memory: Memory, *, vector: bytes, target: Owner, agent_id: str | None, at: datetime
) -> ImportMemory:
    """Return the command with which another user imports a memory at an instant.

    The copy fills no slot of the other user, because it is about someone else, and it has no recalls or sources there.
    """
    metadata = {
        **orjson.loads(memory.metadata),
        "shared_from": {"user_id": source.user_id, "memory_id": memory.memory_id},
    }
    return ImportMemory(
        envelope=Envelope(
            event_id=import_id(target, OURS, source.user_id, memory.memory_id),
            tenant=target.tenant,
            user_id=target.user_id,
            agent_id=None if target.is_global else agent_id,
            occurred_at=at,
            by=callers_key(),
        ),
        source_system=OURS,
        source_user=source.user_id,
        source_memory=memory.memory_id,
        source_type=memory.source_type,
        content=Sealed.clear(memory.content),
        vector=Sealed.clear(vector),
        embedding_model=memory.embedding_model,
        scope="global" if target.is_global else "personal",
        kind=memory.kind,
        memory_type=memory.memory_type,
        category=memory.category,
        event_type=memory.event_type,
        emotion=memory.emotion,
        emotion_intensity=memory.emotion_intensity,
        key_dialogue=Sealed.clear(orjson.dumps(memory.key_dialogue)) if memory.key_dialogue else None,
        importance=memory.importance,
        source_ids=[],
        happened_at=memory.occurred_at,
        formed_at=at,
        last_accessed_at=at,
        expires_at=memory.expires_at,
        metadata=Sealed.clear(orjson.dumps(metadata)),
    )
