"""The policies in force: what they hold is bounded, and what cannot be in force is refused."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest
from support.memory_log import MemoryLog

from schemas.identity import GLOBAL_USER
from schemas.messages.envelope import Envelope, Sealed
from schemas.messages.policy import PolicySet
from schemas.policy import Policy
from schemas.topics import POLICIES
from streams.policies.in_force import Policies, PolicyRefused

if TYPE_CHECKING:
    from collections.abc import Sequence

    from schemas.log import Appended, NewRecord

NOW = datetime(2026, 1, 5, tzinfo=UTC)


def policy_set(request: str, agent_id: str | None, word: str = "rent", tenant: str = "t") -> PolicySet:
    return PolicySet(
        envelope=Envelope(event_id=request, tenant=tenant, user_id=GLOBAL_USER, agent_id=agent_id, occurred_at=NOW),
        policy=Sealed.clear(Policy(never=(word,)).encoded()),
    )


async def test_one_agent_too_many_is_refused_and_nothing_is_appended():
    log = MemoryLog(1)
    policies = Policies(log, max_agents=2)
    assert await policies.set(policy_set("1", "luna"))
    assert await policies.set(policy_set("2", "nova"))
    with pytest.raises(PolicyRefused, match="2 agents have a policy of their own"):
        await policies.set(policy_set("3", "mira"))
    assert len(await log.read(POLICIES.name, 0, 0)) == 2
    assert policies.of("t", "mira") is None
    assert await policies.set(policy_set("4", "luna", "salary"))  # who has one may change it
    assert await policies.set(policy_set("5", None))
    assert await policies.set(policy_set("6", "mira", tenant="other"))


async def test_who_wrote_at_the_same_time_is_refused_by_every_worker_alike():
    """Two workers check before either appends: the order of the log decides."""

    class Raced(MemoryLog):
        rival: PolicySet | None = policy_set("1", "luna")

        async def append(self, records: Sequence[NewRecord]) -> list[Appended]:
            rival, self.rival = self.rival, None
            if rival is not None:
                await Policies(self, max_agents=1).set(rival)
            return await super().append(records)

    log = Raced(1)
    policies = Policies(log, max_agents=1)
    with pytest.raises(PolicyRefused, match="no more can have one"):
        await policies.set(policy_set("2", "nova"))
    later = Policies(log, max_agents=1)
    await later.follow()
    for worker in (policies, later):
        assert worker.of("t", "luna") is not None
        assert worker.of("t", "nova") is None


async def test_what_is_no_policy_is_refused_and_not_appended():
    log = MemoryLog(1)
    message = policy_set("1", None)
    bad = PolicySet(envelope=message.envelope, policy=Sealed.clear(b'{"never": [5]}'))
    with pytest.raises(PolicyRefused, match="no policy"):
        await Policies(log).set(bad)
    assert not await log.read(POLICIES.name, 0, 0)


async def test_of_a_tenants_requests_the_newest_are_known_again():
    policies = Policies(MemoryLog(1), max_requests=2)
    for request in ("1", "2", "3"):
        await policies.set(policy_set(request, "luna"))
        await policies.set(policy_set("1", "luna", tenant="other"))  # another tenant's are counted apart
    assert not await policies.set(policy_set("2", "luna", "another word"))
    found = policies.in_force("t", "luna")
    assert found is not None
    assert found.version == 3
    await policies.set(policy_set("1", "luna"))  # long ago: a new request
    found = policies.in_force("t", "luna")
    assert found is not None
    assert found.version == 4
