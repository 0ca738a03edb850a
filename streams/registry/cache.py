"""A file in the data directory with the schemas of known ids. It stays valid: the schema of an id never changes."""

from __future__ import annotations

import hashlib
import logging
from typing import TYPE_CHECKING

import orjson

if TYPE_CHECKING:
    from pathlib import Path

    from schemas.inputs.decoding import SchemaId

log = logging.getLogger("mnemolog")


class SchemaCache:
    """Schemas by id. Without the file, or with one that cannot be read, the registry is asked again."""

    def __init__(self, file: Path, registry: str) -> None:
        """Read the file; one written for another registry is ignored, because each registry has its own ids."""
        self._file = file
        self._registry = hashlib.sha256(registry.encode()).hexdigest()  # a URL may contain a password
        self._schemas: dict[str, list[str]] = {}
        try:
            stored = orjson.loads(file.read_bytes())
            if stored["registry"] == self._registry:
                self._schemas = dict(stored["schemas"])
        except FileNotFoundError:
            pass
        except (OSError, ValueError, KeyError, TypeError) as error:
            log.warning("%s cannot be read, the schema registry is asked again: %s", file, error)

    def get(self, schema_id: SchemaId) -> list[str] | None:
        """Return the texts of the schemas that an id's schema refers to, then its own; None if the id is unknown."""
        return self._schemas.get(str(schema_id))

    def put(self, schema_id: SchemaId, texts: list[str]) -> None:
        """Store the texts of an id, as `get` returns them."""
        self._schemas[str(schema_id)] = texts
        new_file = self._file.with_suffix(".new")
        try:
            self._file.parent.mkdir(0o700, parents=True, exist_ok=True)
            new_file.write_bytes(orjson.dumps({"registry": self._registry, "schemas": self._schemas}))
            new_file.replace(self._file)
        except OSError as error:
            log.warning("%s cannot be written, the next start asks the schema registry again: %s", self._file, error)
