"""Checks of a server elsewhere: whether it is ready, and what it reaches itself."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

import httpx

from mnemolog.client.transport import connection_to, headers_of
from mnemolog.diagnostics.check import Check
from mnemolog.diagnostics.checks import REACH_SECONDS, reason
from schemas.disclosure import masked

if TYPE_CHECKING:
    from pathlib import Path

    from mnemolog.client.transport import Connection

_NEEDED: Final = ("log", "shards", "data directory")
"""A server is not ready without these; the first that is wrong is the reason."""


async def of_server(url: str, api_key: str | None = None, ca_file: Path | None = None) -> list[Check]:
    """Return the check of a server, followed by the checks that it makes itself, if it reports them.

    `ca_file` has the authorities of its certificate.
    """
    how = connection_to(url, ca_file)
    return explained(await _server(url, how), await _reached_by(url, api_key, how))


def explained(at: Check, reached: list[Check]) -> list[Check]:
    """Return the check of a server, then those of its components; its advice names the component at fault."""
    why = [one.name for one in reached if not one.ok and one.name in _NEEDED]
    return [replace(at, advice=f"see the row {why[0]}") if why and not at.ok else at, *reached]


async def _server(url: str, how: Connection) -> Check:
    """Ask a server whether it is ready."""
    async with httpx.AsyncClient(timeout=REACH_SECONDS, **how) as http:
        try:
            answer = await http.get(f"{url.rstrip('/')}/health/ready")
        except (httpx.TransportError, httpx.InvalidURL) as error:
            return Check(
                "server", ok=False, detail=f"{masked(url)}: {reason(error)}", advice="start `mnemolog up` there"
            )
    if answer.is_success:
        return Check("server", ok=True, detail=f"{masked(url)} is ready")
    try:
        why = f": {answer.json()['detail']}"
    except (ValueError, KeyError, TypeError):
        why = ""
    detail = f"{masked(url)} answers {answer.status_code}{why}"
    return Check("server", ok=False, detail=detail, advice="wait until it has started, or read its log")


async def _reached_by(url: str, api_key: str | None, how: Connection) -> list[Check]:
    """Ask a server about its components; [] if it does not answer, as for a key without the role operator."""
    async with httpx.AsyncClient(timeout=6 * REACH_SECONDS, **how) as http:
        try:
            answer = await http.get(f"{url.rstrip('/')}/v1/admin/checks", headers=headers_of(api_key))
            return [Check(**one) for one in answer.json()["checks"]] if answer.is_success else []
        except (httpx.TransportError, httpx.InvalidURL, ValueError, KeyError, TypeError):
            return []
