"""A log on Kafka that was in clear before encryption: what lies there of somebody who is erased is on the receipt."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from engines.residue_search import found_in, topics_of
from engines.several import two_workers, until_shared

from schemas.topics import CONVERSATIONS, INBOX, LEDGER

if TYPE_CHECKING:
    from pathlib import Path

    from engines.several import Several

EARLY, LATE = "early", "late"
WORDS = ["Vexleyham", "Quirinius"]
"""Said before encryption, and after."""


async def lives(two: Several, user: str, word: str) -> None:
    """Say something, remember something, and let a decision be made about both."""
    turn = {"type": "TurnRecorded", "user_id": user, "session_id": word, "role": "user", "event_id": f"{user}-{word}"}
    await two.json(0, "POST", "/v1/events", turn | {"content": f"I live in {word}."})
    await two.remember(1, user, f"keeps a {word}")
    await two.json(0, "POST", "/v1/admin/drain", {"timeout": 60})


async def restart(two: Several, **settings: str) -> None:
    for worker in two.workers:
        await worker.terminate()
        worker._environment |= {f"MNEMOLOG_{name}": value for name, value in settings.items()}
    for worker in two.workers:
        worker.start()
        await worker.ready()
    await until_shared(two)


async def said_of_encryption(two: Several) -> str:
    """Return what a worker tells the doctor."""
    checks = (await two.json(0, "GET", "/v1/admin/checks"))["checks"]
    return str(next(one["detail"] for one in checks if one["name"] == "encryption"))


def readable(receipt: dict[str, Any]) -> set[str]:
    """Return where a receipt says that somebody's words can be read without end, whoever wrote them."""
    return {one["where"] for one in receipt["remains"] if one["until"] is None}


async def test_what_lies_in_clear_of_before_encryption_is_on_the_receipt(tmp_path: Path):
    async with two_workers(tmp_path, "embedded", ENCRYPTION="off", RETENTION_DAYS="30") as two:
        await lives(two, EARLY, WORDS[0])
        await restart(two, ENCRYPTION="on")
        await lives(two, EARLY, WORDS[1])
        await lives(two, LATE, WORDS[1])
        assert "; users encrypted: 2; " in await said_of_encryption(two)
        previews = [await two.json(0, "DELETE", f"/v1/users/{user}?preview=true") for user in (EARLY, LATE)]
        receipts = [await two.json(1, "DELETE", f"/v1/users/{user}") for user in (EARLY, LATE)]
        for user in (EARLY, LATE):
            assert (await two.json(0, "GET", f"/v1/memories?user_id={user}"))["total"] == 0
        clear = topics_of(await asyncio.to_thread(found_in, tmp_path, WORDS[:1]))
        assert clear == {CONVERSATIONS.name, INBOX.name, LEDGER.name}
        assert clear <= {one["where"] for one in receipts[0]["remains"]}
        assert readable(receipts[0]) == clear - {CONVERSATIONS.name}
        assert await asyncio.to_thread(found_in, tmp_path, WORDS[1:]) == {}
        assert readable(receipts[1]) == set()
        assert [readable(one) for one in previews] == [readable(one) for one in receipts]
