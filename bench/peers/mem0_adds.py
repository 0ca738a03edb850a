"""Adds memories to mem0 within this process, which is one of mem0's own environment, and prints how many a second.

    python mem0_adds.py ENDPOINT FOLDER CALLERS COUNT

Each memory is one verbatim `add`; an `add` that raises is counted and lost.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from typing import Any


def memory(endpoint: str, folder: str) -> Any:  # noqa: ANN401 - mem0's class, which our environment has not
    """Return a store in a folder, with its vectors from the endpoint."""
    os.environ |= {"MEM0_TELEMETRY": "False", "MEM0_DIR": f"{folder}/home", "OPENAI_API_KEY": "x"}
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


def main() -> None:
    """Add them, by so many threads."""
    endpoint, folder, callers, count = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
    store = memory(endpoint, folder)
    texts = iter(
        [f"note {n} of {time.time_ns()} about the harbour, the choir and the winter market" for n in range(count)]
    )
    lock, lost = threading.Lock(), 0
    store.add("the first one loads what is needed", user_id="warm", infer=False)

    def add() -> None:
        nonlocal lost
        while True:
            with lock:
                said = next(texts, None)
            if said is None:
                return
            try:
                store.add([{"role": "user", "content": said}], user_id="peer", infer=False)
            except Exception:  # noqa: BLE001 - whatever it raises, the memory is lost
                with lock:
                    lost += 1

    began = time.perf_counter()
    threads = [threading.Thread(target=add) for _ in range(callers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    print(json.dumps({"per_second": (count - lost) / (time.perf_counter() - began), "lost": lost}))


if __name__ == "__main__":
    main()
