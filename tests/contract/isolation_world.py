"""Two tenants with two users each and two agents of each user, callers with keys of every kind, and what each may see.

What an agent was told has a word of its own. No request ever has that word, so whoever finds it in an answer was told
it by the worker.
"""

from __future__ import annotations

import asyncio
import logging
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

from contract.front_door import turn
from contract.wake_calls import MANY_SECONDS

from mnemolog.access.principal import Role
from projections.queries.entities import entity_id
from schemas.identity import Owner
from schemas.log import NewRecord
from schemas.topics import CONVERSATIONS

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from contract.keyed_door import Caller, KeyedDoor

EVERYTHING: Final = (Role.READ, Role.WRITE, Role.TENANT_ADMIN)
USERS: Final = ("ana", "ben")
AGENTS: Final = ("luna", "mia")
SHARED_KEY: Final = "shared-idempotency-key"
SHARED_EVENT: Final = "shared-event-id"
SHARED_SESSION: Final = "shared-session"
FOR_EVERYONE: Final = {"acme": "zorilla", "rival": "kakapo"}
"""A word of each tenant's memory for everyone, which every key of the tenant may read."""


STEERED: Final = {
    ("acme", "luna"): "wombat",
    ("acme", "mia"): "takahe",
    ("rival", None): "cassowary",
    ("rival", "mia"): "hoatzin",
}
"""A word of the policies of tenants (None) and of their agents."""


@dataclass
class Place:
    """What one agent of a user knows: its word, and the ids of what there is."""

    tenant: str
    user: str
    agent: str
    word: str
    memories: list[str] = field(default_factory=list)
    common: str = ""
    """A memory without the word: what may change it does."""
    events: list[str] = field(default_factory=list)
    reminder: str = ""
    webhook: str = ""

    @property
    def friend(self) -> str:
        """A name, which is an entity."""
        return f"{self.word} 7"

    @cached_property
    def entity(self) -> str:
        return entity_id(Owner(self.tenant, self.user), self.friend)

    @property
    def ids(self) -> list[str]:
        """What only this place's callers may be told: of two tenants some ids are the same on purpose."""
        events = (event for event in self.events if event != SHARED_EVENT)
        return [*self.memories, self.common, self.reminder, self.webhook, self.entity, *events]

    def is_of(self, caller: Caller) -> bool:
        """Return whether a key is for this place."""
        who = caller.key.principal
        return who.tenant == self.tenant and who.has_user(self.user) and who.has_agent(self.agent)


def new_places() -> list[Place]:
    return [
        Place("acme", "ana", "luna", "quokka"),
        Place("acme", "ana", "mia", "axolotl"),
        Place("acme", "ben", "luna", "okapi"),
        Place("acme", "ben", "mia", "numbat"),
        Place("rival", "ana", "luna", "pangolin"),
        Place("rival", "ana", "mia", "tapir"),
        Place("rival", "ben", "luna", "saola"),
        Place("rival", "ben", "mia", "dugong"),
    ]


