"""The owner that a request of mem0's protocol is about.

mem0 stores memories of users, agents, applications and runs. Here every memory has a user: a memory without a named
user is stored under a user whose name is derived from another entity that it names.
"""

from __future__ import annotations

from dataclasses import dataclass
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Final

from mnemolog.http.problems import Problem

if TYPE_CHECKING:
    from collections.abc import Mapping

USER: Final = "user_id"
AGENT: Final = "agent_id"
APP: Final = "app_id"
RUN: Final = "run_id"
ENTITIES: Final = (USER, AGENT, APP, RUN)
"""The entities that a memory can belong to. A run is a session here, and the application is part of the metadata."""
KINDS: Final = {"user": USER, "agent": AGENT, "app": APP, "run": RUN}
"""The entities by their names in mem0's paths."""
_MADE: Final = "mem0:"
"""The prefix of derived user names."""
NOBODY: Final = "say whose memories: give user_id, agent_id, app_id or run_id, at the top or in `filters`"


@dataclass(frozen=True, slots=True)
class Whose:
    """The entities that a request names, at least one, by mem0's names."""

    named: Mapping[str, str]

    @property
    def user_id(self) -> str:
        """The user under whom the memory is stored here."""
        if USER in self.named:
            return self.named[USER]
        name = next(name for name in ENTITIES if name in self.named)
        return made_user(name, self.named[name])


def made_user(entity: str, name: str) -> str:
    """Return the derived user for memories of an agent, an application or a run alone."""
    return f"{_MADE}{entity.removesuffix('_id')}:{name}"


def shown_user(user_id: str) -> str | None:
    """Return the user as shown to mem0: None for a derived one."""
    return None if user_id.startswith(_MADE) else user_id


def session_of(whose: Whose) -> str:
    """Return the session of a run; without a run, one for the user and the agent."""
    return whose.named.get(RUN) or f"{_MADE}{whose.named.get(AGENT, '')}"


def shown_run(session_id: str | None) -> str | None:
    """Return a session as the run shown to mem0: None if none was named."""
    return None if session_id is None or session_id.startswith(_MADE) else session_id


def whose_of(body: Mapping[str, Any]) -> Whose:
    """Return the owner of a new memory, from the top level of a body or from its filters. Raises Problem."""
    named: dict[str, str] = {}
    for name, value in _named_in(body):
        if value is None or value == "":
            continue
        if not isinstance(value, str | int) or isinstance(value, bool):
            raise Problem(HTTPStatus.BAD_REQUEST, f"{name} must be a text, such as 'alice'")
        if named.setdefault(name, str(value)) != str(value):
            raise Problem(HTTPStatus.BAD_REQUEST, f"{name} is given twice, and not the same: say which one is meant")
    if not named:
        raise Problem(HTTPStatus.BAD_REQUEST, NOBODY)
    return Whose(named)


def _named_in(body: Mapping[str, Any]) -> list[tuple[str, Any]]:
    filters = body.get("filters")
    places = [body]
    if isinstance(filters, dict):
        both = filters.get("AND")
        places += [filters, *(one for one in both if isinstance(one, dict))] if isinstance(both, list) else [filters]
    return [(name, place[name]) for place in places for name in ENTITIES if name in place]
