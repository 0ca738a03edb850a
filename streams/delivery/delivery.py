"""A delivery: one record that an agent receives, and the way to acknowledge it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from schemas.log import Record


def always() -> bool:
    """Return True: what is asked always holds, as the assignment does for logs that never rebalance."""
    return True


@dataclass(frozen=True, slots=True)
class Delivery:
    """A record that may be delivered any number of times; `ack` reports that its position needs no further delivery.

    `is_current` returns whether the delivery belongs to the current assignment. After a rebalance, the log delivers
    again from the committed offset on. A handler that waited meanwhile must then do nothing: the record is delivered
    again after its predecessors, which it would otherwise overtake.
    """

    record: Record
    ack: Callable[[], None]
    is_current: Callable[[], bool] = always
