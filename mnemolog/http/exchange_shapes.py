"""The shape of what an import answers."""

from mnemolog.http.shapes import Shape


class ImportedMemory(Shape):
    """What became of one memory that was to be imported."""

    memory_id: str | None
    action: str
    """formed, superseded, expired or forgotten, as it came; nothing when it is known; waiting."""
    reason: str


class Imported(Shape):
    """What became of memories that were to be imported, in their order; `skipped` lines were history."""

    items: list[ImportedMemory]
    imported: int
    known: int
    waiting: int
    skipped: int
