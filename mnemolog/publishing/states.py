"""States of events: how far each has come from its acceptance to what it led to, read from log and shards."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import TYPE_CHECKING, Any, Final

import orjson

from projections.shard.observation_lookup import NOT_WORTH_REMEMBERING
from projections.text.reminders import asks_for_reminder
from projections.text.scripts import is_in_its_languages
from projections.text.shown import said_of
from schemas.messages.observations import SessionEnded
from schemas.topics import DEAD_LETTERS, INPUTS, Topic

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Sequence

    from projections.partitions.held import Held
    from projections.partitions.shards import Shards
    from projections.shard.observation_lookup import Seen
    from schemas.identity import Owner
    from schemas.log import Log
    from schemas.redaction import Redaction
    from streams.agents.pending_observations import PendingObservations

FINAL: Final = ("remembered", "nothing", "rejected", "dead")
UNDECIDED: Final = ("extracted", "dead")
"""States about which a dead letter may say more than the ledger."""
POLL_SECONDS: Final = 0.02
LONGEST_POLL_SECONDS: Final = 0.2
"""Pauses between looks double up to this: decisions are reported, and only events without one must be looked for."""
FEW_EVENTS: Final = 16
PAUSE_FACTOR: Final = 9
"""After a look at more events the pause is at least this many times as long as the look took."""


REMINDER_ASKED: Final = "it asks for a reminder, which is no memory: schedule it by POST /v1/users/{user_id}/reminders"
NOT_TO_KEEP: Final = "asked not to keep"
SHOWN: Final = "shown, not said: pasted or played, so it is found as a turn and no memory of the user"
NOT_READ: Final = "its language is none that the built-in encoder reads: it is found as a turn, and a model can read it"
ERASED: Final = "it was erased with a memory, and nothing that has its id is kept: publish under another id"


@contextmanager
def untold(_owners: Collection[Owner]) -> Iterator[asyncio.Event]:
    """Return an event that is never set."""
    yield asyncio.Event()


class EventStates:
    """Reports how far the events of this worker's users have come."""

    def __init__(
        self,
        log: Log,
        shards: Shards,
        pending: PendingObservations,
        *,
        memorizes: bool = True,
        redaction_of: Callable[[str, str | None], Redaction] | None = None,
        settled: Callable[[Collection[Owner]], AbstractContextManager[asyncio.Event]] = untold,
        suspend_deadline: Callable[[], AbstractContextManager[object]] = nullcontext,
    ) -> None:
        """Take what the states are read from; `redaction_of` returns what is redacted in words to an agent.

        `settled` reports the decisions of users, as `Remember.settled` does. `suspend_deadline` is entered while a
        caller waits for something other than the log.
        """
        self._settled = settled
        self._log = log
        self._shards = shards
        self._pending = pending
        self._memorizes = memorizes
        self._redaction_of = redaction_of
        self._suspend_deadline = suspend_deadline

    async def of(
        self,
        owner: Owner,
        event_ids: Sequence[str],
        agents: Collection[str] | None = None,
        *,
        with_redactions: bool = True,
        with_erased: bool = False,
    ) -> dict[str, dict[str, Any]]:
        """Return how far each event of an owner has come; those never accepted are left out. Raises NotHeld.

        Erased events are left out too, unless `with_erased`: a caller that has just sent one again must learn of it.

        If some agents are given, events not said to one of them are left out. A caller that looks often has redactions
        counted, and reasons read from the words, only for events in a final state.
        """
        held = self._shards.resolve(owner)
        for topic in INPUTS:
            await self._fold(topic, held.partition)
        observations = held.shard.observations
        accepted = observations.seen(owner, event_ids)
        if agents is not None:
            theirs = observations.of_agents(owner, accepted, agents)
            accepted = {event_id: seen for event_id, seen in accepted.items() if event_id in theirs}
        progresses = {event_id: observations.progress(owner, row) for event_id, row in accepted.items()}
        undecided = [event_id for event_id, progress in progresses.items() if progress.state in UNDECIDED]
        if undecided:  # a dead letter says that an extraction was given up, another one that it was sent back
            await self._fold(DEAD_LETTERS, held.partition)
            observations = held.shard.observations  # a rebuild may have switched to another shard
            progresses |= {event_id: observations.progress(owner, accepted[event_id]) for event_id in undecided}
        states: dict[str, dict[str, Any]] = {}
        for event_id, progress in progresses.items():
            state, reason = progress.state, progress.reason
            if state == "accepted" and (waits_for := self._pending.reason(owner, event_id)):
                state, reason = "waiting", waits_for
            if state == "accepted" and not self._memorizes:
                state, reason = "nothing", "MEMORIZE is off"
            is_told = with_redactions or state in FINAL
            if reason == NOT_WORTH_REMEMBERING and is_told:
                reason = self._why_nothing(held, event_id)
            states[event_id] = {
                "event_id": event_id,
                "state": state,
                "reason": reason,
                "memory_ids": list(progress.memory_ids),
                "known_ids": list(progress.known_ids),
                "decisions": list(progress.decisions),
                "provisional": progress.is_provisional,
                "reextractable": progress.is_reextractable,
                "redacted": self._redacted(held, accepted[event_id]) if is_told else {},
                "position": str(accepted[event_id].position),
            }
        if agents is None:  # it is not known to whom the others were said
            without = [event_id for event_id in event_ids if event_id not in states]
            states |= self._without_record(held, without, with_erased=with_erased)
        return states

    def _without_record(self, held: Held, event_ids: Sequence[str], *, with_erased: bool) -> dict[str, dict[str, Any]]:
        """Return the states of events that are no observations: dead letters, and what was erased with a memory."""
        shard, owner = held.shard, held.owner
        ended: dict[str, dict[str, Any]] = {}
        for event_id in event_ids:
            if (reason := shard.observations.dead(owner, event_id)) is not None:
                ended[event_id] = _ended(event_id, "dead", reason)
            elif with_erased and shard.ledger.is_erased(owner, event_id):
                ended[event_id] = _ended(event_id, "nothing", ERASED)
        return ended

    async def wait(self, events: Sequence[tuple[Owner, str]], seconds: float) -> bool:
        """Wait until all events are in a final state, or the time is over; return whether they are."""
        return len(await self.finished(events, seconds)) == len(set(events))

    async def finished(
        self, events: Sequence[tuple[Owner, str]], seconds: float, *, is_just_begun: bool = False
    ) -> dict[tuple[Owner, str], dict[str, Any]]:
        """Wait until all events are in a final state, or the time is over; return those states, as each was found.

        `is_just_begun`: they cannot all be in one yet, so the first look comes when something happens.
        """
        loop = asyncio.get_running_loop()
        until = loop.time() + seconds
        pending = list(dict.fromkeys(events))
        finished: dict[tuple[Owner, str], dict[str, Any]] = {}
        # An event that has just begun ends with a decision, which is reported.
        pause = LONGEST_POLL_SECONDS if is_just_begun and self._memorizes else POLL_SECONDS
        with self._settled({owner for owner, _ in pending}) as settled:
            while True:
                began = loop.time()
                # While one is being extracted they are not all final, unless a decision is reported.
                is_all = settled.is_set() or began >= until
                is_early = (is_just_begun and self._memorizes) or any(self._pending.has(*event) for event in pending)
                is_just_begun = False
                if is_all or not is_early:
                    settled.clear()
                    finished |= await self._final(pending)
                    pending = [event for event in pending if event not in finished]
                if not pending or (is_all and loop.time() >= until):
                    return finished
                looked = loop.time() - began
                with self._suspend_deadline():
                    if len(pending) > FEW_EVENTS:  # a look takes time from the agents that work
                        await asyncio.sleep(PAUSE_FACTOR * looked)
                    try:
                        async with asyncio.timeout(min(pause, max(0.0, until - loop.time()))):
                            await settled.wait()
                    except TimeoutError:
                        pause = min(LONGEST_POLL_SECONDS, 2 * pause)

    async def _final(self, events: Sequence[tuple[Owner, str]]) -> dict[tuple[Owner, str], dict[str, Any]]:
        """Return the states of those events that are in a final one."""
        by_owner: defaultdict[Owner, list[str]] = defaultdict(list)
        for owner, event_id in events:
            by_owner[owner].append(event_id)
        final: dict[tuple[Owner, str], dict[str, Any]] = {}
        for owner, event_ids in by_owner.items():
            states = await self.of(owner, event_ids, with_redactions=False, with_erased=True)
            for event_id, state in states.items():
                if state["state"] in FINAL:
                    final[owner, event_id] = state
        return final

    def _why_nothing(self, held: Held, event_id: str) -> str:
        """Return why nothing of an event is worth remembering, as far as its words tell."""
        turns = held.shard.turns
        found, kept = turns.turn(held.owner, event_id), turns.kept(held.owner, event_id)
        if found is not None and (kept is None or kept.message.content != found.message.content):
            return NOT_TO_KEEP
        if found is None or found.message.role != "user":
            return NOT_WORTH_REMEMBERING
        said = found.message.content
        if asks_for_reminder(said):
            return REMINDER_ASKED
        if said_of(said) != said:
            return SHOWN
        return NOT_WORTH_REMEMBERING if is_in_its_languages(said) else NOT_READ

    def _redacted(self, held: Held, seen: Seen) -> dict[str, int]:
        """Return how often each kind of thing was redacted when an event came in, by its mark.

        For an event from Kafka: what the redaction in force now keeps from being extracted.
        """
        if seen.kind == SessionEnded.__name__:
            return {}
        found = held.shard.turns.turn(held.owner, seen.event_id)
        if found is None:
            return {}
        turn = found.message
        if turn.redacted is not None:
            counted: dict[str, int] = orjson.loads(turn.redacted)
            return counted
        if self._redaction_of is None:
            return {}
        context = turn.context
        around = (context.mood, context.scene, context.gift) if context else ()
        redaction = self._redaction_of(held.owner.tenant, turn.envelope.agent_id)
        return redaction.counts([turn.content, turn.name, *around])

    async def _fold(self, topic: Topic, partition: int) -> None:
        await self._shards.up_to(topic.name, partition, await self._log.end(topic.name, partition))


def _ended(event_id: str, state: str, reason: str) -> dict[str, Any]:
    """Return the state of an event that led to nothing and has no known record."""
    return {
        "event_id": event_id,
        "state": state,
        "reason": reason,
        "memory_ids": [],
        "known_ids": [],
        "decisions": [],
        "provisional": False,
        "reextractable": False,
        "redacted": {},
        "position": None,
    }
