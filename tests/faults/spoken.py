"""What is said in the fault tests: a few users, whose every fact is said once, each session ended by its own event."""

from __future__ import annotations

from typing import Any

USERS = ("ann", "ben", "cai")
SAID = (
    "My name is {name}.",
    "I live in Berlin.",
    "I work as a nurse.",
    "I love hiking.",
    "I am allergic to peanuts.",
    "我喜欢喝咖啡",
    "I moved to Paris.",
)


def spoken() -> list[dict[str, Any]]:
    """Return the events of all users, interleaved."""
    turns = [
        {
            "type": "TurnRecorded",
            "event_id": f"{user}-{number}",
            "user_id": user,
            "session_id": f"{user}-s",
            "role": "user",
            "content": text.format(name=user.title()),
            "occurred_at": f"2026-01-05T08:{number:02}:00Z",
        }
        for number, text in enumerate(SAID)
        for user in USERS
    ]
    ends = [
        {
            "type": "SessionEnded",
            "event_id": f"{user}-end",
            "user_id": user,
            "session_id": f"{user}-s",
            "occurred_at": "2026-01-05T09:00:00Z",
        }
        for user in USERS
    ]
    return [*turns, *ends]
