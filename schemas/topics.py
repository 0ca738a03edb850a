"""The topics, their messages and limits, and the partition of a key."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from aiokafka.partitioner import murmur2

from schemas.log import RecordTooLarge
from schemas.messages.data_keys import DataKey
from schemas.messages.dead_letters import DeadLetter
from schemas.messages.decision import Decision
from schemas.messages.inbox import INBOX_ITEMS
from schemas.messages.observations import ArticleInferred, ScreenshotAnalysed, SessionEnded, TurnRecorded
from schemas.messages.policy import PolicySet
from schemas.messages.webhooks import (
    WebhookMoved,
    WebhookProgress,
    WebhookRemoved,
    WebhookSecretSet,
    WebhookSet,
)

if TYPE_CHECKING:
    from schemas.log import NewRecord

MAX_RECORD_BYTES: Final = 1 << 20
"""The largest record: Kafka's own default for a batch in transit, into which a single record must fit."""
MAX_LETTER_BYTES: Final = 16 << 20
"""The largest dead letter: it holds a whole record and more, and the record may have arrived compressed."""

_BATCH_BYTES: Final = 100
"""The most that a batch adds to its only record."""
_HEADER_BYTES: Final = 10
"""The most that a header adds to its name and value."""
_SEALING_BYTES: Final = 48
"""The most that sealing adds to a record."""


@dataclass(frozen=True, slots=True)
class Topic:
    """A topic and the closed set of messages on it."""

    name: str
    messages: tuple[type, ...]
    single_partition: bool = False
    expires: bool = False
    """Whether the topic keeps records only for RETENTION_DAYS of log time; other topics keep them indefinitely."""
    max_record_bytes: int = MAX_RECORD_BYTES
    compacted: bool = False
    """Whether the topic keeps only each key's newest record; other topics keep all."""


CONVERSATIONS: Final = Topic("mnemolog.conversations", (TurnRecorded, SessionEnded), expires=True)
SCREENSHOTS: Final = Topic("mnemolog.screenshots", (ScreenshotAnalysed,), expires=True)
ARTICLES: Final = Topic("mnemolog.articles", (ArticleInferred,), expires=True)
INBOX: Final = Topic("mnemolog.inbox", INBOX_ITEMS)
LEDGER: Final = Topic("mnemolog.memories", (Decision,))
GLOBALS: Final = Topic("mnemolog.globals", (Decision,), single_partition=True)
POLICIES: Final = Topic("mnemolog.policies", (PolicySet,), single_partition=True)
KEYS: Final = Topic("mnemolog.keys", (DataKey,), single_partition=True, compacted=True)
REPLACEMENTS: Final = Topic(
    "mnemolog.replacements", (), single_partition=True, max_record_bytes=MAX_LETTER_BYTES, compacted=True
)
WEBHOOKS: Final = Topic(
    "mnemolog.extensions.webhooks", (WebhookSet, WebhookSecretSet, WebhookMoved, WebhookRemoved), single_partition=True
)
WEBHOOK_PROGRESS: Final = Topic("mnemolog.webhook-progress", (WebhookProgress,), single_partition=True, compacted=True)
DEAD_LETTERS: Final = Topic("mnemolog.dead-letters", (DeadLetter,), max_record_bytes=MAX_LETTER_BYTES)

LEDGERS: Final = frozenset({LEDGER.name, GLOBALS.name})
INPUTS: Final = (CONVERSATIONS, SCREENSHOTS, ARTICLES)
TOPICS: Final = (
    *INPUTS,
    INBOX,
    LEDGER,
    GLOBALS,
    POLICIES,
    KEYS,
    REPLACEMENTS,
    WEBHOOKS,
    WEBHOOK_PROGRESS,
    DEAD_LETTERS,
)


def max_record_bytes(name: str) -> int:
    """Return the most bytes of a record of a topic."""
    return next((t.max_record_bytes for t in TOPICS if t.name == name), MAX_RECORD_BYTES)


def check_size(record: NewRecord) -> None:
    """Raise RecordTooLarge if a record, in its own batch, exceeds the limit of its topic."""
    headers = sum(len(name.encode()) + len(value) + _HEADER_BYTES for name, value in record.headers)
    size = len(record.value) + len(record.key or b"") + headers + _BATCH_BYTES + _SEALING_BYTES
    if size > (limit := max_record_bytes(record.topic)):
        raise RecordTooLarge(f"a record of {record.topic} would have {size} bytes, at most {limit} are allowed")


@lru_cache(maxsize=1 << 16)
def partition_of(key: bytes, partitions: int) -> int:
    """Return the partition of a key as Kafka's Java client computes it: murmur2, sign bit cleared, modulo."""
    return int((murmur2(key) & 0x7FFFFFFF) % partitions)
