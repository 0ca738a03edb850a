"""The policies in force, as the log has them: one of each tenant, and those of its agents."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING

from schemas import codec
from schemas.log import NewRecord
from schemas.messages.policy import PolicySet
from schemas.policy import Policy
from schemas.topics import POLICIES

if TYPE_CHECKING:
    from schemas.log import Log, Record

log = logging.getLogger("mnemolog")


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyInForce:
    """A policy and where it comes from."""

    policy: Policy
    version: int
    """Which one of this tenant, or of this agent, it is, from 1."""
    message: PolicySet


class Policies:
    """Reads the topic of policies from its beginning, and follows it. A policy is in force when it was read.

    Every worker reads all of it: policies are few, and no partition owns a tenant.
    """

    def __init__(self, log: Log) -> None:
        self._log = log
        self._next = 0
        self._held: dict[tuple[str, str | None], PolicyInForce] = {}
        self._seen: dict[tuple[str, str], tuple[str | None, bytes]] = {}
        """Of each request that was read, by tenant and id: whose policy it was, and which."""
        self._following = asyncio.Lock()

    async def follow(self) -> None:
        """Read what the topic holds by now. Raises LogUnavailable."""
        async with self._following:
            while records := await self._log.read(POLICIES.name, 0, self._next):
                for record in records:
                    self._fold(record)
                self._next = records[-1].position.offset + 1

    async def set(self, message: PolicySet) -> bool:
        """Append a policy, which is in force here when this returns.

        Returns False where a request of this id has set another policy, which stays. Raises LogUnavailable,
        RecordTooLarge.
        """
        record = NewRecord(
            topic=POLICIES.name, partition=0, key=message.envelope.owner.key, value=codec.encode(message)
        )
        await self._log.append([record])
        await self.follow()
        said = (message.envelope.agent_id, message.policy.data)
        return self._seen[message.envelope.tenant, message.envelope.event_id] == said

    def in_force(self, tenant: str, agent_id: str | None) -> PolicyInForce | None:
        """Return the policy of an agent: its own, else its tenant's; None where neither was set."""
        own = self._held.get((tenant, agent_id)) if agent_id is not None else None
        return own or self._held.get((tenant, None))

    def of(self, tenant: str, agent_id: str | None) -> Policy | None:
        """Return the policy to extract by; None is the default."""
        found = self.in_force(tenant, agent_id)
        return None if found is None or found.policy.is_default else found.policy

    def _fold(self, record: Record) -> None:
        if record.is_erased:
            return
        try:
            message = codec.decode_as(record.value, PolicySet)
            policy = Policy.decoded(message.policy.data)
        except (codec.Undecodable, ValueError, TypeError):
            log.error("the record at %s is no policy: it is passed over", record.position)  # noqa: TRY400 - who wrote it is not us
            return
        key = (message.envelope.tenant, message.envelope.agent_id)
        request = (message.envelope.tenant, message.envelope.event_id)
        if request in self._seen:
            return  # it was sent again
        self._seen[request] = (message.envelope.agent_id, message.policy.data)
        before = self._held.get(key)
        version = before.version + 1 if before else 1
        self._held[key] = PolicyInForce(policy=policy, version=version, message=message)
