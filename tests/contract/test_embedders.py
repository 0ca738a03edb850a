"""Both embedders keep the embedder's contract; the one behind an endpoint says which failures pass."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import hashlib
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np
import pytest
import pytest_asyncio
from contract.embedder_suite import EmbedderSuite
from support.tables import each

from projections.embedding.builtin import BuiltinEmbedder
from projections.embedding.embedder import EmbedderRefused, EmbedderUnavailable, unit_vectors
from projections.embedding.encoder_process import BATCH_CHARACTERS
from projections.embedding.long_texts import MAX_CHARACTERS
from projections.embedding.openai import OpenAIEmbedder


class FakeEndpoint(ThreadingHTTPServer):
    """POST /v1/embeddings with vectors made of a hash, in reverse order; `answer` (status, body) replaces them."""

    daemon_threads = True

    def __init__(self):
        """Listen on a free port of loopback."""
        super().__init__(("127.0.0.1", 0), Handler)
        self.asked = []
        self.answer = None
        self.hostile: tuple[int, str] | None = None
        """Its answer to whatever holds the text `hostile`; 0 for its status: it breaks off."""
        self.delay_seconds = 0.0
        self.most = 1_000
        """Texts in a request."""
        self.formats: set[str] | None = {"base64", "float"}
        """Those that it knows; None: it does not look, and answers numbers."""

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server_port}/v1"


class Handler(BaseHTTPRequestHandler):
    server: FakeEndpoint

    def do_POST(self):
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.asked.append((self.path, self.headers["Authorization"], asked))
        time.sleep(self.server.delay_seconds)
        status, body = self.server.answer or self.vectors(asked)
        if len(asked["input"]) > self.server.most:
            status, body = 413, '{"error": {"message": "too many"}}'
        if self.server.hostile is not None and "hostile" in asked["input"]:
            status, body = self.server.hostile
        if not status:
            return
        with contextlib.suppress(BrokenPipeError):  # who asked no longer waits
            self.send_response(status)
            self.send_header("Content-Type", "application/json" if body[:1] in "{[" else "text/html")
            self.end_headers()
            self.wfile.write(body.encode())

    def vectors(self, asked):
        known = self.server.formats
        if known is not None and asked.get("encoding_format", "float") not in known:
            return 400, '{"error": {"message": "encoding_format is not supported"}}'
        answer = vectors_for(asked["input"])
        if known is not None and asked.get("encoding_format") == "base64":
            for item in answer["data"]:
                item["embedding"] = base64.b64encode(np.array(item["embedding"], "<f4").tobytes()).decode()
        return 200, json.dumps(answer)

    def log_message(self, *_):
        """Say nothing."""


def vectors_for(texts):
    if "" in texts:
        raise AssertionError("an endpoint refuses empty strings")
    items = [
        {"object": "embedding", "index": n, "embedding": [byte - 127.5 for byte in digest(text)]}
        for n, text in enumerate(texts)
    ]
    return {"object": "list", "model": "fake", "data": items[::-1], "usage": {"prompt_tokens": 1, "total_tokens": 1}}


def digest(text):
    return hashlib.sha256(text.encode("utf-8", "replace")).digest()


@pytest.fixture
def endpoint():
    with FakeEndpoint() as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.02,))
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.fixture
async def behind(endpoint):
    embedder = OpenAIEmbedder(base_url=endpoint.url, api_key="secret", model="fake-32", timeout_seconds=60)
    yield embedder
    await embedder.close()


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def builtin():
    embedder = BuiltinEmbedder()
    yield embedder
    await embedder.close()


async def seconds(asked):
    begin = time.perf_counter()
    await asked
    return time.perf_counter() - begin


@pytest.mark.asyncio(loop_scope="module")
class TestBuiltin(EmbedderSuite):
    @pytest.fixture
    def embedder(self, builtin):
        return builtin

    async def test_what_means_the_same_is_near_in_either_language(self, builtin):
        english, chinese, other = await builtin.embed(["I like drinking coffee", "我喜欢喝咖啡", "The bill is due"])
        assert float(english @ chinese) > float(english @ other) + 0.3

    async def test_the_event_loop_runs_while_it_computes(self, builtin):
        await builtin.embed(["load the model first"])
        task = asyncio.ensure_future(builtin.embed(["long text " * 500 + str(n) for n in range(60)]))
        turns = 0
        while not task.done():
            await asyncio.sleep(0.001)
            turns += 1
        assert turns > 10

    async def test_a_query_does_not_wait_for_a_whole_import(self, builtin):
        await builtin.embed(["load the model first"])
        whole_import = asyncio.ensure_future(builtin.embed(["long text " * 500 + str(n) for n in range(20)]))
        await asyncio.sleep(0.01)
        await builtin.embed(["a query"])
        assert not whole_import.done()
        await whole_import

    async def test_a_query_goes_before_what_waits_to_be_remembered(self, builtin):
        await builtin.embed(["load the model first"])
        answered = []

        async def embed(text, *, urgent=False):
            await builtin.embed([text], urgent=urgent)
            answered.append(text)

        waiting = [asyncio.ensure_future(embed(f"remembered {n} " * 200)) for n in range(20)]
        await asyncio.sleep(0)
        await embed("asked", urgent=True)
        await asyncio.gather(*waiting)
        assert answered.index("asked") < 5

    async def test_of_a_long_text_the_first_two_thousand_characters_are_read(self, builtin):
        begin = "今天去了公园，" * 285  # 1,995 characters
        whole, longer, other = await builtin.embed(
            [begin + "喝咖啡。好", begin + "喝咖啡。好" + "然后" * 9_000, begin + "I am ill"[:5]]
        )
        np.testing.assert_allclose(whole, longer, atol=1e-6)
        assert np.abs(whole - other).max() > 1e-4
        wide, spelt = await builtin.embed(["\ufb03" * 5_000, ("ffi" * 700)[:MAX_CHARACTERS]])
        np.testing.assert_allclose(wide, spelt, atol=1e-6)

    @pytest.mark.parametrize("text", ["\ufdfa" * 21_000, "a bc de " * 8_192, ", thanks " * 7_281])
    async def test_a_query_waits_for_less_than_one_run_whatever_others_send(self, builtin, text):
        await builtin.embed(["load the model first"])
        process = builtin.process
        quiet = min([await seconds(builtin.embed([f"quiet {n} {text[:9]}"], urgent=True)) for n in range(5)])
        run = min([await seconds(builtin.embed([f"{n} {text}"])) for n in range(2)])
        plain = min([await seconds(builtin.embed([f"{n} word" * 285])) for n in range(2)])
        assert run < 20 * plain  # 64 KiB take no longer than 2,000 characters of another text
        flood = [asyncio.ensure_future(builtin.embed([f"{n} {m} {text}" for n in range(8)])) for m in range(4)]
        loud: list[float] = []
        for n in range(5):
            if all(task.done() for task in flood):
                break  # nobody is in the way any more
            asked = asyncio.ensure_future(seconds(builtin.embed([f"{text[:9]} {n}"], urgent=True)))
            while not asked.done():
                given = [request.characters for run in list(process._runs) for request in list(run)]
                assert sum(given) <= BATCH_CHARACTERS
                await asyncio.sleep(0.001)
            loud.append(await asked)
        for task in flood:
            task.cancel()
        await asyncio.gather(*flood, return_exceptions=True)
        assert min(loud) < quiet + 20 * run  # one run, on a machine that does much else; all of them are 32

    async def test_a_process_that_dies_is_replaced_and_asked_the_same_texts_again(self):
        embedder = BuiltinEmbedder(cached_texts=0)
        expected = await embedder.embed(["one", "two"])
        died = embedder.process.pid
        assert died is not None
        asked = [asyncio.ensure_future(embedder.embed([f"long {n} " * 900])) for n in range(8)]
        await asyncio.sleep(0.01)
        os.kill(died, signal.SIGKILL)
        assert len(await asyncio.gather(*asked)) == 8
        np.testing.assert_allclose(await embedder.embed(["one", "two"]), expected, atol=1e-6)
        assert embedder.process.pid != died
        await embedder.close()

    async def test_closing_ends_the_process_and_lets_nobody_wait(self):
        embedder = BuiltinEmbedder()
        await embedder.embed(["load the model first"])
        pid = embedder.process.pid
        assert pid is not None
        waiting = asyncio.ensure_future(embedder.embed(["word " * 1200 + str(n) for n in range(50)]))
        await asyncio.sleep(0.01)
        await embedder.close()
        with pytest.raises(EmbedderUnavailable, match="closed"):
            await waiting
        with pytest.raises(EmbedderUnavailable, match="closed"):
            await embedder.embed(["too late"])
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)

    async def test_it_keeps_at_most_so_many_texts(self):
        embedder = BuiltinEmbedder(cached_texts=3)
        expected = await embedder.embed([f"text {n}" for n in range(10)])
        assert len(embedder._cache) == 3
        np.testing.assert_allclose(await embedder.embed([f"text {n}" for n in range(10)]), expected, atol=1e-6)
        await embedder.close()


def test_the_process_ends_when_the_one_that_asks_it_is_killed():
    asking = (
        "import asyncio; from projections.embedding.builtin import BuiltinEmbedder as B; b = B()\n"
        "asyncio.run(b.embed(['x'])); print('asked', flush=True); import time; time.sleep(60)"
    )
    pipe = subprocess.PIPE
    with subprocess.Popen([sys.executable, "-c", asking], stdout=pipe, stderr=pipe) as parent:  # noqa: S603 - ours
        assert parent.stdout is not None
        assert parent.stdout.readline() == b"asked\n"
        parent.kill()
        _, said = parent.communicate(timeout=60)  # stderr is both processes': it ends when neither is left
    assert said == b""


class TestBehindAnEndpoint(EmbedderSuite):
    @pytest.fixture
    def embedder(self, behind):
        return behind

    async def test_the_endpoint_is_asked_for_the_model_with_the_key_in_batches(self, endpoint, behind):
        await behind.embed([f"text {n}" for n in range(130)])
        assert [len(asked["input"]) for _, _, asked in endpoint.asked] == [64, 64, 2]
        assert {path for path, _, _ in endpoint.asked} == {"/v1/embeddings"}
        assert {key for _, key, _ in endpoint.asked} == {"Bearer secret"}
        assert {asked["model"] for _, _, asked in endpoint.asked} == {"fake-32"} == {behind.model}

    async def test_a_long_text_is_sent_to_the_bound_of_every_embedder(self, endpoint, behind):
        await behind.embed(["\ufdfa" * 21_000, "word " * 1_000, "a short \ufb03 one", "x" * MAX_CHARACTERS])
        [(_, _, asked)] = endpoint.asked
        assert [len(text) for text in asked["input"]] == [MAX_CHARACTERS, MAX_CHARACTERS, 13, MAX_CHARACTERS]
        assert asked["input"][1] == ("word " * 1_000)[:MAX_CHARACTERS]
        assert asked["input"][2] == "a short \ufb03 one"

    async def test_vectors_are_those_of_the_endpoint_at_unit_length(self, behind):
        wanted = unit_vectors([[byte - 127.5 for byte in digest("one")]])
        np.testing.assert_allclose(await behind.embed(["one"]), wanted, atol=1e-6)

    @pytest.mark.parametrize("formats", [{"base64"}, {"float"}, None])
    async def test_vectors_are_the_same_in_whatever_format_the_endpoint_answers(self, endpoint, behind, formats):
        endpoint.formats = formats
        wanted = unit_vectors([[byte - 127.5 for byte in digest("one")]])
        for _ in range(2):
            np.testing.assert_allclose(await behind.embed(["one"]), wanted, atol=1e-6)
        asked = [asked["encoding_format"] for _, _, asked in endpoint.asked]
        assert asked == (["base64", "float", "float"] if formats == {"float"} else ["base64", "base64"])

    async def test_what_refuses_the_texts_is_asked_in_each_format_once(self, endpoint, behind):
        refusal, endpoint.answer = (400, "{}"), (400, "{}")
        with pytest.raises(EmbedderRefused):
            await behind.embed(["x"])
        endpoint.answer = None
        await behind.embed(["x"])
        endpoint.answer = refusal
        with pytest.raises(EmbedderRefused):
            await behind.embed(["x"])
        asked = [asked.get("encoding_format") for _, _, asked in endpoint.asked]
        assert asked == ["base64", "float", None, "base64", "base64", "float", None]

    @pytest.mark.parametrize("status", [401, 402, 403, 404, 405, 407, 408, 425, 429, 500, 502, 503, 307])
    async def test_an_outage_is_unavailable_and_asked_only_once_but_for_numbers(self, endpoint, behind, status):
        endpoint.answer = (status, '{"error": {"message": "no"}}')
        with pytest.raises(EmbedderUnavailable, match=str(status)):
            await behind.embed(["x"])
        assert len(endpoint.asked) == (2 if status in (500, 502) else 1)
        endpoint.answer = None
        assert (await behind.embed(["x"])).shape == (1, 32)

    @pytest.mark.parametrize("status", [400, 413, 422])
    async def test_a_refusal_is_no_outage(self, endpoint, behind, status):
        endpoint.answer = (status, '{"error": {"message": "the input is too long"}}')
        with pytest.raises(EmbedderRefused, match=rf"127.0.0.1:\d+ answers {status}$") as refused:
            await behind.embed(["x"])
        assert "too long" not in str(refused.value), "what an endpoint says may quote the texts"

    @pytest.mark.parametrize(
        "body",
        [
            "<html>welcome</html>",
            "{}",
            "[]",
            '{"data": null}',
            '{"data": []}',
            '{"data": [{"index": 0, "embedding": [1, 0]}], "error": "half"}',
            '{"data": [{"index": 0, "embedding": null}]}',
            '{"data": [{"index": 0, "embedding": "AAAA"}]}',
            '{"data": [{"index": 0, "embedding": "?"}]}',
            '{"data": [{"index": 0, "embedding": "AADAfwAAgD8="}]}',
            '{"data": [{"index": 0, "embedding": [NaN, 1]}]}',
            '{"data": [{"index": 0, "embedding": []}]}',
            '{"data": [{"index": 0}]}',
            '{"data": ["text"]}',
            '{"data": [{"index": 0, "emb',
        ],
    )
    async def test_an_answer_without_vectors_is_unavailable(self, endpoint, behind, body):
        endpoint.answer = (200, body)
        with pytest.raises(EmbedderUnavailable):
            await behind.embed(["x"])

    @pytest.mark.parametrize(
        "answer", [(500, "{}"), (400, "{}"), (0, ""), (200, json.dumps({"data": [{"index": 0, "embedding": [1]}]}))]
    )
    async def test_a_text_at_which_the_endpoint_fails_is_no_outage_for_callers_of_the_same_moment(
        self, endpoint, behind, answer
    ):
        endpoint.hostile = answer
        asked = [behind.embed([text]) for text in ("one", "hostile", "another")]
        found = await asyncio.gather(*asked, return_exceptions=True)
        for text, vectors in (("one", found[0]), ("another", found[2])):
            assert not isinstance(vectors, BaseException)
            assert np.array_equal(vectors, await behind.embed([text]))

    @pytest.mark.parametrize("most", [1, 10, 32])
    async def test_an_endpoint_that_takes_few_texts_is_asked_for_as_many(self, endpoint, behind, most):
        texts = [f"text {n}" for n in range(100)]
        wanted = await behind.embed(texts)
        endpoint.most = most
        np.testing.assert_array_equal(await behind.embed(texts), wanted)
        endpoint.asked.clear()
        await behind.embed(texts)
        assert max(len(asked["input"]) for _, _, asked in endpoint.asked) <= most

    async def test_of_texts_that_are_refused_only_the_one_to_blame_is_named(self, endpoint, behind):
        endpoint.hostile = (422, "{}")
        with pytest.raises(EmbedderRefused) as refused:
            await behind.embed([*(f"text {n}" for n in range(50)), "hostile", "last"])
        assert refused.value.places == {50}
        assert len(endpoint.asked) < 20

    async def test_where_every_text_is_refused_few_are_asked_about(self, endpoint, behind):
        endpoint.answer = (400, "{}")
        with pytest.raises(EmbedderRefused) as refused:
            await behind.embed([f"text {n}" for n in range(64)])
        assert refused.value.places == set(range(64))
        assert len(endpoint.asked) < 20

    async def test_a_format_that_is_refused_later_is_given_up_then(self, endpoint, behind):
        wanted = await behind.embed(["x"])
        endpoint.formats = {"float"}
        np.testing.assert_allclose(await behind.embed(["x"]), wanted, atol=1e-6)
        await behind.embed(["x"])
        assert [asked["encoding_format"] for _, _, asked in endpoint.asked][-2:] == ["float", "float"]

    async def test_of_more_vectors_than_texts_nobody_gets_anothers(self, endpoint, behind):
        """An endpoint that takes a long text apart numbers the parts on."""
        parts = [{"index": n, "embedding": [1, n]} for n in range(3)]
        endpoint.answer = (200, json.dumps({"data": parts}))
        with pytest.raises(EmbedderUnavailable):
            await behind.embed(["long", "short"])

    async def test_why_an_endpoint_gives_no_answer_is_said_in_words(self, endpoint):
        with socket.socket() as unused:
            unused.bind(("127.0.0.1", 0))  # and does not listen
            nobody = OpenAIEmbedder(base_url=f"http://127.0.0.1:{unused.getsockname()[1]}/v1", api_key="k", model="m")
            with pytest.raises(EmbedderUnavailable, match="gives no answer: it cannot be reached"):
                await nobody.embed(["x"])
            await nobody.close()
        endpoint.delay_seconds = 1.0
        slow = OpenAIEmbedder(base_url=endpoint.url, api_key="k", model="m", timeout_seconds=0.05)
        with pytest.raises(EmbedderUnavailable, match="gives no answer: it took too long"):
            await slow.embed(["x"])
        await slow.close()

    async def test_credentials_in_the_url_take_the_keys_place(self, endpoint):
        url = endpoint.url.replace("://", "://ann:word@")
        named = OpenAIEmbedder(base_url=url, api_key="k", model="m", timeout_seconds=60)
        await named.embed(["x"])
        await named.close()
        assert endpoint.asked[-1][1] == "Basic " + base64.b64encode(b"ann:word").decode()

    async def test_the_environments_proxy_is_asked_unless_it_is_excepted(self, endpoint, monkeypatch):
        monkeypatch.setenv("http_proxy", endpoint.url.removesuffix("/v1"))
        monkeypatch.setenv("no_proxy", "")
        distant = OpenAIEmbedder(base_url="http://embedder.invalid/v1", api_key="k", model="m", timeout_seconds=60)
        await distant.embed(["x"])
        await distant.close()
        assert endpoint.asked[-1][:2] == ("http://embedder.invalid/v1/embeddings", "Bearer k")
        monkeypatch.setenv("no_proxy", "127.0.0.1")
        near = OpenAIEmbedder(base_url=endpoint.url, api_key="k", model="m", timeout_seconds=60)
        await near.embed(["x"])
        await near.close()
        assert endpoint.asked[-1][0] == "/v1/embeddings"

    async def test_no_answer_in_time_is_unavailable(self, endpoint):
        endpoint.delay_seconds = 0.5
        hasty = OpenAIEmbedder(base_url=endpoint.url, api_key="k", model="m", timeout_seconds=0.05)
        with pytest.raises(EmbedderUnavailable):
            await hasty.embed(["x"])
        await hasty.close()

    async def test_no_connection_is_unavailable(self):
        with socket.socket() as reserved:
            reserved.bind(("127.0.0.1", 0))
            url = f"http://127.0.0.1:{reserved.getsockname()[1]}/v1"
            lonely = OpenAIEmbedder(base_url=url, api_key="k", model="m", timeout_seconds=60)
            with pytest.raises(EmbedderUnavailable):
                await lonely.embed(["x"])
            await lonely.close()


def test_rows_become_as_long_as_the_norm_says():
    rows = np.random.default_rng(5).standard_normal((3, 512))
    wanted = (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)
    np.testing.assert_array_equal(unit_vectors(rows), wanted)


def test_a_row_of_zeros_becomes_the_first_axis():
    np.testing.assert_array_equal(unit_vectors([[0, 0], [0, 3]]), [[1, 0], [0, 1]])


@each("rows", [[[float("nan"), 1]], [[float("inf"), 1]], [[1, 2], [1]], [[[1]]], [["a"]], [[]]])
def test_what_is_no_table_of_finite_numbers_is_an_error(rows):
    with pytest.raises(ValueError, match=r"finite|sequence|convert"):
        unit_vectors(rows)
