"""Messages by their bytes: who published a record, its shard's fold and an agent all want the same one."""

from __future__ import annotations

from typing import Any


class Remembered:
    """Keeps messages until their bytes are more than `max_bytes`, then starts anew. From any thread."""

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._messages: dict[bytes, Any] = {}
        self._bytes = 0

    def get(self, data: bytes) -> Any:  # noqa: ANN401 - any class of messages
        """Return the message of these bytes, None when it is not kept."""
        return self._messages.get(data)

    def put(self, data: bytes, message: Any) -> None:  # noqa: ANN401 - any class of messages
        """Keep a message by its bytes."""
        if data not in self._messages:  # each who passes it on remembers it
            self._bytes += len(data)
            if self._bytes > self._max_bytes:
                self._messages, self._bytes = {}, len(data)
        self._messages[data] = message
