"""A common scale for cosines, which differ between encoders for equally near texts; anchors measure the difference.

A linear map brings an encoder's cosines to those of the built-in one, as between the languages of one index
(`languages.py`). Two points fix it: unrelated texts, and a question with its answer.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from projections.embedding.anchors import LANGUAGES, QUESTIONS, STATEMENTS
from projections.embedding.embedder import EmbedderRefused, EmbedderUnavailable
from projections.embedding.languages import far_and_near

if TYPE_CHECKING:
    from collections.abc import Sequence

    from projections.embedding.embedder import Embedder, Vectors

BUILTIN: Final = "builtin"
FAR: Final = 0.066
NEAR: Final = 0.452
"""The built-in encoder's mean cosines of unrelated texts (FAR) and of questions with answers (NEAR), both languages."""
_LEAST: Final = 0.01


class ReferenceScale:
    """The maps from encoders' cosines to the built-in one's; each encoder is measured once."""

    def __init__(self) -> None:
        self._lines: dict[str, tuple[float, float]] = {BUILTIN: (1.0, 0.0)}

    async def of(self, encoder: Embedder) -> tuple[float, float]:
        """Return the `scale` and `shift` of an encoder's cosines; 1 and 0 while the encoder is unavailable."""
        model = encoder.model
        if (line := self._lines.get(model)) is None:
            try:
                measured = [await _measured(encoder, language) for language in LANGUAGES]
            except (EmbedderUnavailable, EmbedderRefused):
                return 1.0, 0.0
            far, near = np.mean(measured, axis=0).tolist()
            scale = (NEAR - FAR) / max(near - far, _LEAST)
            line = self._lines[model] = scale, FAR - scale * far
        return line


async def _measured(encoder: Embedder, language: str) -> tuple[float, float]:
    # As urgent as a question, because a question waits for it.
    statements = await encoder.embed(STATEMENTS[language], urgent=True)
    questions = await encoder.embed(QUESTIONS[language], urgent=True)
    return far_and_near(_table(questions) @ _table(statements).T)


def _table(vectors: Vectors | Sequence[Vectors]) -> Vectors:
    return np.stack(list(vectors))
