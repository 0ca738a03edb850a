"""A cache of decoded messages by their encoding, so that bytes that several readers need are decoded once."""

from __future__ import annotations

from typing import Any


class DecodedCache:
    """Messages until their encodings are more than `max_bytes`; then it starts anew. Safe from any thread.

    Two threads that put at once may count a message's bytes twice or not at all, which moves the moment at which it
    starts anew and nothing else.
    """

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._messages: dict[bytes, Any] = {}
        self._bytes = 0

    def clear(self) -> None:
        """Keep nothing of what was put until now."""
        self._messages, self._bytes = {}, 0

    def get(self, data: bytes) -> Any:  # noqa: ANN401 - any class of messages
        """Return the message of these bytes, None when it is not kept."""
        return self._messages.get(data) if self._messages else None  # to hash a message takes a microsecond

    def put(self, data: bytes, message: Any) -> None:  # noqa: ANN401 - any class of messages
        """Keep a message by its bytes."""
        if data not in self._messages:  # several readers may put the same one
            self._bytes += len(data)
            if self._bytes > self._max_bytes:
                self._messages, self._bytes = {}, len(data)
        self._messages[data] = message
