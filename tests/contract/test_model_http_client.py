"""What the model's HTTP client makes of what an endpoint answers, and of one that does not."""

from __future__ import annotations

import asyncio
import base64
import gzip
import zlib
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import httpx2
import pytest

from streams.extraction.model.http_client import Answer, HttpClient, answered

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

ANSWER = b'{"choices": []}'


class Endpoint:
    """Serves one raw answer to each request, and keeps the heads of the requests."""

    def __init__(self, answer: bytes) -> None:
        self.answer = answer
        self.heads: list[str] = []
        self.url = ""

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.heads.append((await reader.readuntil(b"\r\n\r\n")).decode())
        writer.write(self.answer)
        await writer.drain()
        writer.close()


def spelt(content: bytes, *headers: str, status: str = "200 OK") -> bytes:
    head = "\r\n".join([f"HTTP/1.1 {status}", f"content-length: {len(content)}", *headers])
    return f"{head}\r\n\r\n".encode() + content


@asynccontextmanager
async def serving(answer: bytes) -> AsyncIterator[Endpoint]:
    endpoint = Endpoint(answer)
    server = await asyncio.start_server(endpoint.serve, "127.0.0.1", 0)
    endpoint.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1/chat/completions"
    async with server:
        yield endpoint


async def asked(url: str, seconds: float = 30.0) -> httpx2.Response:
    client = HttpClient(url, seconds)
    try:
        headers = {"Authorization": "Bearer k", "Accept-Encoding": "br"}
        return await client.send(client.build_request("POST", url, content=b"{}", headers=headers, timeout=seconds))
    finally:
        await client.aclose()


async def test_an_answer_has_its_status_its_headers_and_its_content():
    async with serving(spelt(ANSWER, "retry-after: 3", status="429 Too Many Requests")) as endpoint:
        answer = await asked(endpoint.url)
    assert (answer.status_code, answer.headers["retry-after"], answer.content) == (429, "3", ANSWER)


async def test_a_compressed_answer_is_read():
    async with serving(spelt(gzip.compress(ANSWER), "content-encoding: gzip")) as endpoint:
        assert (await asked(endpoint.url)).content == ANSWER


@pytest.mark.parametrize("coding", ["gzip", "deflate"])
async def test_an_answer_that_would_fill_the_memory_is_an_error_of_the_request(coding: str):
    zeros = gzip.compress(bytes(64 * 2**20)) if coding == "gzip" else zlib.compress(bytes(64 * 2**20))
    async with serving(spelt(zeros, f"content-encoding: {coding}")) as endpoint:
        with pytest.raises(httpx2.RequestError, match="longer than 16 MiB"):
            await asked(endpoint.url)


@pytest.mark.parametrize("head", [zlib.MAX_WBITS, -zlib.MAX_WBITS])
async def test_an_answer_in_deflate_is_read_with_its_head_and_without(head: int):
    deflate = zlib.compressobj(wbits=head)
    content = deflate.compress(ANSWER) + deflate.flush()
    async with serving(spelt(content, "content-encoding: deflate")) as endpoint:
        assert (await asked(endpoint.url)).content == ANSWER


async def test_a_redirect_is_an_answer_and_not_followed():
    async with serving(spelt(b"", "location: /elsewhere", status="307 Temporary Redirect")) as endpoint:
        assert (await asked(endpoint.url)).status_code == 307
    assert len(endpoint.heads) == 1


async def test_a_request_carries_the_key_and_accepts_what_can_be_read():
    async with serving(spelt(ANSWER)) as endpoint:
        await asked(endpoint.url)
    [head] = endpoint.heads
    assert "authorization: Bearer k\r\n" in head
    assert "ccept-Encoding: gzip" in head
    assert "br\r\n" not in head


async def test_credentials_in_the_url_count_and_the_key_does_not():
    async with serving(spelt(ANSWER)) as endpoint:
        await asked(endpoint.url.replace("//", "//anna:secret@"))
    [head] = endpoint.heads
    assert f"Authorization: Basic {base64.b64encode(b'anna:secret').decode()}" in head
    assert "Bearer" not in head


async def test_no_answer_in_time_is_a_time_out():
    silent = asyncio.Event()

    async def say_nothing(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await silent.wait()
        writer.close()

    async with await asyncio.start_server(say_nothing, "127.0.0.1", 0) as server:
        with pytest.raises(httpx2.TimeoutException):
            await asked(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/", seconds=0.05)
        silent.set()


@pytest.mark.parametrize(
    "answer", [b"", b"no HTTP at all\r\n\r\n", b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nhalf"]
)
async def test_what_is_no_whole_answer_is_an_error_of_the_request(answer: bytes):
    async with serving(answer) as endpoint:
        with pytest.raises(httpx2.RequestError):
            await asked(endpoint.url)


async def test_nobody_at_the_port_is_an_error_of_connecting():
    async with serving(ANSWER) as endpoint:
        url = endpoint.url
    with pytest.raises(httpx2.ConnectError):
        await asked(url)


async def test_the_same_is_asked_again_with_the_head_of_the_first_request():
    async with serving(spelt(ANSWER, "connection: close", status="429 Too Many Requests")) as endpoint:
        client = HttpClient(endpoint.url, 30.0)
        assert await client.again("POST", endpoint.url, b"[]", 30.0) is None
        headers = {"Authorization": "Bearer k", "x-own": "1"}
        await client.send(client.build_request("POST", endpoint.url, content=b"{}", headers=headers, timeout=30.0))
        answer = await client.again("POST", endpoint.url, b"[]", 30.0)
        assert await client.again("POST", endpoint.url, b"[]", 60.0) is None
        await client.aclose()
    assert answer is not None
    assert (answer.status, answer.content) == (429, ANSWER)
    first, second = endpoint.heads
    assert first == second


async def test_a_request_whose_answer_is_there_already_is_not_sent():
    async with serving(spelt(ANSWER)) as endpoint:
        client = HttpClient(endpoint.url, 30.0)
        request = client.build_request("POST", endpoint.url, content=b"{}", headers={}, timeout=30.0)
        with answered(Answer(404, [("retry-after", "3")], b"none")):
            answer = await client.send(request)
        assert (answer.status_code, answer.headers["retry-after"], answer.content) == (404, "3", b"none")
        assert not endpoint.heads
        assert (await client.send(request)).content == ANSWER
        await client.aclose()
