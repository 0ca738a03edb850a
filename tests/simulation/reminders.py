"""Reminders and periodic wakes of a simulated run, by a chance of their own; and what must have become of them."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime, timedelta
from random import Random
from typing import TYPE_CHECKING, Final

from simulation.scripted_extractor import vector
from simulation.steps import Step

from schemas import codec
from schemas.identity import derived_id, reminder_id_of
from schemas.log import NewRecord
from schemas.messages.envelope import Envelope, Sealed
from schemas.messages.wakes import CancelReminder, ConfigureWake, ScheduleReminder, WakeRaised
from schemas.topics import INBOX, partition_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from simulation.steps import Phase

    from schemas.identity import Owner
    from schemas.messages.decision import Decision

NEVER: Final = datetime(2100, 1, 1, tzinfo=UTC)
SOON_SECONDS: Final = 30
WAKE_EVERY_SECONDS: Final = 6 * 3600.0


def add_reminders(
    seed: int, phases: Sequence[Phase], partitions: int, users: Sequence[Owner], *, wild: bool
) -> dict[str, datetime]:
    """Add what is asked about wakes to each day; return when each reminder is due.

    All are due before the run ends, or never: in which of two runs one is due must not differ. Wild runs wake
    periodically too, and show memories.
    """
    chance, due = Random(f"reminders {seed}"), dict[str, datetime]()  # noqa: S311 - repeatable on purpose
    for day, phase in enumerate(phases):
        for owner in users:
            steps = []
            for number in range(chance.choice((0, 0, 1, 2))):
                envelope = _envelope(owner, f"{day} {number}", phase.at)
                soon = phase.at + timedelta(seconds=chance.randrange(SOON_SECONDS))
                between = phase.at + timedelta(hours=12) if phase is not phases[-1] else soon
                due_at = chance.choice((phase.at - timedelta(days=400), soon, between, NEVER))
                text = Sealed.clear(f"reminder {day} {number}")
                item = ScheduleReminder(envelope=envelope, due_at=due_at, content=text, channel="dm", text=text)
                steps.append(_step(owner, codec.encode(item), partitions, chance))
                reminder_id = reminder_id_of(owner, envelope.event_id)
                due[reminder_id] = due_at
                if due_at == NEVER and chance.random() < 0.5:
                    gone = CancelReminder(
                        envelope=_envelope(owner, f"{day} {number} gone", phase.at), reminder_id=reminder_id
                    )
                    steps.append(_step(owner, codec.encode(gone), partitions, chance))
            if wild and chance.random() < 0.3:
                how = ConfigureWake(
                    envelope=_envelope(owner, f"{day} wake", phase.at),
                    every_seconds=chance.choice((WAKE_EVERY_SECONDS, None)),
                    text=Sealed.clear("wake up"),
                    vector=Sealed.clear(vector("wake up").astype("<f4").tobytes()),
                    embedding_model="hash",
                    memory_limit=2,
                )
                steps.append(_step(owner, codec.encode(how), partitions, chance))
            if steps:
                phase.asked.append(steps)
    return due


def _envelope(owner: Owner, name: str, at: datetime) -> Envelope:
    event_id = derived_id("simulated reminder", owner.user_id, name)
    return Envelope(event_id=event_id, tenant=owner.tenant, user_id=owner.user_id, agent_id=None, occurred_at=at)


def _step(owner: Owner, value: bytes, partitions: int, chance: Random) -> Step:
    record = NewRecord(topic=INBOX.name, partition=partition_of(owner.key, partitions), key=owner.key, value=value)
    return Step(chance.random(), record, chance.random() < 0.15)


def raised(chain: Sequence[Decision]) -> list[WakeRaised]:
    """Return the wakes that decisions have raised."""
    events = [codec.decode(event) for decision in chain for event in decision.events]
    return [event for event in events if isinstance(event, WakeRaised)]


def check_wakes(chains: Mapping[Owner, Sequence[Decision]], due: Mapping[str, datetime]) -> None:
    """Check that every reminder that came due was raised once and no other, and no slot of a periodic wake twice."""
    wakes = [wake for chain in chains.values() for wake in raised(chain)]
    twice = [wake_id for wake_id, times in Counter(wake.wake_id for wake in wakes).items() if times > 1]
    assert not twice, f"raised twice: {twice}"
    reminded = {wake.reminder_id for wake in wakes if wake.reminder_id is not None}
    expected = {reminder_id for reminder_id, due_at in due.items() if due_at != NEVER}
    assert reminded == expected, f"reminders raised or not by mistake: {sorted(reminded ^ expected)}"
    for owner, chain in chains.items():
        numbers = [wake.number for wake in raised(chain)]
        assert numbers == list(range(1, len(numbers) + 1)), f"{owner}: wakes are numbered {numbers}"
