"""Ranked memories: a user's memories in the orders that contexts ask for, and the profile, in step with the state.

The orders hold only ids and keys: each memory is read from the state and checked at the instant of the question. A
forgotten memory therefore cannot appear, even if an order were wrong.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections import defaultdict
from dataclasses import dataclass, field
from datetime import UTC
from heapq import merge
from itertools import islice
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from projections.profile.profile import profile
from projections.profile.visibility import NAME, SENSITIVE, Topics, Visibility, about_topics
from projections.state.lifetime import count_over, is_over
from projections.state.memory import ACTIVE, UserState
from projections.state.provenance import provenance_of
from projections.turns import in_turns, stepwise, to_end
from schemas.bounded_cache import BoundedCache
from schemas.inputs.zone import local, local_time
from schemas.vocabulary.words import DOCUMENT

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Generator, Iterable, Iterator, Mapping
    from datetime import datetime, tzinfo

    from projections.state.memory import Memory
    from schemas.identity import Owner

    Key: TypeAlias = tuple[float, ...]
    Place: TypeAlias = tuple[Key, str]
    Meets: TypeAlias = Callable[[Memory], bool] | None

MOST_MEMORIES: Final = 200_000
"""The most memories of all cached users, each user counting as one more; then the least recently used are evicted."""
PLANNED: Final = "schedule"
"""Evatar's category for days and appointments."""
FEW: Final = 8
"""The orders are updated in place if at most one in FEW memories changed, and rebuilt otherwise."""
MOST_PROFILES: Final = 32


@dataclass(slots=True)
class _AgentLists:
    """The active memories that are visible to the same agents, in their orders."""

    ranked: list[Place] = field(default_factory=list)
    """By importance, then last access, both descending, then id."""
    episodes: list[Place] = field(default_factory=list)
    """The newest first, then as `ranked`."""
    ends: list[datetime] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _Kept:
    """A profile, and the begin and end of the time in which it is valid."""

    begin: datetime
    end: datetime | None
    found: dict[str, Any]


