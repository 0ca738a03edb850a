"""Dead peers: removes workers whose processes have ended from the group, without waiting for their sessions to end.

If a process has ended, its machine refuses connections to its port, and only then does it do so for long. A worker that
is frozen, cut off or on a lost machine does not answer at all; the group notices those when their sessions end.
"""

from __future__ import annotations

import asyncio
import logging
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from schemas.log import LogError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Protocol

    from streams.transports.kafka.group import Member

    class Group(Protocol):
        """The part of `KafkaLog` that talks to the coordinator of the group."""

        async def members(self) -> Sequence[Member]:
            """Return all members, including dead ones."""
            ...

        async def forget_member(self, member_id: str) -> bool:
            """Remove a member; return whether it was in the group."""
            ...


REFUSED_SECONDS: Final = 1.0
"""How long connections must be refused. A live worker listens from before it joins the group until it has left it."""
LOOK_SECONDS: Final = 0.25
GIVE_UP_SECONDS: Final = 15.0
"""How long a refusing worker is looked up in the group, which does not list URLs while it rebalances."""
CONNECT_SECONDS: Final = 1.0

log = logging.getLogger("mnemolog")


class DeadPeers:
    """Removes workers from the group if their machines refuse connections.

    A worker that is alive, but whose port is closed to others, joins again as after an expired session; the records
    that it appended meanwhile are void. It is not removed again until a request has reached it, because until then it
    cannot be told apart from the worker that was removed.
    """

    def __init__(self, group: Group) -> None:
        """Start without suspects."""
        self._group = group
        self._looking: dict[str, asyncio.Task[None]] = {}
        self._forgotten: set[str] = set()
        self._closed = False

    def suspect(self, url: str) -> None:
        """Start checking a worker, because a connection to it failed."""
        if not self._closed and url not in self._looking and url not in self._forgotten:
            task = self._looking[url] = asyncio.create_task(self._look(url))
            task.add_done_callback(lambda _: self._looking.pop(url))

    def reached(self, url: str) -> None:
        """Record that a worker has answered."""
        self._forgotten.discard(url)

    async def aclose(self) -> None:
        """Stop all checks."""
        self._closed = True
        looking = list(self._looking.values())
        for task in looking:
            task.cancel()
        await asyncio.gather(*looking, return_exceptions=True)

    async def _look(self, url: str) -> None:
        began = time.monotonic()
        with suppress(LogError):  # the group notices by itself when the session ends
            while await _is_refused(url) and (passed := time.monotonic() - began) < GIVE_UP_SECONDS:
                if passed >= REFUSED_SECONDS and await self._forget(url):
                    return
                await asyncio.sleep(LOOK_SECONDS)

    async def _forget(self, url: str) -> bool:
        """Remove the worker at a URL from the group; return whether it was removed."""
        named = [m.member_id for m in await self._group.members() if m.url is not None and m.url.rstrip("/") == url]
        for member_id in named:
            if await self._group.forget_member(member_id):
                self._forgotten.add(url)
                log.warning("the worker at %s is gone, its port refuses connections: the group has forgotten it", url)
                return True
        return False


async def _is_refused(url: str) -> bool:
    """Return whether the host of a URL refuses connections to its port."""
    parts = urlsplit(url)
    port = parts.port or (443 if parts.scheme == "https" else 80)
    try:
        async with asyncio.timeout(CONNECT_SECONDS):
            _, writer = await asyncio.open_connection(parts.hostname, port)
    except ConnectionRefusedError:
        return True
    except (OSError, TimeoutError):
        return False
    writer.close()
    return False
