"""What a request is told whose partition leaves while it is answered."""

from __future__ import annotations

import httpx
import pytest
from fastapi import FastAPI

from mnemolog.http.forwarding import install
from projections.encrypted_files import sqlite3


def app() -> FastAPI:
    """Return routes of which one reads a shard that was closed, and one has a bug."""
    made = FastAPI()
    install(made)
    shard = sqlite3.connect(":memory:")

    @made.get("/closed")
    async def closed() -> None:
        shard.close()
        shard.execute("select 1")

    @made.get("/bug")
    async def bug() -> None:
        sqlite3.connect(":memory:").execute("select ?", (1, 2))

    return made


async def test_a_request_whose_shard_was_closed_meanwhile_is_to_be_asked_again_and_a_bug_stays_one():
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app()), base_url="http://worker") as http:
        answer = await http.get("/closed")
        assert (answer.status_code, answer.headers["Retry-After"]) == (httpx.codes.SERVICE_UNAVAILABLE, "1")
        with pytest.raises(sqlite3.ProgrammingError, match="bindings"):
            await http.get("/bug")