class RankedMemories:
    """One user's memories in order. All answers are those of the state that was followed last."""

    def __init__(self, state: UserState) -> None:
        self._state = state
        self._ordered: dict[str, Memory] = {}
        """Every memory as the orders contain it, by id. A lookup here is faster than one in the state."""
        self._lists: defaultdict[tuple[str, ...], _AgentLists] = defaultdict(_AgentLists)
        """The lists by the agents that may see them; () for all agents."""
        self._profiles: dict[tuple[str | None, Visibility, frozenset[str] | None, frozenset[str]], _Kept] = {}
        self._topics = Topics(())
        self._has_other_topics = False
        self._sensitive: set[str] | None = None
        """The ids of the memories about a sensitive topic; None if they have not been determined."""
        to_end(self._fill())

    @classmethod
    def made_in_steps(cls, state: UserState) -> Generator[None, None, RankedMemories]:
        """Build the orders of a state's memories in steps, and return them."""
        made = cls(UserState(owner=state.owner))
        made._state = state
        yield from made._fill()
        return made

    def follow(self, state: UserState) -> None:
        """Move to another state of the same user; only the changed memories are sorted again if they are few."""
        if not self.follow_changes(state):
            self._state = state
            to_end(self._fill())

    def follow_changes(self, state: UserState) -> bool:
        """Move to another state of the same user if little has changed; return False if the orders must be rebuilt.

        In that case nothing is changed.
        """
        if state is self._state:
            return True
        before = self._ordered
        changed = [m for i, m in state.memories.items() if before.get(i) is not m]
        new = sum(m.memory_id not in before for m in changed)
        if FEW * len(changed) > len(before) or len(state.memories) != len(before) + new:
            return False
        self._state = state
        for memory in changed:
            known = before.get(memory.memory_id)
            before[memory.memory_id] = memory
            if known is not None:
                self._remove(known)
            self._insert(memory)
            if self._about_user(known) != self._about_user(memory):
                self._profiles.clear()
        if any(m.attribute == SENSITIVE for m in changed):
            self._has_other_topics = True
        if self._sensitive is not None:
            self._sensitive -= {m.memory_id for m in changed}
            self._sensitive |= {m.memory_id for m in changed if self._topics.touch(m)}
        return True

    # -- questions

    @property
    def provenances(self) -> Mapping[str, str]:
        """The provenance of each memory that fills a slot of the profile, by id."""
        memories = (self._state.memories[i] for ids in self._state.by_attribute.values() for i in ids)
        return {m.memory_id: provenance_of(m) for m in memories}

    def best(
        self,
        at: datetime,
        agent_id: str | None,
        visibility: Visibility,
        limit: int,
        without: Collection[str] = (),
        *,
        meets: Meets = None,
    ) -> list[Memory]:
        """Return the memories by importance, then last access (Evatar), except those of the provenances `without`."""
        return list(islice(self._shown("ranked", at, agent_id, visibility, without, meets=meets), limit))

    def newest(
        self,
        at: datetime,
        agent_id: str | None,
        visibility: Visibility,
        limit: int,
        without: Collection[str] = (),
        *,
        meets: Meets = None,
    ) -> list[Memory]:
        """Return the newest episodes, except those of the provenances `without`."""
        return list(islice(self._shown("episodes", at, agent_id, visibility, without, meets=meets), limit))

    def coming(
        self,
        at: datetime,
        until: datetime,
        agent_id: str | None,
        visibility: Visibility,
        limit: int,
        *,
        zone: tzinfo = UTC,
    ) -> list[Memory]:
        """Return the plans from the day of `at` up to `until`, the soonest first. Days are those of `zone`."""
        today = local(at, zone).date()

        def is_ahead(memory: Memory) -> bool:
            if memory.category != PLANNED:
                return False
            moment = local_time(memory.occurred_at, zone)
            return today <= moment.date() and memory.said_at < moment <= until

        plans = self._meeting(is_ahead, at, agent_id, visibility)
        return sorted(plans, key=lambda m: (m.occurred_at, m.memory_id))[:limit]

    def said_since(
        self, since: datetime, at: datetime, agent_id: str | None, visibility: Visibility, *, without: Collection[str]
    ) -> list[Memory]:
        """Return the statements since an instant that fill no slot, the newest first; `without` is a set of ids."""

        def is_said_since(memory: Memory) -> bool:
            is_in_time = since <= memory.said_at <= at
            return is_in_time and memory.kind == "semantic" and not memory.slot and memory.memory_id not in without

        said = self._meeting(is_said_since, at, agent_id, visibility)
        return sorted(said, key=lambda m: (m.said_at, m.memory_id), reverse=True)

    def filling(
        self,
        names: Collection[str],
        at: datetime,
        agent_id: str | None,
        visibility: Visibility,
        without: Collection[str] = (),
        *,
        meets: Meets = None,
    ) -> list[Memory]:
        """Return the visible memories that fill one of these slots of the profile."""
        shows = self.shows(visibility)
        return [m for m in self._of_attributes(names, at, agent_id, without, meets=meets) if shows(m)]

    def total(
        self,
        at: datetime,
        agent_id: str | None,
        visibility: Visibility,
        without: Collection[str] = (),
        *,
        meets: Meets = None,
    ) -> int:
        """Return the number of memories that are visible at an instant."""
        if visibility is Visibility.NAME_ONLY:
            return len(self._of_attributes({NAME}, at, agent_id, without, meets=meets))
        if without or meets is not None:  # the lists hold nothing but the order
            return sum(1 for _ in self._shown("ranked", at, agent_id, visibility, without, meets=meets))
        shelves = _lists_of(self._lists, agent_id)
        total = sum(len(lists.ranked) - count_over(lists.ends, at) for lists in shelves)
        if visibility is Visibility.EVERYTHING:
            return total
        hidden = (self._state.memories[i] for i in self._hidden())
        return total - sum(_is_shown(m, at, agent_id) for m in hidden)

    def shows(self, visibility: Visibility) -> Callable[[Memory], bool]:
        """Return a test of whether a memory, personal or global, is visible at all."""
        match visibility:
            case Visibility.EVERYTHING:
                return lambda _: True
            case Visibility.NAME_ONLY:
                return lambda _: False
            case Visibility.NOTHING_SENSITIVE:
                hidden, own = self._hidden(), self._state.memories
                # A memory that differs from the state's is global, or has changed since this test was returned.
                return lambda m: m.memory_id not in hidden if own.get(m.memory_id) is m else not self._topics.touch(m)

    def names_sensitive(self, text: str, visibility: Visibility) -> bool:
        """Return whether a text of the conversation mentions a topic that must stay hidden."""
        if visibility is Visibility.EVERYTHING:
            return False
        self._hidden()  # brings the topics up to date
        return self._topics.are_in(text)

    def profile(
        self,
        at: datetime,
        agent_id: str | None,
        visibility: Visibility,
        only: Collection[str] | None = None,
        without: Collection[str] = (),
        *,
        meets: Meets = None,
    ) -> dict[str, Any]:
        """Return the profile of these attributes or of all, without the provenances `without`. Do not modify it.

        The profile is cached, unless `meets` restricts the memories.
        """
        names = frozenset({NAME}) if visibility is Visibility.NAME_ONLY else None if only is None else frozenset(only)
        asked = (agent_id, visibility, names, frozenset(without))
        kept = self._profiles.get(asked)
        if meets is None and kept is not None and kept.begin <= at and not is_over(kept.end, at):
            return kept.found
        hidden = self._hidden() if visibility is Visibility.NOTHING_SENSITIVE else set[str]()
        memories = [
            m for m in self._of_attributes(names, at, agent_id, without, meets=meets) if m.memory_id not in hidden
        ]
        ends = [end for m in memories if (end := m.ends_at) is not None]
        found = profile(memories, at, agent_id)
        if meets is not None:
            return found
        if len(self._profiles) >= MOST_PROFILES:
            self._profiles.clear()
        self._profiles[asked] = _Kept(at, min(ends, default=None), found)
        return found

    # -- maintenance of the orders

    def _fill(self) -> Generator[None, None, None]:
        """Build all orders from the state, in steps."""
        memories = self._state.memories
        self._ordered = dict(memories.items())
        self._lists.clear()
        self._profiles.clear()
        self._sensitive = None
        for some in stepwise(memories.values()):
            for memory in filter(_is_ranked, some):
                lists = self._lists[_agents(memory)]
                lists.ranked.append(place_of(memory))
                if memory.kind == "episodic":
                    lists.episodes.append(_dated(memory))
                if (end := memory.ends_at) is not None:
                    lists.ends.append(end)
            yield
        for lists in self._lists.values():
            lists.ranked.sort()
            yield
            lists.episodes.sort()
            lists.ends.sort()
            yield

    def _insert(self, memory: Memory) -> None:
        if _is_ranked(memory):
            lists = self._lists[_agents(memory)]
            insort(lists.ranked, place_of(memory))
            if memory.kind == "episodic":
                insort(lists.episodes, _dated(memory))
            if (end := memory.ends_at) is not None:
                insort(lists.ends, end)

    def _remove(self, memory: Memory) -> None:
        if _is_ranked(memory):
            lists = self._lists[_agents(memory)]
            del lists.ranked[bisect_left(lists.ranked, place_of(memory))]
            if memory.kind == "episodic":
                del lists.episodes[bisect_left(lists.episodes, _dated(memory))]
            if (end := memory.ends_at) is not None:
                del lists.ends[bisect_left(lists.ends, end)]

    @staticmethod
    def _about_user(memory: Memory | None) -> tuple[object, ...] | None:
        """Return the parts of a memory that affect the profile; None if it does not affect it."""
        if memory is None or not memory.attribute or memory.subject is not None:
            return None
        said = (memory.content, memory.value, memory.key_dialogue)  # which may name a sensitive topic
        return (memory.status, _agents(memory), memory.ends_at, *said)

    def _meeting(
        self, meets: Callable[[Memory], bool], at: datetime, agent_id: str | None, visibility: Visibility
    ) -> list[Memory]:
        """Return the memories that meet a condition, in no order: few do, so it is asked before who may see them."""
        shows = self.shows(visibility)
        return [m for m in self._ordered.values() if meets(m) and _is_shown(m, at, agent_id) and shows(m)]

    def _shown(
        self,
        order: str,
        at: datetime,
        agent_id: str | None,
        visibility: Visibility,
        without: Collection[str],
        *,
        meets: Meets = None,
    ) -> Iterator[Memory]:
        shows = self.shows(visibility)
        for _, memory_id in merge(*(getattr(lists, order) for lists in _lists_of(self._lists, agent_id))):
            memory = self._state.memories.get(memory_id)
            if memory is None or provenance_of(memory) in without:
                continue
            if _is_shown(memory, at, agent_id) and shows(memory) and (meets is None or meets(memory)):
                yield memory

    def _of_attributes(
        self,
        names: Collection[str] | None,
        at: datetime,
        agent_id: str | None,
        without: Collection[str],
        *,
        meets: Meets = None,
    ) -> list[Memory]:
        """Return the visible memories that carry one of these attributes, or any attribute."""
        listed = self._state.by_attribute
        found = (self._state.memories[i] for name in names or listed for i in listed.get(name, ()))
        kept = (m for m in found if m.slot and m.kind != DOCUMENT and provenance_of(m) not in without)
        shown = [m for m in kept if _is_shown(m, at, agent_id)]
        return shown if meets is None else [m for m in shown if meets(m)]

    @property
    def knows_hidden(self) -> bool:
        """Whether the memories about a sensitive topic have been determined."""
        return self._sensitive is not None and not self._has_other_topics

    def find_hidden(self) -> Generator[None, None, None]:
        """Find the memories about a sensitive topic, in steps. The result is dropped if the state changes meanwhile."""
        state = self._state
        memories = state.memories
        about = about_topics(state)
        self._learn_topics()
        self._sensitive = None  # the known ids belong to the old topics: a question meanwhile must not use them
        found, touch = set[str](), self._topics.touch
        for some in stepwise(memories.values() if self._topics.values else about):
            found.update(m.memory_id for m in some if touch(m))
            yield
        if self._state is state:
            self._sensitive = found

    def _hidden(self) -> set[str]:
        """Return the ids of the memories about a sensitive topic."""
        memories = self._state.memories
        if self._sensitive is None:
            to_end(self.find_hidden())
        elif self._has_other_topics:  # only new and removed topics are examined
            before = self._topics.values
            self._learn_topics()
            new, hidden = Topics(self._topics.values - before), self._sensitive
            if before - self._topics.values:
                hidden = {i for i in hidden if self._topics.touch(memories[i])}
            if new.values:
                hidden |= {i for i, m in memories.items() if new.touch(m)}
            self._sensitive = hidden
        assert self._sensitive is not None  # noqa: S101 - it was found above
        return self._sensitive

    def _learn_topics(self) -> None:
        topics = Topics(m.value or m.content for m in about_topics(self._state) if m.status == ACTIVE)
        self._has_other_topics = False
        if topics.values != self._topics.values:
            self._profiles.clear()
            self._topics = topics


