"""Workers whose processes are gone: the group is told, so that nobody waits until their sessions end.

Where a process has ended, its machine refuses connections to its port: nothing else there does so for long. A worker
that is frozen, cut off or on a machine that is gone answers nothing at all; those the group notices by itself.
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
        """The group, as `KafkaLog` asks its coordinator."""

        async def members(self) -> Sequence[Member]:
            """Return the members, dead ones too."""
            ...

        async def forget_member(self, member_id: str) -> bool:
            """Remove a member; return whether it was one."""
            ...


REFUSED_SECONDS: Final = 1.0
"""How long connections must be refused. A worker listens before it joins the group, and until it has left it."""
LOOK_SECONDS: Final = 0.25
GIVE_UP_SECONDS: Final = 15.0
"""While the group rebalances it does not say which member has a URL: so long it is asked again."""
CONNECT_SECONDS: Final = 1.0

log = logging.getLogger("mnemolog")


class DeadPeers:
    """Has the group forget workers whose machines refuse connections.

    A worker that lives after all, its port closed to others, joins again, as after a session that ended: what it
    appended meanwhile does not count. It is not removed again before it was reached: until then nothing distinguishes
    it from the one that was removed.
    """

    def __init__(self, group: Group) -> None:
        """Look at nobody yet."""
        self._group = group
        self._looking: dict[str, asyncio.Task[None]] = {}
        self._forgotten: set[str] = set()
        self._closed = False

    def suspect(self, url: str) -> None:
        """Take in that a worker could not be connected to; it is looked at from now on."""
        if not self._closed and url not in self._looking and url not in self._forgotten:
            task = self._looking[url] = asyncio.create_task(self._look(url))
            task.add_done_callback(lambda _: self._looking.pop(url))

    def reached(self, url: str) -> None:
        """Take in that a worker has answered."""
        self._forgotten.discard(url)

    async def aclose(self) -> None:
        """Look at nobody any more."""
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
        """Have the group forget the worker at a URL; return whether it has."""
        named = [m.member_id for m in await self._group.members() if m.url is not None and m.url.rstrip("/") == url]
        for member_id in named:
            if await self._group.forget_member(member_id):
                self._forgotten.add(url)
                log.warning("the worker at %s is gone, its port refuses connections: the group has forgotten it", url)
                return True
        return False


async def _is_refused(url: str) -> bool:
    """Return whether the machine of a URL says that nothing listens at its port."""
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
