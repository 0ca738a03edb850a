"""The template of the text that an agent receives when a reminder is due, with three places."""

from __future__ import annotations

import re
from typing import Final

from schemas.text import on_one_line

REMINDER_TEMPLATE: Final = (
    "[Scheduled Reminder] Please remind user {user_id} on {channel}: {content}. Use send_message."
)
PLACES: Final = ("user_id", "channel", "content")
_PLACE = re.compile(r"\{(\w*)\}")


def check_template(template: str) -> str:
    """Return the template if it has the place for the content, and none that is not known. Raises ValueError."""
    named = _PLACE.findall(template)
    if unknown := [name for name in named if name not in PLACES]:
        raise ValueError(f"has the place {{{unknown[0]}}}: there are {', '.join(f'{{{p}}}' for p in PLACES)}")
    if "content" not in named:
        raise ValueError("does not say what to remind of: it must have the place {content}")
    return template


def reminder_text(template: str, *, user_id: str, channel: str, content: str) -> str:
    """Return the template filled in; what stands in a value is not filled in again, nor any other brace.

    Each value stands on one line, whatever white space it has.
    """
    values = {"user_id": user_id, "channel": on_one_line(channel), "content": on_one_line(content)}
    return _PLACE.sub(lambda place: values[place[1]], template)
