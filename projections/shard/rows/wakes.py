"""Wakes as rows of the shard's file: each user's configuration and reminders, and the wakes that were raised."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Final

from immutables import Map

from projections.shard.tables import name_of
from projections.state.wakes import NO_WAKES, Wakes, next_due
from schemas import codec
from schemas.identity import Owner
from schemas.instant import microseconds
from schemas.messages.wakes import ReminderCancelled, ReminderScheduled, WakeConfigured, WakeRaised

if TYPE_CHECKING:
    from collections.abc import Mapping

    from projections.shard.tables import ShardConnection
    from projections.state.memory import UserState
    from schemas.messages.decision import Decision
    from schemas.messages.events import WakeEvent

AFTER_SLASH: Final = "0"
"""The character after the slash: names of a tenant's users sort between `tenant/` and `tenant0`."""


@dataclass(frozen=True, slots=True)
class Raised:
    """A raised wake, its owner, and the offset of its decision in the ledger."""

    owner: Owner
    offset: int
    event: WakeRaised


@dataclass(slots=True)
class WakeChanges:
    """The changes of a run of decisions to wakes, gathered in memory before they are written."""

    owners: set[Owner] = field(default_factory=set)
    reminders: dict[tuple[str, str], bytes | None] = field(default_factory=dict)
    """The body of each changed reminder; None for those that no longer wait."""
    shown: list[tuple[str, str, int]] = field(default_factory=list)
    raised: list[tuple[str, int, int, str, bytes]] = field(default_factory=list)

    def gather(self, owner: Owner, decision: Decision, event: WakeEvent, offset: int) -> None:
        """Gather an event of a counted decision, which is at `offset` of the ledger."""
        name = name_of(owner)
        self.owners.add(owner)
        if isinstance(event, ReminderScheduled):
            self.reminders[name, event.reminder_id] = codec.encode(event)
        elif isinstance(event, ReminderCancelled):
            self.reminders[name, event.reminder_id] = None
        elif isinstance(event, WakeRaised):
            self.raised.append((name, event.number, offset, decision.item_id, codec.encode(event)))
            if event.reminder_id is None:
                self.shown.extend((name, memory_id, event.round) for memory_id in event.memory_ids)
            else:
                self.reminders[name, event.reminder_id] = None

    def forget(self, owner: Owner) -> None:
        """Drop the changes gathered for a user."""
        name = name_of(owner)
        self.owners.discard(owner)
        self.reminders = {key: body for key, body in self.reminders.items() if key[0] != name}
        self.shown = [row for row in self.shown if row[0] != name]
        self.raised = [row for row in self.raised if row[0] != name]


class WakeRows:
    """The wakes of one shard's users."""

    def __init__(self, connection: ShardConnection) -> None:
        self._connection = connection

    def of(self, owner: Owner) -> Wakes:
        """Return the state of a user's wakes."""
        name, run = name_of(owner), self._connection.execute
        row = run("select configured, settings_id, last_slot, raised, round from wakes where owner=?", (name,))
        if (known := row.fetchone()) is None:
            return NO_WAKES
        configured, settings_id, last_slot, raised, round_ = known
        waiting = run("select reminder_id, body from reminders where owner=?", (name,)).fetchall()
        shown = run("select memory_id, round from shown where owner=?", (name,)).fetchall()
        return Wakes(
            configured=None if configured is None else codec.decode_as(configured, WakeConfigured),
            settings_id=settings_id,
            last_slot=None if last_slot is None else datetime.fromisoformat(last_slot),
            reminders=Map({i: codec.decode_as(body, ReminderScheduled) for i, body in waiting}),
            raised=raised,
            round=round_,
            shown=Map(dict(shown)),
        )

    def write(self, changes: WakeChanges, states: Mapping[Owner, UserState]) -> None:
        """Write the changes; the caller's transaction commits them."""
        many = self._connection.executemany
        for owner in changes.owners:
            known = states[owner].wakes
            row = (
                name_of(owner),
                None if known.configured is None else codec.encode(known.configured),
                known.settings_id,
                None if known.last_slot is None else known.last_slot.isoformat(),
                known.raised,
                known.round,
                None if (due := next_due(known)) is None else microseconds(due),
            )
            self._connection.execute("insert or replace into wakes values(?,?,?,?,?,?,?)", row)
        waiting = [(*key, body) for key, body in changes.reminders.items() if body is not None]
        gone = [key for key, body in changes.reminders.items() if body is None]
        many("insert or replace into reminders values(?,?,?)", waiting)
        many("delete from reminders where owner=? and reminder_id=?", gone)
        many("insert or replace into shown values(?,?,?)", changes.shown)
        many("insert or replace into raised values(?,?,?,?,?)", changes.raised)

    def is_due(self, instant: datetime) -> bool:
        """Return whether any user has a wake that is due."""
        found = self._connection.execute("select 1 from wakes where due <= ? limit 1", (microseconds(instant),))
        return found.fetchone() is not None

    def due(self, instant: datetime) -> list[Owner]:
        """Return the users who have a wake that is due, in order of their key."""
        query = "select owner from wakes where due <= ? order by owner"
        found = self._connection.execute(query, (microseconds(instant),)).fetchall()
        return [Owner.of_key(name.encode()) for (name,) in found]

    def raised(self, owner: Owner, after: int, limit: int) -> list[Raised]:
        """Return a user's wakes with numbers greater than `after`, in order."""
        query = "select owner, offset, body from raised where owner=? and number>? order by number limit ?"
        return self._read(query, (name_of(owner), after, limit))

    def raised_since(self, tenant: str, user_id: str | None, offset: int, limit: int) -> list[Raised]:
        """Return wakes of a tenant (or of one user) whose decisions are at that offset or later, in order.

        All wakes of a decision are returned together: there may be more than `limit`.
        """
        whose, bounds = "owner>? and owner<?", [f"{tenant}/", f"{tenant}{AFTER_SLASH}"]
        if user_id is not None:
            whose, bounds = "owner=?", [name_of(Owner(tenant, user_id))]
        some = f"select offset from raised where offset>=? and {whose} order by offset limit ?"  # noqa: S608 - only marks
        query = (
            f"select owner, offset, body from raised where offset>=? and offset<=(select max(offset) from ({some}))"  # noqa: S608
            f" and {whose} order by offset, number"
        )
        return self._read(query, (offset, offset, *bounds, limit, *bounds))

    def raised_by(self, tick_id: str) -> int:
        """Return the number of wakes that a tick has raised."""
        query = "select count(*) from raised where tick_id=?"
        return int(self._connection.execute(query, (tick_id,)).fetchone()[0])

    def _read(self, query: str, values: tuple[object, ...]) -> list[Raised]:
        rows = self._connection.execute(query, values).fetchall()
        return [Raised(Owner.of_key(n.encode()), at, codec.decode_as(body, WakeRaised)) for n, at, body in rows]
