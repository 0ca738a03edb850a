"""How long a user gets no answer when a worker is killed, frozen, or restarted with the others, on Kafka.

    python bench/failover.py [--ports FIRST] [ROW...]   # rows: kill, freeze, rolling, start; all by default

It needs Kafka in the cache (`make engines`). Three workers with default settings, a broker and this program share the
machine. Each of 60 users has five memories and a caller of its own, which sends a request every three seconds: a
search, or every tenth time a memory to remember. It tries the workers that are alive one after the other. If one
refuses (503, no connection, or frozen for a second), it tries the next at once, and pauses when all have refused. A
user's wait lasts from the first try to the answer. The program prints the longest waits, and what the workers wrote in
their logs, in seconds from the fault. It prints the searches' p99 before the fault and in three minutes: one begins
with the fault (users wait for a worker that is gone), one when the others answer for its users (a restarted worker
takes partitions back), and one when the last worker answers for its own users or is ready again. It lists the slowest
searches of the last minute.

`start` needs only one embedded worker: it is started again over a data folder with memories, and the p99 of its first
searches is compared with its usual p99.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import math
import re
import statistics
import sys
import tempfile
import time
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Final

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tools"))
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

import httpx
from faults.cluster.ports import FIRST_PORT, Ports
from faults.cluster.worker_process import WorkerProcess
from support.kafka_server import KafkaServer
from support.master_key import MASTER_KEY

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Coroutine, Sequence

ROWS: Final = ("start", "kill", "freeze", "rolling")
WORKERS, USERS, MEMORIES = 3, 60, 5
EVERY_SECONDS: Final = 3.0
PAUSE_SECONDS: Final = 0.25
"""The pause after all workers have refused a request."""
CLIENT_SECONDS: Final = 30.0
"""How long a client waits for one worker, as `mnemolog.client` does."""
NOTICE_SECONDS: Final = 1.0
"""After this long without an answer, a caller checks whether the worker is frozen."""
COMMAND_EVERY = 10
QUIET_SECONDS, AFTER_SECONDS, MINUTE_SECONDS = 20.0, 15.0, 60.0
FREEZE_SECONDS = 30.0
READY_SECONDS = 240.0
SEARCHES = 300
SLOWEST = 8
FAULTY = 1
"""The worker that is killed or frozen."""
TOLD: Final = {
    "moves": r"shares out its partitions anew",
    "has": r"this worker has the partitions",
    "held": r"users of its partitions are answered",
    "forgets": r"has forgotten it",
    "answers": r"mnemolog answers at",
    "out of session": r"member_id was not recognized",
}
STAMP: Final = re.compile(r"(\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d)[.,](\d{1,6})")


@dataclass(frozen=True, slots=True)
class Asked:
    """One request of a user, and how long it took to be answered."""

    user: int
    began: float
    seconds: float
    refusals: int
    is_search: bool


@dataclass
class Callers:
    """A caller for each user."""

    workers: list[WorkerProcess]
    asked: list[Asked] = field(default_factory=list)
    waiting: dict[int, float] = field(default_factory=dict)
    """Since when each user without an answer has been waiting."""
    _turn: itertools.count[int] = field(default_factory=itertools.count)

    async def run(self, user: int) -> None:
        """Send the requests of one user until cancelled."""
        async with httpx.AsyncClient(timeout=CLIENT_SECONDS) as http:
            await asyncio.sleep(user / USERS * EVERY_SECONDS)
            for number in itertools.count(1):
                began = self.waiting[user] = time.monotonic()
                is_search = number % COMMAND_EVERY != user % COMMAND_EVERY
                refusals = await self._until_answered(http, user, number, is_search=is_search)
                seconds = time.monotonic() - self.waiting.pop(user)
                self.asked.append(Asked(user, began, seconds, refusals, is_search))
                await asyncio.sleep(max(0.0, EVERY_SECONDS - seconds))

    async def _until_answered(self, http: httpx.AsyncClient, user: int, number: int, *, is_search: bool) -> int:
        """Try workers until one answers; return the number of refusals."""
        refusals = 0
        while True:
            worker = self.workers[next(self._turn) % len(self.workers)]
            if worker.is_alive:
                answer = await _unless_frozen(worker, _ask(http, worker.url, user, number, is_search=is_search))
                if answer is not None and answer.is_success:
                    return refusals
                assert answer is None or answer.status_code == 503, answer.text + worker.said()
                refusals += 1
            if refusals % len(self.workers) == 0:
                await asyncio.sleep(PAUSE_SECONDS)


async def _unless_frozen(
    worker: WorkerProcess, asking: Coroutine[object, object, httpx.Response]
) -> httpx.Response | None:
    """Return the answer; None if there is none, or if the worker is frozen, which a load balancer would find out."""
    answer = asyncio.ensure_future(asking)
    try:
        while not (await asyncio.wait({answer}, timeout=NOTICE_SECONDS))[0]:
            if worker.frozen:
                return None
        return answer.result()
    except httpx.TransportError:
        return None
    finally:
        answer.cancel()


async def _ask(http: httpx.AsyncClient, url: str, user: int, number: int, *, is_search: bool) -> httpx.Response:
    if is_search:
        question = {"user_id": f"user-{user}", "query": f"where is the box {number % MEMORIES}?", "recall": False}
        return await http.post(f"{url}/v1/search", json=question)
    return await _remember(http, url, user, f"the box {number} stands in hall {number * 7}")


async def _remember(http: httpx.AsyncClient, url: str, user: int, content: str) -> httpx.Response:
    body = {"user_id": f"user-{user}", "content": content}
    return await http.post(f"{url}/v1/memories", json=body, headers={"Idempotency-Key": f"{user} {content}"})


def p99(seconds: list[float]) -> float:
    """Return the 99th percentile."""
    return sorted(seconds)[math.ceil(len(seconds) * 0.99) - 1]


class Group:
    """Three workers on one broker, and the faults that happen to them."""

    def __init__(self, folder: Path, ports: Ports) -> None:
        """Start nothing yet."""
        self.kafka = KafkaServer(folder / "kafka", ports.take(), controller=ports.take())
        self.workers: list[WorkerProcess] = []
        for number in range(WORKERS):
            port = ports.take()
            settings = {
                "ADVERTISED_URL": f"http://127.0.0.1:{port}",
                "BROKER": f"kafka://{self.kafka.address}",
                "MASTER_KEY": MASTER_KEY,
                "LOG_LEVEL": "info",
            }
            self.workers.append(WorkerProcess(folder / f"worker-{number}", port, settings))
        self.callers = Callers(self.workers)

    async def start(self) -> None:
        """Start everything, and give each user memories."""
        await asyncio.to_thread(self.kafka.start)
        for worker in self.workers:
            worker.start()
        await asyncio.gather(*(worker.ready(READY_SECONDS) for worker in self.workers))
        some = asyncio.Semaphore(8)

        async def remember(user: int, number: int) -> None:
            text = f"the box {number} of shelf {user} holds {number * 100 + user} stones"
            async with some:
                while not (await _remember(http, self.workers[user % WORKERS].url, user, text)).is_success:  # noqa: ASYNC110 - HTTP
                    await asyncio.sleep(PAUSE_SECONDS)

        async with httpx.AsyncClient(timeout=60) as http, asyncio.TaskGroup() as group:
            for user, number in itertools.product(range(USERS), range(MEMORIES)):
                group.create_task(remember(user, number))

    def stop(self) -> None:
        """End everything."""
        for worker in self.workers:
            worker.kill()
        self.kafka.stop()

    async def kill(self) -> None:
        """Kill a worker, and start it again a second later."""
        worker = self.workers[FAULTY]
        worker.kill()
        await asyncio.sleep(1)
        began = time.monotonic()
        worker.start()
        await _listens(worker)
        print(f"   listening {time.monotonic() - began:.1f} s after its start")
        await worker.ready(READY_SECONDS)
        print(f"   ready {time.monotonic() - began:.1f} s after its start", flush=True)

    async def freeze(self) -> None:
        """Freeze a worker for longer than its session."""
        worker = self.workers[FAULTY]
        worker.freeze()
        await asyncio.sleep(FREEZE_SECONDS)
        worker.thaw()
        await worker.ready(READY_SECONDS)

    async def rolling(self) -> None:
        """Restart every worker, one after the other."""
        for worker in self.workers:
            began = time.monotonic()
            assert await worker.terminate() == 0, worker.said()
            ended = time.monotonic()
            worker.start()
            await _listens(worker)
            listens = time.monotonic()
            await worker.ready(READY_SECONDS)
            print(
                f"   {worker.folder.name}: ended after {ended - began:.1f} s, listening after {listens - ended:.1f} s, "
                f"ready after {time.monotonic() - ended:.1f} s",
                flush=True,
            )

    async def measure(self, name: str, fault: Callable[[], Awaitable[None]]) -> dict[str, object]:
        """Cause a fault; print and return how long users waited."""
        await asyncio.sleep(QUIET_SECONDS / 2)
        quiet = len(self.callers.asked)
        await asyncio.sleep(QUIET_SECONDS)
        usual = [asked.seconds for asked in self.callers.asked[quiet:] if asked.is_search]
        before, wall, began = len(self.callers.asked), datetime.now(UTC), time.monotonic()
        sizes = [worker.log.stat().st_size for worker in self.workers]
        print(f"-- {name}", flush=True)
        await fault()
        ready = time.monotonic()
        await asyncio.sleep(AFTER_SECONDS)
        now = time.monotonic()
        unanswered = [Asked(user, at, now - at, 0, is_search=True) for user, at in self.callers.waiting.items()]
        during = self.callers.asked[before:] + unanswered
        await asyncio.sleep(max(0.0, MINUTE_SECONDS + 5 - AFTER_SECONDS))
        searches = [asked for asked in self.callers.asked[before:] if asked.is_search]
        held = []
        longest: dict[int, Asked] = {}
        for asked in during:
            if asked.user not in longest or asked.seconds > longest[asked.user].seconds:
                longest[asked.user] = asked
        waits = sorted(asked.seconds for asked in longest.values())
        worst = max(longest.values(), key=lambda asked: asked.seconds)
        result: dict[str, object] = {
            "longest": round(waits[-1], 2),
            "median_of_users": round(statistics.median(waits), 2),
            "usual_p99_ms": round(p99(usual) * 1000),
            "refused": sum(asked.refusals for asked in during),
        }
        for worker, size in zip(self.workers, sizes, strict=True):
            parts = _parts(worker.log.read_bytes()[size:].decode("utf-8", "replace"), wall)
            print(f"   {worker.folder.name}: {', '.join(f'{said} {at:.1f}' for said, at in parts)}")
            held.append([at for said, at in parts if said == "held"])
        first = max((times[0] for number, times in enumerate(held) if times and number != FAULTY), default=0.0)
        last = max(ready - began, *(times[-1] for times in held if times))
        for since, what in ((0.0, "minute_p99_ms"), (first, "after_move_p99_ms"), (last, "after_last_p99_ms")):
            minute = [asked for asked in searches if since <= asked.began - began < since + MINUTE_SECONDS]
            result[what] = round(p99([asked.seconds for asked in minute]) * 1000)
        slowest = sorted(minute, key=lambda asked: -asked.seconds)[:SLOWEST]
        print(f"   the others answer after {first:.1f} s, all is done after {last:.1f} s; slowest searches since:")
        print(
            f"     {', '.join(f'{a.seconds * 1000:.0f} ms at {a.began - began:.1f} (user {a.user})' for a in slowest)}"
        )
        at = worst.began - began
        print(f"   the longest: user {worst.user}, from {at:.1f} s on, {worst.refusals} refusals")
        print(f"   waits of users: {' '.join(f'{wait:.1f}' for wait in waits[::-6])}")
        print(f"   {result}", flush=True)
        return result


def _parts(told: str, wall: datetime) -> list[tuple[str, float]]:
    """Return the log lines about a worker's membership of the group, in seconds after an instant."""
    found: list[tuple[str, float]] = []
    for line in told.splitlines():
        stamp = STAMP.search(line)
        said = next((name for name, pattern in TOLD.items() if re.search(pattern, line)), None)
        if stamp is None or said is None:
            continue
        at = datetime.fromisoformat(stamp[1]).replace(tzinfo=UTC).timestamp() + float(f"0.{stamp[2]}")
        found.append((said, at - wall.timestamp()))
    return found