@dataclass
class World:
    """Everything that the test asks, and whom it asks as."""

    door: KeyedDoor
    places: list[Place]
    full: dict[str, Caller]
    """Who may do everything in a tenant: they make what there is, and put back what others changed."""
    callers: dict[str, Caller]
    logged: Lines
    answered: dict[tuple[str, str], set[int]] = field(default_factory=dict)
    """The statuses that were seen of each method and path."""
    unknown: dict[str, tuple[int, str]] = field(default_factory=dict)
    """What was answered about what is not there: a walk asks each such thing once."""
    _seen: dict[str, list[Place]] = field(default_factory=dict)
    _hidden: dict[str, list[Place]] = field(default_factory=dict)
    _hidden_words: dict[str, set[str]] = field(default_factory=dict)
    _hidden_names: dict[str, set[str]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Find once who may see what: a fault of the worker is no excuse for it."""
        for name, caller in self.callers.items():
            self._seen[name] = [p for p in self.places if p.is_of(caller)] if self.may_read(name) else []
            self._hidden[name] = [place for place in self.places if place not in self._seen[name]]
            self._hidden_words[name] = self._words_hidden_from(name)
            self._hidden_names[name] = self._names_hidden_from(name)

    @cached_property
    def document(self) -> dict[str, Any]:
        """The document of all routes."""
        found: dict[str, Any] = self.door.app.openapi()
        return found

    def seen_by(self, name: str) -> list[Place]:
        """Return the places whose words a caller may see."""
        return self._seen[name]

    @property
    def words(self) -> set[str]:
        return {place.word for place in self.places} | {*FOR_EVERYONE.values(), *STEERED.values()}

    def hidden_words(self, name: str) -> set[str]:
        """Return the words that no answer to a caller may have."""
        return self._hidden_words[name]

    def _words_hidden_from(self, name: str) -> set[str]:
        tenant, who = self.callers[name].key.tenant, self.callers[name].key.principal
        steered = {
            word
            for (place, agent), word in STEERED.items()
            if place != tenant or not self.may_read(name) or not (agent is None or who.has_agent(agent))
        }
        everyones = {word for place, word in FOR_EVERYONE.items() if place != tenant or not self.may_read(name)}
        return {place.word for place in self.hidden_from(name)} | everyones | steered

    def hidden_ids(self, name: str) -> Iterator[str]:
        """Yield the ids that no answer to a caller may have, unless it named them: of memories, keys and users."""
        yield from self._hidden_names[name]
        for place in self.hidden_from(name):
            yield from place.ids

    def _names_hidden_from(self, name: str) -> set[str]:
        tenant, who = self.callers[name].key.tenant, self.callers[name].key.principal
        keys = {caller.key.key_id for caller in self.callers.values() if caller.key.tenant != tenant}
        users = {f'"{user}"' for user in USERS if who.users is not None and not who.has_user(user)}
        return keys | users

    def may_read(self, name: str) -> bool:
        return bool(self.callers[name].key.roles & set(EVERYTHING))

    def may_erase(self, name: str, user: str) -> bool:
        """Return whether a caller may erase a user that places are of: a key for some agents may not."""
        key = self.callers[name].key
        return (
            Role.TENANT_ADMIN in key.roles
            and key.principal.agents is None
            and key.principal.has_user(user)
            and any((place.tenant, place.user) == (key.tenant, user) for place in self.places)
        )

    def hidden_from(self, name: str) -> list[Place]:
        return self._hidden[name]


class Lines(logging.Handler):
    """Every log line at every level, as it is written; the test's own client is left out, for it names what it asks."""

    def __init__(self) -> None:
        super().__init__(logging.DEBUG)
        self.setFormatter(logging.Formatter("%(name)s %(levelname)s %(message)s"))
        self.text: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        if not record.name.startswith(("httpx", "httpcore")):
            self.text.append(self.format(record))


@contextmanager
def logged() -> Iterator[Lines]:
    """Keep all log lines of the block."""
    root, lines = logging.getLogger(), Lines()
    before = root.level
    root.addHandler(lines)
    root.setLevel(logging.DEBUG)
    try:
        yield lines
    finally:
        root.setLevel(before)
        root.removeHandler(lines)


async def new_world(door: KeyedDoor, lines: Lines) -> World:
    """Fill a worker, and make the callers."""
    full = {tenant: door.caller(*EVERYTHING, tenant=tenant) for tenant in FOR_EVERYONE}
    places = new_places()
    for tenant, word in FOR_EVERYONE.items():
        everyones = {"user_id": "ana", "content": f"the {word} in the garden is everybody's", "scope": "global"}
        assert (await full[tenant].ask("POST", "/v1/memories", everyones)).status_code == 201
    for number, place in enumerate(places):
        await fill(full[place.tenant], place, number)
    await steer(full)
    for tenant, user in {(place.tenant, place.user) for place in places}:
        await raised(full[tenant], user)
    await put_aside(door, places)
    callers = {
        "all of acme": full["acme"],
        "all of rival": full["rival"],
        "reader": door.caller(Role.READ, tenant="acme"),
        "writer": door.caller(Role.WRITE, tenant="acme"),
        "admin": door.caller(Role.TENANT_ADMIN, tenant="rival"),
        "ana": door.caller(*EVERYTHING, tenant="acme", users=("ana",)),
        "b?n": door.caller(*EVERYTHING, tenant="rival", users=("b?n",)),
        "luna": door.caller(*EVERYTHING, tenant="acme", agents=("luna",)),
        "ana and mia": door.caller(*EVERYTHING, tenant="rival", users=("ana",), agents=("mia",)),
        "operator": door.caller(Role.OPERATOR, tenant="acme"),
        "operator who reads": door.caller(Role.OPERATOR, Role.READ, tenant="acme"),
        "metrics": door.caller(Role.METRICS, tenant="acme"),
        "stranger": door.caller(*EVERYTHING, tenant="stranger"),
    }
    return World(door, places, full, callers, lines)


async def steer(full: dict[str, Caller]) -> None:
    """Set the policies of tenants and agents."""
    for (tenant, agent), word in STEERED.items():
        query = {} if agent is None else {"agent_id": agent}
        made = await full[tenant].ask("PUT", "/v1/policy", {"instructions": f"remember the {word}"}, None, **query)
        assert made.status_code == 200, made.text


async def fill(caller: Caller, place: Place, number: int) -> None:
    """Have an agent be told things of every kind, all with its word."""
    more = {"user_id": place.user, "agent_id": place.agent}
    feeling = {"event_type": "confession", "emotion": "joy", "emotion_intensity": 0.9}
    kinds: list[dict[str, Any]] = [
        {},
        {"kind": "episodic", "metadata": feeling},
        {"metadata": {"event_type": "appointment", "when": "2090-01-01"}},
        {"attribute": "user_name", "value": place.word},
        {"attribute": "friends", "value": place.friend},
    ]
    for count, kind in enumerate(kinds):
        body = more | {"content": f"the {place.word} in the garden, part {count}"} | kind
        key = SHARED_KEY if number % 4 == count == 0 else f"{place.word}-{count}"
        made = await caller.ask("POST", "/v1/memories", body, {"Idempotency-Key": key})
        assert made.status_code == 201, made.text
        place.memories.append(made.json()["memory_id"])
    common = await caller.ask("POST", "/v1/memories", more | {"content": f"something common of {place.agent}"})
    assert common.status_code == 201, common.text
    place.common = common.json()["memory_id"]
    place.events = [f"event-{number}"] + ([SHARED_EVENT] if place.agent == "luna" else [])
    for event_id in place.events:
        said = turn(event_id, f"I saw the {place.word} in the garden", session_id=SHARED_SESSION, **more)
        assert (await caller.ask("POST", "/v1/events", said)).status_code == 202
    await remind(caller, place)
    await hook(caller, place)
    past = {"due_at": "2020-01-01", "content": f"water the {place.word} now", "agent_id": place.agent}
    assert (await caller.ask("POST", f"/v1/users/{place.user}/reminders", past)).status_code == 201
    if place.agent == "mia":
        await wake(caller, place)


async def remind(caller: Caller, place: Place) -> None:
    """Have a place have its reminder that waits."""
    waits = {"due_at": "2090-01-01", "content": f"feed the {place.word} in the garden", "agent_id": place.agent}
    made = await caller.ask("POST", f"/v1/users/{place.user}/reminders", waits)
    assert made.status_code == 201, made.text
    place.reminder = made.json()["reminder_id"]


async def hook(caller: Caller, place: Place) -> None:
    """Have a place have its webhook."""
    body = {"url": f"https://{place.word}.invalid/", "user_id": place.user, "agent_id": place.agent}
    made = await caller.ask("POST", "/v1/webhooks", body)
    assert made.status_code == 201, made.text
    place.webhook = made.json()["webhook_id"]


async def wake(caller: Caller, place: Place) -> None:
    """Have a user have its periodic wake, which is this agent's."""
    body = {"every_seconds": 86_400, "text": f"look after the {place.word}", "agent_id": place.agent}
    made = await caller.ask("PUT", f"/v1/users/{place.user}/wake", body)
    assert made.status_code == 200, made.text


async def raised(caller: Caller, user: str) -> None:
    """Wait until both agents of a user have been reminded of what is past."""
    async with asyncio.timeout(MANY_SECONDS):
        while True:
            found = (await caller.ask("GET", f"/v1/users/{user}/wakes")).json()["items"]
            if len(found) >= len(AGENTS):
                return
            await asyncio.sleep(0.05)


async def put_aside(door: KeyedDoor, places: Sequence[Place]) -> None:
    """Have the log hold a record of each place that nobody can read, and wait until it is a dead letter."""
    log, topic = door.worker.log, CONVERSATIONS.name
    for place in places:
        key = f"{place.tenant}/{place.user}".encode()
        value = f'{{"type": "TurnRecorded", "the {place.word} in a record": "in the garden"}}'.encode()
        await log.append([NewRecord(topic=topic, partition=0, key=key, value=value)])
    async with asyncio.timeout(MANY_SECONDS):
        while True:
            letters = await door.worker.dead_letters.waiting()
            if len(letters) >= len(places):
                return
            await asyncio.sleep(0.05)


async def intact(world: World) -> list[str]:
    """Return what is no longer as it was made: somebody changed what was not theirs."""
    changed = []
    for place in world.places:
        caller = world.full[place.tenant]
        for number, memory_id in enumerate(place.memories):
            found = (await caller.ask("GET", f"/v1/memories/{memory_id}")).json()
            if (found["content"], found["status"]) != (f"the {place.word} in the garden, part {number}", "active"):
                changed.append(f"{place.word}: {found}")
        reminders = (await caller.ask("GET", f"/v1/users/{place.user}/reminders")).json()
        if place.reminder not in {item["reminder_id"] for item in reminders["items"]}:
            changed.append(f"{place.word}: its reminder is gone")
        if (await caller.ask("GET", f"/v1/webhooks/{place.webhook}")).json().get("attempts") is None:
            changed.append(f"{place.word}: its webhook is gone")
        configured = (await caller.ask("GET", f"/v1/users/{place.user}/wake")).json()
        if place.agent == "mia" and configured.get("text") != f"look after the {place.word}":
            changed.append(f"{place.word}: its wake is another one")
    return changed
