"""The meaning of users' turns: how near each is to a question, and what that finds where words find nothing.

A user's turn has the vector of its words and of the reply that follows: the reply says again, in other words, what was
meant. In the order of a search they count for questions in another language than the turn's; how relevant a turn is,
they tell in any.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeAlias

import numpy as np

from projections.queries.turns.index import spoken

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from numpy.typing import NDArray

    from projections.embedding.embedder import Embedder, Vectors
    from projections.embedding.languages import View
    from projections.queries.turns.index import TurnMatches, UserWords
    from projections.queries.turns.making import TurnVectorMaking
    from projections.queries.turns.vectors import UserMeanings
    from schemas.identity import Owner

    Rows: TypeAlias = NDArray[np.int64]
    Cosines: TypeAlias = NDArray[np.float32]

SESSION_SHARE: Final = 0.6
"""Of the best turn of its session in the score of a turn: what was talked about there speaks for it."""

_FAR: Final = 0.1
_NEAR: Final = 0.3
"""Cosines of the built-in encoder, of what has hardly anything to do with a question, and of what may answer it."""


@dataclass(frozen=True, slots=True)
class TurnMeanings:
    """How near a user's turns are to a question."""

    words: UserWords
    cosines: Cosines
    """Of each row with the question: NaN where the row has no vector, or is not seen."""
    vectors: UserMeanings
    """Of the rows."""
    scores: Cosines
    """Of rows in another language than the question: the same less what these have in common, with the share of the
    session's best; NaN for all others."""
    is_complete: bool = True
    """Whether no turn that is to have a vector lacks one."""

    def evidence(self, event_ids: Iterable[str]) -> float | None:
        """Return the score of the nearest of some turns in another language; None where none of them is among these."""
        rows = [row for event_id in event_ids if (row := self.words.row(event_id)) is not None]
        found = [float(self.scores[row]) for row in rows if not np.isnan(self.scores[row])]
        return max(found, default=None)

    def cosine(self, event_id: str) -> float | None:
        """Return a turn's cosine with the question; None where it is not among these."""
        row = self.words.row(event_id)
        return None if row is None or np.isnan(self.cosines[row]) else float(self.cosines[row])

    def near(self, event_ids: Sequence[str], asking: Vectors | None) -> float | None:
        """Return the cosine of the nearest of some turns, or its product with what asks; None where there is none.

        Of a reply it is that of the turn that it answers.
        """
        rows = [row for event_id in event_ids if (row := self._row_said(event_id)) is not None]
        if not rows:
            return None
        return float(self.cosines[rows].max()) if asking is None else self.vectors.nearest(rows, asking)

    def _row_said(self, event_id: str) -> int | None:
        """Return the row of a turn that has a cosine, of a reply that of the turn that it answers."""
        row = self.words.place(event_id)
        if row is not None and not self.words.by_user[row]:
            row = self.words.answered(row)
        return None if row is None or row >= len(self.cosines) or np.isnan(self.cosines[row]) else row

    def best(self) -> Iterator[str]:
        """Yield the ids of the turns in another language, the nearest first."""
        rows = np.flatnonzero(~np.isnan(self.scores))
        for row in rows[np.lexsort((rows, -self.scores[rows]))].tolist():
            yield self.words.event_ids[row]

    @property
    def is_between_languages(self) -> bool:
        """Whether a turn is in another language than the question."""
        return not np.isnan(self.scores).all()

    def matches(self) -> Cosines:
        """Return how well rows in another language match, 0 to 1: best the nearest, 0 the farthest and all others.

        The nearest has 1 if it is near at all: of few turns one is always the nearest, whatever is asked.
        """
        least, greatest = np.nanmin(self.scores), np.nanmax(self.scores)
        scaled = np.ones_like(self.scores) if greatest <= least else (self.scores - least) / (greatest - least)
        nearest = float(np.nanmax(self.cosines[~np.isnan(self.scores)]))
        is_near = min(max((nearest - _FAR) / (_NEAR - _FAR), 0.0), 1.0)
        found: Cosines = np.where(np.isnan(self.scores), np.float32(0), is_near * scaled).astype(np.float32)
        return found


class TurnMeaning:
    """Holds questions against the vectors of turns."""

    def __init__(self, encoder: Callable[[], Embedder] | None, making: TurnVectorMaking) -> None:
        """Take what returns the encoder that serves for all languages; None: no turn has a vector."""
        self._encoder = encoder
        self._making = making

    async def near(self, owner: Owner, turns: TurnMatches, question: str, views: Sequence[View]) -> TurnMeanings | None:
        """Return how near the turns are that are searched; None where there are none, or none is to have a vector.

        Raises EmbedderUnavailable, EmbedderRefused.
        """
        words = turns.words
        if self._encoder is None or (language := spoken(question)) is None or not words.event_ids:
            return None
        encoder, count = self._encoder(), len(turns.visible)
        vector = await _meant(question, views, encoder)
        is_complete = await self._making.make_few(owner, words)
        meanings = self._making.of(owner, words, encoder.model)
        cosines = meanings.cosines(vector, len(words.event_ids))
        cosines[count:] = np.nan  # others may have read on meanwhile
        cosines[:count][~turns.visible] = np.nan
        scores = meanings.centred(words.in_other_languages(language), cosines)
        rows = np.flatnonzero(~np.isnan(scores))
        if len(rows):
            scores[rows] = with_sessions(scores[rows], words.sessions()[rows])
        return TurnMeanings(words, cosines[:count], meanings, scores[:count], is_complete)


async def _meant(question: str, views: Sequence[View], encoder: Embedder) -> Vectors:
    """Return an encoder's vector of a question; what was asked of it already is not asked again."""
    known = next((view.vector for view in views if view.model == encoder.model), None)
    return (await encoder.embed([question], urgent=True))[0] if known is None else known


def with_sessions(scores: Cosines, sessions: NDArray[np.uint32]) -> Cosines:
    """Return scores of turns with the share of the best one of each's session."""
    best = np.full(int(sessions.max(initial=0)) + 1, -np.inf, np.float32)
    np.maximum.at(best, sessions, scores)
    shared: Cosines = ((1 - SESSION_SHARE) * scores + SESSION_SHARE * best[sessions]).astype(np.float32)
    return shared
