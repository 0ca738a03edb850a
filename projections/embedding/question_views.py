"""How questions are asked: also by their meaning while the embedder answers, by their words alone while it is away."""

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
    from projections.embedding.languages import View

log = logging.getLogger("mnemolog")


class QuestionViews:
    """Asks the embedder what questions mean, and does without while it is away.

    Each question asks again, one at a time: with an endpoint that takes connections and never answers, one caller waits
    for its time limit, and the others are answered at once.
    """

    def __init__(self, embedder: Embedder, *, clock: Callable[[], float] = time.monotonic) -> None:
        """`clock` returns seconds: what is away is logged once a minute."""
        self._embedder = embedder
        self._log_limit = LogLimit(clock=clock)
        self._is_away = False
        self._is_tried = False
        """By one question, while it is away."""

    async def of(self, question: str) -> Sequence[View]:
        """Return what a question means in each space that memories have; none while the embedder is away.

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
        """Take in that a question could not be asked by its meaning, and say so once a minute."""
        self._is_away = not isinstance(error, EmbedderFailed)  # that may be because of this one question
        held_back = self._log_limit.admit()
        if held_back is not None:
            others = f"; so were {held_back} since this was last said" if held_back else ""
            log.warning("a question was answered by words alone: %s%s", error, others)
