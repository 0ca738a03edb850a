"""Reminders and wakes of a front door, as the tests ask for them."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from datetime import datetime

    from contract.front_door import FrontDoor

YEARS: Final = timedelta(days=3 * 365)
MANY_SECONDS: Final = 120.0
QUIET_SECONDS: Final = 1.2
"""Longer than the owner's clock takes to look twice."""


async def remind(door: FrontDoor, user: str, due_at: datetime, content: str = "call mum", **more: object) -> Any:
    body = {"due_at": due_at.isoformat(), "content": content, "channel": "telegram"} | more
    response = await door.post(f"/v1/users/{user}/reminders", body)
    assert response.status_code == 201, response.text
    return response.json()


async def wakes(door: FrontDoor, user: str, count: int, after: str = "0", **query: object) -> list[dict[str, Any]]:
    """Return a user's wakes when there are so many."""
    async with asyncio.timeout(MANY_SECONDS):
        while True:
            answer = (await door.get(f"/v1/users/{user}/wakes", after=after, **query)).json()
            if len(answer["items"]) >= count:
                items: list[dict[str, Any]] = answer["items"]
                return items
            await asyncio.sleep(0.05)


def soon(door: FrontDoor, **span: float) -> datetime:
    return door.worker.clock.now() + timedelta(**span)


async def ask_for_each_status(asks: Callable[..., Awaitable[None]], *, decided: bool) -> None:
    """Ask every route about wakes for each status that it gives to decided commands, or to those that wait."""
    wake, reminders, key = "/v1/users/none/wake", "/v1/users/none/reminders", {"idempotency-key": "wakes"}
    body = {"due_at": "2100-01-01", "content": "call mum", "channel": "dm"}
    if not decided:
        await asks("PUT", wake, 202, {"every_seconds": 60})
        await asks("DELETE", wake, 202)
        await asks("POST", reminders, 202, body)
        await asks("DELETE", f"{reminders}/none", 202)
        return
    await asks("GET", wake, 404)
    await asks("PUT", wake, 200, {"every_seconds": 600, "agent_id": "mia"}, **key)
    await asks("PUT", wake, 409, {"every_seconds": 60}, **key)
    await asks("GET", wake, 200)
    await asks("DELETE", f"{wake}?agent_id=luna", 404)
    await asks("DELETE", wake, 200)
    await asks("POST", reminders, 201, body, **key)
    await asks("POST", reminders, 409, body | {"channel": "phone"}, **key)
    await asks("GET", reminders, 200)
    await asks("DELETE", f"{reminders}/none", 404)
    await asks("GET", "/v1/users/none/wakes", 200)
