"""Bodies, queries and answers about wakes and reminders."""

import re
from typing import Annotated

from pydantic import AfterValidator, Field

from mnemolog.commands.wakes import DEFAULT_CHANNEL, MAX_WAKE_CHARACTERS, MAX_WAKE_MEMORIES, fits_a_reminder
from mnemolog.http.models.body import Body
from mnemolog.http.models.requests import Asked, Channel, Id, Instant, Text, not_blank
from mnemolog.http.models.responses import Memory, Page, Shape
from projections.state.wakes import LEAST_EVERY_SECONDS, MOST_EVERY_SECONDS

MAX_REMINDERS_SHOWN = 200
_PLACE = "^[0-9]{1,15}$"


def _is_place(after: str) -> str:
    if not re.fullmatch(_PLACE, after):
        raise ValueError("is no place in the wakes: give the `next` of the answer before, or leave it out")
    return after


class WakeWanted(Body):
    """How to wake a user's agent; what is left out is what the settings say."""

    every_seconds: Annotated[float, Field(ge=LEAST_EVERY_SECONDS, le=MOST_EVERY_SECONDS, allow_inf_nan=False)]
    text: Annotated[Text, not_blank("say what to tell the agent"), Field(max_length=MAX_WAKE_CHARACTERS)] | None = None
    memory_limit: Annotated[int, Field(ge=0, le=MAX_WAKE_MEMORIES)] | None = None
    query: Annotated[Text, not_blank("say what to look for"), Field(max_length=MAX_WAKE_CHARACTERS)] | None = None
    agent_id: Id | None = None


class ReminderWanted(Body):
    """What to remind of, and when; a time that is past is now."""

    due_at: Instant
    content: Annotated[str, not_blank("say what to remind of"), AfterValidator(fits_a_reminder)]
    channel: Channel = DEFAULT_CHANNEL
    agent_id: Id | None = None


class RemindersAsked(Asked):
    """Which of the reminders that wait to list; of an agent: its own, and those that name none."""

    agent_id: Id | None = None
    page: Annotated[int, Field(ge=1, le=1_000)] = 1
    page_size: Annotated[int, Field(ge=1, le=MAX_REMINDERS_SHOWN)] = MAX_REMINDERS_SHOWN


class WakesAsked(Asked):
    """Which wakes to list."""

    after: Annotated[
        str,
        AfterValidator(_is_place),
        Field(description="`next` of the last answer", json_schema_extra={"pattern": _PLACE}),
    ] = "0"
    agent_id: Id | None = None
    limit: Annotated[int, Field(ge=1, le=200)] = 50


class WakesPart(Body):
    """Of which partitions another worker asks for wakes, each from an offset of its ledger on."""

    tenant: str
    user_id: str | None
    agent_id: str | None = None
    since: dict[Annotated[str, Field(pattern=r"^[0-9]{1,9}$")], Annotated[int, Field(ge=0)] | None]


class WakeConfiguration(Shape):
    """How a user's agent is woken; without `every_seconds` not at all."""

    user_id: str
    every_seconds: float | None
    text: str | None
    memory_limit: int
    query: str | None
    agent_id: str | None
    next_at: str | None


class Reminder(Shape):
    """Something to be reminded of once."""

    reminder_id: str
    user_id: str
    agent_id: str | None
    due_at: str
    content: str
    channel: str


class Reminders(Page[Reminder]):
    """A page of the reminders that wait, the next first; `total` counts all."""


class Cancelled(Shape):
    """A reminder that waits no more."""

    reminder_id: str
    state: str


class Wake(Shape):
    """An agent is to wake up."""

    wake_id: str
    user_id: str
    kind: str
    text: str
    agent_id: str | None
    session_id: str
    channel: str | None
    content: str | None
    reminder_id: str | None
    due_at: str
    raised_at: str
    history: list[str]
    memories: list[Memory]


class Wakes(Shape):
    """Wakes in the order in which they were raised."""

    items: list[Wake]
    next: str
