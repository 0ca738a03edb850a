"""The publish router: each worker publishes its own users' events; a request's events are all appended, or none."""

from __future__ import annotations

import asyncio
from base64 import b64encode
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from mnemolog.access.caller import callers_key
from mnemolog.publishing.publisher import Conflict, record_of
from schemas import codec
from schemas.inputs.pieces import is_extractable
from schemas.topics import check_size

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from mnemolog.cluster.peers import Peers
    from mnemolog.publishing.publisher import Publisher
    from mnemolog.publishing.states import EventStates
    from mnemolog.publishing.utterances import Conversation
    from projections.partitions.shards import Shards
    from schemas.identity import Owner
    from schemas.messages.observations import Observation

    Items: TypeAlias = list[dict[str, Any]]

MARGIN_SECONDS: Final = 30.0
"""Extra seconds to wait for another worker, beyond its own time-out."""


@dataclass(frozen=True, slots=True)
class Published:
    """Where the log has each event, with its state if the caller waits, and whether all states are final."""

    items: Items
    is_final: bool


class PublishRouter:
    """Sends each event to the worker that owns its user."""

    def __init__(
        self,
        shards: Shards,
        publisher: Publisher,
        states: EventStates,
        peers: Peers,
        *,
        suspend_deadline: Callable[[], AbstractContextManager[object]] = nullcontext,
    ) -> None:
        """Take what publishes here, and the other workers.

        `suspend_deadline` is entered while a caller waits for something other than the log of this worker.
        """
        self._shards = shards
        self._publisher = publisher
        self._states = states
        self._peers = peers
        self._suspend_deadline = suspend_deadline

    async def publish(
        self, events: Sequence[Observation], wait: float, conversation: Conversation | None = None
    ) -> Published:
        """Publish events of any users; wait at most `wait` seconds until all are in a final state.

        Those of a conversation are one user's, and get their ids where they are appended. All name the key that the
        request was sent with.

        Raises Conflict or RecordTooLarge, and then nothing was appended; NotHeld, PeerUnavailable or LogUnavailable,
        and then some events may have been: send all again, and each counts once.
        """
        by = callers_key()
        events = [event if event.envelope.by == by else _sent_with(by, event) for event in events]
        owners = dict.fromkeys(event.envelope.owner for event in events)
        urls = {owner: self._peers.owner(self._shards.partition(owner)) for owner in owners}
        places_by_url: dict[str | None, list[int]] = {}
        for place, event in enumerate(events):
            places_by_url.setdefault(urls[event.envelope.owner], []).append(place)
        if len(places_by_url) > 1:  # no worker may append before all have found that they can
            await asyncio.gather(*(self._check_at(url, events, places) for url, places in places_by_url.items()))
        publishing = [
            self._publish_at(url, events, places, wait, conversation) for url, places in places_by_url.items()
        ]
        parts = await asyncio.gather(*publishing) if len(publishing) > 1 else [await one for one in publishing]
        items: dict[int, dict[str, Any]] = {}
        for places, part in zip(places_by_url.values(), parts, strict=True):
            items.update(zip(places, part.items, strict=True))
        return Published([items[place] for place in range(len(events))], all(part.is_final for part in parts))

    async def publish_here(
        self, events: Sequence[Observation], wait: float, conversation: Conversation | None = None
    ) -> Published:
        """Publish events of users of this worker. Raises NotHeld, Conflict, LogUnavailable."""
        accepted = await self._publisher.publish(events, conversation)
        items: Items = [{"event_id": event.event_id, "position": str(event.position)} for event in accepted]
        if conversation is not None:
            items = [item | {"known": not one.is_new} for item, one in zip(items, accepted, strict=True)]
        if not wait:
            return Published(items, is_final=False)
        names = [(event.envelope.owner, one.event_id) for event, one in zip(events, accepted, strict=True)]
        # Nothing has been extracted yet of what was appended a moment ago.
        is_just_begun = any(one.is_new and is_extractable(event) for one, event in zip(accepted, events, strict=True))
        states = await self._states.finished(names, wait, is_just_begun=is_just_begun)
        ids: dict[Owner, list[str]] = {}
        for owner, event_id in names:
            if (owner, event_id) not in states:
                ids.setdefault(owner, []).append(event_id)
        is_final = not ids
        for owner, its in ids.items():
            found = await self._states.of(owner, its, with_erased=True)
            states |= {(owner, event_id): state for event_id, state in found.items()}
        with_states = [item | states.get(name, {}) for item, name in zip(items, names, strict=True)]
        return Published(with_states, is_final)

    async def check_here(self, events: Sequence[Observation]) -> None:
        """Raise Conflict if events of users of this worker would be refused now. Raises NotHeld, LogUnavailable."""
        await self._publisher.check(events)

    async def _check_at(self, url: str | None, events: Sequence[Observation], places: Sequence[int]) -> None:
        """Check the events at some places of a request, at the worker that has their users."""
        selected = [events[place] for place in places]
        for event in selected:
            check_size(record_of(event, self._shards.partition(event.envelope.owner)))
        if url is None:
            with _conflicts_at(places):
                await self.check_here(selected)
        else:
            await self._ask(url, selected, places, 0.0, only_check=True)

    async def _publish_at(
        self,
        url: str | None,
        events: Sequence[Observation],
        places: Sequence[int],
        wait: float,
        conversation: Conversation | None,
    ) -> Published:
        """Publish the events at some places of a request, at the worker that has their users."""
        selected = [events[place] for place in places]
        if url is None:
            with _conflicts_at(places):
                return await self.publish_here(selected, wait, conversation)
        # The other worker ends by itself what waits for its log; here only the caller's wait is waited for.
        with self._suspend_deadline() if wait else nullcontext():
            return await self._ask(url, selected, places, wait, conversation)

    async def _ask(
        self,
        url: str,
        events: Sequence[Observation],
        places: Sequence[int],
        wait: float,
        conversation: Conversation | None = None,
        *,
        only_check: bool = False,
    ) -> Published:
        """Ask another worker to publish, or only to check. Raises Conflict with places of the request."""
        messages = [b64encode(codec.encode(event)).decode() for event in events]
        tenant = events[0].envelope.tenant  # a request is of one
        body: dict[str, Any] = {"tenant": tenant, "messages": messages, "wait": wait, "only_check": only_check}
        if conversation is not None:
            body["conversation"] = asdict(conversation) | {"sent_at": conversation.sent_at.isoformat()}
        answer = await self._peers.ask(url, "/v1/internal/events", body, wait + MARGIN_SECONDS)
        if conflicts := answer["conflicts"]:
            raise Conflict({places[int(place)]: position for place, position in conflicts.items()})
        return Published(answer["items"], answer["final"])


def _sent_with(key: str | None, event: Observation) -> Observation:
    """Return an event that names the key that it was sent with."""
    return replace(event, envelope=replace(event.envelope, by=key))


@contextmanager
def _conflicts_at(places: Sequence[int]) -> Iterator[None]:
    """Translate the places in a Conflict of some of a request's events into those of the whole request."""
    try:
        yield
    except Conflict as conflict:
        raise Conflict({places[place]: position for place, position in conflict.places.items()}) from None
