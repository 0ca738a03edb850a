"""The model extractor against a scripted endpoint: every way to answer, and to be asked."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from contract.scripted_model import Mode, ScriptedModel, completion
from support.windows import talk

from streams.extraction.model.extractor import ModelExtractor
from streams.extraction.model.prompts import PROMPT_HASH
from streams.extraction.protocol import Known, Outage, Rejected

COFFEE, TEA = "用户喜欢喝咖啡", "He prefers tea"


WINDOW = talk(COFFEE, TEA)


@pytest.mark.parametrize("mode", ["ok", "fenced", "bare", "no_json_schema", "no_response_format"])
async def test_a_usable_answer_becomes_proposals_in_whatever_way_it_is_spelt(
    model: ScriptedModel, extractor: ModelExtractor, outcomes: list[str], mode: Mode
):
    model.play(mode)
    extraction = await extractor.extract(WINDOW)
    assert [(p.content, p.sources) for p in extraction.proposals] == [(COFFEE, (0,)), (TEA, (1,))]
    assert (extraction.tokens_in, extraction.tokens_out, extraction.dropped) == (100, 10, ())
    assert extraction.answer is not None
    assert COFFEE in extraction.answer
    assert outcomes == ["ok"]


async def test_the_request_carries_the_settings_and_what_the_answer_should_look_like(
    model: ScriptedModel, extractor: ModelExtractor
):
    await extractor.extract(WINDOW)
    (request,) = model.requests
    assert (request["model"], request["temperature"], request["max_tokens"]) == ("scripted", 0.2, 2048)
    assert request["response_format"]["json_schema"]["schema"]["required"] == ["memories"]
    assert [message["role"] for message in request["messages"]][::7] == ["system", "user"]
    assert request["messages"][-1]["content"].splitlines()[0] == f"[1] 2026-01-05 08:00 user: {COFFEE}"


async def test_the_facts_that_travel_with_every_answer_are_the_models_name_and_the_prompts_hash(
    extractor: ModelExtractor,
):
    assert (extractor.model, extractor.prompt_hash) == ("scripted", PROMPT_HASH)


@pytest.mark.parametrize(
    ("mode", "first", "second"),
    [
        ("no_json_schema", ["json_schema", "json_object"], ["json_object"]),
        ("no_response_format", ["json_schema", "json_object", "none"], ["none"]),
    ],
)
async def test_a_response_format_that_was_refused_is_not_tried_again(
    model: ScriptedModel, extractor: ModelExtractor, mode: Mode, first: list[str], second: list[str]
):
    model.play(mode)
    await extractor.extract(WINDOW)
    await extractor.extract(WINDOW)
    assert model.forms == [*first, *second]


async def test_a_response_format_that_was_accepted_before_can_still_be_given_up(
    model: ScriptedModel, extractor: ModelExtractor
):
    await extractor.extract(WINDOW)
    model.play("no_json_schema")
    await extractor.extract(WINDOW)
    assert model.forms == ["json_schema", "json_schema", "json_object"]


async def test_a_refusal_of_response_format_without_any_reason_is_understood_too(
    model: ScriptedModel, extractor: ModelExtractor
):
    model.play_error(422)
    await extractor.extract(WINDOW)
    await extractor.extract(WINDOW)
    assert model.forms == ["json_schema", "json_object", "json_object"]


async def test_an_endpoint_that_spells_the_refusal_500_is_believed_after_three_windows(
    model: ScriptedModel, extractor: ModelExtractor
):
    for _ in range(3):
        model.play_error(500)
        await extractor.extract(WINDOW)
    await extractor.extract(WINDOW)
    assert model.forms == ["json_schema", "json_object"] * 3 + ["json_object"]


async def test_newer_models_get_max_completion_tokens_and_no_temperature_when_they_ask_for_it(
    model: ScriptedModel, extractor: ModelExtractor
):
    model.play_error(400, {"message": "Use 'max_completion_tokens' instead.", "param": "max_tokens"})
    model.play_error(400, {"message": "does not support 0.2", "param": "temperature"})
    await extractor.extract(WINDOW)
    await extractor.extract(WINDOW)
    last = model.requests[-1]
    assert (last["max_completion_tokens"], "max_tokens" in last, "temperature" in last) == (2048, False, False)
    assert model.forms == ["json_schema"] * 4


@pytest.mark.parametrize(
    ("mode", "expected"),
    [
        ("cut", ("cut off", '{"memories"')),
        ("prose", ("not JSON", "Certainly!")),
        ("wrong_shape", ("wrong shape", '{"result"')),
        ("empty", ("not JSON", "")),
    ],
)
async def test_an_unusable_answer_is_repaired_once_asked_for_in_any_form_and_then_rejected_with_its_text(
    model: ScriptedModel, extractor: ModelExtractor, outcomes: list[str], mode: Mode, expected: tuple[str, str]
):
    model.play(mode)
    with pytest.raises(Rejected) as rejected:
        await extractor.extract(WINDOW)
    assert rejected.value.reason.partition(":")[0] == expected[0]
    assert rejected.value.answer is not None
    assert rejected.value.answer.startswith(expected[1])
    assert (rejected.value.tokens_in, rejected.value.tokens_out) == (300, 30)
    assert outcomes == ["repair", "repair", "rejected"]
    model.play("ok")
    await extractor.extract(WINDOW)
    assert model.forms == ["json_schema", "json_schema", "none", "json_schema"]


@pytest.mark.parametrize("mode", ["cut", "prose", "wrong_shape", "empty"])
async def test_a_repair_keeps_the_question_and_adds_the_answer_and_what_was_wrong(
    model: ScriptedModel, extractor: ModelExtractor, outcomes: list[str], mode: Mode
):
    model.play(mode, count=1)
    extraction = await extractor.extract(WINDOW)
    first, second = (request["messages"] for request in model.requests)
    assert second[:-2] == first
    assert [message["role"] for message in second[-2:]] == ["assistant", "user"]
    assert [p.content for p in extraction.proposals] == [COFFEE, TEA]
    assert (extraction.tokens_in, extraction.tokens_out) == (200, 20)
    assert outcomes == ["repair", "ok"]


async def test_a_bad_entry_is_dropped_and_counted_and_the_good_ones_stay(
    model: ScriptedModel, extractor: ModelExtractor, outcomes: list[str]
):
    model.play("one_bad")
    extraction = await extractor.extract(WINDOW)
    assert [p.content for p in extraction.proposals] == [COFFEE, TEA]
    assert len(extraction.dropped) == 1
    assert outcomes == ["ok"]


async def test_a_window_that_every_form_is_refused_for_is_rejected_and_says_nothing_about_the_endpoint(
    model: ScriptedModel, extractor: ModelExtractor
):
    for _ in range(4):
        model.play_error(400)
    with pytest.raises(Rejected):
        await extractor.extract(WINDOW)
    await extractor.extract(WINDOW)
    assert model.forms == ["json_schema", "json_object", "none", "none", "json_schema"]


async def test_a_refused_repair_is_a_rejection_that_keeps_the_first_answer(
    model: ScriptedModel, extractor: ModelExtractor, outcomes: list[str]
):
    model.play_body(completion("Certainly!"))
    model.play_error(413)
    with pytest.raises(Rejected) as rejected:
        await extractor.extract(WINDOW)
    assert (rejected.value.answer, rejected.value.tokens_in) == ("Certainly!", 100)
    assert outcomes == ["repair", "rejected"]


@pytest.mark.parametrize(
    "body",
    [
        b'{"choices": [{"message": {"content": null, "refusal": "no"}}], "usage": null}',
        b'{"choices": [{"message": {"content": ["parts"]}}], "usage": {"prompt_tokens": "many"}}',
        b'{"choices": [{"message": {"content": "[[[["}}]}',
        completion("[" * 100_000),
    ],
)
async def test_a_completion_without_a_usable_text_is_repaired(
    model: ScriptedModel, extractor: ModelExtractor, outcomes: list[str], body: bytes
):
    model.play_body(body)
    assert len((await extractor.extract(WINDOW)).proposals) == 2
    assert outcomes == ["repair", "ok"]


def test_a_key_that_cannot_stand_in_a_header_is_refused_at_once():
    with pytest.raises(ValueError, match="MNEMOLOG_LLM_API_KEY"):
        ModelExtractor(None, "键", "scripted", temperature=0, max_tokens=9, timeout_seconds=5)


async def test_texts_and_answers_that_utf_8_cannot_spell_do_no_harm(model: ScriptedModel, extractor: ModelExtractor):
    model.play_body(completion('{"memories":[{"content":"half \\ud83d an emoji"}]}'))
    extraction = await extractor.extract(talk("broken \ud83d emoji"))
    assert extraction.proposals[0].content == "half \ufffd an emoji"
    assert "broken \ufffd emoji" in model.requests[0]["messages"][-1]["content"]


async def test_a_response_format_that_was_refused_by_name_is_not_tried_again_before_any_answer_has_come(
    model: ScriptedModel, extractor: ModelExtractor
):
    for form in ("json_schema", "json_object"):
        model.play_error(400, {"message": f"response_format {form} is not supported", "param": "response_format"})
    model.play_error(503)
    with pytest.raises(Outage):
        await extractor.extract(WINDOW)
    await extractor.extract(WINDOW)
    assert model.forms == ["json_schema", "json_object", "none", "none"]


async def test_an_answer_that_goes_round_in_a_circle_is_read_up_to_there(
    model: ScriptedModel, extractor: ModelExtractor
):
    coffee, tea = ({"content": text, "sources": [n]} for n, text in enumerate((COFFEE, TEA), 1))
    spoken = json.dumps({"memories": [coffee, tea, tea, tea]}, ensure_ascii=False)[:-20]
    model.play_body(completion(spoken, "length"))
    extraction = await extractor.extract(WINDOW)
    assert [p.content for p in extraction.proposals] == [COFFEE, TEA]
    assert extraction.dropped == ("entry 3: from here on the answer repeats itself up to the token limit",)


async def test_what_was_shown_is_recorded_and_what_a_memory_replaces_is_one_of_it(
    model: ScriptedModel, extractor: ModelExtractor
):
    model.memories = lambda lines: [
        {
            "content": text,
            "sources": [number],
            "replaces": [number],
            "about": "Lena",
            "attribute": "drink",
            "value": "tea",
        }
        for number, text in lines
    ]
    known = (Known(memory_id="m1", text="likes coffee"),)
    extraction = await extractor.extract(replace(WINDOW, known=known))
    assert extraction.shown == ("m1",)
    assert [(p.about, p.attribute, p.value, p.replaces) for p in extraction.proposals] == [
        ("Lena", None, None, ("m1",)),  # its line says nothing of tea
        ("Lena", "drink", "tea", ()),
    ]
    assert "memory 2: K2 was not shown" in extraction.dropped


async def test_what_was_found_out_before_an_unusable_answer_is_not_asked_again(
    model: ScriptedModel, extractor: ModelExtractor
):
    model.play_error(400, {"message": "no", "param": "temperature"})
    model.play("prose", 3)
    with pytest.raises(Rejected):
        await extractor.extract(WINDOW)
    await extractor.extract(WINDOW)
    last = model.requests[-1]
    assert ("temperature" in last, model.forms[-1], len(model.requests)) == (False, "json_schema", 5)
