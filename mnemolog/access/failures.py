"""Failed attempts by address and key, so that a guessing caller is refused before any slow hash is computed."""

from __future__ import annotations

import time
from ipaddress import IPv6Address, ip_address
from typing import TYPE_CHECKING, Final

from schemas.bounded_cache import BoundedCache

if TYPE_CHECKING:
    from collections.abc import Callable

AT_ONCE: Final = 10
"""Consecutive failures that an address may have with one key before it has to wait."""
EVERY_SECONDS: Final = 6.0
"""The time after which one failure is forgiven."""
MAX_COUNTED: Final = 10_000
_NETWORK_BITS: Final = 64


class Failures:
    """The number of recent failures of each address with each key; an IPv6 caller counts as its /64 network.

    Failures are counted by key as well, because all callers behind a proxy share one address.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._debts = BoundedCache[str, tuple[float, float]](MAX_COUNTED)
        """The failures not yet forgiven and the time of that count, by name."""

    def seconds_to_wait(self, address: str, key_id: str) -> float:
        """Return how long an address has to wait before its next attempt with a key; 0 for none."""
        return max(0.0, (self._debt(_name(address, key_id)) - AT_ONCE + 1) * EVERY_SECONDS)

    def add(self, address: str, key_id: str) -> None:
        """Count an attempt."""
        self._set(_name(address, key_id), +1.0)

    def forgive(self, address: str, key_id: str) -> None:
        """Uncount an attempt, because it succeeded."""
        self._set(_name(address, key_id), -1.0)

    def _set(self, name: str, change: float) -> None:
        self._debts.put(name, (max(0.0, self._debt(name) + change), self._clock()))

    def _debt(self, name: str) -> float:
        debt, at = self._debts.get(name) or (0.0, 0.0)
        return max(0.0, debt - (self._clock() - at) / EVERY_SECONDS)


def _name(address: str, key_id: str) -> str:
    return f"{_network(address)} {key_id}"


def _network(address: str) -> str:
    try:
        found = ip_address(address.partition("%")[0])
    except ValueError:
        return address[:64]
    if isinstance(found, IPv6Address) and found.ipv4_mapped is None:
        return str(IPv6Address(int(found) >> _NETWORK_BITS << _NETWORK_BITS))
    return str(found)
