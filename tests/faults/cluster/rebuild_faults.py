"""A worker killed in a rebuild on all workers, under load: at any moment of it, and between two workers' switches."""

from __future__ import annotations

import asyncio
import re
import time
from collections import Counter
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

import httpx
from faults.cluster.cluster import RECOVERY_SECONDS
from faults.cluster.index_faults import all_found
from faults.cluster.questions import questions_meanwhile

from mnemolog.cluster.trust import FORWARDED

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from typing import TypeAlias

    from faults.cluster.cluster import Cluster
    from faults.cluster.worker_process import WorkerProcess

    Kill: TypeAlias = Callable[[Cluster, "Course"], Awaitable[tuple[str, WorkerProcess] | None]]
    """Kills a worker; returns when that was, and whom. None: the moment was missed."""

REBUILD: Final = "/v1/admin/rebuild"
KILLS, SHORT_KILLS = 4, 1
"""At moments over the whole course."""
TRIES: Final = 12
"""To kill at a moment that a rebuild may pass too soon."""
STAGE: Final = re.compile(rb"generation \d+ is (verified|built|switched to)")
BETWEEN: Final = "between the first switch and the last"
TOO_LATE: Final = "after the last switch"
IN_PLACE_SECONDS: Final = 2.0
PARTITIONS: Final = 8
ANSWERED_SECONDS: Final = 0.1
"""In which a worker that says that it has built has also told who asked it."""


class Course:
    """One rebuild: asked of a worker, and how far each has come, as its log says."""

    def __init__(self, cluster: Cluster) -> None:
        """Ask any worker to rebuild."""
        self.whom_asked = cluster.pick.choice(cluster.workers)
        self._logs = [(worker, worker.log.stat().st_size) for worker in cluster.workers]
        self.asked = asyncio.create_task(self._ask())

    async def _ask(self) -> int | None:
        """Return the status, None when the worker that was asked is dead."""
        async with httpx.AsyncClient(timeout=RECOVERY_SECONDS) as http:
            try:
                return (await http.post(self.whom_asked.url + REBUILD)).status_code
            except httpx.TransportError:
                return None

    def stages(self) -> dict[WorkerProcess, bytes]:
        """Return what each worker has done last: nothing yet, `verified`, `built` or `switched to`."""
        found = {}
        for worker, begin in self._logs:
            with worker.log.open("rb") as file:
                file.seek(begin)
                found[worker] = ([b"", *STAGE.findall(file.read())])[-1]
        return found

    def phase(self) -> str:
        """Return in words how far all have come."""
        stages = list(self.stages().values())
        switched = stages.count(b"switched to")
        if switched:
            return TOO_LATE if switched == len(stages) else BETWEEN
        if b"" in stages:
            return "while shards were built and verified"
        return "while the index was filled" if b"verified" in stages else "when all was built"


async def kill_at_any_moment(cluster: Cluster) -> None:
    """Rebuild under load, time and again, and kill a worker in each, sooner or later; the last comes to its end."""
    await asyncio.sleep(3)
    seconds = (await _undisturbed(cluster))[0]
    kills = Counter[str]()
    for kill in _moments(cluster, seconds):
        await _round(cluster, kill, kills)
    for _ in range(TRIES):
        if kills.keys() - {TOO_LATE}:
            break
        await _round(cluster, _after(cluster.pick.uniform(0, seconds / 2)), kills)
    assert kills.keys() - {TOO_LATE}, kills
    await _undisturbed(cluster)
    _note(cluster, kills)


