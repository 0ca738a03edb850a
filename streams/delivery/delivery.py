"""A delivery: one record that an agent was given, and the way to say that it is done with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from schemas.log import Record


def always() -> bool:
    """Tell that no rebalance comes between."""
    return True


@dataclass(frozen=True, slots=True)
class Delivery:
    """A record may be delivered any number of times; `ack` says that this position needs no delivery any more.

    `is_current` tells whether no rebalance has come since: after one, the record comes again behind those before it,
    and what waited meanwhile must not be taken in ahead of them.
    """

    record: Record
    ack: Callable[[], None]
    is_current: Callable[[], bool] = always
