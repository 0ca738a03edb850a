"""What a model extractor learns of an endpoint: how long it takes, and how much it can read."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from contract.scripted_model import ScriptedModel, completion
from support.windows import talk

from streams.extraction.model.extractor import ModelExtractor
from streams.extraction.model.fitting import tokens_of
from streams.extraction.protocol import Known, Outage, Rejected

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator


FOUR = talk(*(f"Tea number {n} is Ines's" for n in range(1, 5)))


class SmallModel(ScriptedModel):
    """Refuses what is longer than its context."""

    def __init__(self, context_tokens: int, error: dict[str, Any]) -> None:
        super().__init__()
        self.context_tokens = context_tokens
        self.error = error

    def answer(self, request: dict[str, Any]) -> tuple[int, bytes, dict[str, str]]:
        if tokens_of(request["messages"]) > self.context_tokens:
            self.requests.append(request)
            return 400, json.dumps({"error": self.error}).encode(), {}
        return super().answer(request)


@pytest.fixture
def model() -> Iterator[ScriptedModel]:
    with ScriptedModel() as scripted:
        yield scripted


@pytest.fixture
async def hurried(model: ScriptedModel) -> AsyncIterator[ModelExtractor]:
    made = make(model, timeout_seconds=0.1, longest_seconds=0.4)
    yield made
    await made.aclose()


def make(model: ScriptedModel, **options: Any) -> ModelExtractor:
    given: dict[str, Any] = {"temperature": 0.2, "max_tokens": 256, "timeout_seconds": 5.0, **options}
    return ModelExtractor(model.base_url, "key", "scripted", **given)


async def test_after_a_time_out_the_next_request_may_take_longer_and_in_the_end_the_window_is_rejected(
    model: ScriptedModel, hurried: ModelExtractor
):
    model.play("hang")
    reasons = []
    for _ in range(3):
        with pytest.raises(Outage) as outage:
            await hurried.extract(FOUR)
        reasons.append(outage.value.reason)
    assert reasons == [f"no answer from the model within {seconds:g} s" for seconds in (0.1, 0.2, 0.4)]
    with pytest.raises(Rejected, match=r"^timed out: no answer from the model within 0.4 s$"):
        await hurried.extract(FOUR)


async def test_a_window_that_was_rejected_for_its_time_can_be_asked_about_again(
    model: ScriptedModel, hurried: ModelExtractor
):
    model.play("hang")
    for expected in (Outage, Outage, Outage, Rejected):
        with pytest.raises(expected):
            await hurried.extract(FOUR)
    model.play("ok")
    assert len((await hurried.extract(FOUR)).proposals) == 4


async def test_an_endpoint_that_answers_nothing_at_all_is_waited_for_however_long():
    with ScriptedModel() as model:
        made = make(model, timeout_seconds=0.1, longest_seconds=0.1)
        model.play("hang")
        with pytest.raises(Outage):
            await made.extract(FOUR)
    for _ in range(4):
        with pytest.raises(Outage):
            await made.extract(FOUR)
    await made.aclose()


@pytest.mark.parametrize(
    "error",
    [
        {"message": "the prompt has 3166 tokens, the context 2048", "code": "context_length_exceeded"},
        {"message": "the request exceeds the available context size", "type": "exceed_context_size_error", "code": 400},
        {"message": "This model's maximum context length is 2048 tokens."},
    ],
)
async def test_a_window_that_is_too_long_is_halved_and_its_memories_cite_the_whole(error: dict[str, Any]):
    texts = [f"Ines likes tea number {n}, " + "and so on, " * 60 for n in range(1, 5)]
    with SmallModel(2_000, error) as model:
        made = make(model)
        extraction = await made.extract(talk(*texts))
        assert [p.sources for p in extraction.proposals] == [(0,), (1,), (2,), (3,)]
        assert extraction.tokens_in == 100 * len(json.loads(extraction.answer or ""))
        first = len(model.requests)
        await made.extract(talk(*texts))
        assert len(model.requests) - first < first  # what was too long was learned
        await made.aclose()


async def test_one_long_text_is_halved_too():
    text = " ".join(f"Tea number {n} is Ines's." for n in range(300))
    with SmallModel(2_000, {"message": "too long", "code": "context_length_exceeded"}) as model:
        made = make(model)
        extraction = await made.extract(talk(text))
        assert {p.sources for p in extraction.proposals} == {(0,)}
        assert "Tea number 299" in extraction.proposals[-1].content
        await made.aclose()


async def test_what_no_context_can_hold_is_rejected_with_its_reason():
    with SmallModel(10, {"message": "too long", "code": "context_length_exceeded"}) as model:
        made = make(model)
        with pytest.raises(Rejected, match=r"^refused: .* answers 400 \(context_length_exceeded\)$"):
            await made.extract(FOUR)
        await made.aclose()


@pytest.mark.parametrize(("context_tokens", "examples"), [(None, True), (8_000, True), (1_700, False)])
async def test_prompt_and_answer_fit_the_context_that_is_set(
    model: ScriptedModel, *, context_tokens: int | None, examples: bool
):
    made = make(model, context_tokens=context_tokens)
    assert len((await made.extract(FOUR)).proposals) == 4
    [request] = model.requests
    assert (len(request["messages"]) > 2) is examples
    assert request["max_tokens"] == 256
    await made.aclose()


async def test_a_window_that_does_not_fit_the_context_that_is_set_is_never_sent_whole(model: ScriptedModel):
    made = make(model, context_tokens=2_000)
    texts = [f"Ines likes tea number {n}, " + "and so on, " * 100 for n in range(1, 5)]
    extraction = await made.extract(talk(*texts))
    assert [p.sources for p in extraction.proposals] == [(0,), (1,), (2,), (3,)]
    assert max(tokens_of(r["messages"]) + r["max_tokens"] for r in model.requests) <= 2_000
    await made.aclose()


async def test_what_is_known_is_left_out_where_the_context_cannot_hold_it_with_the_shortest_window(
    model: ScriptedModel,
):
    made = make(model, context_tokens=1_600)
    known = tuple(Known(memory_id=f"m{n}", text=f"Ines likes tea number {n}") for n in range(50))
    extraction = await made.extract(replace(talk("Ines likes tea"), known=known))
    assert (len(extraction.proposals), extraction.shown) == (1, ())
    assert "K1" not in str(model.requests[-1]["messages"])
    await made.aclose()


async def test_an_answer_that_cannot_be_used_is_no_reason_to_divide_the_window():
    with SmallModel(2_400, {"message": "too long", "code": "context_length_exceeded"}) as model:
        made = make(model)
        model.play_body(completion("Sure! " * 800))
        with pytest.raises(Rejected, match=r"^not JSON: "):
            await made.extract(FOUR)
        assert len(model.requests) == 2
        await made.aclose()
