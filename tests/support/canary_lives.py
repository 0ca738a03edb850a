"""The actions of users with canaries, on any engine: publish, set, change, ask, and let a model answer."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, TypeAlias

from support.canaries import published, user, word

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    Ask: TypeAlias = Callable[[str, str, Any], Awaitable[Any]]
    """Sends a method, a path and a body; returns the answer. Raises AssertionError if it is refused."""

USERS, AT_ONCE = 100, 10
ERASED = range(0, USERS, 5)
KEPT = [number for number in range(USERS) if number not in ERASED]


async def lives(ask: Ask, number: int) -> None:
    """Publish an event of every kind, set and change a memory, set a reminder, and search."""
    own = user(number)
    await ask("POST", "/v1/events", published(number))
    set_by_user = {"user_id": own, "content": f"keeps a {word('memory', number)}"}
    memory = await ask("POST", "/v1/memories", set_by_user | {"metadata": {"note": word("metadata", number)}})
    revised = {"content": word("revised", number)}
    await ask("PATCH", f"/v1/memories/{memory['memory_id']}?user_id={own}", revised)
    reminder = {"content": f"call {word('reminder', number)}", "due_at": "2030-01-01T00:00:00Z"}
    await ask("POST", f"/v1/users/{own}/reminders", reminder)
    await ask("POST", "/v1/search", {"user_id": own, "query": word("memory", number)})


async def speaks(ask: Ask, number: int, session: str, place: str) -> None:
    """Publish one more turn, in a session of its own."""
    own = user(number)
    said = f"I love {word(place, number)}."
    turn = {"type": "TurnRecorded", "event_id": f"{session}-{own}", "user_id": own, "session_id": session}
    await ask("POST", "/v1/events", turn | {"role": "user", "content": said})


async def each(numbers: Sequence[int], live: Callable[[int], Awaitable[None]]) -> None:
    """Run the actions of users, AT_ONCE of them at a time."""
    for start in range(0, len(numbers), AT_ONCE):
        await asyncio.gather(*(live(number) for number in numbers[start : start + AT_ONCE]))
