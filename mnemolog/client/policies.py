"""The routes about policies as calls."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mnemolog.client.call import Call, Json, command, get
from mnemolog.client.carrier import method

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any


def policy(*, agent_id: str | None = None) -> Call[Json]:
    """Return the policy in force for an agent, or for the tenant; `policy_id` is None where it is the default."""
    return get("/v1/policy", agent_id=agent_id)


def set_policy(policy: Mapping[str, Any], *, agent_id: str | None = None, key: str | None = None) -> Call[Json]:
    """Set the tenant's policy, or an agent's: `{instructions, categories, attributes, never, …}`; {} is the default."""
    return command("PUT", "/v1/policy", dict(policy), key, agent_id=agent_id)


class PolicyMethods:
    """The methods of these calls, of both clients."""

    policy = method(policy)
    set_policy = method(set_policy)
