"""The principal: the sender of a request as identified by its API key, with the rights of that key."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from fnmatch import fnmatchcase
from typing import Final

from schemas.identity import DEFAULT_TENANT, GLOBAL_USER

PRINCIPAL: Final = "mnemolog.principal"
"""The member of a request's scope that holds the principal."""


class Role(StrEnum):
    """A role of a key. A key has one or more roles; no role implies another."""

    READ = "read"
    WRITE = "write"
    TENANT_ADMIN = "tenant-admin"
    """Export, import and erasure of the tenant's users, and queries over all of them."""
    OPERATOR = "operator"
    """The whole installation: ticks, rebuilds, digests, dead letters, checks."""
    METRICS = "metrics"


@dataclass(frozen=True, slots=True)
class Principal:
    """The sender of a request."""

    tenant: str
    roles: frozenset[Role]
    key_id: str | None = None
    """The public id of the key, which the history of a memory shows; None without keys."""
    users: tuple[str, ...] | None = None
    """Patterns (`*`, `?`) of the users that the key may access; None for all users of the tenant."""
    agents: tuple[str, ...] | None = None
    """The agents that the key may access; None for all."""

    def has_user(self, user_id: str) -> bool:
        """Return whether the key may access a user. A key limited to some users may not access global memories."""
        if self.users is None:
            return True
        return user_id != GLOBAL_USER and any(_matches(user_id, pattern) for pattern in self.users)

    def has_agent(self, agent_id: str | None) -> bool:
        """Return whether the key may access an agent. A key limited to some agents needs requests to name one."""
        return self.agents is None or agent_id in self.agents

    @property
    def is_narrowed(self) -> bool:
        """Whether the key is limited to some users or agents."""
        return self.users is not None or self.agents is not None

    @property
    def listed_users(self) -> tuple[str, ...] | None:
        """The users that the key is limited to, if it lists them without patterns; else None."""
        if self.users is None or any(set("*?") & set(user) for user in self.users):
            return None
        return self.users

    @property
    def only_user(self) -> str | None:
        """The user that the key is limited to, if it lists exactly one without a pattern; else None."""
        listed = self.listed_users
        return listed[0] if listed is not None and len(listed) == 1 else None


def _matches(user_id: str, pattern: str) -> bool:
    """Match a pattern in which only `*` and `?` are special; a bracket is literal, because user ids may contain it."""
    return fnmatchcase(user_id, pattern.replace("[", "[[]"))


LOCAL: Final = Principal(DEFAULT_TENANT, frozenset(Role))
"""The principal of every caller on loopback if no keys are configured."""
