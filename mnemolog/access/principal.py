"""The principal: the sender of a request as its API key identifies it, with the rights of that key."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from fnmatch import fnmatchcase
from typing import Final

from schemas.identity import DEFAULT_TENANT, GLOBAL_USER

PRINCIPAL: Final = "mnemolog.principal"
"""The member of a request's scope that holds the principal."""


class Role(StrEnum):
    """What a key is for. A key has one or more; none of them implies another."""

    READ = "read"
    WRITE = "write"
    TENANT_ADMIN = "tenant-admin"
    """Export, import and erasure of the tenant's users, and what is answered about all of them."""
    OPERATOR = "operator"
    """The whole installation: ticks, rebuilds, digests, dead letters, checks."""
    METRICS = "metrics"


@dataclass(frozen=True, slots=True)
class Principal:
    """The sender of a request."""

    tenant: str
    roles: frozenset[Role]
    key_id: str | None = None
    """The key's public part, as it stands in a memory's history; None without keys."""
    users: tuple[str, ...] | None = None
    """Patterns (`*`, `?`) of the users that the key is for; None: all of the tenant."""
    agents: tuple[str, ...] | None = None
    """The agents that the key is for; None: all."""

    def has_user(self, user_id: str) -> bool:
        """Return whether the key is for a user. A key for some users is not for global memories."""
        if self.users is None:
            return True
        return user_id != GLOBAL_USER and any(_matches(user_id, pattern) for pattern in self.users)

    def has_agent(self, agent_id: str | None) -> bool:
        """Return whether the key is for an agent. A key for some agents is not for requests that name none."""
        return self.agents is None or agent_id in self.agents

    @property
    def is_narrowed(self) -> bool:
        """Whether the key is for some users or agents only."""
        return self.users is not None or self.agents is not None

    @property
    def listed_users(self) -> tuple[str, ...] | None:
        """The users that the key is for, where it names each of them and no pattern."""
        if self.users is None or any(set("*?") & set(user) for user in self.users):
            return None
        return self.users

    @property
    def only_user(self) -> str | None:
        """The user that the key is for, where it names one and no pattern."""
        listed = self.listed_users
        return listed[0] if listed is not None and len(listed) == 1 else None


def _matches(user_id: str, pattern: str) -> bool:
    """Compare with `*` and `?` alone: a bracket stands for itself, as it may stand in a user's id."""
    return fnmatchcase(user_id, pattern.replace("[", "[[]"))


LOCAL: Final = Principal(DEFAULT_TENANT, frozenset(Role))
"""Every caller on loopback, where no keys are configured."""
