"""What the walk of the isolation test asks of the routes of mem0's protocol, which no document describes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from contract.isolation_world import AGENTS, SHARED_KEY, USERS

from mnemolog.access.principal import Role
from mnemolog.extensions.mem0.platform import ORGANISATION
from mnemolog.extensions.mem0.shapes import Adding

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import TypeAlias

    from contract.isolation_world import World

    Asked: TypeAlias = tuple[str, dict[str, str], Any]

RESET: Final = "/reset"
"""It forgets everything: only who may not is asked to do it."""
_HARMLESS: Final = {"run_id": "no such run"}
"""What is deleted, so that others find what they look for."""
_ADDING: Final = ("/v3/memories/add/", "/v1/memories/", "/memories")
_SAID: Final = [{"role": "user", "content": "likes tea"}]
ADDED: Final = {"messages": _SAID, "user_id": "ana"}
"""What was added for `ana`, under the shared key, before the state of it is asked for."""


def mem0_requests(world: World, name: str, method: str, template: str) -> Iterator[Asked]:
    """Yield (path, query, body) of what a caller asks of a route that names no memory in its path."""
    if template == RESET:
        return iter([(template, {}, None)] if Role.WRITE not in world.callers[name].key.roles else [])
    if "{event_id}" in template:
        return ((template.replace("{event_id}", Adding(user, SHARED_KEY, 1).name), {}, None) for user in USERS)
    if "{project}" in template:
        path = template.replace("{organisation}", ORGANISATION).replace("{project}", ORGANISATION)
        return iter([(path, {}, {"custom_instructions": ""} if method == "PATCH" else None)])
    if "{kind}" in template:
        return _of_entities(world, name, template)
    if "/batch/" in template or "/feedback/" in template:
        return _of_memories(world, name, template)
    return _of_bodies(template) if method == "POST" else _of_queries(method, template)


def _of_entities(world: World, name: str, template: str) -> Iterator[Asked]:
    seen = {place.user for place in world.seen_by(name)}
    for kind, one in [("run", "no such run"), *(("user", user) for user in USERS if user not in seen)]:
        yield template.replace("{kind}", kind).replace("{name}", one), {}, None


def _of_memories(world: World, name: str, template: str) -> Iterator[Asked]:
    hidden = world.hidden_from(name)
    if "/batch/" in template:
        yield template, {}, {"memories": []}
    for place in world.places if "/feedback/" in template else hidden:
        one = {"memory_id": place.memories[0] if place in hidden else place.common}
        yield (
            template,
            {},
            one | {"feedback": None} if "/feedback/" in template else {"memories": [one | {"text": "x"}]},
        )


def _of_bodies(template: str) -> Iterator[Asked]:
    for filters in _filters():
        adds = {"messages": _SAID, "infer": False, "filters": filters}
        yield template, {}, adds if template in _ADDING else {"query": "the garden", "filters": filters}


def _of_queries(method: str, template: str) -> Iterator[Asked]:
    for user in USERS:
        query = {"user_id": user} | (_HARMLESS if method == "DELETE" else {})
        yield template, {} if template in ("/v1/ping/", "/v1/entities/") else query, None


def _filters() -> Iterator[dict[str, Any]]:
    yield from ({"user_id": user} for user in USERS)
    yield from ({"agent_id": agent} for agent in AGENTS)
    yield {"AND": [{"user_id": USERS[0]}, {"agent_id": AGENTS[0]}]}
    yield {"OR": [{"user_id": user} for user in USERS]}
    yield {"user_id": "*"}
