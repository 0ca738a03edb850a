"""The log is backed up while the workload is published and workers are killed, and restored into other clusters.

Backups and restorations are killed as well, at any moment, and given again.
"""

from __future__ import annotations

import asyncio
import json
import shutil
import time
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import httpx
from faults.cluster.brokers import Brokers
from faults.cluster.cluster import DRAIN_SECONDS, RECOVERY_SECONDS
from faults.cluster.erasure_faults import Gone
from faults.cluster.kafka_records import KafkaReading
from faults.cluster.publisher import OverHttp, Publisher
from faults.cluster.row_verdict import digest_of_workload, verdict
from support.counting import counted
from support.master_key import MASTER_KEY

from mnemolog.backup.manifest import read_manifest
from mnemolog.operations.erasing.receipts import is_signed
from projections.state.digest import digests
from projections.state.evolve import events_of, evolve, link_of
from projections.state.memory import UserState
from schemas import codec
from schemas.log import LogError
from schemas.topics import CONVERSATIONS, INBOX, LEDGER
from streams.transports.kafka.log import KafkaLog

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping, Sequence

    from faults.cluster.cluster import Cluster
    from faults.cluster.worker_process import WorkerProcess

    from schemas.log import Record

USERS, SHORT_USERS = 12, 4
"""Who are erased before the backup; as many are erased after it."""
KILLS, SHORT_KILLS = 6, 2
"""Of restorations."""
PACE, SHORT_PACE = "0.25", "0.05"
"""Megabytes a second, so that a backup takes a while."""
MOST_SHARE, SHARE_A_SECOND = 0.9, 0.007
LOOK_SECONDS: Final = 0.05
PAUSE_SECONDS: Final = 0.2
FILLED: Final = (CONVERSATIONS.name, INBOX.name, LEDGER.name)
UNFINISHED: Final = "message.timestamp.type=CreateTime"
"""What a worker says of topics that a restoration has not finished."""


async def back_up_and_restore(cluster: Cluster) -> None:
    """Back up under load and kills, restore to the end and to a time, and go on with what was restored."""
    cluster.publisher.share = 0.2
    count = SHORT_USERS if cluster.workload.is_short else USERS
    backup = cluster.folder / "backup"
    async with httpx.AsyncClient(timeout=RECOVERY_SECONDS) as http:
        gone = [Gone(cluster, http, number) for number in range(count)]
        late = [Late(cluster, http, number) for number in range(count, 2 * count)]
        await asyncio.gather(*(one.lives() for one in gone), *(one.speaks() for one in late))
        async with _publishing(cluster):
            await _backed_up(cluster, backup, is_killed=True)
            at = datetime.now(UTC)
            await asyncio.sleep(1)
            known = _whole_sessions(cluster)
            taken = await _backed_up(cluster, backup)
        assert taken["copied_records"] < taken["records"], taken
        await cluster.reading.look()
        before = {place: list(records) for place, records in cluster.reading.records.items()}
        await asyncio.gather(*(one.is_erased() for one in late))
        cluster.publisher.share = 1.0
        keys = await _keys(cluster, http)
        kills = await _restored_to_the_end(cluster, http, backup, keys, Expected(before, known, gone, late))
        await _restored_to_a_time(cluster, backup, keys, at, before)
    records = f"{taken['records']:,} records restored"
    cluster.notes.append(f"{records}, the restoration killed {kills} times, and {len(late)} erasures repeated")


class Late(Gone):
    """A user who is erased after the backup, which still has every word."""

    async def speaks(self) -> None:
        """Say something."""
        self._comes_back = False
        await self._says("before")
        await self._until_remembered()

    async def is_erased(self) -> None:
        """Be erased."""
        receipt = await self._asked("DELETE", f"/v1/users/{self._user}", None)
        listed = await self._asked("GET", "/v1/erasures", None)
        assert is_signed(receipt, listed["public_key"]), receipt
        assert receipt["memories"], receipt

    async def is_shown(self, url: str) -> bool:
        """Ask a worker once; return whether it answers. Raises AssertionError where it shows anything."""
        with suppress(httpx.TransportError):
            answer = await self._http.get(f"{url}/v1/memories?user_id={self._user}&page_size=200")
            assert answer.status_code in (200, 503), answer.text
            assert not answer.is_success or not answer.json()["items"], f"{self._user} is shown: {answer.text}"
            return answer.is_success
        return False

    async def _until_remembered(self) -> None:
        deadline = time.monotonic() + RECOVERY_SECONDS
        while not (await self._asked("GET", f"/v1/memories?user_id={self._user}", None))["items"]:
            assert time.monotonic() < deadline, self._user
            await asyncio.sleep(PAUSE_SECONDS)


class Expected:
    """What a restored log is to have."""

    def __init__(
        self,
        records: Mapping[tuple[str, int], Sequence[Record]],
        acknowledged: Sequence[str],
        gone: Sequence[Gone],
        late: Sequence[Late],
    ) -> None:
        """Take what was read soon after the backup, what was acknowledged before, and who was erased when."""
        self.records = records
        self.acknowledged = acknowledged
        self.gone = gone
        self.late = late


