"""The states of a shard's users: read from its file, and cached for the most recently used."""

from __future__ import annotations

import sys
from datetime import datetime
from itertools import count, islice
from operator import itemgetter
from typing import TYPE_CHECKING, Final

from immutables import Map

from projections.shard.errors import damage
from projections.shard.rows.memories import memory_of_row
from projections.shard.tables import name_of
from projections.state.memory import FORGOTTEN, UserState
from projections.state.statement_index import StatementIndex
from projections.turns import ITEMS_A_STEP, in_turns, ordered, stepwise, to_end
from projections.user_cache import UserCache
from schemas.text import digest

if TYPE_CHECKING:
    from collections.abc import Generator, Sequence

    from projections.shard.rows.intimacies import IntimacyRows
    from projections.shard.rows.wakes import WakeRows
    from projections.shard.tables import ShardConnection
    from projections.state.memory import Memory
    from schemas.identity import Owner

SMALL_BYTES: Final = 64 << 20
MAX_BYTES: Final = 1 << 30
_BYTES_OF_A_USER: Final = 1_500
_BYTES_OF_A_MEMORY: Final = 2_000
"""The size of a memory without its text."""
_BYTES_OF_A_KEY: Final = 150
_SAMPLED: Final = 8
"""The number of memories whose texts are measured: a state is cached after each decision, and may have 10,000. No
caller can choose them: they are in the order of their ids' hashes."""
_MEASURED_EVERY: Final = 8
"""The number of decisions after which a cached state is measured again at the latest."""
_BODIES: Final = "select body from memories where owner=? order by sequence"
_NEXT_BODIES: Final = (
    "select memory_id, sequence, body from memories where owner=? and memory_id>? order by memory_id limit ?"
)
_VERSION: Final = "select version from users where owner=?"


_cached: Final = UserCache[tuple[int, "Owner"], "UserState"](SMALL_BYTES, MAX_BYTES)
"""The states of all shards of the process: the number of shards and of active users is not known in advance.

It is a global and not an argument because it changes no answer: a shard's own states have its number.
"""
_numbers: Final = count()


