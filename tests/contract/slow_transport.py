"""The embedded transport with Kafka's delay: going to an offset is done by another thread, and takes its time."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, ClassVar

from streams.transports.sqlite import transport
from streams.transports.sqlite.consumer import Consumer as EmbeddedConsumer

if TYPE_CHECKING:
    from collections.abc import Mapping

    from faust.types import TP, ConsumerT

SEEK_SECONDS = 0.05


class Consumer(EmbeddedConsumer):
    async def seek_to_committed(self) -> Mapping[TP, int | None]:  # type: ignore[override] # as its base
        committed = await super().seek_to_committed()
        await asyncio.sleep(SEEK_SECONDS)
        return committed


class Transport(transport.Transport):
    Consumer: ClassVar[type[ConsumerT]] = Consumer
