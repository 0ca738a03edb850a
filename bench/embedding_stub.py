"""An OpenAI-compatible endpoint for measurements, in a process of its own: vectors from hashes, facts word for word.

    python -m bench.embedding_stub PORT

`POST /v1/embeddings` returns 512 numbers for each text, in base64 if requested. `POST /v1/chat/completions` waits for
`MODEL_SECONDS` of the environment, and returns each numbered line of a window, or each message of mem0's question, as a
fact; the lines of the question's examples do not count. `GET /bare` is a route that does nothing.
"""

from __future__ import annotations

import asyncio
import base64
import os
import re
import sys
import zlib
from typing import TYPE_CHECKING

import numpy as np
import orjson
import uvicorn
from starlette.applications import Starlette
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from starlette.requests import Request

DIMENSIONS = 512
NEW, AFTER_NEW = "## New Messages\n", "\n\n## Observation Date"
"""The texts before and after the messages in mem0's question; each message is a line `speaker: text`."""
LINE = re.compile(r"(?m)^\[(\d+)\] \d{4}-\d\d-\d\d \d\d:\d\d [^:]*: (.*)$")


def vector(text: str) -> NDArray[np.float32]:
    """Return the unit vector of a text, always the same one."""
    found = np.random.default_rng(zlib.crc32(text.encode())).standard_normal(DIMENSIONS).astype("<f4")
    found /= np.linalg.norm(found)
    return found


async def embeddings(request: Request) -> Response:
    """Answer with a vector for each text."""
    asked = orjson.loads(await request.body())
    texts = [asked["input"]] if isinstance(asked["input"], str) else asked["input"]
    is_base64 = asked.get("encoding_format") == "base64"
    data = [
        {
            "object": "embedding",
            "index": n,
            "embedding": base64.b64encode(vector(text).tobytes()).decode() if is_base64 else vector(text).tolist(),
        }
        for n, text in enumerate(texts)
    ]
    usage = {"prompt_tokens": 1, "total_tokens": 1}
    return json_of({"object": "list", "model": asked["model"], "data": data, "usage": usage})


async def completion(request: Request) -> Response:
    """Answer with the facts of a window."""
    asked = orjson.loads(await request.body())
    await asyncio.sleep(float(os.environ.get("MODEL_SECONDS", "0")))
    said = [message["content"] for message in asked["messages"] if message["role"] == "user"][-1]
    message = {"role": "assistant", "content": orjson.dumps(facts_of(said)).decode()}
    usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
    choices = [{"index": 0, "message": message, "finish_reason": "stop"}]
    head = {"id": "x", "object": "chat.completion", "created": 1, "model": asked["model"]}
    return json_of(head | {"choices": choices, "usage": usage})


def facts_of(said: str) -> dict[str, object]:
    """Return the facts of a question in the form that its caller expects."""
    if NEW in said:
        lines = said.partition(NEW)[2].partition(AFTER_NEW)[0].splitlines()
        texts = (line.partition(": ")[2] for line in lines if line.strip())
        return {"memory": [{"id": str(n), "text": text, "attributed_to": "user"} for n, text in enumerate(texts)]}
    return {"memories": [{"content": m[2], "sources": [int(m[1])]} for m in LINE.finditer(said)]}


async def bare(_: Request) -> Response:
    """Answer at once."""
    return PlainTextResponse("ok")


def json_of(content: object) -> Response:
    """Return an answer in JSON."""
    return Response(orjson.dumps(content), media_type="application/json")


if __name__ == "__main__":
    app = Starlette(
        routes=[
            Route("/v1/embeddings", embeddings, methods=["POST"]),
            Route("/v1/chat/completions", completion, methods=["POST"]),
            Route("/bare", bare),
        ]
    )
    uvicorn.run(app, port=int(sys.argv[1]), log_config=None, access_log=False, loop="uvloop", http="httptools")
