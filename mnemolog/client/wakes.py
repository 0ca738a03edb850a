"""The routes about wakes and reminders as calls."""

from __future__ import annotations

from mnemolog.client.call import Call, Instant, Json, command, get, given, path_of
from mnemolog.client.carrier import method


def wake(user_id: str = "owner", agent_id: str | None = None) -> Call[Json]:
    """Return how the user's agent is woken, and when next. Raises NotFound when it is not, or is another agent's."""
    return get(path_of("v1", "users", user_id, "wake"), agent_id=agent_id)


def configure_wake(
    every_seconds: float,
    user_id: str = "owner",
    agent_id: str | None = None,
    *,
    text: str | None = None,
    query: str | None = None,
    memory_limit: int | None = None,
    key: str | None = None,
) -> Call[Json]:
    """Wake the user's agent at every multiple of a period; what is left out is what the server's settings say."""
    body = given(every_seconds=every_seconds, text=text, query=query, memory_limit=memory_limit, agent_id=agent_id)
    return command("PUT", path_of("v1", "users", user_id, "wake"), body, key)


def remove_wake(user_id: str = "owner", agent_id: str | None = None, *, key: str | None = None) -> Call[Json]:
    """Wake the user's agent periodically no more. Raises NotFound when the wake is another agent's."""
    return command("DELETE", path_of("v1", "users", user_id, "wake"), key=key, agent_id=agent_id)


def remind(
    due_at: Instant,
    content: str,
    user_id: str = "owner",
    agent_id: str | None = None,
    *,
    channel: str = "dm",
    key: str | None = None,
) -> Call[Json]:
    """Schedule a reminder, which is due once; returns it with its `reminder_id`."""
    body = given(due_at=due_at, content=content, channel=channel, agent_id=agent_id)
    return command("POST", path_of("v1", "users", user_id, "reminders"), body, key)


def reminders(
    user_id: str = "owner", agent_id: str | None = None, *, page: int = 1, page_size: int = 200
) -> Call[Json]:
    """List the reminders that wait, of all agents or of one, the next first: `{items, total, page, page_size}`."""
    return get(path_of("v1", "users", user_id, "reminders"), agent_id=agent_id, page=page, page_size=page_size)


def cancel_reminder(
    reminder_id: str, user_id: str = "owner", agent_id: str | None = None, *, key: str | None = None
) -> Call[Json]:
    """Cancel a reminder. Raises NotFound when it does not wait any more, or is another agent's."""
    path = path_of("v1", "users", user_id, "reminders", reminder_id)
    return command("DELETE", path, key=key, agent_id=agent_id)


def wakes(
    user_id: str = "owner", agent_id: str | None = None, *, after: str | None = None, limit: int = 50
) -> Call[Json]:
    """Return the wakes after a place, in the order in which they were raised: `{items, next}`; `next` is that place."""
    return get(path_of("v1", "users", user_id, "wakes"), after=after, agent_id=agent_id, limit=limit)


class WakeMethods:
    """The methods of these calls, of both clients."""

    wake = method(wake)
    configure_wake = method(configure_wake)
    remove_wake = method(remove_wake)
    remind = method(remind)
    reminders = method(reminders)
    cancel_reminder = method(cancel_reminder)
    wakes = method(wakes)
