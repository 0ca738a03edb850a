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
    """What can still be read of an erased user."""

    where: str
    until: str | None
    """Null: without end."""
    why: str


class Preview(Shape):
    """What an erasure would take."""

    user: str
    events: int
    """Observations that are held."""
    memories: int
    """Of every status."""
    generations: int
    """Of shards, from which the user goes."""
    index: int
    """Entries of the index."""
    remains: list[Remainder]


class Receipt(Preview):
    """What an erasure took; signed over all other fields, as JSON with sorted names and no blanks."""

    receipt_id: str
    erased_at: str
    keys: list[str]
    """The ids of the data keys that were destroyed."""
    signature: str
    """Ed25519, base64."""


class MemoryPreview(Preview):
    """What the erasure of a memory would take."""

    memory_id: str
    event_ids: list[str]
    """The observations that go with it."""
    kept: list[str]
    """Other memories that came from these observations: they stay, in words of their own."""


class MemoryReceipt(Receipt, MemoryPreview):
    """What the erasure of a memory took; signed as a receipt is."""


class MemoriesForgotten(Shape):
    """Which memories went by a filter, or would go; those that were erased for good each have a receipt."""

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
    """A keyed hash of whom it was about."""
    erased_at: str
    memories: int
    public_key: str
    """What checks the signature of its receipt: without encryption each worker has a key of its own."""


class ErasuresListed(Shape):
    """The erasures of a tenant; `public_key` checks the signatures of the receipts that the worker gives."""

    items: list[ListedErasure]
    public_key: str
