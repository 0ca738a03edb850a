"""A delivery: one record that an agent was given, and the way to say that it is done with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from schemas.log import Record


@dataclass(frozen=True, slots=True)
class Delivery:
    """A record may be delivered any number of times; `ack` says that this position needs no delivery any more."""

    record: Record
    ack: Callable[[], None]
