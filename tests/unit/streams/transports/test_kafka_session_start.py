"""A worker on Kafka counts its session from when the group spoke, not from when its main loop came to listen."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import faust

from streams.transports.kafka.transport import Transport

if TYPE_CHECKING:
    import pytest

SESSION_SECONDS = 1.0


async def test_a_main_loop_that_comes_late_to_its_partitions_does_not_know_whether_it_still_has_them(
    monkeypatch: pytest.MonkeyPatch,
):
    app = faust.App("late", broker="kafka://127.0.0.1:1", web_enabled=False, broker_session_timeout=SESSION_SECONDS)
    app.transport = Transport(app.conf.broker_consumer, app, app.loop)
    consumer: Any = app.consumer
    thread = consumer._thread
    in_session = []

    async def arrives_late(*_: Any) -> None:
        in_session.append(consumer.is_in_session())
        time.sleep(2 * SESSION_SECONDS)  # noqa: ASYNC251 - as a main loop that stands still
        await consumer.on_partitions_assigned(set(), 1)
        in_session.append(consumer.is_in_session())

    monkeypatch.setattr(consumer, "threadsafe_partitions_assigned", arrives_late)
    await thread.on_partitions_assigned(set(), 1)
    thread.thread_loop.close()
    assert in_session == [True, False]
