"""Dead letters go with the user whose words they hold, also where the record's key names nobody, or somebody else."""

from __future__ import annotations

from typing import TYPE_CHECKING

import orjson
import pytest
from contract.front_door import front_door, turn

from schemas.identity import Owner
from schemas.log import NewRecord
from schemas.topics import CONVERSATIONS, DEAD_LETTERS

if TYPE_CHECKING:
    from pathlib import Path

ZARA, YURI = Owner("default", "zara"), Owner("default", "yuri")
WORD = b"Ximbertwo"
BROKEN = {"content": "Ximbertwo", "role": 7}


@pytest.mark.parametrize("key", [None, b"zara", b"\xff", YURI.key, ZARA.key], ids=str)
@pytest.mark.parametrize("event_id", ["t1", None])
async def test_a_letter_that_names_its_user_is_erased_with_the_user(
    tmp_path: Path, key: bytes | None, event_id: str | None
):
    async with front_door(tmp_path) as door:
        for owner in (ZARA, YURI):
            await door.remember("keeps a quokka", owner.user_id)
        partition = door.worker.shards.partition(ZARA)
        value = orjson.dumps(turn(event_id, "", user_id=ZARA.user_id) | BROKEN)
        await door.worker.log.append([NewRecord(topic=CONVERSATIONS.name, partition=partition, key=key, value=value)])
        assert (await door.post("/v1/admin/drain")).status_code == 200

        async def letters() -> list[bytes]:
            found = await door.worker.log.read(DEAD_LETTERS.name, partition, 0)
            return [one.value for one in found if WORD in one.value]

        assert len(await letters()) == 1
        assert (await door.http.delete("/v1/users/zara")).status_code == 200
        assert await letters() == []
        assert (await door.get("/v1/admin/dead-letters")).json()["items"] == []
