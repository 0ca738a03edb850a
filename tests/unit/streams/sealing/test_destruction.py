"""A key counts as destroyed once its tombstone is on the topic, and not before: an erasure is repeated until then."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from support.memory_log import MemoryLog

from schemas.identity import Owner
from schemas.log import LogUnavailable
from streams.sealing.master_key import MasterKeys
from streams.sealing.user_keys import UserKeys

if TYPE_CHECKING:
    from collections.abc import Sequence

    from schemas.log import Appended, NewRecord

ADA = Owner("default", "ada")


class UncertainLog(MemoryLog):
    """A log that refuses appends while it is away."""

    is_away = False

    async def append(self, records: Sequence[NewRecord]) -> list[Appended]:
        if self.is_away:
            raise LogUnavailable("away")
        return await super().append(records)


async def test_a_key_whose_tombstone_could_not_be_appended_is_not_taken_for_destroyed():
    log, masters = UncertainLog(), MasterKeys([bytes(32)])
    keys = UserKeys(log, masters)
    await keys.make([ADA])
    ids = keys.ring.ids_of(ADA)
    log.is_away = True
    with pytest.raises(LogUnavailable):
        await keys.destroy(ids)
    assert not keys.ring.is_destroyed(ids[0])
    assert keys.ring.ids_of(ADA) == ids
    log.is_away = False
    await keys.destroy(ids)
    others = UserKeys(log, masters)
    await others.follow()
    assert [one.ring.is_destroyed(ids[0]) for one in (keys, others)] == [True, True]
    assert keys.ring.ids_of(ADA) == others.ring.ids_of(ADA) == ()
