"""Places: the sessions and metadata in which a memory was stated again after its forming.

A statement that is repeated elsewhere does not form a new memory, and is found there too: a search for the memories of
a session, or with some metadata, compares each place by itself.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

import orjson

from schemas.messages.envelope import Sealed

if TYPE_CHECKING:
    from projections.state.memory import Memory

MOST: Final = 16
"""The most places of one memory; the latest are kept."""
MOST_BYTES: Final = 16_384
"""The most bytes of a memory's places: an event has all of them. A place leaves out metadata of more than half."""


def met_again(memory: Memory, session_id: str | None, metadata: Sealed | None) -> Sealed | None:
    """Return the places of a memory that is stated in a session and with metadata; None if that changes nothing."""
    spelt = _place(memory, session_id, orjson.loads(metadata.data) if metadata else {})
    if spelt is None or spelt in memory.met_in[-1:]:
        return None
    met_in = [*(one for one in memory.met_in if one != spelt), spelt][-MOST:]
    while sum(map(len, met_in)) > MOST_BYTES:
        del met_in[0]
    return _sealed(met_in)


def without_session(memory: Memory, session_id: str) -> tuple[Memory, Sealed] | None:
    """Return a memory without its places in a session, with the remaining further places.

    Returns None if it has no place outside the session, or none in it.
    """
    everywhere = as_met(memory)
    left = [one for one in everywhere if one.session_id != session_id]
    if not left or len(left) == len(everywhere):
        return None
    first, *others = left
    spelt = (_place(first, one.session_id, orjson.loads(one.metadata)) for one in others)
    return first, _sealed(list(dict.fromkeys(filter(None, spelt))))


def places_of(met_in: Sealed | None) -> tuple[str, ...]:
    """Return the places of a memory from the list in an event."""
    if met_in is None:
        return ()
    return tuple(map(_spelt, orjson.loads(met_in.data)))


def as_met(memory: Memory) -> tuple[Memory, ...]:
    """Return the memory once for each of its places, that of its forming first.

    Its own metadata apply to every place, overridden by those of the place.
    """
    return (memory, *(_at(memory, orjson.loads(place)) for place in memory.met_in)) if memory.met_in else (memory,)


def _place(memory: Memory, session_id: str | None, metadata: dict[str, object]) -> str | None:
    """Return the difference of a place from that of a memory's forming; None if there is none."""
    own = orjson.loads(memory.metadata)
    other = {name: value for name, value in metadata.items() if name not in own or own[name] != value}
    place: dict[str, object] = {"session_id": session_id} if session_id not in (None, memory.session_id) else {}
    if other and len(orjson.dumps(other)) <= MOST_BYTES // 2:
        place["metadata"] = other
    return _spelt(place) if place else None


def _sealed(places: list[str]) -> Sealed:
    return Sealed.clear(orjson.dumps(list(map(orjson.loads, places))))


def _spelt(place: dict[str, object]) -> str:
    return orjson.dumps(place, option=orjson.OPT_SORT_KEYS).decode()


def _at(memory: Memory, place: dict[str, Any]) -> Memory:
    metadata = orjson.dumps(orjson.loads(memory.metadata) | place.get("metadata", {})).decode()
    return replace(memory, session_id=place.get("session_id", memory.session_id), metadata=metadata)
