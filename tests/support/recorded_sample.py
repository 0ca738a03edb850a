"""The bundled sample in a whole worker, over HTTP alone: the digests at each stage, the answers, and the metrics."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Final

import httpx

from mnemolog.http.app import make_http
from mnemolog.sample import sample_events
from mnemolog.settings import from_environment
from mnemolog.worker.worker import Worker

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

NOW: Final = datetime(2026, 11, 2, tzinfo=UTC)
"""The worker's present, after the sample's last event. Ticks name their own time."""
AT_ONCE: Final = 50
TIMEOUT_SECONDS: Final = 240.0
TICKS: Final = (("ladder", 1), ("ladder", 10), ("ladder", 30), ("ebbinghaus", 45), ("wake", 46), ("retention", 60))
"""Policies of ticks, each with the days after the present."""
USERS: Final = ("lin", "maya")
READ: Final = (
    "/v1/users/{user}/profile",
    "/v1/users/{user}/stats",
    "/v1/users/{user}/episodes",
    "/v1/users/{user}/emotions",
    "/v1/users/{user}/upcoming?as_of=2026-10-10T00:00:00Z",
    "/v1/users/{user}/report",
    "/v1/users/{user}/wake",
    "/v1/users/{user}/reminders",
    "/v1/memories?user_id={user}&page_size=200",
    "/v1/memories?user_id={user}&page_size=200&status=superseded",
    "/v1/memories?user_id={user}&page_size=200&status=forgotten",
    "/api/memories?memory_type=long_term",
)


class StandingClock:
    """A clock that does not move."""

    def now(self) -> datetime:
        return NOW


async def recorded_sample(folder: Path) -> dict[str, Any]:
    """Return the digests after each stage, the answers before anything fades, and the metrics."""
    settings = from_environment({}, data_dir=folder, extractor="rules", decay_policy="off", partitions=4, port=0)
    worker = Worker(settings, clock=StandingClock())
    try:
        await worker.start()
        transport = httpx.ASGITransport(make_http(worker))
        async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1", timeout=TIMEOUT_SECONDS) as http:
            digests, answers = await _lived(http)
            assert (await http.get("/metrics")).is_success  # metrics that are read from the log exist after this
            metrics = dict(map(_metric, _families(worker.metrics.registry)))
            return {"sample_digests": digests, "sample_answers": answers, "metrics": metrics}
    finally:
        await worker.stop()


async def _lived(http: httpx.AsyncClient) -> tuple[dict[str, Any], dict[str, Any]]:
    """Publish the sample, send commands, let time pass and rebuild; return the digests and the answers."""
    digests: dict[str, Any] = {}
    events = sample_events()
    for begin in range(0, len(events), AT_ONCE):
        await _asked(http, "POST", "/v1/events", events[begin : begin + AT_ONCE])
    counts = await _asked(http, "POST", "/v1/admin/drain", {"timeout": TIMEOUT_SECONDS})
    digests["published"] = await _asked(http, "GET", "/v1/admin/digest")
    await _command(http)
    digests["commanded"] = await _asked(http, "GET", "/v1/admin/digest")
    answers = {"drained": counts} | {
        path: _sorted(await _asked(http, "GET", path))
        for path in dict.fromkeys(template.format(user=user) for template in READ for user in USERS)
    }
    for policy, days in TICKS:
        tick = {"policy": policy, "as_of": (NOW + timedelta(days=days)).isoformat(), "force": True}
        told = await _asked(http, "POST", "/v1/admin/ticks", tick)
        if policy != "retention":  # how many records are old enough depends on the order of windows in the log
            answers[f"tick {policy} {days}"] = told
        digests[f"{policy} {days}"] = await _asked(http, "GET", "/v1/admin/digest")
    rebuilt = await _asked(http, "POST", "/v1/admin/rebuild", {})
    assert rebuilt["equal"], rebuilt
    digests["rebuilt"] = await _asked(http, "GET", "/v1/admin/digest")
    return digests, answers


async def _command(http: httpx.AsyncClient) -> None:
    """Send every kind of command for each user; the ids derive from the idempotency keys."""
    for user in USERS:
        facts: list[dict[str, Any]] = [
            {"content": f"{user} collects stamps", "importance": 0.7, "agent_id": "luna"},
            {"content": f"{user} once sailed alone", "kind": "episodic", "memory_type": "short_term"},
            {"content": f"{user} plays the cello", "category": "habit", "metadata": {"from": "a test"}},
        ]
        known = [
            await _keyed(http, "POST", "/v1/memories", f"{user}-{number}", {"user_id": user} | fact)
            for number, fact in enumerate(facts)
        ]
        stamps, sailed, cello = (f"/v1/memories/{memory['memory_id']}" for memory in known)
        await _keyed(http, "PATCH", stamps, f"{user}-revises", {"content": f"{user} collects old stamps"})
        await _keyed(http, "DELETE", sailed, f"{user}-forgets")
        await _keyed(http, "POST", f"{sailed}/restore", f"{user}-restores")
        await _keyed(http, "DELETE", cello, f"{user}-forgets-another")
        await _keyed(http, "POST", f"{stamps}/share", f"{user}-shares", {"agent_id": "nova"})
        wake = {"every_seconds": 86_400, "text": "Look around.", "memory_limit": 2, "agent_id": "luna"}
        await _keyed(http, "PUT", f"/v1/users/{user}/wake", f"{user}-wakes", wake)
        for number, days in enumerate((20, 400)):
            reminder = {"due_at": (NOW + timedelta(days=days)).isoformat(), "content": f"Water the plants, {user}"}
            await _keyed(http, "POST", f"/v1/users/{user}/reminders", f"{user}-reminds-{number}", reminder)
    everyone = {"user_id": USERS[0], "content": "The office closes at six", "scope": "global"}
    await _keyed(http, "POST", "/v1/memories", "everyone", everyone)


async def _keyed(http: httpx.AsyncClient, method: str, path: str, key: str, body: object = None) -> Any:
    return await _asked(http, method, path, body, **{"idempotency-key": key})


async def _asked(http: httpx.AsyncClient, method: str, path: str, body: object = None, **headers: str) -> Any:
    response = await http.request(method, path, json=body, headers=headers)
    assert response.is_success, f"{method} {path}: {response.text}"
    return response.json()


def _sorted(answer: Any) -> Any:
    """Return an answer with its list of memories sorted by id, because equal ones may come in any order."""
    for name in ("items", "memories"):
        if isinstance(answer.get(name), list) and all("memory_id" in one for one in answer[name]):
            answer[name].sort(key=lambda one: one["memory_id"])
    return answer


def _families(registry: Any) -> Iterator[Any]:
    """Yield the metrics that are counted, which know their labels before their first sample, and those looked up."""
    for collector in registry._collector_to_names:
        if hasattr(collector, "_labelnames"):
            yield collector
        else:
            yield from collector.collect()


def _metric(one: Any) -> tuple[str, Any]:
    name, kind = getattr(one, "_name", None) or one.name, getattr(one, "_type", None) or one.type
    buckets = [str(bound) for bound in getattr(one, "_upper_bounds", ())]
    return name, {"type": kind, "labels": list(one._labelnames), "buckets": buckets}
