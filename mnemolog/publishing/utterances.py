"""Utterances: messages without an id, and whether a message was sent again or its words were said again.

A client may send the whole history with each message, or only the newest messages, and may repeat a request that was
not answered. The log alone distinguishes these cases, so every worker decides alike, also after a restart:

* A request of several messages that starts like its session is the history sent again, and so is one that continues
  after the session's newest turn. Its messages that are in the session are known, and the rest are new.
* A request with the Idempotency-Key of an earlier one repeats that one. Without a key, a request is a repeat if it
  equals the session's newest turns, arrives within `RESEND_SECONDS` with the same body, and none of its memories was
  forgotten.
* Any other request is entirely new: its words were said again.

A message with a time is identified by its words and its time, so this distinction is not needed.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import partial
from itertools import takewhile
from typing import TYPE_CHECKING, Final, TypeAlias

from projections.state.memory import FORGOTTEN
from schemas.identity import derived_id
from schemas.inputs.decoding import digest_of
from schemas.messages.observations import SessionEnded, TurnRecorded

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from projections.partitions.shards import Shards
    from projections.shard.rows.session_turns import SaidTurn, SessionEnds, SessionTurns
    from schemas.identity import Owner
    from schemas.messages.observations import Observation

    Met: TypeAlias = list["SaidTurn | None"]
    """The turn of the session that each message of a request matches, None for a new message."""

RESEND_SECONDS: Final = 60.0
"""The time within which a request can be a repeat; clients time out and retry within half a minute."""
MOST_SINCE: Final = 50
"""The newest turns with equal words that are searched for a repeated request."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Utterance:
    """A message of a request."""

    first: str
    """The id of the first utterance with these words in the session."""
    own: str
    """The id for its place within the equal utterances of the request."""
    former: str | None = None
    """Its id by the older rule, which did not include times and names."""
    is_exact: bool = False
    """Whether the id identifies one utterance, because it was given or its time is part of it."""
    is_given: bool = False
    """The caller gave the id."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversation:
    """The utterances of a request: one for each of its turns, which are the first of its events."""

    utterances: Sequence[Utterance]
    sent_at: datetime
    request_id: str | None = None
    """An id derived from the Idempotency-Key; None without one."""

    @property
    def unnamed(self) -> frozenset[int]:
        """The places of messages whose ids the caller did not give."""
        return frozenset(place for place, one in enumerate(self.utterances) if not one.is_given)


def met(
    utterances: Sequence[Utterance],
    said: Mapping[str, Sequence[SaidTurn]],
    ends: SessionEnds,
    is_repeated: Callable[[Sequence[SaidTurn]], bool],
) -> Met:
    """Return the turn of the session that each message of a request matches, None for new messages.

    `said` maps each `first` id to the turns with those words, oldest first. `is_repeated` returns whether the request
    that published the given turns is being repeated.
    """
    onward = _matched(utterances, said)
    if not any(onward) or _begins(onward, ends):
        return onward
    if known := _behind(utterances, said, ends):
        upto = _matched(utterances[:known], said, backward=True)
        if known < len(utterances) or (None not in upto and is_repeated([turn for turn in upto if turn is not None])):
            return [*upto, *_exact(utterances[known:], onward[known:])]
    return _exact(utterances, onward)


def _exact(utterances: Sequence[Utterance], turns: Met) -> Met:
    """Return the turns of exact utterances, None for the others."""
    return [turn if one.is_exact else None for one, turn in zip(utterances, turns, strict=True)]


def _behind(utterances: Sequence[Utterance], said: Mapping[str, Sequence[SaidTurn]], ends: SessionEnds) -> int:
    """Return how many messages lead up to the session's newest turn, by the longest run that ends there and matches."""
    words = {turn.event_id: first for first, turns in said.items() for turn in turns}
    session, request = [words.get(event_id) for event_id in ends.newest], [one.first for one in utterances]
    best, longest = 0, 0
    for count in range(1, len(request) + 1):
        pairs = zip(reversed(request[:count]), session, strict=False)
        run = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
        if run > longest:
            best, longest = count, run
    return best


def _matched(utterances: Sequence[Utterance], said: Mapping[str, Sequence[SaidTurn]], *, backward: bool = False) -> Met:
    """Return the turn of each utterance; equal ones are paired with turns in order, counted from either end."""
    if backward:
        utterances, said = utterances[::-1], {first: turns[::-1] for first, turns in said.items()}
    wanted: defaultdict[str, int] = defaultdict(int)
    for one in utterances:
        wanted[one.first] += 1
    # Counted backward, utterances that the session does not contain yet are last in the request, and so first here.
    spare = {first: max(0, count - len(said[first])) if backward else 0 for first, count in wanted.items()}
    places: defaultdict[str, int] = defaultdict(int)
    found: Met = []
    for one in utterances:
        place = places[one.first] - spare[one.first]
        places[one.first] += 1
        found.append(said[one.first][place] if 0 <= place < len(said[one.first]) else None)
    return found[::-1] if backward else found


