"""A search in a past state finds what was active in it, but for what was erased since."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from support.examples import XIAOMING, envelope, later, remember, vector_of
from support.workbench import Workbench

from projections.index.embedded.state_search import search_state
from projections.index.protocol import IndexQuery
from schemas.messages.erasure import EraseMemory

if TYPE_CHECKING:
    from pathlib import Path

CAT, COFFEE = "用户有一只猫", "用户喜欢喝咖啡"


async def test_a_memory_that_was_erased_since_is_not_found_and_the_others_are(tmp_path: Path):
    bench = Workbench(tmp_path)
    for text in (CAT, COFFEE):
        await bench.decides(remember(text, f"c-{text}"))
    past = bench.state()
    [cat, coffee] = (m.memory_id for text in (CAT, COFFEE) for m in past.memories.values() if m.content == text)
    query = IndexQuery(
        tenant=XIAOMING.tenant,
        user_id=XIAOMING.user_id,
        tokens=(),
        vector=np.frombuffer(vector_of(CAT), "<f4"),
        embedding_model="test",
        limit=10,
    )

    async def found() -> list[str]:
        legs = await search_state(XIAOMING, past, lambda: bench.shards.of(XIAOMING).ledger, None, query)
        return [hit.memory_id for hit in legs.semantic]

    assert await found() == [cat, coffee]
    erase = EraseMemory(envelope=envelope("e-1", later(hours=1)), memory_id=cat, event_ids=[], letters=[])
    await bench.decides(erase)
    assert await found() == [coffee]
    bench.close()
