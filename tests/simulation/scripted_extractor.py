"""A model that follows a script: the same words always have the same answer, whoever asks, and sometimes it is down."""

from __future__ import annotations

import asyncio
import re
from collections import Counter
from dataclasses import dataclass, field
from datetime import timedelta
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from projections.embedding.embedder import EmbedderUnavailable
from schemas.identity import Owner, extracted_memory_id
from streams.extraction.protocol import Extraction, Outage, Proposal, Rejected

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from datetime import date
    from random import Random

    from projections.embedding.embedder import Vectors
    from streams.extraction.protocol import Window

POISON: Final = "poison"
"""A window with this word is rejected."""
FACT: Final = re.compile(r"(trait|brief|city|event)([a-z]{3})\b")
"""Each such word is one thing to remember, and shares no keyword with any other."""
MODEL: Final = "scripted"
PROMPT_HASH: Final = "1"
KEYED: Final[dict[str, dict[str, Any]]] = {
    "a": {"about": "my mother"},
    "b": {"about": "The user's mother"},
    "c": {"about": "Lena"},
    "d": {"speaker": "Lena"},
    "e": {"about": "my mother", "confirmed": False},
}
"""By the last letter of a trait, whom it is about: then it has a key, and takes the place of an older value."""
REPLACES: Final = "fhijk"
"""Last letters of traits that take the place of what was said before them in the same turn, where anything was."""
ENDS: Final = "lmn"
"""Last letters of traits that end it."""
PLANNED: Final = {"trait": "gop", "city": "cfilorux"}
"""Last letters of what is a plan: from the next day on it says where the user lives."""
FAILURES_OF_A_WINDOW: Final = 3
"""Fewer than make it poison: which windows fail so often is not the same in two runs."""


def fact(kind: str, number: int) -> str:
    """Return the word of a fact: trait, brief (forgotten in 48 hours), city (one at a time) or event."""
    letters = [chr(ord("a") + number // 26**place % 26) for place in (2, 1, 0)]
    return kind + "".join(letters)


def proposal(kind: str, word: str, source: int, today: date, before: tuple[str, ...] = ()) -> Proposal:
    """Return what is proposed for a fact; `before` are the memories of what the same turn said before it."""
    importance = 0.5 + (ord(word[-1]) % 5) / 10
    letter = word[-1] if kind == "trait" else "z"
    key = KEYED.get(letter, {})
    is_plan = word[-1] in PLANNED.get(kind, "")
    return Proposal(
        content=word,
        kind="episodic" if kind == "event" else "semantic",
        memory_type="short_term" if kind == "brief" else "long_term",
        importance=importance,
        attribute="city" if (kind == "city" or key) and not is_plan else None,
        value=f"town {word}" if kind == "city" or key or is_plan else None,
        becomes="city" if is_plan else None,
        occurred_on=today + timedelta(days=1) if is_plan else None,
        event_type=word if kind == "event" else None,
        replaces=before if letter in REPLACES else (),
        ends=before if letter in ENDS else (),
        **key,
        sources=(source,),
    )


@dataclass(slots=True)
class Model:
    """The one model that all workers ask; an Extractor."""

    chance: Random
    outages: float = 0.0
    slow: float = 0.3
    model: str = MODEL
    prompt_hash: str = PROMPT_HASH
    _failed: Counter[str] = field(default_factory=Counter)

    async def extract(self, window: Window) -> Extraction:
        """Return one memory for each fact that somebody other than the assistant said."""
        await asyncio.sleep(self.chance.random() * (20.0 if self.chance.random() < self.slow else 0.5))
        first = window.pieces[0].piece_id
        if self.chance.random() < self.outages and self._failed[first] < FAILURES_OF_A_WINDOW:
            self._failed[first] += 1
            raise Outage("the model is simulated to be down", self.chance.choice((None, 1.0, 40.0)))
        if any(POISON in piece.text for piece in window.pieces):
            raise Rejected("the answer is no JSON", answer="sorry")
        return Extraction(proposals=tuple(_proposals(window)), answer=f"{len(window.pieces)} pieces")


def _proposals(window: Window) -> Iterator[Proposal]:
    owner = Owner(window.tenant, window.user_id)
    for number, piece in enumerate(window.pieces):
        if piece.speaker == "assistant":
            continue
        before: tuple[str, ...] = ()
        for ordinal, found in enumerate(FACT.finditer(piece.text)):
            yield proposal(found[1], found[0], number, piece.today, before)
            before = (*before, extracted_memory_id(owner, piece.piece_id, ordinal, MODEL, PROMPT_HASH))


@dataclass(slots=True)
class HashEmbedder:
    """Vectors that depend on nothing but the text's bytes, 32 numbers each."""

    chance: Random
    outages: float = 0.0
    model: str = "hash"

    async def embed(self, texts: Sequence[str], *, urgent: bool = False) -> Vectors:  # noqa: ARG002
        """Return unit vectors. Raises EmbedderUnavailable now and then."""
        await asyncio.sleep(0)
        if self.chance.random() < self.outages:
            raise EmbedderUnavailable("the embedder is simulated to be down")
        return np.stack([vector(text) for text in texts])


def vector(text: str) -> Vectors:
    """Return the unit vector of a text."""
    numbers = np.frombuffer(blake2b(text.encode(), digest_size=32).digest(), np.int8).astype(np.float32)
    return np.asarray(numbers / np.linalg.norm(numbers), np.float32)