def _begins(turns: Met, ends: SessionEnds) -> bool:
    """Return whether several messages are the first turns of the session; erased and expired turns do not count."""
    left = [turn and turn.event_id for turn in turns if turn is None or turn.offset >= 0]
    return len(turns) > 1 and left[: len(ends.first)] == list(ends.first[: len(left)])


def _brought(
    session: SessionTurns, owner: Owner, said: Mapping[str, Sequence[SaidTurn]], request_id: str | None
) -> int | None:
    """Return the offset of the newest of these turns that a request published, or None."""
    recent = (turn for turns in said.values() for turn in turns[-MOST_SINCE:] if turn.offset >= 0)
    if request_id is None:
        return None
    brought = [turn.offset for turn in recent if session.request_of(owner, turn.event_id) == request_id]
    return max(brought, default=None)


class Utterances:
    """Assigns ids to the messages of conversations."""

    def __init__(self, shards: Shards) -> None:
        self._shards = shards

    def named(self, events: Sequence[Observation], conversation: Conversation) -> list[Observation]:
        """Return the events of a conversation with the ids that they have in the log, which must be folded."""
        utterances, turns = conversation.utterances, events[: len(conversation.utterances)]
        owner, first = turns[0].envelope.owner, turns[0]
        assert isinstance(first, TurnRecorded)  # noqa: S101 - a conversation's turns come first
        session = self._shards.of(owner).session_turns
        said: dict[str, Sequence[SaidTurn]] = {}
        for one, turn in zip(utterances, turns, strict=True):
            said[one.first] = self._said(session, owner, one, turn, said.get(one.first, ()))
        until = _brought(session, owner, said, conversation.request_id)
        if until is not None:
            before = {first: [turn for turn in turns if turn.offset <= until] for first, turns in said.items()}
            found = _matched(utterances, before, backward=True)
        else:
            ends = session.ends(owner, first.session_id, first.envelope.agent_id, len(turns))
            is_repeated = partial(self._is_repeated, owner, turns, conversation)
            found = met(utterances, said, ends, is_repeated)
        named = list(self._with_ids(session, owner, turns, conversation, found))
        for event in events[len(turns) :]:
            is_end = isinstance(event, SessionEnded)
            # The id depends on all messages: an agent that says "OK" twice has ended the session twice.
            its = (first.session_id, *(turn.envelope.event_id for turn in named))
            named.append(_with_id(event, derived_id("conversation-end", *its)) if is_end else event)
        return named

    def _said(
        self,
        session: SessionTurns,
        owner: Owner,
        one: Utterance,
        turn: Observation,
        before: Sequence[SaidTurn],
    ) -> Sequence[SaidTurn]:
        """Return the turns with an utterance's words, in addition to those found for earlier utterances."""
        found = {known.event_id: known for known in before}
        if not one.is_exact and one.first not in found:
            found |= {known.event_id: known for known in session.of_words(owner, one.first)}
        if (own := session.named(owner, one.own)) is not None:
            found[own.event_id] = own
        elif one.former and (former := session.named(owner, one.former)) and former.digest == digest_of(turn):
            found[former.event_id] = former
        return sorted(found.values(), key=lambda known: known.offset)

    def _is_repeated(
        self,
        owner: Owner,
        turns: Sequence[Observation],
        conversation: Conversation,
        known: Sequence[SaidTurn],
    ) -> bool:
        """Return whether a request without a key repeats the one that published the known turns."""
        last = max(known, key=lambda turn: turn.offset)
        if last.recorded_at is None or conversation.request_id is not None:
            return False
        shard, memories = self._shards.of(owner), self._shards.state(owner).memories
        led_to = (memories.get(i) for turn in known for i in shard.observations.citing(owner, turn.event_id))
        return (
            abs(conversation.sent_at - last.recorded_at) <= timedelta(seconds=RESEND_SECONDS)
            and all(turn.digest == digest_of(event) for turn, event in zip(known, turns, strict=True))
            and not any(memory is not None and memory.status == FORGOTTEN for memory in led_to)
        )

    @staticmethod
    def _with_ids(
        session: SessionTurns, owner: Owner, turns: Sequence[Observation], conversation: Conversation, found: Met
    ) -> Sequence[Observation]:
        """Return the turns with their ids: those of known turns, and unused ones for new turns."""
        numbers: dict[str, int] = {}
        taken = {turn.event_id for turn in found if turn is not None}
        named = []
        for one, turn, known in zip(conversation.utterances, turns, found, strict=True):
            event_id = known.event_id if known else one.own
            if known is None and not one.is_exact and (event_id in taken or session.named(owner, one.own)):
                numbers.setdefault(one.first, session.next_number(owner, one.first))
                event_id = f"{one.first}.{numbers[one.first]}"
                numbers[one.first] += 1
            taken.add(event_id)
            named.append(_with_id(turn, event_id, conversation.request_id))
        return named


def _with_id(event: Observation, event_id: str, request_id: str | None = None) -> Observation:
    """Return an event with an id, and with the id of its request, if there is one."""
    envelope = replace(event.envelope, event_id=event_id)
    return replace(event, envelope=replace(envelope, correlation_id=request_id) if request_id else envelope)