def _whole_sessions(cluster: Cluster) -> list[str]:
    """Return the turns of the sessions whose end is acknowledged: from each something will be remembered."""
    acknowledged, found = set(cluster.publisher.acknowledged), list[str]()
    for user in range(cluster.workload.users):
        for session in cluster.workload.sessions(user):
            *turns, end = (event["event_id"] for event in session)
            if end in acknowledged:
                found += turns
    assert found, "no session has come to its end"
    return found


async def _kill_a_worker(cluster: Cluster) -> None:
    await asyncio.sleep(cluster.pick.uniform(1.0, 3.0))
    await cluster.kill_one_of(cluster.workers[1:])


@asynccontextmanager
async def _publishing(cluster: Cluster) -> AsyncIterator[None]:
    """Let a bit more be published every second while entered, so that there is always something to be published."""

    async def run() -> None:
        while cluster.publisher.share < MOST_SHARE:
            cluster.publisher.share += SHARE_A_SECOND
            await asyncio.sleep(1)

    running = asyncio.create_task(run())
    try:
        yield
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)


async def _backed_up(cluster: Cluster, backup: Path, *, is_killed: bool = False) -> dict[str, Any]:
    """Back up with the settings of the first worker; return what is printed. What is killed is given again.

    Another worker is killed, and more is published meanwhile.
    """
    published = len(cluster.publisher.acknowledged)
    worker = cluster.workers[0]
    pace = SHORT_PACE if cluster.workload.is_short else PACE
    process = await worker.command("backup", str(backup), "--pace", pace, "--json")
    killing = asyncio.create_task(_kill_a_worker(cluster))
    if is_killed:
        while not any((backup / "records").glob("*")) and process.returncode is None:  # noqa: ASYNC110 - as below
            await asyncio.sleep(LOOK_SECONDS)
        await asyncio.sleep(cluster.pick.uniform(0.0, 2.0))
        assert process.returncode is None, "the backup was over before it could be killed"
        process.kill()
        await process.communicate()
        await killing
        return await _backed_up(cluster, backup)
    said = await _said(process)
    assert len(cluster.publisher.acknowledged) > published, "nothing was published meanwhile"
    await killing
    verified = await _said(await worker.command("backup", "verify", str(backup), "--json"))
    assert verified["ok"], verified
    assert verified["records"] == said["records"], verified
    return said


async def _said(process: asyncio.subprocess.Process) -> dict[str, Any]:
    """Return the JSON that a command prints. Raises AssertionError where it fails."""
    said, errors = await process.communicate()
    assert process.returncode == 0, errors.decode()
    return dict(json.loads(said))


async def _keys(cluster: Cluster, http: httpx.AsyncClient) -> Path:
    """Return a copy of `keys/`, whose list has every erasure: who is asked for it asks the others."""
    worker = cluster.workers[0]
    answer = await http.get(f"{worker.url}/v1/erasures")
    assert answer.is_success, answer.text
    place = cluster.folder / "keys-kept"
    shutil.copytree(worker.folder / "data" / "keys", place)
    return place


@asynccontextmanager
async def _another(cluster: Cluster, name: str, keys: Path) -> AsyncIterator[WorkerProcess]:
    """Start another Kafka, and yield a worker of it that is not started, and has these keys."""
    brokers = Brokers(cluster.folder / f"{name}-kafka", cluster.ports)
    try:
        await asyncio.to_thread(brokers.start)
        port = cluster.ports.take()
        address = {"BROKER": f"kafka://{','.join(brokers.addresses)}", "ADVERTISED_URL": f"http://127.0.0.1:{port}"}
        worker = cluster.workers[0].beside(cluster.folder / name, port, **address)
        shutil.copytree(keys, worker.folder / "data" / "keys")
        try:
            yield worker
        finally:
            worker.kill()
    finally:
        await asyncio.to_thread(brokers.stop)


async def _restored_to_the_end(
    cluster: Cluster, http: httpx.AsyncClient, backup: Path, keys: Path, expected: Expected
) -> int:
    """Restore, killed again and again, and go on there; return how often it was killed."""
    async with _another(cluster, "restored", keys) as worker:
        given = ("backup", "restore", str(backup), "--json")
        kills = SHORT_KILLS if cluster.workload.is_short else KILLS
        for number in range(kills):
            await _kill_a_restoration(worker, given, number / (kills - 1))
            if not number:
                await _starts_on_no_half(worker)
        receipt = await _said(await worker.command(*given))
        assert receipt["digest"] == _digest_at(expected.records, receipt["ends"]), receipt
        worker.start()
        await asyncio.gather(*(_never_shown(worker, one) for one in expected.late), worker.ready())
        for one in expected.gone:
            await one.check([worker.url])
        reading = KafkaReading(worker.brokers, master_key=MASTER_KEY)
        try:
            await _goes_on(cluster, http, worker, reading, expected)
        finally:
            await reading.close()
        return kills


