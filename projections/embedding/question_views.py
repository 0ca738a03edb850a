"""The views of questions: their vectors while the embedder answers, and none while it is away."""

from __future__ import annotations

import logging
import time
from typing import TYPE_CHECKING

from projections.embedding.embedder import EmbedderFailed, EmbedderRefused, EmbedderUnavailable
from projections.embedding.serving import views_of
from projections.log_limit import LogLimit

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from projections.embedding.embedder import Embedder
    from projections.embedding.serving import View

log = logging.getLogger("mnemolog")


class QuestionViews:
    """The views of questions from the embedder, without which questions are answered by words while it is away.

    While it is away, one question at a time tries again: if an endpoint accepts connections and never answers, one
    caller waits for its time limit, and the others are answered at once.
    """

    def __init__(self, embedder: Embedder, *, clock: Callable[[], float] = time.monotonic) -> None:
        """`clock` returns seconds, for a log line at most once a minute."""
        self._embedder = embedder
        self._log_limit = LogLimit(clock=clock)
        self._is_away = False
        self._is_tried = False
        """Whether a question is trying the embedder while it is away."""

    async def of(self, question: str) -> Sequence[View]:
        """Return the embedder's views of a question, as `views_of`; none while the embedder is away.

        Raises EmbedderRefused.
        """
        if not self._is_away:
            return await self._asked(question)
        if self._is_tried:
            return ()
        self._is_tried = True
        try:
            return await self._asked(question)
        finally:
            self._is_tried = False

    async def _asked(self, question: str) -> Sequence[View]:
        try:
            views = await views_of(self._embedder, question)
        except EmbedderUnavailable as error:
            self.missed(error)
            return ()
        except EmbedderRefused:
            self._is_away = False
            raise
        self._is_away = False
        return views

    def missed(self, error: EmbedderUnavailable) -> None:
        """Record that a question could not be embedded, and log that at most once a minute."""
        self._is_away = not isinstance(error, EmbedderFailed)  # this one question may be the reason
        held_back = self._log_limit.admit()
        if held_back is not None:
            others = f"; so were {held_back} since this was last said" if held_back else ""
            log.warning("a question was answered by words alone: %s%s", error, others)
