"""What the model extractor takes for an outage, to be waited out, and what for a rejection of the window."""

from __future__ import annotations

import socket
from urllib.parse import urlsplit

import pytest
from contract.scripted_model import ScriptedModel, completion
from support.windows import talk

from streams.extraction.model.extractor import ModelExtractor
from streams.extraction.protocol import Outage, Rejected

COFFEE, TEA = "我喜欢喝咖啡", "He prefers tea"


WINDOW = talk(COFFEE, TEA)


async def test_too_many_requests_are_an_outage_that_says_how_long_to_wait(
    model: ScriptedModel, extractor: ModelExtractor, outcomes: list[str]
):
    model.play("429")
    with pytest.raises(Outage) as outage:
        await extractor.extract(WINDOW)
    assert outage.value.retry_after == 7.0
    assert outage.value.reason == f"{urlsplit(model.base_url).netloc} answers 429"
    assert (len(model.requests), outcomes) == (1, ["outage"])


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"Retry_After": "0.5"}, 0.5),
        ({"Retry_After": "-3"}, 0.0),
        ({"Retry_After": "Thu, 01 Jan 2015 00:00:00 GMT"}, 0.0),
        ({"Retry_After": "30000"}, 60.0),
        ({"Retry_After": "Sat, 28 Nov 2099 23:59:59 GMT"}, 60.0),
        ({"Retry_After": "soon"}, None),
        ({"Retry_After": "inf"}, None),
        ({}, None),
    ],
)
async def test_retry_after_is_read_where_it_is_a_number(
    model: ScriptedModel, extractor: ModelExtractor, headers: dict[str, str], seconds: float | None
):
    model.play_error(429, None, **headers)
    with pytest.raises(Outage) as outage:
        await extractor.extract(WINDOW)
    assert outage.value.retry_after == seconds


@pytest.mark.parametrize("status", [401, 402, 403, 404, 408, 429, 500, 502, 503, 529])
async def test_what_is_not_about_the_window_is_an_outage_and_the_window_can_be_asked_again(
    model: ScriptedModel, extractor: ModelExtractor, outcomes: list[str], status: int
):
    for _ in range(3):  # an endpoint that is not known yet is asked in each of its three forms before it is given up
        model.play_error(status)
    with pytest.raises(Outage):
        await extractor.extract(WINDOW)
    assert outcomes == ["outage"]
    while len(model.requests) < 3:
        with pytest.raises(Outage):
            await extractor.extract(WINDOW)
    assert len((await extractor.extract(WINDOW)).proposals) == 2
    assert model.forms[-1] == "json_schema"


async def test_a_server_error_of_an_endpoint_that_has_answered_before_is_not_asked_about_again(
    model: ScriptedModel, extractor: ModelExtractor
):
    await extractor.extract(WINDOW)
    model.play("500")
    with pytest.raises(Outage):
        await extractor.extract(WINDOW)
    assert len(model.requests) == 2


@pytest.mark.parametrize("status", [400, 413, 422, 451])
async def test_any_other_refusal_of_the_window_is_a_rejection(
    model: ScriptedModel, extractor: ModelExtractor, outcomes: list[str], status: int
):
    await extractor.extract(WINDOW)
    for _ in range(2):  # once more in the plainest words
        model.play_error(status)
    with pytest.raises(Rejected) as rejected:
        await extractor.extract(WINDOW)
    assert rejected.value.reason == f"refused: {urlsplit(model.base_url).netloc} answers {status}"
    assert outcomes == ["ok", "rejected"]


@pytest.mark.parametrize("code", ["invalid_api_key", "model_not_found"])
async def test_a_400_about_key_or_model_is_an_outage(model: ScriptedModel, extractor: ModelExtractor, code: str):
    await extractor.extract(WINDOW)
    model.play_error(400, {"code": code})
    with pytest.raises(Outage):
        await extractor.extract(WINDOW)


async def test_an_outage_during_the_repair_is_an_outage(
    model: ScriptedModel, extractor: ModelExtractor, outcomes: list[str]
):
    model.play_body(completion("Certainly!"))
    model.play_error(503)
    with pytest.raises(Outage):
        await extractor.extract(WINDOW)
    assert outcomes == ["repair", "outage"]


@pytest.mark.parametrize(
    ("body", "content_type"),
    [
        (b"<html>Sign in</html>", "text/html"),
        (b"<html>Sign in</html>", "application/json"),
        (b"\xff\xfe", "application/json"),
        (b"", "application/json"),
        (b"[" * 100_000, "application/json"),
        (b"[]", "application/json"),
        (b'{"error": {"message": "upstream is overloaded"}}', "application/json"),
        (b'{"choices": []}', "application/json"),
        (b'{"choices": [{"message": null}]}', "application/json"),
        (b'{"choices": "none"}', "application/json"),
    ],
)
async def test_a_200_without_a_completion_comes_from_something_else_and_is_an_outage(
    model: ScriptedModel, extractor: ModelExtractor, body: bytes, content_type: str
):
    model.play_body(body, content_type)
    with pytest.raises(Outage):
        await extractor.extract(WINDOW)


async def test_no_answer_in_time_is_an_outage(model: ScriptedModel, outcomes: list[str]):
    model.play("hang")
    extractor = ModelExtractor(
        model.base_url, "", "scripted", temperature=0, max_tokens=9, timeout_seconds=0.2, observe=outcomes.append
    )
    with pytest.raises(Outage) as outage:
        await extractor.extract(WINDOW)
    await extractor.aclose()
    assert outage.value.reason == "no answer from the model within 0.2 s"
    assert outcomes == ["outage"]


async def test_an_endpoint_that_nobody_serves_is_an_outage():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}/v1"
        extractor = ModelExtractor(url, "key", "scripted", temperature=0, max_tokens=9, timeout_seconds=5)
        with pytest.raises(Outage, match="cannot be reached"):
            await extractor.extract(WINDOW)
        await extractor.aclose()
