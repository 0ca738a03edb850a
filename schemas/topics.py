"""The topics, what travels on them, and how a key finds its partition."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from aiokafka.partitioner import murmur2

from schemas.dead_letters import DeadLetter
from schemas.decision import Decision
from schemas.inbox import INBOX_ITEMS
from schemas.observations import ArticleInferred, ScreenshotAnalysed, SessionEnded, TurnRecorded


@dataclass(frozen=True, slots=True)
class Topic:
    """A topic and the closed set of messages on it."""

    name: str
    messages: tuple[type, ...]
    single_partition: bool = False
    expires: bool = False
    """Kept for RETENTION_DAYS of log time; others for ever."""


CONVERSATIONS: Final = Topic("mnemolog.conversations", (TurnRecorded, SessionEnded), expires=True)
SCREENSHOTS: Final = Topic("mnemolog.screenshots", (ScreenshotAnalysed,), expires=True)
ARTICLES: Final = Topic("mnemolog.articles", (ArticleInferred,), expires=True)
INBOX: Final = Topic("mnemolog.inbox", INBOX_ITEMS)
LEDGER: Final = Topic("mnemolog.memories", (Decision,))
GLOBALS: Final = Topic("mnemolog.globals", (Decision,), single_partition=True)
DEAD_LETTERS: Final = Topic("mnemolog.dead-letters", (DeadLetter,))

INPUTS: Final = (CONVERSATIONS, SCREENSHOTS, ARTICLES)
TOPICS: Final = (*INPUTS, INBOX, LEDGER, GLOBALS, DEAD_LETTERS)


@lru_cache(maxsize=1 << 16)
def partition_of(key: bytes, partitions: int) -> int:
    """Return the partition of a key as Kafka's Java client computes it: murmur2, sign bit cleared, modulo."""
    return int((murmur2(key) & 0x7FFFFFFF) % partitions)
