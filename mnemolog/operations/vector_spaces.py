"""Vector spaces: which memories have no vector that is comparable with a question of the serving encoder."""

from __future__ import annotations

import logging
import time
from typing import TYPE_CHECKING, Final

from projections.embedding.stored_vector import has_width
from projections.log_limit import LogLimit
from projections.state.memory import ACTIVE

if TYPE_CHECKING:
    from collections.abc import Callable

    from projections.embedding.serving import ServingEmbedder
    from projections.partitions.shards import Shards
    from schemas.identity import Owner

log = logging.getLogger("mnemolog")

KNOWN_SECONDS: Final = 60.0
"""How long the count of a user is cached, while the number of memories stays the same."""
MOST_USERS: Final = 1_000
"""The most users that a check examines, and that are cached."""
ADVICE: Final = (
    "set EMBEDDING_MODEL to the encoder that it was, or `mnemolog reembed` by this one; if the endpoint answers "
    "another length under the same name, give the model another name there first"
)


class VectorSpaces:
    """Counts the memories of users that are found by words only, because their vectors are from another encoder."""

    def __init__(
        self, shards: Shards, serving: ServingEmbedder, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        """`clock` returns seconds."""
        self._shards = shards
        self._serving = serving
        self._clock = clock
        self._log_limit = LogLimit(clock=clock)
        self._known: dict[Owner, tuple[tuple[object, ...], float, int]] = {}

    def foreign(self, owner: Owner) -> int:
        """Return the number of a user's active memories that cannot be compared. Raises NotHeld, ShardUnavailable."""
        state, encoding = self._shards.state(owner), self._shards.encoding
        width = getattr(self._serving.current, "dimensions", 0)
        now, asked = self._clock(), (len(state.memories), self._serving.model, width, encoding)
        known = self._known.get(owner)
        if known is not None and known[0] == asked and now < known[1]:
            return known[2]
        active = [memory for memory in state.memories.values() if memory.status == ACTIVE]
        others = [memory for memory in active if memory.embedding_model != self._serving.model]
        if encoding is not None and encoding.model == self._serving.model:
            others = encoding.missing(owner, others)
        count = len(others)
        if width and not count:
            own = [memory.memory_id for memory in active if memory.embedding_model == self._serving.model]
            lengths = self._shards.of(owner).ledger.vectors(owner).lengths(own)
            count = sum(some for length, some in lengths.items() if not has_width(length, width))
        if len(self._known) >= MOST_USERS:
            self._known.clear()
        self._known[owner] = asked, now + KNOWN_SECONDS, count
        if count and self._log_limit.admit() is not None:
            log.warning("%d memories of a user are found by their words only: %s", count, ADVICE)
        return count

    def total(self) -> int:
        """Return the number of memories of the first thousand users that cannot be compared. Raises as `foreign`."""
        return sum(self.foreign(owner) for owner in list(self._shards.users.owners())[:MOST_USERS])
