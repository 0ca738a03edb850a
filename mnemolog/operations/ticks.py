"""Ticks at an operator's request: like those of the schedulers, at an instant of the operator's choice."""

from __future__ import annotations

from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from schemas.instant import instant
from schemas.vocabulary.words import RETENTION, WAKE
from streams.ticks.scheduler import decay_due, retention_due
from streams.ticks.wake_scheduler import wake_due

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from mnemolog.cluster.scatter_gather import ScatterGather
    from mnemolog.commands.commands import Commands
    from schemas.messages.inbox import Tick

MARGIN_SECONDS: Final = 10.0
"""Extra seconds to wait for another worker, beyond its own time-out."""
MAX_AHEAD: Final = timedelta(minutes=5)
"""The limit beyond which a tick ahead of the clock is probably a mistake, which would expire memories in use."""
MAX_SKEW: Final = timedelta(minutes=1)
"""How far a worker's clock may be behind that of the worker that received the request for a tick."""


def tick_maker(policy: str, retention_days: float) -> Callable[[int, datetime], Tick]:
    """Return the builder of a partition's tick of a policy of decay, of retention, or of wakes."""
    if policy == WAKE:
        return wake_due
    if policy == RETENTION:
        return partial(retention_due, days=retention_days)
    return lambda partition, as_of: decay_due(partition, policy, as_of)


class Ticks:
    """Emits a tick in the partitions of this worker, or in all."""

    def __init__(self, commands: Commands, cluster: ScatterGather, retention_days: float) -> None:
        self._commands = commands
        self._cluster = cluster
        self._retention_days = retention_days

    async def emit_local(self, policy: str, as_of: datetime, seconds: float) -> dict[str, Any]:
        """Emit a tick in the partitions of this worker, and wait for it for at most `seconds`.

        Returns `{tick_id, decayed, expired, raised, applied, repeated}`.
        """
        done = await self._commands.tick(policy, as_of, seconds, tick_maker(policy, self._retention_days))
        counts = {"decayed": done.decayed, "expired": done.expired, "raised": done.raised}
        return {"tick_id": done.tick_id, **counts, "applied": done.applied, "repeated": done.repeated}

    async def emit(self, policy: str, as_of: datetime, seconds: float, *, force: bool) -> dict[str, Any]:
        """Emit a tick in all partitions; return what it changed, and whether it was applied in time.

        With `force`, other workers accept a tick further ahead than MAX_AHEAD. Raises PeerUnavailable; the tick may
        then have been emitted in some partitions, where a repeat changes nothing.
        """
        request = {"policy": policy, "as_of": instant(as_of), "timeout": seconds, "force": force}
        work = self.emit_local(policy, as_of, seconds)
        answers = await self._cluster.gather(work, "ticks", request, seconds + MARGIN_SECONDS)
        decayed, expired, raised = (sum(body[name] for body in answers) for name in ("decayed", "expired", "raised"))
        return {
            "tick_id": answers[0]["tick_id"],
            "policy": policy,
            "as_of": instant(as_of),
            "changed": decayed + expired + raised,
            "decayed": decayed,
            "expired": expired,
            "applied": all(body["applied"] for body in answers),
            "repeated": all(body["repeated"] for body in answers),
        }
