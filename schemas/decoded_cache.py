"""A cache of decoded messages by their encoding, so that bytes with several readers are decoded once."""

from __future__ import annotations

from typing import Any


class DecodedCache:
    """A cache that starts empty again when the encodings of its messages exceed `max_bytes`. It is thread-safe.

    Concurrent puts may count a message's bytes twice or not at all, which only shifts the moment of starting again.
    """

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._messages: dict[bytes, Any] = {}
        self._bytes = 0

    def clear(self) -> None:
        """Remove all messages."""
        self._messages, self._bytes = {}, 0

    def get(self, data: bytes) -> Any:  # noqa: ANN401 - any class of messages
        """Return the message of these bytes; None if it is not cached."""
        return self._messages.get(data) if self._messages else None  # hashing the bytes takes a microsecond

    def put(self, data: bytes, message: Any) -> None:  # noqa: ANN401 - any class of messages
        """Keep a message by its bytes."""
        if data not in self._messages:  # several readers may put the same one
            self._bytes += len(data)
            if self._bytes > self._max_bytes:
                self._messages, self._bytes = {}, len(data)
        self._messages[data] = message
