"""The verbatim extractor: each piece is remembered word for word."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Final

from streams.extraction.evidence.speakers import others_of
from streams.extraction.protocol import Extraction, Proposal

if TYPE_CHECKING:
    from streams.extraction.protocol import Window

_VERSION: Final = "1"
_PROMPT_HASH: Final = hashlib.sha256(f"verbatim:{_VERSION}".encode()).hexdigest()


class VerbatimExtractor:
    """Proposes each piece that the user said or saw; the assistant's pieces and blank ones are left out."""

    @property
    def model(self) -> str:
        """`verbatim`."""
        return "verbatim"

    @property
    def prompt_hash(self) -> str:
        """SHA-256 of the version, in hex."""
        return _PROMPT_HASH

    async def extract(self, window: Window) -> Extraction:
        """Return one semantic, long-term fact of importance 0.5 for each piece, word for word. Never raises."""
        others = others_of(window)
        return Extraction(
            proposals=tuple(
                Proposal(content=piece.text, memory_type="long_term", sources=(index,), speaker=others.get(index))
                for index, piece in enumerate(window.pieces)
                if piece.speaker != "assistant" and piece.text.strip()
            )
        )
