"""Recall with stored vectors, of one byte per dimension, compared with exact ones; and the size of a vector.

    python bench/stored_vectors.py

The sentences of the bundled sample, in Chinese and English, are embedded by the built-in encoder. Each is the question
once, with its exact vector, and all of them are searched. The ratio is the share of the ten nearest by exact vectors
that are also in the ten nearest by stored vectors, in any order.
"""

from __future__ import annotations

import asyncio
import re
import time

import numpy as np

from mnemolog.sample import sample_events
from projections.embedding.builtin import BuiltinEmbedder
from projections.embedding.stored_vector import vector_bytes, vector_of

NEAREST = 10
BATCH = 200


async def main() -> dict[str, float]:
    """Embed the sentences and compare."""
    said = (str(event["content"]) for event in sample_events() if event.get("content"))
    texts = sorted({part.strip() for text in said for part in re.split(r"[.!?。！？\n]", text) if part.strip()})
    embedder = BuiltinEmbedder()
    try:
        parts = [np.asarray(await embedder.embed(texts[n : n + BATCH])) for n in range(0, len(texts), BATCH)]
    finally:
        await embedder.close()
    exact = np.concatenate(parts)
    data = [vector_bytes(vector) for vector in exact]
    began = time.perf_counter()
    stored = np.stack([vector_of(one) for one in data])
    microseconds = (time.perf_counter() - began) / len(data) * 1e6

    cosines, near = exact @ exact.T, exact @ stored.T
    wanted = np.argsort(-cosines, axis=1, kind="stable")[:, :NEAREST].tolist()
    found = np.argsort(-near, axis=1, kind="stable")[:, :NEAREST].tolist()
    result = {
        "sentences": float(len(texts)),
        "recall": sum(len(set(a) & set(b)) for a, b in zip(wanted, found, strict=True)) / (NEAREST * len(texts)),
        "first": sum(a[0] == b[0] for a, b in zip(wanted, found, strict=True)) / len(texts),
        "largest_difference": float(np.abs(cosines - near).max()),
        "bytes": float(len(data[0])),
        "exact_bytes": float(exact[0].nbytes),
        "read_microseconds": microseconds,
    }
    print(
        f"{len(texts)} sentences: {result['recall']:.4f} of the {NEAREST} nearest are the same, the first of them in"
        f" {result['first']:.4f}; a cosine differs by {result['largest_difference']:.5f} at most;"
        f" {len(data[0])} bytes against {exact[0].nbytes}, read in {microseconds:.1f} microseconds"
    )
    return result


if __name__ == "__main__":
    asyncio.run(main())
