"""What an index may have missed: the memories that decisions changed since an offset of the ledger."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from projections.state.evolve import events_of
from schemas import codec
from schemas.identity import Owner
from schemas.messages.decision import Decision
from schemas.messages.events import MEMORY_EVENTS

if TYPE_CHECKING:
    from projections.shard.tables import ShardConnection

MANY_DECISIONS: Final = 2_000
"""So many, of an event or two each, are decoded in a tenth of a second."""
_SINCE: Final = "from decisions where offset >= ?"
_OF_USERS: Final = (
    f"select owner, memory_id from memories where owner in (select owner {_SINCE}) order by owner, sequence"  # noqa: S608
)
_FEW: Final = f"select 1 {_SINCE} limit {MANY_DECISIONS}"


def memories_since(connection: ShardConnection, offset: int) -> dict[Owner, list[str]]:
    """Return the memories that counted decisions at that offset or later changed.

    Where these are many, or one cannot be read by this version, all memories of their users.
    """
    named: list[tuple[str, str]] = []
    is_much = len(connection.execute(_FEW, (offset,)).fetchall()) == MANY_DECISIONS
    if not is_much:
        try:
            for name, body in connection.execute(f"select owner, body {_SINCE}", (offset,)):
                events = events_of(codec.decode_as(body, Decision))
                named += [(name, event.memory_id) for event in events if isinstance(event, MEMORY_EVENTS)]
        except codec.Undecodable:
            is_much = True
    if is_much:
        named = connection.execute(_OF_USERS, (offset,)).fetchall()
    found: dict[Owner, dict[str, None]] = {}
    for name, memory_id in named:
        found.setdefault(Owner.of_key(name.encode()), {})[memory_id] = None
    return {owner: list(ids) for owner, ids in found.items()}