async def kill_everywhere(cluster: Cluster) -> None:
    """As above, with the index in Weaviate, while everything is asked about, and between two workers' switches too.

    At the end all workers and Weaviate serve one generation, which has every memory, and the one before is kept.
    """
    await asyncio.sleep(3)
    kills = Counter[str]()
    async with questions_meanwhile(cluster):
        seconds = (await _undisturbed(cluster))[0]
        for kill in _moments(cluster, seconds):
            await _round(cluster, kill, kills)
        for whom in (_the_last,) if cluster.workload.is_short else (_the_last, _who_asked):
            for _ in range(TRIES):
                before = kills[BETWEEN]
                await _round(cluster, whom, kills)
                if kills[BETWEEN] > before:
                    break
            else:
                raise AssertionError(f"{whom.__name__}: never between two switches: {kills}")
        searched = (await _collections(cluster))[0]
        turns = cluster.turns_acknowledged()
        _, generation = await _undisturbed(cluster)
        assert {await _active(cluster, worker) for worker in cluster.workers} == {generation}
        assert await _collections(cluster) == (generation, {searched, generation})
        await cluster.reading.until_decided(turns, RECOVERY_SECONDS)
        await _everything_is_found(cluster, set(turns))
        await all_found(cluster)
        assert await _indexed(cluster, generation) >= len(set(turns))
    _note(cluster, kills)


def _note(cluster: Cluster, kills: Counter[str]) -> None:
    cluster.notes.append("killed " + ", ".join(f"{count} {phase}" for phase, count in sorted(kills.items())))


async def _undisturbed(cluster: Cluster) -> tuple[float, int]:
    """Rebuild when every worker is in place; return how long it took, and the generation."""
    await _in_place(cluster)
    began = time.monotonic()
    found = await cluster.ask("POST", REBUILD)
    assert found["equal"], found
    return time.monotonic() - began, found["generation"]


def _moments(cluster: Cluster, seconds: float) -> list[Kill]:
    """Return kills that are spread over a rebuild of so many seconds."""
    count = SHORT_KILLS if cluster.workload.is_short else KILLS
    return [_after(cluster.pick.uniform(n, n + 1) / count * seconds) for n in range(count)]


def _after(seconds: float) -> Kill:
    """Return the kill of any worker so long after the rebuild was asked for."""

    async def kill(cluster: Cluster, course: Course) -> tuple[str, WorkerProcess]:
        await asyncio.sleep(seconds)
        cluster.steady = None
        phase, victim = course.phase(), cluster.pick.choice(cluster.workers)
        victim.kill()
        return phase, victim

    return kill


async def _the_last(cluster: Cluster, course: Course) -> tuple[str, WorkerProcess] | None:
    """Hold the worker that has built first, until another one has switched, and kill it."""
    return await _between_switches(cluster, course, None)


async def _who_asked(cluster: Cluster, course: Course) -> tuple[str, WorkerProcess] | None:
    """Hold the worker that has built first until the one that was asked has switched, and kill that."""
    return await _between_switches(cluster, course, course.whom_asked)


async def _between_switches(
    cluster: Cluster, course: Course, victim: WorkerProcess | None
) -> tuple[str, WorkerProcess] | None:
    while not (built := [w for w, s in course.stages().items() if s == b"built" and w is not course.whom_asked]):
        if course.asked.done():
            return None
        await asyncio.sleep(0.001)
    await asyncio.sleep(ANSWERED_SECONDS)
    held, cluster.steady = built[0], None
    held.freeze()
    try:
        while (stages := course.stages())[victim or course.whom_asked] != b"switched to":
            if course.asked.done() or stages[held] == b"switched to":
                return None
            await asyncio.sleep(0.001)
        phase = course.phase()
        (victim or held).kill()
        return phase, victim or held
    finally:
        if held.frozen:
            held.thaw()


async def _round(cluster: Cluster, kill: Kill, kills: Counter[str]) -> None:
    """Ask for a rebuild and kill a worker meanwhile; what it leaves is right, and as little as can be."""
    await _in_place(cluster)
    before = await _collections(cluster)
    course = Course(cluster)
    killed = await kill(cluster, course)
    began = time.monotonic()
    status = await course.asked
    cluster.steady = None
    if killed is None:
        return
    phase, victim = killed
    kills[phase] += 1
    assert status in {200, 503} or victim is course.whom_asked, (status, phase)
    if status == 503 and phase != BETWEEN:
        assert await _collections(cluster) == before, phase  # what was written of the new one is deleted
    victim.start()
    await victim.ready()
    await cluster.recovered(began)


