"""How the month asks its workers: in turn, each request with a key of its own, until it is decided."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from http import HTTPStatus
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx
import orjson

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

WORKER = str(Path(__file__).with_name("worker_at.py"))
PUBLISHING = ("/v1/events", "/v1/conversations")
TIMEOUT_SECONDS = 120.0


class Present:
    """What the workers' clock says: the day on which she looks back, a few seconds later after every step."""

    def __init__(self, file: Path, begin: datetime) -> None:
        """Begin at an instant; the file is made."""
        self._file = file
        file.parent.mkdir(parents=True, exist_ok=True)
        self.now = begin
        self._write()

    def pass_by(self, seconds: float) -> None:
        """Let time pass."""
        self.now += timedelta(seconds=seconds)
        self._write()

    def _write(self) -> None:
        new = self._file.with_suffix(".new")
        new.write_text(self.now.isoformat())
        new.replace(self._file)  # never half of it is read


class MonthClient:
    """One client of all workers. The same requests have the same keys in every run, and so the same ids."""

    def __init__(self, urls: Sequence[str], present: Present) -> None:
        self.urls, self.present = urls, present
        self._http = httpx.AsyncClient(timeout=TIMEOUT_SECONDS)
        self._count = 0

    async def close(self) -> None:
        await self._http.aclose()

    async def answer(self, method: str, path: str, body: Any = None, **query: Any) -> httpx.Response:
        """Ask the next worker; what is busy or not decided yet is asked again, with the same key."""
        self._count += 1
        url, key = self.urls[self._count % len(self.urls)], f"month-{self._count}"
        async with asyncio.timeout(TIMEOUT_SECONDS):
            while True:
                answer = await self._http.request(
                    method, url + path, json=body, params=query, headers={"Idempotency-Key": key}
                )
                waits = answer.status_code == HTTPStatus.ACCEPTED and path not in PUBLISHING
                if answer.status_code != HTTPStatus.SERVICE_UNAVAILABLE and not waits:
                    return answer
                await asyncio.sleep(0.2)

    async def json(self, method: str, path: str, body: Any = None, **query: Any) -> Any:
        """Ask the next worker, and return what it answers."""
        answer = await self.answer(method, path, body, **query)
        assert answer.is_success, f"{method} {path}: {answer.text}"
        return answer.json()

    async def get(self, path: str, **query: Any) -> Any:
        return await self.json("GET", path, **query)

    async def lines(self, path: str) -> list[Any]:
        """Return an answer of lines."""
        answer = await self.answer("GET", path)
        assert answer.is_success, answer.text
        return [orjson.loads(line) for line in answer.content.splitlines()]

    async def settle(self) -> None:
        """Wait until everything published so far can be found."""
        await self.json("POST", "/v1/admin/drain", {"timeout": TIMEOUT_SECONDS})
        self.present.pass_by(1)

    async def tick(self, policy: str, as_of: datetime) -> Any:
        """Let it be an instant."""
        body = {"policy": policy, "as_of": as_of.isoformat(), "force": True, "timeout": TIMEOUT_SECONDS}
        return await self.json("POST", "/v1/admin/ticks", body)
