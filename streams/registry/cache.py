"""What the ids of a registry mean, kept in a file of the data directory: an id's schema never changes."""

from __future__ import annotations

import hashlib
import logging
from typing import TYPE_CHECKING

import orjson

if TYPE_CHECKING:
    from pathlib import Path

log = logging.getLogger("mnemolog")


class SchemaCache:
    """A convenience: without its file, or with one that cannot be read, the registry is asked again."""

    def __init__(self, file: Path, registry: str) -> None:
        """Read the file; what another registry said in it does not count, for ids are each registry's own."""
        self._file = file
        self._registry = hashlib.sha256(registry.encode()).hexdigest()  # a URL may hold a password
        self._schemas: dict[str, list[str]] = {}
        try:
            found = orjson.loads(file.read_bytes())
            if found["registry"] == self._registry:
                self._schemas = dict(found["schemas"])
        except FileNotFoundError:
            pass
        except (OSError, ValueError, KeyError, TypeError) as error:
            log.warning("%s cannot be read, the schema registry is asked again: %s", file, error)

    def get(self, schema_id: int) -> list[str] | None:
        """Return an id's schema behind those that it refers to, if it is known."""
        return self._schemas.get(str(schema_id))

    def put(self, schema_id: int, texts: list[str]) -> None:
        """Keep what an id means."""
        self._schemas[str(schema_id)] = texts
        beside = self._file.with_suffix(".new")
        try:
            self._file.parent.mkdir(parents=True, exist_ok=True)
            beside.write_bytes(orjson.dumps({"registry": self._registry, "schemas": self._schemas}))
            beside.replace(self._file)
        except OSError as error:
            log.warning("%s cannot be written, the next start asks the schema registry again: %s", self._file, error)
