"""The policies in force, read from the log: one for each tenant, and those of its agents."""

from __future__ import annotations

import asyncio
import hashlib
import logging
from collections import OrderedDict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from schemas import codec
from schemas.log import NewRecord
from schemas.messages.policy import PolicySet
from schemas.policy import Policy
from schemas.topics import POLICIES

if TYPE_CHECKING:
    from schemas.log import Log, Record

log = logging.getLogger("mnemolog")
MAX_AGENTS: Final = 1_000
"""The most agents of a tenant with a policy of their own: every worker keeps all policies in memory."""
MAX_REQUESTS: Final = 10_000
"""The number of a tenant's newest requests that are recognised when they are repeated."""


class PolicyRefused(ValueError):
    """The policy cannot be in force: the message says why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyInForce:
    """A policy and the message that set it."""

    policy: Policy
    version: int
    """Its number among the policies of this tenant, or of this agent, from 1."""
    message: PolicySet


class Policies:
    """Reads the topic of policies from its beginning, and follows it. A policy is in force once it was read.

    Every worker reads all of it: policies are few, and no partition owns a tenant.
    """

    def __init__(self, log: Log, *, max_agents: int = MAX_AGENTS, max_requests: int = MAX_REQUESTS) -> None:
        self._log = log
        self._max_agents = max_agents
        self._max_requests = max_requests
        self._next = 0
        self._held: dict[tuple[str, str | None], PolicyInForce] = {}
        self._agents: dict[str, int] = {}
        """The number of agents of each tenant that have had a policy of their own."""
        self._seen: dict[str, OrderedDict[bytes, bytes]] = {}
        """For each tenant, the hashes of the policies set by its newest requests, by the hash of the request's id."""
        self._following = asyncio.Lock()

    async def follow(self) -> None:
        """Read the topic to its present end. Raises LogUnavailable."""
        async with self._following:
            while records := await self._log.read(POLICIES.name, 0, self._next):
                for record in records:
                    self._fold(record)
                self._next = records[-1].position.offset + 1

    async def set(self, message: PolicySet) -> bool:
        """Append a policy, which is in force here when this returns; return True.

        Return False if an earlier request with this id has set another policy, which remains in force. Raises
        LogUnavailable, RecordTooLarge, and PolicyRefused if the policy cannot be read or the tenant has too many.
        """
        tenant, agent_id = message.envelope.tenant, message.envelope.agent_id
        try:
            Policy.decoded(message.policy.data)
        except (ValueError, TypeError) as error:
            raise PolicyRefused(f"this is no policy: {error}") from error
        await self.follow()
        self._check_room(tenant, agent_id)
        record = NewRecord(
            topic=POLICIES.name, partition=0, key=message.envelope.owner.key, value=codec.encode(message)
        )
        await self._log.append([record])
        await self.follow()
        requests = self._seen.get(tenant)
        seen = requests.get(_hash(message.envelope.event_id.encode())) if requests else None
        if seen is None:  # another worker's policies came between the check and the append
            self._check_room(tenant, agent_id)
            raise PolicyRefused("the policy was passed over: set it again")
        return seen == _said(message)

    def _check_room(self, tenant: str, agent_id: str | None) -> None:
        """Raise PolicyRefused if one more agent would get a policy of its own, and the tenant has the most allowed."""
        if self._is_one_too_many(tenant, agent_id):
            raise PolicyRefused(
                f"{self._max_agents} agents have a policy of their own, and no more can have one: "
                "change one of theirs, or the tenant's"
            )

    def _is_one_too_many(self, tenant: str, agent_id: str | None) -> bool:
        is_new = agent_id is not None and (tenant, agent_id) not in self._held
        return is_new and self._agents.get(tenant, 0) >= self._max_agents

    def own(self, tenant: str, agent_id: str | None) -> Policy | None:
        """Return the policy that was set for exactly this agent, or for the tenant if it is None; None if none was."""
        found = self._held.get((tenant, agent_id))
        return None if found is None else found.policy

    def in_force(self, tenant: str, agent_id: str | None) -> PolicyInForce | None:
        """Return the policy of an agent: its own, else its tenant's; None if neither was set."""
        own = self._held.get((tenant, agent_id)) if agent_id is not None else None
        return own or self._held.get((tenant, None))

    def of(self, tenant: str, agent_id: str | None) -> Policy | None:
        """Return the policy for the extraction; None stands for the default policy."""
        found = self.in_force(tenant, agent_id)
        return None if found is None or found.policy.is_default else found.policy

    def _fold(self, record: Record) -> None:
        if record.is_erased:
            return
        try:
            message = codec.decode_as(record.value, PolicySet)
            policy = Policy.decoded(message.policy.data)
        except (codec.Undecodable, ValueError, TypeError):
            log.error("the record at %s is no policy: it is passed over", record.position)  # noqa: TRY400 - another program wrote it
            return
        tenant, agent_id = key = (message.envelope.tenant, message.envelope.agent_id)
        request = _hash(message.envelope.event_id.encode())
        seen = self._seen.setdefault(tenant, OrderedDict())
        if request in seen:
            return  # it was sent again
        if self._is_one_too_many(tenant, agent_id):
            log.error("the policy at %s is of one agent too many: it is passed over", record.position)
            return
        seen[request] = _said(message)
        if len(seen) > self._max_requests:
            seen.popitem(last=False)
        before = self._held.get(key)
        if before is None and agent_id is not None:
            self._agents[tenant] = self._agents.get(tenant, 0) + 1
        version = before.version + 1 if before else 1
        self._held[key] = PolicyInForce(policy=policy, version=version, message=message)


def _said(message: PolicySet) -> bytes:
    """Return the hash of a message's policy and of the agent that it is for."""
    agent_id = message.envelope.agent_id
    return _hash((b"" if agent_id is None else _hash(agent_id.encode())) + message.policy.data)


def _hash(data: bytes) -> bytes:
    return hashlib.sha256(data).digest()
