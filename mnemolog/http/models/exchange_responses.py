"""Answers of an import, for the OpenAPI document."""

from mnemolog.http.models.responses import Shape


class ImportedMemory(Shape):
    """What became of one memory that was to be imported, or of one wake, which has no memory."""

    memory_id: str | None
    action: str
    """formed, superseded, expired or forgotten, as it came; scheduled, configured; nothing when it is known; waiting;
    refused, because too many reminders wait."""
    reason: str


class Imported(Shape):
    """What became of the lines that were to be imported, in their order; `skipped` lines were history."""

    items: list[ImportedMemory]
    imported: int
    known: int
    waiting: int
    refused: int
    skipped: int


class Remainder(Shape):
    """Data of an erased user that can still be read."""

    where: str
    until: str | None
    """Null: indefinitely."""
    why: str


class Preview(Shape):
    """What an erasure would remove."""

    user: str
    events: int
    """Observations that are stored."""
    memories: int
    """In any status."""
    generations: int
    """Generations of shards that the user is removed from."""
    index: int
    """Entries in the index."""
    remains: list[Remainder]


class Receipt(Preview):
    """What an erasure removed; signed over all other fields, as JSON with sorted keys and without whitespace."""

    receipt_id: str
    erased_at: str
    keys: list[str]
    """The ids of the data keys that were destroyed; empty for a single memory."""
    positions: list[str]
    """For each topic, `topic:partition:offset`: the user's records before it are erased; empty for a single memory."""
    signature: str
    """Ed25519, base64."""


class MemoryPreview(Preview):
    """What the erasure of a memory would remove."""

    memory_id: str
    event_ids: list[str]
    """The observations that are removed with it."""
    kept: list[str]
    """Other memories from the same observations: they stay, in their own words."""


class MemoryReceipt(Receipt, MemoryPreview):
    """What the erasure of a memory removed; signed in the same way."""


class MemoriesForgotten(Shape):
    """The memories that a filter removed, or would remove. Each that was erased for good has a receipt."""

    items: list[str]
    """Their ids."""
    waiting: list[str]
    """Those whose command is accepted and not decided yet."""
    left: int
    """How many more meet the filter."""
    receipts: list[MemoryReceipt]


class ListedErasure(Shape):
    """An erasure, without a name."""

    receipt_id: str
    subject: str
    """A keyed hash of the user or the memory."""
    erased_at: str
    memories: int
    public_key: str
    """Verifies the signature of its receipt. Without encryption, each worker has its own key."""


class ErasuresListed(Shape):
    """The erasures of a tenant; `public_key` verifies the receipts that this worker signs."""

    items: list[ListedErasure]
    public_key: str