async def _kill_a_restoration(worker: WorkerProcess, given: Sequence[str], share: float) -> None:
    """Start a restoration, and kill it when so much of the topics is there, or a moment after."""
    process = await worker.command(*given)
    log = KafkaLog(worker.brokers, client_id="looks")
    await log.start()
    try:
        copied = sum(one.end for one in read_manifest(Path(given[2])).partitions if one.topic in FILLED)
        wanted = max(1, int(share * copied))
        while await _filled(log) < wanted:
            assert process.returncode is None, (await process.communicate())[1].decode()
            await asyncio.sleep(LOOK_SECONDS)
    finally:
        await log.stop()
    assert process.returncode is None, "it was over before it could be killed"
    process.kill()
    await process.communicate()


async def _filled(log: KafkaLog) -> int:
    filled = 0
    for topic in FILLED:
        with suppress(LogError):  # it is not there yet
            filled += sum([await log.end(topic, partition) for partition in range(await log.partitions(topic))])
    return filled


async def _starts_on_no_half(worker: WorkerProcess) -> None:
    """See that a worker does not start on what is not restored to its end."""
    worker.start()
    async with asyncio.timeout(RECOVERY_SECONDS):
        while worker.exit_code is None:  # noqa: ASYNC110 - it is another process
            await asyncio.sleep(PAUSE_SECONDS)
    assert worker.exit_code != 0
    assert UNFINISHED in worker.said_in_this_life(), worker.said()


async def _never_shown(worker: WorkerProcess, one: Late) -> None:
    """Ask about an erased user from the start on, until it is answered that there is nothing."""
    deadline = time.monotonic() + RECOVERY_SECONDS
    while not await one.is_shown(worker.url):
        assert time.monotonic() < deadline, worker.said()
        await asyncio.sleep(LOOK_SECONDS)


async def _goes_on(
    cluster: Cluster, http: httpx.AsyncClient, worker: WorkerProcess, reading: KafkaReading, expected: Expected
) -> None:
    """See that what was acknowledged before the backup is there once; publish everything, and compare the digests."""
    await reading.until_decided(expected.acknowledged, RECOVERY_SECONDS)
    told = verdict(reading.records, expected.acknowledged)
    assert (told.missing, told.twice, told.out_of_order) == (0, 0, 0), told
    path = cluster.folder / "acknowledged-again"
    publisher = Publisher(cluster.workload, [OverHttp(lambda: [worker.url])], path, twice=False)
    await publisher.run()
    await reading.until_decided([i for i in publisher.acknowledged if not i.endswith("-end")], RECOVERY_SECONDS)
    for one in expected.late:
        assert await one.is_shown(worker.url), worker.said()
    answer = await http.post(f"{worker.url}/v1/admin/drain", json={"timeout": DRAIN_SECONDS / 2})
    assert answer.is_success, answer.text
    found = (await http.get(f"{worker.url}/v1/admin/digest")).json()
    await reading.look()
    told = verdict(reading.records, publisher.acknowledged)
    assert (told.missing, told.twice, told.out_of_order) == (0, 0, 0), told
    while len(cluster.publisher.acknowledged) < len(publisher.acknowledged):  # noqa: ASYNC110 - it goes on by itself
        await asyncio.sleep(PAUSE_SECONDS)
    await cluster.remembered()
    first = await cluster.digests()
    await cluster.reading.look()
    digest = digest_of_workload(first, cluster.reading.records)
    assert digest_of_workload(found, reading.records) == digest, "what was restored has become another one"


async def _restored_to_a_time(
    cluster: Cluster,
    backup: Path,
    keys: Path,
    at: datetime,
    before: Mapping[tuple[str, int], Sequence[Record]],
) -> None:
    """Restore to a time before the last backup; its digest is that of what the log had then."""
    async with _another(cluster, "earlier", keys) as worker:
        receipt = await _said(await worker.command("backup", "restore", str(backup), "--json", "--to", at.isoformat()))
        then = {place: [record for record in records if record.recorded_at <= at] for place, records in before.items()}
        assert receipt["digest"] == _digest_of(then), receipt


def _digest_at(records: Mapping[tuple[str, int], Sequence[Record]], ends: Mapping[str, int]) -> str:
    """Return the digest of what the log had when it ended at these offsets, folded independently."""
    return _digest_of(
        {
            (topic, partition): [one for one in some if one.position.offset < ends[f"{topic}:{partition}"]]
            for (topic, partition), some in records.items()
        }
    )


def _digest_of(records: Mapping[tuple[str, int], Sequence[Record]]) -> str:
    states = []
    for owner, chain in counted(records).items():
        state = UserState(owner=owner)
        for decision in chain:
            state = evolve(state, decision, events_of(decision), link_of(decision, codec.encode(decision)))
        states.append(state)
    return digests(states)["total"]