class UserStates:
    """A read-through cache of user states. Only states that are written may be kept in it: see `GroupCommit`."""

    def __init__(self, connection: ShardConnection, wakes: WakeRows, intimacy: IntimacyRows) -> None:
        self._connection = connection
        self._wakes = wakes
        self._intimacy = intimacy
        self._number = next(_numbers)
        self._forgotten = 0
        """How often the cache was emptied."""

    def forget(self) -> None:
        """Empty the cache of this shard's states."""
        self._forgotten += 1
        for number, owner in _cached:
            if number == self._number:
                _cached.pop((number, owner))

    def keep(self, owner: Owner, state: UserState) -> None:
        """Cache a state; the least recently used ones make room."""
        key = (self._number, owner)
        if (known := _cached.peek(key)) is not None and _is_about_as_large(known, state):
            _cached.replace(key, state)
        else:
            _cached.put(key, state, _size_of(state))

    def state(self, owner: Owner) -> UserState:
        """Return a user's state; an unknown user has an empty one."""
        known = _cached.get((self._number, owner))
        if known is None:
            known = self.read(owner)
            self.keep(owner, known)
        return known

    async def load(self, owner: Owner) -> None:
        """Cache a user's state, if it is not cached; reading a large one yields to the event loop.

        If a fold writes meanwhile, it is read again. Raises as `read`, and ProgrammingError if the file is closed.
        """
        while (self._number, owner) not in _cached:
            forgotten = self._forgotten
            state = await in_turns(self._reading(owner))
            if (self._number, owner) in _cached:
                return
            now = self._connection.execute(_VERSION, (name_of(owner),)).fetchone()
            if self._forgotten == forgotten and state.version == (now[0] if now else 0):
                self.keep(owner, state)

    def bodies(self, owner: Owner) -> list[bytes]:
        """Return the rows of a user's memories, in the order of forming."""
        rows = self._connection.execute(_BODIES, (name_of(owner),)).fetchall()
        return [body for (body,) in rows]

    def remembered(self, owner: Owner, bodies: Sequence[bytes]) -> UserState:
        """Return the part of a user's state that digests cover; `bodies` are the rows of the user's memories."""
        return UserState(
            owner=owner,
            memories=Map({m.memory_id: m for m in self._memories(bodies)}),
            wakes=self._wakes.of(owner),
            intimacies=self._intimacy.of(owner),
        )

    def _memories(self, bodies: Sequence[bytes]) -> list[Memory]:
        known: dict[str, str] = {}
        try:
            return [memory_of_row(body, known) for body in bodies]
        except (KeyError, TypeError, ValueError) as error:
            raise damage(self._connection.path, error) from error

    def read(self, owner: Owner) -> UserState:
        """Return a user's state from the file, without caching it."""
        return to_end(self._reading(owner))

    def _reading(self, owner: Owner) -> Generator[None, None, UserState]:
        name, run = name_of(owner), self._connection.execute
        row = run(
            "select version, last_item, last_offset, last_part, last_part_closed, erased_at, tip from users"
            " where owner=?",
            (name,),
        ).fetchone()
        if row is None:
            return UserState(owner=owner)
        memories = yield from self._reading_memories(name)
        by_digest: dict[bytes, tuple[str, ...]] = {}
        by_attribute: dict[str, tuple[str, ...]] = {}
        forgotten: dict[str, tuple[str, ...]] = {}
        statements = StatementIndex()
        for some in stepwise(memories):
            for memory in some:
                key = digest(memory.content)
                by_digest[key] = tuple(sorted((*by_digest.get(key, ()), memory.memory_id)))
                if fact := memory.key:
                    by_attribute[fact] = (*by_attribute.get(fact, ()), memory.memory_id)
                for piece in dict.fromkeys(memory.pieces if memory.status == FORGOTTEN else ()):
                    forgotten[piece] = tuple(sorted((*forgotten.get(piece, ()), memory.memory_id)))
                statements.note(memory)
            yield
        covered = {p: bool(r) for p, r in run("select piece, rejected from covered where owner=?", (name,))}
        yield
        items = {bytes(i): None for (i,) in run("select item from items where owner=?", (name,))}
        yield
        return UserState(
            owner=owner,
            version=row[0],
            last_item=row[1],
            last_offset=row[2],
            last_part=row[3],
            last_part_closed=bool(row[4]),
            erased_at=None if row[5] is None else datetime.fromisoformat(row[5]),
            tip=row[6],
            cut=Map(run("select topic, before from erasures where owner=?", (name,)).fetchall()),
            memories=Map({m.memory_id: m for m in memories}),
            covered=Map(covered),
            items=Map(items),
            by_digest=Map(by_digest),
            by_attribute=Map(by_attribute),
            forgotten=Map(forgotten),
            statements=statements,
            wakes=self._wakes.of(owner),
            intimacies=self._intimacy.of(owner),
        )

    def _reading_memories(self, name: str) -> Generator[None, None, list[Memory]]:
        """Read a user's memories in steps; return them in the order of forming."""
        found, last = list[tuple[int, "Memory"]](), ""
        while True:
            rows = self._connection.execute(_NEXT_BODIES, (name, last, ITEMS_A_STEP)).fetchall()
            memories = self._memories([body for _, _, body in rows])
            found += zip((sequence for _, sequence, _ in rows), memories, strict=True)
            if len(rows) < ITEMS_A_STEP:
                break
            last = rows[-1][0]
            yield
        return [memory for _, memory in (yield from ordered(found, key=itemgetter(0)))]


def _is_about_as_large(before: UserState, state: UserState) -> bool:
    is_soon = before.version // _MEASURED_EVERY == state.version // _MEASURED_EVERY
    return is_soon and len(before.memories) <= len(state.memories)


def _size_of(state: UserState) -> int:
    """Estimate the size of a state in memory, with the attributes of its memories that a decision computes."""
    keys, memories = len(state.items) + len(state.covered), len(state.memories)
    texts = [sys.getsizeof(one.content) + len(one.metadata) for one in islice(state.memories.values(), _SAMPLED)]
    text = sum(texts) * memories // max(len(texts), 1)
    return _BYTES_OF_A_USER + _BYTES_OF_A_MEMORY * memories + text + _BYTES_OF_A_KEY * keys