async def _in_place(cluster: Cluster) -> None:
    """Wait until every worker is ready, in one generation, and partitions have not moved for a while.

    From now on none is refused.
    """
    deadline, since, last = time.monotonic() + RECOVERY_SECONDS, time.monotonic(), list[list[int]]()
    while last == [] or time.monotonic() - since < IN_PLACE_SECONDS:
        assert time.monotonic() < deadline, last
        await cluster.all_ready()
        told = [await _told(cluster, worker) for worker in cluster.workers]
        held = [list(one["partitions"]) for one in told]
        if any(one["body"]["running"] for one in told) or len({one["body"]["active"] for one in told}) > 1:
            held = []  # who did not make a switch that others made makes it by itself
        if not all(held) or sorted(p for some in held for p in some) != list(range(PARTITIONS)):
            held = []
        if held != last:
            since, last = time.monotonic(), held
        await asyncio.sleep(0.2)
    cluster.steady = time.monotonic_ns()


async def _told(cluster: Cluster, worker: WorkerProcess) -> dict[str, Any]:
    """Return what a worker tells another one of the partitions that it holds, and of its generations."""
    other = next(one for one in cluster.workers if one is not worker)
    async with httpx.AsyncClient(timeout=10) as http:
        answer = await http.post(f"{worker.url}/v1/internal/generations", json={}, headers={FORWARDED: other.url})
        return dict(answer.json()) if answer.is_success else {"partitions": [], "body": {"running": True}}


async def _active(cluster: Cluster, worker: WorkerProcess) -> int:
    return int((await _told(cluster, worker))["body"]["active"])


# -- what Weaviate says itself


async def _weaviate(cluster: Cluster, path: str, **asked: Any) -> Any:
    assert cluster.weaviate is not None
    async with httpx.AsyncClient(timeout=30) as http:
        answer = await http.get(f"http://{urlsplit(cluster.weaviate.url).netloc}/v1/{path}", params=asked)
    assert answer.is_success, answer.text
    return answer.json()


async def _collections(cluster: Cluster) -> tuple[int, set[int]]:
    """Return which generation is searched, and all that there are; of none, without Weaviate."""
    if cluster.weaviate is None:
        return 0, set()
    alias, schema = await _weaviate(cluster, "aliases/Memory"), await _weaviate(cluster, "schema")
    number = lambda name: int(name.removeprefix("Memory_v"))  # noqa: E731
    return number(alias["class"]), {number(one["class"]) for one in schema["classes"]}


async def _indexed(cluster: Cluster, generation: int) -> int:
    """Return how many memories a generation holds, each with its vector."""
    name, found = f"Memory_v{generation}", set[tuple[str, str]]()
    for tenant in await _weaviate(cluster, f"schema/{name}/tenants"):
        asked = {"class": name, "tenant": tenant["name"], "limit": 10_000, "include": "vector"}
        for one in (await _weaviate(cluster, "objects", **asked))["objects"]:
            assert any(one["vectors"].values()), one["id"]
            found.add((one["properties"]["owner"], one["properties"]["memory_id"]))
    return len(found)


async def _everything_is_found(cluster: Cluster, turns: set[str]) -> None:
    """Search for what each user has said until now: all of it is found."""
    for number in range(cluster.workload.users):
        said = cluster.workload.said(number, turns)
        if said:
            asked = {"user_id": cluster.workload.user(number), "query": min(said), "limit": 100, "recall": False}
            found = await cluster.ask("POST", "/v1/search", asked)
            assert said <= {one["memory"] for one in found["results"]}, asked
