"""The vectors of turns are computed as turns arrive, at lower priority than requests, and stored in the shard.

A worker checks every second which users have new turns, and, once for each new partition, which turns lack a vector. A
search computes a few missing ones itself. The newest turns of each user have a vector, as many as are searched: 520
bytes on disk, and 2,300 in memory while the user's words are cached. A turn that the user asked not to keep has no
vector, and loses it if the request comes later.
"""

from __future__ import annotations

import asyncio
import logging
from functools import partial
from typing import TYPE_CHECKING, Final

import numpy as np

from projections.blocking_work import run_in_thread
from projections.embedding.embedder import EmbedderRefused, EmbedderUnavailable
from projections.embedding.stored_vector import NoVector, vector_bytes, vector_of, vectors_of
from projections.encrypted_files import sqlite3
from projections.partitions.assignment import NotHeld
from projections.queries.turns.vectors import UserMeanings
from projections.shard.errors import ShardDamaged, ShardUnavailable
from projections.shard.turn_vectors import TurnVector, owners_with_turns
from projections.turns import in_turns, to_end
from schemas.disclosure import describe

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Sequence

    from projections.embedding.embedder import Embedder
    from projections.partitions.shards import Shards
    from projections.queries.turns.index import TurnIndex, UserWords
    from projections.shard.shard import Shard
    from schemas.identity import Owner

EVERY_SECONDS: Final = 1.0
START_SECONDS: Final = 5.0
"""How long after a start the work begins, so that it does not delay the first answers."""
WAIT_SECONDS: Final = 2.0
"""How long a question waits for vectors that are being computed."""
MOST_AWAITED: Final = 16
"""The most missing vectors that a question waits for; if more are missing, it does not wait."""
BATCH: Final = 16
PART: Final = 100
"""How many stored vectors are read before other tasks may run."""
AHEAD_TURNS: Final = 250
"""The number of own turns from which a user's turns are read ahead of the first search: it would take 50 ms."""
AHEAD_USERS: Final = 100
AHEAD_BYTES: Final = 64 << 20
"""The limits of what is read ahead after a start: users of each partition, and the memory of all."""
LAST_TURNS: Final = 64
"""How many of the newest turns are read for a user with new turns and no recent search."""
REPLY_CHARACTERS: Final = 1_000
"""How many characters of the reply are encoded, and of the turn if it has a reply."""
_NONE: Final = -1

log = logging.getLogger("mnemolog.turns")


