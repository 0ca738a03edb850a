"""A log on Kafka, backed up while a worker serves, and restored into another cluster up to a moment."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import partialmethod
from typing import TYPE_CHECKING, Any

import pytest
from contract.front_door import FrontDoor, front_door, turn
from support.kafka_server import running_kafka
from support.master_key import MASTER_KEY

from mnemolog.backup.creation import Made, back_up
from mnemolog.backup.moment import moment_of
from mnemolog.backup.restoration import restore
from mnemolog.backup.source import opened_source
from mnemolog.operations.integrity.data_folder import FolderMismatch, check_folder
from mnemolog.settings import from_environment
from schemas.log import LogError
from schemas.topics import CONVERSATIONS
from streams.transports.kafka.restored_topics import RestoredTopics

if TYPE_CHECKING:
    from pathlib import Path

    from mnemolog.settings import Settings

QUICK = 1e9


def settings_of(broker: str, folder: Path) -> dict[str, Any]:
    return {"data_dir": folder, "broker": f"kafka://{broker}", "partitions": 2, "master_key": MASTER_KEY}


def chosen(broker: str, folder: Path) -> Settings:
    return from_environment({}, **settings_of(broker, folder))


async def backed_up(broker: str, folder: Path, backup: Path) -> Made:
    async with opened_source(chosen(broker, folder)) as source:
        return await back_up(source, backup, QUICK)


class Interrupted(Exception):
    """Somebody has stopped a restoration."""


def interrupt(step: str, _: int) -> None:
    """Stop a restoration when its topics are filled."""
    if step == "folded":
        raise Interrupted


async def finish_some(topics: RestoredTopics, left: int, finish: Any) -> None:
    """Have a restoration stopped when some topics are finished; with 0 when all are, and the receipt is not told."""
    if left:
        topics._wanted = dict(list(topics._wanted.items())[:left])
    await finish(topics)
    raise Interrupted


async def digest(door: FrontDoor) -> str:
    assert (await door.post("/v1/admin/drain")).status_code == 200
    found: str = (await door.get("/v1/admin/digest")).json()["total"]
    return found


async def memories(door: FrontDoor, user_id: str) -> list[str]:
    found = (await door.get("/v1/memories", user_id=user_id)).json()
    return sorted(memory["content"] for memory in found["items"])


async def test_a_log_on_kafka_is_restored_into_another_cluster_at_its_offsets_and_times(
    own_kafka: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    folder, backup = tmp_path / "var", tmp_path / "backup"
    given = settings_of(own_kafka, folder)
    given.pop("data_dir")
    async with front_door(folder, **given) as door:
        await door.remember("zara keeps a quokka", "zara")
        await door.remember("yuri rows", "yuri")
        await backed_up(own_kafka, folder, backup)
        said = await door.post("/v1/events", turn("t1", "I live in Lisbon.", user_id="yuri"))
        assert said.status_code == 202
        known, at = await digest(door), datetime.now(UTC).isoformat()
        records = {
            (topic, number): await door.worker._inner_log.read(topic, number, 0)
            for topic in (CONVERSATIONS.name, "mnemolog.inbox", "mnemolog.memories")
            for number in range(2)
        }
        await door.remember("zara keeps a heron", "zara")
        erased = await door.http.delete("/v1/users/zara")
        assert erased.status_code == 200
        made = await backed_up(own_kafka, folder, backup)
        newest = await digest(door)
        again = await backed_up(own_kafka, folder, backup)
        assert again.copied_records < made.copied_records
    with running_kafka(tmp_path / "other") as other:
        new = tmp_path / "new"
        receipt = await restore(chosen(other, new), backup, moment_of(at))
        assert receipt["erasures_listed"] == 1
        given = settings_of(other, new)
        given.pop("data_dir")
        async with front_door(new, **given) as door:
            for (topic, number), wanted in records.items():
                found = await door.worker._inner_log.read(topic, number, 0)
                assert found[: len(wanted)] == wanted
            assert await memories(door, "zara") == []
            assert "yuri rows" in await memories(door, "yuri")
            assert known != receipt["digest"] == await digest(door)
        with pytest.raises(LogError, match="exists: restore into a cluster that has none"):
            await restore(chosen(other, tmp_path / "third"), backup, moment_of(None))
    with running_kafka(tmp_path / "another") as other:
        fourth = chosen(other, tmp_path / "fourth")
        with pytest.raises(Interrupted):
            await restore(fourth, backup, moment_of(None), interrupt)
        for elsewhere, to in ((fourth, at), (chosen(other, tmp_path / "fifth"), None)):
            with pytest.raises(LogError, match="exists: restore into a cluster that has none"):
                await restore(elsewhere, backup, moment_of(to))
        for left in (3, 0):  # topics that have their own settings already
            with monkeypatch.context() as patch:
                patch.setattr(RestoredTopics, "finish", partialmethod(finish_some, left, RestoredTopics.finish))
                with pytest.raises(Interrupted):
                    await restore(fourth, backup, moment_of(None))
            with pytest.raises(FolderMismatch, match="was cut off"):
                await check_folder(fourth)
        told: list[Any] = []
        receipt = await restore(fourth, backup, moment_of(None), tell=told.append)
        assert told == [receipt]
        assert receipt["digest"] == newest
        await check_folder(fourth)
