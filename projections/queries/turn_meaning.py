"""The meaning of users' turns, for questions in another language than theirs, where words find nothing.

A user's turn has the vector of its words and of the reply that follows: the reply says again, in other words, what was
meant. Vectors are made when a question in another language first asks for them, the newest first, and kept in the shard
beside the turns. Whoever is never asked in another language has none.
"""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Final, TypeAlias

import numpy as np

from projections.embedding.embedder import EmbedderRefused, EmbedderUnavailable
from projections.embedding.stored_vector import NoVector, vector_bytes, vector_of
from projections.queries.turn_index import spoken
from projections.queries.user_meanings import UserMeanings
from projections.shard.errors import ShardUnavailable
from projections.shard.turn_vectors import TurnVector
from schemas.disclosure import describe

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from datetime import datetime

    from numpy.typing import NDArray

    from projections.embedding.embedder import Embedder
    from projections.partitions.shards import Shards
    from projections.queries.turn_index import UserWords
    from projections.shard.shard import Shard
    from schemas.identity import Owner

    Rows: TypeAlias = NDArray[np.int64]
    Cosines: TypeAlias = NDArray[np.float32]

SESSION_SHARE: Final = 0.6
"""Of the best turn of its session in the score of a turn: what was talked about there speaks for it."""
WAIT_SECONDS: Final = 2.0
"""How long a question waits for vectors that are being made."""
MOST_AWAITED: Final = 256
"""Turns without a vector that a question waits for. While more of a user's have none, none of them counts."""
BATCH: Final = 16
REPLY_CHARACTERS: Final = 1_000
"""Of the reply; and of the turn, where it has one."""
_NONE: Final = -1

log = logging.getLogger("mnemolog.turns")


@dataclass(frozen=True, slots=True)
class TurnMeanings:
    """How near a user's turns in other languages are to a question."""

    words: UserWords
    cosines: Cosines
    """Of each row with the question: NaN where the row is of the same language, has no vector, or is not seen."""
    scores: Cosines
    """The same less what all these turns have in common, and with the share of the session's best."""

    def evidence(self, event_ids: Iterable[str]) -> float | None:
        """Return the score of the nearest of some turns; None where none of them is among these."""
        rows = [row for event_id in event_ids if (row := self.words.row(event_id)) is not None]
        found = [float(self.scores[row]) for row in rows if not np.isnan(self.scores[row])]
        return max(found, default=None)

    def cosine(self, event_id: str) -> float | None:
        """Return a turn's cosine with the question; None where it is not among these."""
        row = self.words.row(event_id)
        return None if row is None or np.isnan(self.cosines[row]) else float(self.cosines[row])

    def best(self) -> Iterator[str]:
        """Yield the ids of these turns, the nearest first."""
        rows = np.flatnonzero(~np.isnan(self.scores))
        for row in rows[np.lexsort((rows, -self.scores[rows]))].tolist():
            yield self.words.event_ids[row]

    def matches(self) -> Cosines:
        """Return how well each row matches, 0 to 1: 1 for the nearest, 0 for the farthest and for all others."""
        least, greatest = np.nanmin(self.scores), np.nanmax(self.scores)
        scaled = np.ones_like(self.scores) if greatest <= least else (self.scores - least) / (greatest - least)
        found: Cosines = np.where(np.isnan(self.scores), np.float32(0), scaled).astype(np.float32)
        return found


