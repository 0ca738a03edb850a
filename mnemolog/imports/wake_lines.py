"""Lines of an export with reminders and periodic wakes, checked field by field and turned into commands."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal, TypeAlias

from pydantic import BeforeValidator, Field, TypeAdapter, ValidationError, field_validator

from mnemolog.access.caller import callers_key
from mnemolog.commands.wakes import DEFAULT_CHANNEL, MAX_WAKE_CHARACTERS, MAX_WAKE_MEMORIES, Periodic, fits_a_reminder
from projections.queries.export import PERIODIC_WAKE, REMINDER
from projections.state.wakes import LEAST_EVERY_SECONDS, MOST_EVERY_SECONDS
from schemas.identity import MAX_USER_ID_CHARACTERS, OURS, Owner, check_user_id, derived_id
from schemas.inputs.input_events import DEFAULT_USER, Fault, InvalidEvent, fault_of, faults_of
from schemas.inputs.strict_object import StrictObject
from schemas.instant import read_instant
from schemas.messages.envelope import Envelope
from schemas.text import is_blank
from streams.decisions.wakes import MAX_REMINDERS, TOO_MANY

if TYPE_CHECKING:
    from collections.abc import Callable

    from mnemolog.commands.wakes import WakeCommands
    from projections.state.memory import UserState
    from schemas.messages.wakes import ConfigureWake, ScheduleReminder

WAKE_LINES: Final = frozenset({REMINDER, PERIODIC_WAKE})
_Time = Annotated[datetime, BeforeValidator(read_instant)]
_Id = Annotated[str, Field(min_length=1, max_length=256)]


class _Line(StrictObject):
    """The common fields of both kinds of lines."""

    source_system: Annotated[str, Field(min_length=1, max_length=64)] = "elsewhere"
    user_id: Annotated[str, Field(min_length=1, max_length=MAX_USER_ID_CHARACTERS)] = DEFAULT_USER
    agent_id: _Id | None = None
    command_id: _Id | None = None


class _Reminder(_Line):
    type: Literal["Reminder"]
    reminder_id: _Id | None = None
    due_at: _Time
    content: str
    channel: _Id = DEFAULT_CHANNEL

    @field_validator("content")
    @classmethod
    def _says_something(cls, text: str) -> str:
        if is_blank(text):
            raise ValueError("is blank: say what to remind of")
        return fits_a_reminder(text)


class _PeriodicWake(_Line):
    type: Literal["PeriodicWake"]
    every_seconds: Annotated[float, Field(ge=LEAST_EVERY_SECONDS, le=MOST_EVERY_SECONDS, allow_inf_nan=False)]
    text: Annotated[str, Field(max_length=MAX_WAKE_CHARACTERS)]
    query: Annotated[str, Field(max_length=MAX_WAKE_CHARACTERS)] | None = None
    memory_limit: Annotated[int, Field(ge=0, le=MAX_WAKE_MEMORIES)] = 0

    @field_validator("text", "query")
    @classmethod
    def _says_something(cls, text: str | None) -> str | None:
        if text is not None and is_blank(text):
            raise ValueError("is blank: say what to tell the agent, or look for")
        return text


_WakeLine: TypeAlias = _Reminder | _PeriodicWake
_LINES: Final[TypeAdapter[_WakeLine]] = TypeAdapter(Annotated[_WakeLine, Field(discriminator="type")])


class ImportableWake:
    """A line, its new owner, and the id of its command, which is the same whenever the line is imported."""

    def __init__(self, line: _WakeLine, tenant: str, user_id: str | None, hide: Callable[[str], str] = str) -> None:
        """`user_id` is the new owner; None keeps the exported one. Raises InvalidOwner.

        `hide` obscures the line's id in its source system, or its content if it has no id.
        """
        self.line = line
        self.owner = Owner(tenant, check_user_id(user_id or line.user_id))
        self.command_id = self._command_id(hide)

    @property
    def key(self) -> tuple[Owner, str]:
        """The key of the command: its owner and its id."""
        return self.owner, self.command_id

    def reason_to_skip(self, state: UserState, earlier: int) -> tuple[str, str] | None:
        """Return the action and the reason if the line does not become a command, None if it does.

        `earlier` counts the owner's new lines of the same type before this one. A command that would only be refused is
        not appended, because that would use up its id.
        """
        if isinstance(self.line, _PeriodicWake):
            is_woken = state.wakes.configured is not None or earlier > 0
            return ("nothing", "the user is woken here already, and that stays as it is") if is_woken else None
        return ("refused", TOO_MANY) if len(state.wakes.reminders) + earlier >= MAX_REMINDERS else None

    def item(self, at: datetime, commands: WakeCommands) -> ScheduleReminder | ConfigureWake:
        """Return the line's command, sent at `at`, without a vector."""
        line = self.line
        envelope = Envelope(
            event_id=self.command_id,
            tenant=self.owner.tenant,
            user_id=self.owner.user_id,
            agent_id=line.agent_id,
            occurred_at=at,
            by=callers_key(),
        )
        if isinstance(line, _Reminder):
            return commands.reminder(envelope, line.due_at, line.content, line.channel)
        periodic = Periodic(
            every_seconds=line.every_seconds,
            text=line.text,
            query=line.query,
            memory_limit=line.memory_limit,
            agent_id=line.agent_id,
        )
        return commands.periodic(envelope, periodic)

    def _command_id(self, hide: Callable[[str], str]) -> str:
        """Return the command id, which does not depend on the new owner, so that the source system knows its own."""
        line = self.line
        if line.source_system == OURS and line.command_id is not None:
            return line.command_id  # it was a command here before, raised or cancelled since or not
        source_id = line.reminder_id if isinstance(line, _Reminder) else line.command_id
        source_id = source_id or line.model_dump_json(exclude_defaults=True)
        return derived_id("import-wake", line.type, line.source_system, line.user_id, hide(source_id))


def parse_wake_line(
    raw: dict[str, Any], *, tenant: str, user_id: str | None, hide: Callable[[str], str] = str
) -> ImportableWake:
    """Check a line whose type is in WAKE_LINES; for `hide` see ImportableWake. Raises InvalidEvent."""
    try:
        return ImportableWake(_LINES.validate_python(raw), tenant, user_id, hide)
    except ValidationError as error:
        faults = faults_of(error, lambda one: fault_of(one, "this line: remove it", WAKE_LINES))
        raise InvalidEvent(faults) from None
    except ValueError as error:
        raise InvalidEvent([Fault("$.user_id", str(error))]) from None
