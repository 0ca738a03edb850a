"""The built-in embedder: Universal Sentence Encoder, multilingual v3, on this machine."""

from __future__ import annotations

from typing import Final

from projections.embedding.encoder import DIMENSIONS
from projections.embedding.encoder_process import EncoderProcess
from projections.embedding.local import LocalEmbedder

RELEVANT: Final = 0.28
"""The least cosine of an episode and a question about it.

These vectors are far apart: the 48 pairs in `tests/data/episodes.jsonl`, in both languages, have cosines of 0.17 to
0.72. At 0.28, 44 of the questions find their episode, and 1 % of the other episodes. At 0.35, 40 of them do, and at
Luna's 0.7 only one.
"""


class BuiltinEmbedder(LocalEmbedder):
    """The built-in embedder, with 512 dimensions and one space for all its languages."""

    def __init__(self, *, cached_texts: int = 1024) -> None:
        super().__init__("builtin", EncoderProcess(), dimensions=DIMENSIONS, cached_texts=cached_texts)
