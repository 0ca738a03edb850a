"""A rotation leaves no key behind that only the retired master key opens, whatever is made meanwhile."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest
from support.memory_log import MemoryLog

from schemas.identity import Owner
from streams.sealing.master_key import MasterKeys
from streams.sealing.user_keys import INSTALLATION, UserKeys

if TYPE_CHECKING:
    from collections.abc import Sequence

    from schemas.log import Appended, NewRecord

OLD, NEW = bytes(32), b"n" * 32
ZARA = Owner("default", "zara")


class SlowLog(MemoryLog):
    """A log whose next append waits until it may go on."""

    def __init__(self) -> None:
        super().__init__()
        self.reached, self.may_go_on = asyncio.Event(), asyncio.Event()
        self.may_go_on.set()

    async def append(self, records: Sequence[NewRecord]) -> list[Appended]:
        if not self.may_go_on.is_set() and not self.reached.is_set():
            self.reached.set()
            await self.may_go_on.wait()
        return await super().append(records)


@pytest.mark.parametrize("renews", [False, True])
async def test_a_key_that_is_being_made_is_wrapped_anew_too(*, renews: bool):
    log = SlowLog()
    keys = UserKeys(log, MasterKeys([OLD]))
    await keys.make([INSTALLATION])
    if renews:
        await keys.make([ZARA])
    log.may_go_on.clear()
    making = asyncio.create_task(keys.renew(ZARA) if renews else keys.make([ZARA]))
    await log.reached.wait()
    keys.use(MasterKeys([NEW, OLD]))
    rotating = asyncio.create_task(keys.rotate())
    for _ in range(9):  # as far as the rotation comes by itself
        await asyncio.sleep(0)
    log.may_go_on.set()
    await asyncio.gather(making, rotating)
    assert set(keys.wrapped_by()) == {MasterKeys([NEW]).newest}
    started = UserKeys(log, MasterKeys([NEW]))  # the old one was dropped
    await started.follow()
    assert started.has_key(ZARA)
