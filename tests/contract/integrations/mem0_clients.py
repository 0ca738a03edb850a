"""mem0's own clients, as they come from the registry, without their telemetry."""

from __future__ import annotations

import os
import tempfile
from typing import Any


def _quiet() -> None:
    """Have mem0 tell nobody of its use, and keep its settings apart. It reads this when it is imported."""
    os.environ["MEM0_TELEMETRY"] = "False"
    os.environ.setdefault("MEM0_DIR", tempfile.mkdtemp(prefix="mem0-"))


def memory_client(url: str, key: str = "any") -> Any:
    """Return mem0's client of a server."""
    _quiet()
    from mem0 import MemoryClient  # noqa: PLC0415 - it reads the environment when it is imported

    return MemoryClient(api_key=key, host=url)


def async_memory_client(url: str, key: str = "any") -> Any:
    """Return mem0's asynchronous client of a server."""
    _quiet()
    from mem0 import AsyncMemoryClient  # noqa: PLC0415 - it reads the environment when it is imported

    return AsyncMemoryClient(api_key=key, host=url)