async def _listens(worker: WorkerProcess) -> None:
    async with httpx.AsyncClient(timeout=5) as http:
        while True:
            try:
                await http.get(f"{worker.url}/health/live")
            except httpx.TransportError:
                await asyncio.sleep(0.05)
            else:
                return


async def started_again(folder: Path, ports: Ports) -> dict[str, object]:
    """Start an embedded worker again over its memories; return its first searches' p99 and its usual p99."""
    worker = WorkerProcess(folder / "alone", ports.take(), {"LOG_LEVEL": "info"})
    worker.start()
    await worker.ready(READY_SECONDS)
    async with httpx.AsyncClient(timeout=60) as http:
        for user, number in itertools.product(range(USERS), range(MEMORIES)):
            text = f"the box {number} of shelf {user} holds {number * 100 + user} stones"
            assert (await _remember(http, worker.url, user, text)).is_success

        async def search(number: int) -> float:
            began = time.monotonic()
            answer = await _ask(http, worker.url, number % USERS, number, is_search=True)
            assert answer.is_success, answer.text
            return time.monotonic() - began

        usual = [await search(number) for number in range(SEARCHES)]
        await worker.terminate()
        began = time.monotonic()
        worker.start()
        await worker.ready(READY_SECONDS)
        ready = time.monotonic() - began
        after = [await search(number) for number in range(SEARCHES)]
    worker.kill()
    result: dict[str, object] = {
        "ready_s": round(ready, 1),
        "first_search_ms": round(after[0] * 1000),
        "usual_p99_ms": round(p99(usual) * 1000),
        "after_start_p99_ms": round(p99(after) * 1000),
    }
    print("-- start\n  ", result, flush=True)
    return result


async def main(rows: Sequence[str] = ROWS, first: int = FIRST_PORT) -> dict[str, object]:
    """Measure each row."""
    ports, found = Ports(first, first + 99), dict[str, object]()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if "start" in rows:
            found["start"] = await started_again(folder, ports)
        if set(rows) == {"start"}:
            return found
        group = Group(folder, ports)
        tasks: list[asyncio.Task[None]] = []
        try:
            await group.start()
            tasks = [asyncio.create_task(group.callers.run(user)) for user in range(USERS)]
            for row in rows:
                if row != "start":
                    found[row] = await group.measure(row, getattr(group, row))
        finally:
            for task in tasks:
                task.cancel()
            ended = await asyncio.gather(*tasks, return_exceptions=True)
            group.stop()
        broken = [
            one for one in ended if isinstance(one, BaseException) and not isinstance(one, asyncio.CancelledError)
        ]
        if broken:
            raise broken[0]
    return found


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rows", nargs="*", default=list(ROWS))
    parser.add_argument("--ports", type=int, default=FIRST_PORT, help="the first of a hundred ports to use")
    asked = parser.parse_args()
    asyncio.run(main(asked.rows, asked.ports))