class TurnVectorMaking:
    """The computation of the vectors of turns; without a waiting search, it handles one user at a time."""

    def __init__(self, shards: Shards, encoder: Callable[[], Embedder] | None, turn_index: TurnIndex) -> None:
        """Take a function that returns the encoder that serves; with None, turns get no vectors."""
        self._shards = shards
        self._encoder = encoder
        self._turn_index = turn_index
        self._making: dict[Owner, asyncio.Task[None]] = {}
        self._looked_through: dict[Shard, int] = {}
        """The shards whose users have all been checked, with their count of removals at that time."""
        self._catching_up = asyncio.Lock()

    async def keep_made(self) -> None:
        """Read turns ahead of the first searches, then compute vectors as turns arrive, until cancelled."""
        await asyncio.sleep(START_SECONDS)
        await self.read_ahead()
        while True:
            await self.catch_up()
            await asyncio.sleep(EVERY_SECONDS)

    async def catch_up(self) -> None:
        """Compute the vectors that are missing now; failures are retried later."""
        if self._encoder is None:
            return
        async with self._catching_up:
            model = self._encoder().model
            for shard in self._shards.all():
                try:
                    for owner in self._lacking(shard, model):
                        words = await self._words(owner, model)
                        await asyncio.wait([self._task(owner, words)])
                except NotHeld:  # the partition went to another worker
                    continue
                except (ShardUnavailable, ShardDamaged, sqlite3.ProgrammingError) as error:
                    # The next fold reports the same error. A shard that a rebuild replaces meanwhile is closed.
                    log.warning("vectors of turns wait: %s", describe(error))

    async def read_ahead(self) -> None:
        """Read the words and vectors of users with many turns who spoke last, as far as AHEAD_BYTES go.

        Their first search would take hundreds of times as long as a usual one. Other users' first search is short.
        """
        for shard in self._shards.all():
            try:
                for owner in await run_in_thread(owners_with_turns, shard.path, AHEAD_TURNS, AHEAD_USERS):
                    if self._turn_index.nbytes > AHEAD_BYTES:
                        return
                    words = await self._turn_index.current(self._shards.resolve(owner))
                    if self._encoder is not None:
                        await self.load(owner, words, self._encoder().model)
                        words.lasting()
            except (NotHeld, ShardUnavailable, ShardDamaged, sqlite3.ProgrammingError) as error:
                log.info("some turns are read at the first search: %s", describe(error))

    async def make_few(self, owner: Owner, words: UserWords) -> bool:
        """Compute a user's missing vectors if they are few, and return whether none is missing now."""
        if self._encoder is None:
            return False
        await self.load(owner, words, self._encoder().model)
        if words.doubtful or 0 < len(words.unmade) <= MOST_AWAITED:
            await asyncio.wait([self._task(owner, words)], timeout=WAIT_SECONDS)
        return not words.unmade

    async def load(self, owner: Owner, words: UserWords, model: str) -> None:
        """Read the stored vectors of a user's turns, unless they are in memory; other tasks run between two parts."""
        await in_turns(self._loading(owner, words, model))

    def of(self, owner: Owner, words: UserWords, model: str) -> UserMeanings:
        """Return the existing vectors of a user's turns for an encoder; without `load` they are read in one go."""
        return to_end(self._loading(owner, words, model))

    def _loading(self, owner: Owner, words: UserWords, model: str) -> Generator[None, None, UserMeanings]:
        """Read the stored vectors in parts, and set them at the end, unless another task has done so meanwhile."""
        if words.meanings is not None and words.meanings.model == model:
            return words.meanings
        meanings, made, after, count = UserMeanings(model), dict[int, "int | str | None"](), "", PART
        while count == PART and words.is_current:
            part = words.shard.turn_vectors.of(owner, model, after, PART)
            count = len(part)
            after = part[-1].event_id if part else after
            stored = [one for one in part if words.row(one.event_id) is not None]
            for one, vector in zip(stored, vectors_of([one.vector for one in stored]), strict=True):
                meanings.put(words.rows[one.event_id], vector)
            made |= {words.rows[one.event_id]: one.reply_id and words.row(one.reply_id) for one in stored}
            yield
        if words.meanings is None or words.meanings.model != model:
            words.meanings = meanings
            wanted = np.flatnonzero(words.users()).tolist()
            words.unmade = {row for row in wanted if row not in made or made[row] != reply_of(words, row)}
            self._turn_index.count(owner, words)
        return words.meanings

    async def close(self) -> None:
        """Cancel the running computations."""
        for making in list(self._making.values()):
            making.cancel()
        await asyncio.gather(*self._making.values(), return_exceptions=True)

    def _lacking(self, shard: Shard, model: str) -> list[Owner]:
        """Return the users of a shard with turns that are new since the last call or may lack a vector."""
        heard, removals = shard.observations.take_heard(), shard.observations.removals
        if self._looked_through.get(shard) == removals:
            return list(heard)
        open_shards = self._shards.all()
        self._looked_through = {one: n for one, n in self._looked_through.items() if one in open_shards}
        self._looked_through[shard] = removals
        return list(heard | dict.fromkeys(shard.turn_vectors.owners_lacking(model)))

    async def _words(self, owner: Owner, model: str) -> UserWords:
        """Return a user's words: of one who was not searched of late the last ones, unless more lack a vector."""
        held = self._shards.resolve(owner)
        if not self._turn_index.has(held):
            words = await self._turn_index.newest(held, LAST_TURNS)
            await self.load(owner, words, model)
            if len(words.unmade) < LAST_TURNS // 2:
                return words
        return await self._turn_index.current(held)

    def _task(self, owner: Owner, words: UserWords) -> asyncio.Task[None]:
        """Return the running computation of a user's vectors, or start one."""
        making = self._making.get(owner)
        if making is None:
            making = asyncio.create_task(self._make(owner, words))
            self._making[owner] = making
            making.add_done_callback(partial(self._end, owner))
        return making

    def _end(self, owner: Owner, making: asyncio.Task[None]) -> None:
        del self._making[owner]
        if not making.cancelled() and (error := making.exception()) is not None:  # the next fold reports it too
            log.error("the vectors of turns are not made: %s", describe(error), exc_info=error)

    async def _make(self, owner: Owner, words: UserWords) -> None:
        """Compute and store missing vectors, the newest turns first; stop if words are erased or the shard moves."""
        if self._encoder is None:
            return
        encoder, shard = self._encoder(), words.shard
        meanings, ids = self.of(owner, words, encoder.model), words.event_ids
        words.unmade |= {row for row in words.doubtful if _text(owner, words, row, None) is None}
        words.doubtful.clear()
        rows = sorted(words.unmade, reverse=True)
        for start in range(0, len(rows), BATCH):
            some = rows[start : start + BATCH]
            replies = [reply_of(words, row) for row in some]
            texts = [_text(owner, words, row, reply) for row, reply in zip(some, replies, strict=True)]
            try:
                found = iter(await encoder.embed([text for text in texts if text]))
                stored = [vector_bytes(next(found)) if text else None for text in texts]
            except (EmbedderUnavailable, EmbedderRefused, NoVector) as error:
                log.warning("turns without a vector wait: %s", error)
                return
            made = list(zip(some, replies, stored, strict=True))
            async with shard.folding:
                if not self._is_current(words, shard):
                    return
                try:
                    shard.turn_vectors.put(
                        owner, meanings.model, [TurnVector(ids[row], _id(ids, reply), v) for row, reply, v in made if v]
                    )
                    shard.turn_vectors.remove(owner, [ids[row] for row, _, vector in made if vector is None])
                except ShardUnavailable as error:  # a restart computes them again
                    log.warning("vectors of turns are not kept: %s", error)
            for row, reply, vector in made:
                if vector is None:
                    meanings.remove(row)
                else:
                    meanings.put(row, vector_of(vector))
                if reply == reply_of(words, row):  # otherwise a reply came meanwhile
                    words.unmade.discard(row)
            self._turn_index.count(owner, words)

    def _is_current(self, words: UserWords, shard: Shard) -> bool:
        return words.is_current and not shard.retired and shard in self._shards.all()


def reply_of(words: UserWords, row: int) -> int | None:
    """Return the row of the reply, which is the next turn in the session if the user did not say it; else None."""
    reply = words.answers[row]
    return None if reply == _NONE or words.by_user[reply] else reply


def _id(event_ids: Sequence[str], row: int | None) -> str | None:
    return None if row is None else event_ids[row]


def _text(owner: Owner, words: UserWords, row: int, reply: int | None) -> str | None:
    """Return the text to encode for a turn; None if nothing of the turn is kept."""
    turn = words.told(owner, row)
    if turn is None or not turn.message.content.strip():
        return None
    said = turn.message.content
    answer = None if reply is None else words.told(owner, reply)
    return said if answer is None else f"{said[:REPLY_CHARACTERS]}\n{answer.message.content[:REPLY_CHARACTERS]}"
