"""Forwarding: sends a request on to the worker that has its user, or to all workers, for one hop only."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from http import HTTPStatus
from typing import TYPE_CHECKING, Final

import httpx
from fastapi import Response
from fastapi.responses import StreamingResponse

from mnemolog.cluster.peers import PartitionMoved, PeerUnavailable, is_of_lines, released
from mnemolog.cluster.proof import SIGNED_HEADERS
from mnemolog.cluster.trust import FORWARDED
from mnemolog.http.problems import MOVING, problem
from projections.encrypted_files import sqlite3
from projections.partitions.assignment import NotHeld
from projections.queries.queries import UnknownMemory

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from fastapi import FastAPI, Request

    from mnemolog.cluster.peers import Peers

BODY: Final = "mnemolog.body"
"""The member of a request's scope in which the edge leaves the body."""
CLOSED: Final = "closed database"
"""Part of SQLite's message about a closed shard."""
_PASSED_BACK: Final = ("content-type", "retry-after", "allow")
"""The headers of another worker's answer that are passed to the caller."""


def install(app: FastAPI) -> None:
    """Make the app forward requests whose user is at another worker."""
    app.add_exception_handler(NotHeld, _not_held)
    app.add_exception_handler(UnknownMemory, _unknown)
    app.add_exception_handler(sqlite3.ProgrammingError, _closed)


async def _closed(_request: Request, error: Exception) -> Response:
    """Refuse a request whose shard was closed during the read, because another worker now has the partition."""
    if CLOSED not in str(error):
        raise error
    return problem(HTTPStatus.SERVICE_UNAVAILABLE, MOVING)


async def _not_held(request: Request, error: Exception) -> Response:
    """Send a request about a user to the worker that has the user's partition."""
    assert isinstance(error, NotHeld)  # noqa: S101 - registered for it
    peers: Peers = request.app.state.worker.peers
    try:
        refusal: Exception = error
        while (url := None if FORWARDED in request.headers else peers.owner(error.partition)) is not None:
            try:
                return _passed_back(await _send(peers, url, request, error.partition))
            except PartitionMoved as moved:  # the new owner gets the same request, under the same key
                refusal = moved
        raise refusal
    except (NotHeld, PeerUnavailable) as refusal:
        return problem(HTTPStatus.SERVICE_UNAVAILABLE, str(refusal))


async def _unknown(request: Request, error: Exception) -> Response:
    """Ask all workers about a memory whose user the request does not name."""
    unknown = problem(HTTPStatus.NOT_FOUND, str(error))
    peers: Peers = request.app.state.worker.peers
    others = [] if FORWARDED in request.headers else peers.others()
    answers = await asyncio.gather(*(_send(peers, url, request) for url in others), return_exceptions=True)
    refusals = []
    for answer in answers:
        if isinstance(answer, BaseException):
            if not isinstance(answer, PeerUnavailable):
                raise answer
            refusals.append(str(answer))
        elif answer.status_code == HTTPStatus.SERVICE_UNAVAILABLE:
            refusals.append(answer.json()["detail"])
        elif answer.status_code != HTTPStatus.NOT_FOUND:
            return _passed_back(answer)
    if not refusals and not request.app.state.worker.shards.assignment.is_settled:
        refusals.append(request.app.state.worker.hindrance or MOVING)
    return problem(HTTPStatus.SERVICE_UNAVAILABLE, refusals[0]) if refusals else unknown


async def _send(peers: Peers, url: str, request: Request, partition: int | None = None) -> httpx.Response:
    headers = {name: request.headers[name] for name in SIGNED_HEADERS if name in request.headers}
    query = request.scope["query_string"]
    target = (request.scope["raw_path"] + (b"?" + query if query else b"")).decode("latin-1")
    return await peers.send(url, request.method, target, body=request.scope[BODY], headers=headers, partition=partition)


def _passed_back(answer: httpx.Response) -> Response:
    headers = {name: answer.headers[name] for name in _PASSED_BACK if name in answer.headers}
    if is_of_lines(answer):
        return StreamingResponse(_chunks(answer), answer.status_code, headers)
    return Response(answer.content, answer.status_code, headers)


async def _chunks(answer: httpx.Response) -> AsyncIterator[bytes]:
    """Yield the lines as they arrive. If they break off, the missing last line tells the caller."""
    async with released(answer):
        with suppress(httpx.TransportError):
            async for part in answer.aiter_bytes():
                yield part
