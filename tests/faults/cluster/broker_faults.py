"""What happens to Kafka: a broker killed, one of three lost, the network to one worker cut."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING

from faults.cluster.cluster import SESSION_SECONDS
from faults.cluster.proxy import Proxy
from faults.cluster.questions import questions_meanwhile

if TYPE_CHECKING:
    from faults.cluster.cluster import Cluster

DOWN_SECONDS = 5.0


async def kill_the_broker(cluster: Cluster) -> None:
    """Kill the only broker, and start it again after a while."""
    [server] = cluster.brokers.servers
    await asyncio.sleep(3)
    retries = cluster.publisher.retries
    await asyncio.to_thread(server.kill)
    await asyncio.sleep(DOWN_SECONDS)
    began = time.monotonic()
    await asyncio.to_thread(server.start)
    await cluster.recovered(began)
    assert cluster.publisher.retries > retries, "nothing had to be sent again"


async def lose_each_broker(cluster: Cluster) -> None:
    """Kill each of three brokers in turn; what was acknowledged is remembered while it is away."""
    await asyncio.sleep(2)
    servers = cluster.brokers.servers
    for server in cluster.pick.sample(servers, 1 if cluster.workload.is_short else len(servers)):
        began = time.monotonic()
        await asyncio.to_thread(server.kill)
        await cluster.recovered(began)
        await asyncio.to_thread(server.start)
        await cluster.recovered(time.monotonic())


async def cut_the_network(cluster: Cluster) -> None:
    """Cut a worker off from Kafka for longer than its session, while it answers HTTP as before."""
    async with Proxy(cluster.brokers.proxy, cluster.brokers.behind) as proxy:
        worker = cluster.add_worker(BROKER=f"kafka://127.0.0.1:{cluster.brokers.proxy}")
        await worker.ready()
        await asyncio.sleep(3)
        began = time.monotonic()
        async with questions_meanwhile(cluster):
            proxy.cut()
            await cluster.recovered(began)  # others have its partitions
            await asyncio.sleep(max(0.0, began + 3 * SESSION_SECONDS - time.monotonic()))
            await cluster.dropped(worker)
            proxy.mend()
            await cluster.remembered()
        await worker.ready()
        worker.removed = True
        worker.kill()
        await cluster.recovered(time.monotonic())
