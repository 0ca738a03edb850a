"""What a transport owes agents that are slower than their topic; a part of `TransportSuite`, which has the fixtures."""

from __future__ import annotations

import asyncio

from contract.log_suite import new
from contract.transport_worker import PARTITIONS, PATIENCE_S


class BackPressureSuite:
    """Inherited by `TransportSuite`."""

    async def test_each_partition_arrives_in_order_through_a_small_buffer(self, log, topic, worker):
        sent = [(n % PARTITIONS, b"%d" % n) for n in range(600)]
        await log.append([new(topic, value, partition) for partition, value in sent])
        async with worker(buffer=8).running() as w:
            await w.has(600)
            await asyncio.sleep(0.2)
            for partition in range(PARTITIONS):
                assert [e for e in w.seen() if e[0] == partition] == [e for e in sent if e[0] == partition]

    async def test_an_agent_that_waits_keeps_no_other_waiting_however_much_there_is_for_it(self, log, topic, worker):
        sent = [(n % PARTITIONS, b"%d" % n) for n in range(900)]
        await log.append([new(topic, value, partition) for partition, value in sent])
        other, gate = f"{topic}-other", asyncio.Event()
        await log.create_topic(other, PARTITIONS)
        async with worker(buffer=16, gate=gate, other=other).running() as w:
            await asyncio.sleep(1)
            await log.append([new(other, b"%d" % n, n) for n in range(PARTITIONS)])
            async with asyncio.timeout(PATIENCE_S):
                while len(w.noted) < PARTITIONS:  # noqa: ASYNC110 - it ends by itself, within PATIENCE_S
                    await asyncio.sleep(0.01)
            assert w.events == []
            gate.set()
            await w.has(900)
            for partition in range(PARTITIONS):
                assert [e for e in w.seen() if e[0] == partition] == [e for e in sent if e[0] == partition]
