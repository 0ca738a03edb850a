"""Utterances: messages without an id of their own, and whether one was sent again or its words were said again.

A client may send the whole history with each message, or only the newest messages, and may repeat a request that had
no answer. All three are told from the log alone, so every worker tells them alike, also after a restart:

* A request of several messages that begins as its session begins is the history once more, and so is one that goes on
  behind the session's newest turn. What the session holds of it is known, and the rest is new.
* A request with the Idempotency-Key of a former one is that one, repeated. Without a key it is, if it says what the
  session's newest turns say, comes within `RESEND_SECONDS` with the same body, and nothing of it was forgotten.
* Any other request is new as a whole: its words were said again.

A message with a time is known by its words and its time, and nothing has to be told apart.
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
    """The turn of the session that each message of a request is, None where it is a new one."""

RESEND_SECONDS: Final = 60.0
"""Clients give up on an answer, and ask again, within half a minute."""
MOST_SINCE: Final = 50
"""Turns in equal words among which that of a repeated request is looked for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Utterance:
    """A message of a request."""

    first: str
    """The id of the first one in these words, in this session."""
    own: str
    """The id of the one that has as many before it as this one has in the request."""
    former: str | None = None
    """The id that it had before times and names went into ids."""
    is_exact: bool = False
    """Its id says which one it is: it was given, or derived from the time too."""
    is_given: bool = False
    """The caller gave the id."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversation:
    """What names the messages of a request: an utterance for each of its turns, which come first among its events."""

    utterances: Sequence[Utterance]
    sent_at: datetime
    request_id: str | None = None
    """Derived from the Idempotency-Key."""

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
    """Return the turns of the session that a request's messages are, in place of those that are new.

    `said` has the turns in the words of each `first` id, oldest first; `is_repeated` says of known turns whether the
    request that brought them is repeated.
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
    """Return the turns whose ids say that they are the very ones."""
    return [turn if one.is_exact else None for one, turn in zip(utterances, turns, strict=True)]


def _behind(utterances: Sequence[Utterance], said: Mapping[str, Sequence[SaidTurn]], ends: SessionEnds) -> int:
    """Return how many messages come up to the newest turn of the session: there most of those before it agree too."""
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
    """Return the turn for each utterance, those in equal words in their order, counted from either end."""
    if backward:
        utterances, said = utterances[::-1], {first: turns[::-1] for first, turns in said.items()}
    wanted: defaultdict[str, int] = defaultdict(int)
    for one in utterances:
        wanted[one.first] += 1
    # From the end, what the session does not hold yet is the last of the request, and comes first here.
    spare = {first: max(0, count - len(said[first])) if backward else 0 for first, count in wanted.items()}
    places: defaultdict[str, int] = defaultdict(int)
    found: Met = []
    for one in utterances:
        place = places[one.first] - spare[one.first]
        places[one.first] += 1
        found.append(said[one.first][place] if 0 <= place < len(said[one.first]) else None)
    return found[::-1] if backward else found


def _begins(turns: Met, ends: SessionEnds) -> bool:
    """Return whether several messages are the first turns of the session; ids that it held before count for nothing."""
    left = [turn and turn.event_id for turn in turns if turn is None or turn.offset >= 0]
    return len(turns) > 1 and left[: len(ends.first)] == list(ends.first[: len(left)])


def _brought(
    session: SessionTurns, owner: Owner, said: Mapping[str, Sequence[SaidTurn]], request_id: str | None
) -> int | None:
    """Return the offset of the newest turn that a request brought, None where it brought none of those."""
    recent = (turn for turns in said.values() for turn in turns[-MOST_SINCE:] if turn.offset >= 0)
    if request_id is None:
        return None
    brought = [turn.offset for turn in recent if session.request_of(owner, turn.event_id) == request_id]
    return max(brought, default=None)


class Utterances:
    """Names the messages of conversations."""

    def __init__(self, shards: Shards) -> None:
        self._shards = shards

    def named(self, events: Sequence[Observation], conversation: Conversation) -> list[Observation]:
        """Return the events of a conversation with the ids that they have in the log. All of it must be folded."""
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
            # From all messages: an agent that says "OK" twice has ended the session twice.
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
        """Return the turns in an utterance's words, beside those found for ones before it in the request."""
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
        """Return whether the request without a key that brought the known turns is sent again."""
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
        """Return the turns with ids: known ones have theirs, new ones such as nothing has."""
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
    """Return an event with an id, which names the request that brought it."""
    envelope = replace(event.envelope, event_id=event_id)
    return replace(event, envelope=replace(envelope, correlation_id=request_id) if request_id else envelope)
