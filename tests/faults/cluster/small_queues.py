"""`mnemolog up` whose queues are full soon, and say so: 40 records for each agent, and 3 windows for the model."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from mnemolog.cli import main
from streams.agents import app
from streams.delivery import keyed_pool
from streams.transports.kafka.transport import Consumer

if TYPE_CHECKING:
    from faust.types import TP

app.QUEUED_RECORDS = 40
keyed_pool.MAX_QUEUED = 3  # type: ignore[misc] # a limit that a test may shrink
fills = Consumer.on_buffer_full


def said(self: Consumer, tp: TP) -> None:
    """Say that the queue is full of a topic's records."""
    print(f"queue full: {tp.topic}", flush=True)  # noqa: T201
    fills(self, tp)


if __name__ == "__main__":
    Consumer.on_buffer_full = said  # type: ignore[method-assign, assignment]
    sys.argv[1:] = ["up"]
    main()
