"""The built-in embedder: Universal Sentence Encoder, multilingual v3, on this machine."""

from __future__ import annotations

from projections.embedding.encoder import DIMENSIONS
from projections.embedding.encoder_process import EncoderProcess
from projections.embedding.local import LocalEmbedder


class BuiltinEmbedder(LocalEmbedder):
    """512 dimensions, one space for all its languages."""

    def __init__(self, *, cached_texts: int = 1024) -> None:
        """`cached_texts` as for LocalEmbedder."""
        super().__init__("builtin", EncoderProcess(), dimensions=DIMENSIONS, cached_texts=cached_texts)