class TurnMeaning:
    """Makes the vectors of turns, and holds questions against them."""

    def __init__(
        self, shards: Shards, encoder: Callable[[], Embedder] | None, grown: Callable[[Owner, UserWords], None]
    ) -> None:
        """Take what returns the encoder that serves for all languages; None: no turn gets a vector.

        `grown` hears that there are more vectors beside a user's words.
        """
        self._shards = shards
        self._encoder = encoder
        self._grown = grown
        self._making: dict[Owner, asyncio.Task[None]] = {}

    async def near(
        self, owner: Owner, words: UserWords, question: str, agent_id: str | None, until: datetime
    ) -> TurnMeanings | None:
        """Return how near a user's turns in other languages are; None where there are none, or none has a vector."""
        if self._encoder is None or (language := spoken(question)) is None:
            return None
        spoken_otherwise = words.in_other_languages(language)
        others = np.flatnonzero(spoken_otherwise)
        if not len(others):
            return None
        encoder = self._encoder()
        meanings = self._of(owner, words, encoder.model)
        replies = {row: reply_of(words, row) for row in reversed(others.tolist())}  # the newest first
        if lacking := meanings.lacking(replies):
            await self._made(owner, words, meanings, lacking, encoder)
            if len(meanings.lacking(replies)) > MOST_AWAITED:
                return None
        vector = (await encoder.embed([question], urgent=True))[0]
        visible = words.visible(agent_id, until)[: len(spoken_otherwise)]  # others may have read on meanwhile
        rows, cosines, centred = meanings.near(others, vector)
        seen = visible[rows]
        if not seen.any():
            return None
        rows, cosines, centred = rows[seen], cosines[seen], centred[seen]
        sessions = words.sessions()[rows]
        all_cosines, scores = np.full((2, len(visible)), np.nan, np.float32)
        all_cosines[rows] = cosines
        scores[rows] = with_sessions(centred, sessions)
        return TurnMeanings(words, all_cosines, scores)

    async def settle(self) -> None:
        """Wait until what is being made is made."""
        await asyncio.gather(*self._making.values(), return_exceptions=True)

    async def close(self) -> None:
        """End what is being made."""
        for making in list(self._making.values()):
            making.cancel()
        await asyncio.gather(*self._making.values(), return_exceptions=True)

    def _of(self, owner: Owner, words: UserWords, model: str) -> UserMeanings:
        if words.meanings is None or words.meanings.model != model:
            words.meanings = UserMeanings(model)
            for one in words.shard.turn_vectors.of(owner, model):
                if (row := words.row(one.event_id)) is not None:
                    reply = None if one.reply_id is None else words.row(one.reply_id)
                    words.meanings.add(row, _NONE if reply is None else reply, vector_of(one.vector))
            self._grown(owner, words)
        return words.meanings

    async def _made(
        self, owner: Owner, words: UserWords, meanings: UserMeanings, lacking: Sequence[int], encoder: Embedder
    ) -> None:
        """Have the vectors of rows made, one user's at a time; wait for them where they are few."""
        making = self._making.get(owner)
        if making is None:
            making = asyncio.create_task(self._make(owner, words, meanings, lacking, encoder))
            self._making[owner] = making
            making.add_done_callback(partial(self._end, owner))
        if len(lacking) <= MOST_AWAITED:
            await asyncio.wait([making], timeout=WAIT_SECONDS)

    def _end(self, owner: Owner, making: asyncio.Task[None]) -> None:
        del self._making[owner]
        if not making.cancelled() and (error := making.exception()) is not None:  # whoever folds next meets it too
            log.error("the vectors of turns are not made: %s", describe(error), exc_info=error)

    async def _make(
        self, owner: Owner, words: UserWords, meanings: UserMeanings, rows: Sequence[int], encoder: Embedder
    ) -> None:
        """Make vectors of rows and keep them, until words are erased, or the shard is another one's."""
        shard = words.shard
        for start in range(0, len(rows), BATCH):
            if not self._is_current(words, shard):
                return
            made = [(row, reply_of(words, row)) for row in rows[start : start + BATCH]]
            texts = [self._text(owner, words, row, reply) for row, reply in made]
            try:
                found = await encoder.embed(texts)
                stored = [vector_bytes(vector) for vector in found]
            except (EmbedderUnavailable, EmbedderRefused, NoVector) as error:
                log.warning("turns without a vector wait: %s", error)
                return
            async with shard.folding:
                if not self._is_current(words, shard):
                    return
                ids = words.event_ids
                kept = [
                    TurnVector(ids[row], None if reply == _NONE else ids[reply], vector)
                    for (row, reply), vector in zip(made, stored, strict=True)
                ]
                try:
                    shard.turn_vectors.put(owner, meanings.model, kept)
                except ShardUnavailable as error:  # they are made again after a restart
                    log.warning("vectors of turns are not kept: %s", error)
            for (row, reply), vector in zip(made, stored, strict=True):
                meanings.add(row, reply, vector_of(vector))
            self._grown(owner, words)

    def _is_current(self, words: UserWords, shard: Shard) -> bool:
        return words.is_current and not shard.retired and shard in self._shards.all()

    @staticmethod
    def _text(owner: Owner, words: UserWords, row: int, reply: int) -> str:
        turn = words.shard.observations.told(owner, words.event_ids[row])
        said = turn.message.content if turn is not None else ""
        if reply == _NONE:
            return said
        answer = words.shard.observations.told(owner, words.event_ids[reply])
        answered = answer.message.content if answer is not None else ""
        return f"{said[:REPLY_CHARACTERS]}\n{answered[:REPLY_CHARACTERS]}"


def with_sessions(scores: Cosines, sessions: NDArray[np.uint32]) -> Cosines:
    """Return scores of turns with the share of the best one of each's session."""
    best = np.full(int(sessions.max(initial=0)) + 1, -np.inf, np.float32)
    np.maximum.at(best, sessions, scores)
    shared: Cosines = ((1 - SESSION_SHARE) * scores + SESSION_SHARE * best[sessions]).astype(np.float32)
    return shared


def reply_of(words: UserWords, row: int) -> int:
    """Return the row of the reply that somebody else than the user gave next in the session; -1 without one."""
    reply = words.answers[row]
    return _NONE if reply == _NONE or words.by_user[reply] else reply
