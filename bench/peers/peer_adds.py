"""Adds memories to a peer in this process, which runs in the peer's own environment; prints how many per second.

    python peer_adds.py PEER ENDPOINT FOLDER CALLERS COUNT verbatim|inferred

The peer is `mem0` or `powermem` (with sqlite), each set up as its documentation says. Callers are threads. Verbatim
memories all belong to one user; for inferred ones each caller has its own user. An `add` that raises or stores nothing
counts as lost.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from typing import Any


def mem0(endpoint: str, folder: str) -> Any:  # noqa: ANN401 - a class that our environment has not
    """Return mem0 with its default store in a folder."""
    from mem0 import Memory  # noqa: PLC0415 - after its settings

    openai = {"openai_base_url": f"{endpoint}/v1", "api_key": "x"}
    store = {"path": f"{folder}/vectors", "collection_name": "mem0", "embedding_model_dims": 512}
    return Memory.from_config(
        {
            "vector_store": {"provider": "qdrant", "config": store},
            "embedder": {"provider": "openai", "config": {"model": "hash", "embedding_dims": 512, **openai}},
            "llm": {"provider": "openai", "config": {"model": "echo", **openai}},
            "history_db_path": f"{folder}/history.db",
        }
    )


def powermem(endpoint: str, folder: str) -> Any:  # noqa: ANN401 - a class that our environment has not
    """Return PowerMem with sqlite in a folder."""
    os.chdir(folder)
    from powermem import Memory  # noqa: PLC0415 - after its settings

    openai = {"openai_base_url": f"{endpoint}/v1", "api_key": "x"}
    store = {"database_path": f"{folder}/powermem.db", "collection_name": "memories"}
    return Memory(
        {
            "vector_store": {"provider": "sqlite", "config": store},
            "embedder": {"provider": "openai", "config": {"model": "hash", "embedding_dims": 512, **openai}},
            "llm": {"provider": "openai", "config": {"model": "echo", **openai}},
        }
    )


def main() -> None:
    """Add the memories by CALLERS threads, and print the rate."""
    peer, endpoint, folder, callers, count, how = sys.argv[1:]
    os.environ |= {"MEM0_TELEMETRY": "False", "MEM0_DIR": f"{folder}/home", "OPENAI_API_KEY": "x"}
    store = {"mem0": mem0, "powermem": powermem}[peer](endpoint, folder)
    is_inferred = how == "inferred"
    texts = iter(
        f"note {n} of {time.time_ns()} about the harbour, the choir and the winter market" for n in range(int(count))
    )
    lock, lost = threading.Lock(), 0
    store.add("the first one loads what is needed", user_id="warm", infer=is_inferred)

    def add(user: str) -> None:
        nonlocal lost
        while True:
            with lock:
                said = next(texts, None)
            if said is None:
                return
            try:
                added = store.add([{"role": "user", "content": said}], user_id=user, infer=is_inferred)["results"]
            except Exception:  # noqa: BLE001 - whatever it raises, the memory is lost
                added = []
            if not added:
                with lock:
                    lost += 1

    began = time.perf_counter()
    threads = [threading.Thread(target=add, args=(f"peer-{n if is_inferred else 0}",)) for n in range(int(callers))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    print(json.dumps({"per_second": (int(count) - lost) / (time.perf_counter() - began), "lost": lost}))


if __name__ == "__main__":
    main()
