"""One scale for cosines: what different encoders call near differs, and the anchors tell how far.

As between the languages of one index (`languages.py`): by a line through what has nothing to do with each other, and a
question with what answers it, an encoder's cosines are brought to the built-in one's.
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
"""Of the built-in encoder's cosines, on average of both languages."""
_LEAST: Final = 0.01


class ReferenceScale:
    """Which of the built-in encoder's cosines mean what an encoder's do; measured once for each."""

    def __init__(self) -> None:
        self._lines: dict[str, tuple[float, float]] = {BUILTIN: (1.0, 0.0)}

    async def of(self, encoder: Embedder) -> tuple[float, float]:
        """Return `scale` and `shift` of an encoder's cosines; as they are while it cannot be asked."""
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
    # As urgent as a question, for one waits.
    statements = await encoder.embed(STATEMENTS[language], urgent=True)
    questions = await encoder.embed(QUESTIONS[language], urgent=True)
    return far_and_near(_table(questions) @ _table(statements).T)


def _table(vectors: Vectors | Sequence[Vectors]) -> Vectors:
    return np.stack(list(vectors))
