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