class RankedMemoriesByUser:
    """A cache of the users asked about last. Eviction is always safe: the next question rebuilds the orders."""

    def __init__(self, most_memories: int = MOST_MEMORIES) -> None:
        self._users: BoundedCache[Owner, RankedMemories] = BoundedCache(most_memories)

    def of(self, state: UserState) -> RankedMemories:
        """Return the orders of a user's current state."""
        known = self._users.get(state.owner)
        if known is None:
            known = RankedMemories(state)
        else:
            known.follow(state)
        self._keep(state, known)
        return known

    async def prepare(self, state: UserState, *, hides: bool = False) -> None:
        """Prepare the result of `of`; a rebuild runs in steps and lets other tasks take turns.

        With `hides`, the memories about a sensitive topic are found too.
        """
        known = self._users.get(state.owner)
        if known is None or not known.follow_changes(state):
            known = await in_turns(RankedMemories.made_in_steps(state))
            if hides:
                await in_turns(known.find_hidden())
            self._keep(state, known)
        elif hides and not known.knows_hidden:
            await in_turns(known.find_hidden())

    def _keep(self, state: UserState, ranked: RankedMemories) -> None:
        self._users.put(state.owner, ranked, 1 + len(state.memories))


def in_order(memories: Iterable[Memory]) -> list[Memory]:
    """Return memories by importance, then last access, both descending; each once."""
    return sorted({m.memory_id: m for m in memories}.values(), key=place_of)


def _is_ranked(memory: Memory) -> bool:
    """Return whether contexts may contain a memory at all: documents belong to the application."""
    return memory.status == ACTIVE and memory.kind != DOCUMENT


def _lists_of(lists: Mapping[tuple[str, ...], _AgentLists], agent_id: str | None) -> list[_AgentLists]:
    if agent_id is None:
        return list(lists.values())
    return [some for agents, some in lists.items() if not agents or agent_id in agents]


def _is_shown(memory: Memory, at: datetime, agent_id: str | None) -> bool:
    return memory.status_at(at) == ACTIVE and memory.visible_to(agent_id)


def _agents(memory: Memory) -> tuple[str, ...]:
    return () if memory.agent_id is None else (memory.agent_id, *memory.shared_with)


def place_of(memory: Memory) -> Place:
    """Return the sort key of a memory: by importance, then last access, both descending, then id."""
    return (-memory.importance, -memory.last_accessed_at.timestamp()), memory.memory_id


def _dated(memory: Memory) -> Place:
    (importance, accessed), memory_id = place_of(memory)
    return (-memory.occurred_at.timestamp(), importance, accessed), memory_id
