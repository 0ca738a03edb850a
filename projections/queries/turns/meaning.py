"""The meaning of users' turns: their nearness to a question, which finds turns that its words do not find.

The vector of a user's turn covers its words and the reply that follows, because the reply repeats the meaning in other
words. In the order of a search, vectors count only for turns in another language than the question. For the relevance
of a turn they count in every language.
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
    from projections.embedding.serving import View
    from projections.queries.turns.index import TurnMatches, UserWords
    from projections.queries.turns.making import TurnVectorMaking
    from projections.queries.turns.vectors import UserMeanings
    from schemas.identity import Owner

    Rows: TypeAlias = NDArray[np.int64]
    Cosines: TypeAlias = NDArray[np.float32]

SESSION_SHARE: Final = 0.6
"""The share of the best turn of a session in the score of its other turns: the subject of a session supports them."""

_FAR: Final = 0.1
_NEAR: Final = 0.3
"""The built-in encoder's cosines of a text that is hardly related to a question, and of one that may answer it."""


@dataclass(frozen=True, slots=True)
class TurnMeanings:
    """The nearness of a user's turns to a question."""

    words: UserWords
    cosines: Cosines
    """The cosine of each row with the question; NaN if the row has no vector or is not visible."""
    vectors: UserMeanings
    scores: Cosines
    """For rows in another language than the question, the cosine minus the part that these rows have in common, with
    the share of the session's best; NaN for all others."""
    is_complete: bool = True
    """Whether all turns that should have a vector have one."""

    def evidence(self, event_ids: Iterable[str]) -> float | None:
        """Return the score of the nearest of the given turns in another language; None if none of them has a score."""
        rows = [row for event_id in event_ids if (row := self.words.row(event_id)) is not None]
        found = [float(self.scores[row]) for row in rows if not np.isnan(self.scores[row])]
        return max(found, default=None)

    def cosine(self, event_id: str) -> float | None:
        """Return a turn's cosine with the question; None if it has none."""
        row = self.words.row(event_id)
        return None if row is None or np.isnan(self.cosines[row]) else float(self.cosines[row])

    def near(self, event_ids: Sequence[str], asking: Vectors | None) -> float | None:
        """Return the cosine of the nearest of the given turns, or its product with `asking`; None without a vector.

        A reply has the value of the turn that it answers.
        """
        rows = [row for event_id in event_ids if (row := self._row_said(event_id)) is not None]
        if not rows:
            return None
        return float(self.cosines[rows].max()) if asking is None else self.vectors.nearest(rows, asking)

    def _row_said(self, event_id: str) -> int | None:
        """Return the row of a turn, or of the turn that a reply answers; None if it has no cosine."""
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
        """Return the match of each row in another language, 0 to 1: the nearest has the most; all others have 0.

        The nearest has 1 only if it is really near, because one turn is always the nearest, whatever the question.
        """
        least, greatest = np.nanmin(self.scores), np.nanmax(self.scores)
        scaled = np.ones_like(self.scores) if greatest <= least else (self.scores - least) / (greatest - least)
        nearest = float(np.nanmax(self.cosines[~np.isnan(self.scores)]))
        is_near = min(max((nearest - _FAR) / (_NEAR - _FAR), 0.0), 1.0)
        found: Cosines = np.where(np.isnan(self.scores), np.float32(0), is_near * scaled).astype(np.float32)
        return found


class TurnMeaning:
    """The comparison of questions with the vectors of turns."""

    def __init__(self, encoder: Callable[[], Embedder] | None, making: TurnVectorMaking) -> None:
        """Take a function that returns the encoder that serves; with None, turns have no vectors."""
        self._encoder = encoder
        self._making = making

    async def near(self, owner: Owner, turns: TurnMatches, question: str, views: Sequence[View]) -> TurnMeanings | None:
        """Return the nearness of the searched turns; None if there are no turns or turns get no vectors.

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
        cosines[count:] = np.nan  # another search may have read more turns meanwhile
        cosines[:count][~turns.visible] = np.nan
        scores = meanings.centred(words.in_other_languages(language), cosines)
        rows = np.flatnonzero(~np.isnan(scores))
        if len(rows):
            scores[rows] = with_sessions(scores[rows], words.sessions()[rows])
        return TurnMeanings(words, cosines[:count], meanings, scores[:count], is_complete)


async def _meant(question: str, views: Sequence[View], encoder: Embedder) -> Vectors:
    """Return an encoder's vector of a question, from its view if there is one."""
    known = next((view.vector for view in views if view.model == encoder.model), None)
    return (await encoder.embed([question], urgent=True))[0] if known is None else known


def with_sessions(scores: Cosines, sessions: NDArray[np.uint32]) -> Cosines:
    """Return the scores of turns, each mixed with the best score of its session."""
    best = np.full(int(sessions.max(initial=0)) + 1, -np.inf, np.float32)
    np.maximum.at(best, sessions, scores)
    shared: Cosines = ((1 - SESSION_SHARE) * scores + SESSION_SHARE * best[sessions]).astype(np.float32)
    return shared
