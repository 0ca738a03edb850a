"""Liveness and readiness of a worker at a URL."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import httpx

from mnemolog.client.transport import connection_to

if TYPE_CHECKING:
    from pathlib import Path

PROBE_SECONDS: Final = 5.0


async def live_url(note: dict[str, object], ca_file: Path | None = None) -> str | None:
    """Return the URL in a lock's note if a worker answers there; `ca_file` has the authorities of its certificate."""
    url = note.get("url")
    if not isinstance(url, str):
        return None
    async with httpx.AsyncClient(timeout=PROBE_SECONDS, **connection_to(url, ca_file)) as http:
        try:
            answer = await http.get(f"{url}/health/live")
        except httpx.TransportError:
            return None
    return url if answer.is_success else None


async def ready_answer(url: str, ca_file: Path | None = None) -> dict[str, Any] | None:
    """Return the answer of a ready worker about itself; None if it is not ready, or does not answer."""
    async with httpx.AsyncClient(timeout=PROBE_SECONDS, **connection_to(url, ca_file)) as http:
        try:
            answer = await http.get(f"{url.rstrip('/')}/health/ready")
            return dict(answer.json()) if answer.is_success else None
        except (httpx.TransportError, ValueError):
            return None


async def is_ready(url: str, ca_file: Path | None = None) -> bool:
    """Return whether requests may be sent to a worker."""
    async with httpx.AsyncClient(timeout=PROBE_SECONDS, **connection_to(url, ca_file)) as http:
        try:
            return (await http.get(f"{url}/health/ready")).is_success
        except httpx.TransportError:
            return False
