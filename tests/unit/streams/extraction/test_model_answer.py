"""How a model's answer is read: which shapes are accepted, and what becomes of each field."""

from __future__ import annotations

import json
import time
from dataclasses import replace
from datetime import date
from typing import TYPE_CHECKING, Any

import pytest
from support.tables import each
from support.windows import piece, window

from schemas.messages.observations import TurnContext
from streams.extraction.model.answer import MAX_CONTENT, MAX_ENTRIES, UnusableAnswerError, read_answer
from streams.extraction.protocol import Known, Proposal, Window

if TYPE_CHECKING:
    from streams.extraction.protocol import Speaker

COFFEE = {"content": "用户喜欢喝咖啡", "sources": [1]}


def said_by(*speakers: Speaker, intimacies: tuple[float | None, ...] = ()) -> Window:
    contexts = [TurnContext(intimacy=intimacy) for intimacy in intimacies] + [None] * len(speakers)
    return window(*(piece(n, speaker=speaker, context=contexts[n]) for n, speaker in enumerate(speakers)))


TALK = said_by("user", "assistant", "user")


def read(*entries: object) -> tuple[Proposal, ...]:
    return read_answer(json.dumps({"memories": entries}), TALK).proposals


def read_one(**fields: Any) -> Proposal:
    (proposal,) = read({"content": "x", **fields})
    return proposal


SHOWN = replace(TALK, known=(Known(memory_id="m1", text="a"), Known(memory_id="m2", text="b")))


@each(
    ("given", "expected"),
    [
        ([2], ("m2",)),
        ("K2", ("m2",)),
        ("2", ("m2",)),
        (2.0, ("m2",)),
        (["K1", "[K2]"], ("m1", "m2")),
        ("K1, K2", ("m1", "m2")),
        ([1, 1], ("m1",)),
        (None, ()),
        ([True, {}, "the old one", "m1"], ()),
    ],
)
def test_what_a_memory_replaces_or_ends_is_named_by_number_and_becomes_an_id(given: object, expected: tuple[str, ...]):
    entry = {"content": "x", "sources": [1]}
    answer = read_answer(json.dumps([{**entry, "replaces": given}, {**entry, "ends": given}]), SHOWN)
    assert [(p.replaces, p.ends) for p in answer.proposals] == [(expected, ()), ((), expected)]
    assert answer.dropped == ()


def test_a_number_that_was_not_shown_is_dropped_and_said():
    entries = [COFFEE, COFFEE, {**COFFEE, "replaces": [9, 1], "ends": ["K9", "K1", 2]}]
    answer = read_answer(json.dumps(entries), SHOWN)
    assert (answer.proposals[2].replaces, answer.proposals[2].ends) == (("m1",), ("m2",))
    assert answer.dropped == ("memory 3: K9 was not shown",)


@each(
    ("given", "expected"),
    [
        ("my mother", "my mother"),
        (" the car ", "the car"),
        ("the user", None),
        ("用户", None),
        ("Amy", None),
        (3, None),
    ],
)
def test_whom_it_is_about_is_kept_unless_it_is_the_user(given: object, expected: str | None):
    amy = replace(TALK, known=(Known(memory_id="m1", text="Amy", attribute="user_name", value="Amy"),))
    [proposal] = read_answer(json.dumps([{**COFFEE, "about": given}]), amy).proposals
    assert proposal.about == expected


def test_of_whom_else_it_is_about_any_word_may_be_an_attribute():
    proposal = read_one(about="the car", attribute="price", value=9000)
    assert (proposal.about, proposal.attribute, proposal.value) == ("the car", "price", "9000")


GROUP = window(piece(0), piece(1, "Lena: I ski.", name="Bob"), piece(2, name="Bob"), piece(3, speaker="assistant"))


@each(
    ("sources", "given", "expected"),
    [
        ([1], None, None),
        ([2, 3, 4], None, "Bob"),
        ([1, 2], None, None),
        ([1, 2], "bob", "Bob"),
        ([2], "Lena", "Lena"),
        ([1], "Zoe", None),
        ([1], "the user", None),
    ],
)
def test_who_else_says_it_is_known_by_the_answer_or_by_the_lines(sources: list[int], given: str, expected: str | None):
    [proposal] = read_answer(json.dumps([{"content": "x", "sources": sources, "speaker": given}]), GROUP).proposals
    assert proposal.speaker == expected


def test_what_others_say_of_themselves_is_about_nobody_else():
    [proposal] = read_answer(json.dumps([{"content": "x", "sources": [2], "about": "Bob"}]), GROUP).proposals
    assert (proposal.about, proposal.speaker) == (None, "Bob")


OBJECT, ARRAY = json.dumps({"memories": [COFFEE]}), json.dumps([COFFEE], ensure_ascii=False)


@each(
    "text",
    [
        OBJECT,
        ARRAY,
        f" \n{OBJECT}\n",
        f"```json\n{OBJECT}\n```",
        f"```\n{ARRAY}\n```\n",
        f"```JSON {ARRAY}```",
        f"<think>[1] says coffee {{</think>\n{OBJECT}",
        f"[1] says coffee {{\n</think>\n{OBJECT}",
        f"<think>[]? or {ARRAY}{ARRAY}</think>{OBJECT}",
        f"<|channel|>analysis<|message|>hm [<|end|><|start|>assistant<|channel|>final<|message|>{OBJECT}<|return|>",
        f"◁think▷hm◁/think▷{OBJECT}",
        f"[THINK]hm[/THINK]{OBJECT}",
        f"<think>{OBJECT}</think>",
        f"<think>hm\n{OBJECT}",
        f"\ufeff{OBJECT}",
        f"It's [1] that counts {{so}}:\n```json\n{OBJECT}\n```\nIs that all right?",
        f"{OBJECT}<|im_end|>",
        f"{OBJECT}\n{OBJECT}",
        json.dumps(OBJECT),
        json.dumps({"answer": OBJECT}),
        json.dumps([{"result": {"memories": [COFFEE]}}]),
        "{'memories': [{'content': '用户喜欢喝咖啡', 'sources': [1,], 'value': None, 'kind': semantic,},]}",
        "{memories: [{content: “用户喜欢喝咖啡” /* says so */ sources: [+1.]} // one\n]}",
        '{"memories": [{"content": "用户喜欢喝咖啡", "importance": NaN, "sources": [01]}]}',
        '{"memories": [{"content": "用户喜欢\\u559d咖啡", "emotion_intensity": -, "sources": [1]}]}',
    ],
)
def test_an_object_and_a_bare_array_are_accepted_with_and_without_a_fence(text: str):
    answer = read_answer(text, TALK)
    assert answer.proposals == (Proposal(content="用户喜欢喝咖啡", sources=(0,)),)
    assert answer.dropped == ()


def test_a_mark_in_a_text_ends_no_thoughts():
    [proposal] = read_answer('Here: {"memories": [{"content": "writes </think> often"}]}', TALK).proposals
    assert proposal.content == "writes </think> often"


@each("text", ["[", "{", '{"a', "{a:", "[1,", "<think>"])
def test_reading_an_answer_of_brackets_takes_as_long_as_it_is(text: str):
    def seconds(times: int) -> float:
        began = time.process_time()
        with pytest.raises(UnusableAnswerError):
            read_answer(text * times, TALK)
        return time.process_time() - began

    assert seconds(40_000) < 8 * seconds(10_000) + 0.1  # 16 times, if it grew with the square


@pytest.mark.parametrize("text", ['{"memories": []}', "[]", "```\n[]\n```"])
def test_nothing_to_remember_is_an_answer(text: str):
    assert read_answer(text, TALK).proposals == ()


@each(
    ("text", "fault"),
    [
        ("", "not JSON"),
        (" \n", "not JSON"),
        ("Sure! Here is what I found.", "not JSON"),
        (OBJECT[:-3], "not JSON"),
        ("```json\n```", "not JSON"),
        ("[" * 100_000, "not JSON"),
        ('{"memories": ' + "9" * 5_000 + "}", "wrong shape"),
        ("null", "wrong shape"),
        ('"text"', "wrong shape"),
        ("{}", "wrong shape"),
        (json.dumps(COFFEE), "wrong shape"),
        ('{"memories": null}', "wrong shape"),
        ('{"memories": {"content": "x"}}', "wrong shape"),
        ('["用户喜欢喝咖啡", 3]', "wrong shape"),
    ],
)
def test_an_answer_that_is_no_json_or_of_another_shape_is_unusable(text: str, fault: str):
    with pytest.raises(UnusableAnswerError, match=f"^{fault}: .") as unusable:
        read_answer(text, TALK)
    assert unusable.value.fault == fault


@each(
    "text", [OBJECT[:-3], "Sure! Here is", "", f"<think>perhaps {OBJECT}? No", OBJECT.replace("]}", "] } // {", 1)[:-9]]
)
def test_what_is_not_whole_at_the_token_limit_is_cut_off(text: str):
    with pytest.raises(UnusableAnswerError, match=r"^cut off: "):
        read_answer(text, TALK, cut_off=True)


def test_a_whole_answer_counts_although_it_stopped_at_the_token_limit():
    assert len(read_answer(OBJECT + " \n" * 3_000, TALK, cut_off=True).proposals) == 1


def test_everything_but_the_content_has_evatars_defaults():
    expected = Proposal(
        content="x", kind="semantic", category="fact", memory_type="short_term", importance=0.5, sources=(0, 2)
    )
    assert read({"content": " x "}) == (expected,)


def test_null_is_the_same_as_left_out():
    names = ("kind", "category", "memory_type", "importance", "attribute", "value", "event_type", "emotion")
    rest = ("emotion_intensity", "key_dialogue", "occurred_on", "sources")
    assert read_one(**dict.fromkeys((*names, *rest))) == read_one()


def test_every_field_of_an_episode_is_kept():
    fields = {
        "content": "送了围巾",
        "kind": "episodic",
        "category": "people",
        "memory_type": "long_term",
        "importance": 0.75,
        "event_type": "gift",
        "emotion": "happy",
        "emotion_intensity": 0.8,
        "key_dialogue": ["给你织的"],
        "occurred_on": "2026-01-05",
        "sources": [2, 1],
    }
    assert read(fields) == (
        Proposal(
            content="送了围巾",
            kind="episodic",
            category="people",
            memory_type="long_term",
            importance=0.75,
            event_type="gift",
            emotion="happy",
            emotion_intensity=0.8,
            key_dialogue=("给你织的",),
            occurred_on=date(2026, 1, 5),
            sources=(1, 0),
        ),
    )


@each(
    "bad",
    [
        {"content": ""},
        {"content": " \n"},
        {"content": 7},
        {"content": None},
        {"kind": "semantic"},
        {"content": "x", "importance": "very"},
        {"content": "x", "importance": True},
        "x",
        None,
    ],
)
def test_a_bad_entry_is_dropped_with_its_reason_and_the_good_ones_stay(bad: object):
    answer = read_answer(json.dumps({"memories": [COFFEE, bad, COFFEE]}), TALK)
    assert [proposal.content for proposal in answer.proposals] == ["用户喜欢喝咖啡"] * 2
    (reason,) = answer.dropped
    assert reason.startswith("entry 2: ")


CLAMPED = [(0, 0.0), (1, 1.0), (0.3, 0.3), (-2, 0.0), (1.5, 1.0), (4, 1.0), (10**400, 1.0)]


@each("given", [float("nan"), float("inf"), float("-inf"), None])
def test_an_importance_that_is_no_finite_number_is_left_out(given: float | None):
    assert read_one(importance=given) == read_one()


@each(("given", "importance"), [*CLAMPED, ("0.5", 0.5), ("1", 1.0)])
def test_importance_is_clamped(given: float, importance: float):
    assert read_one(importance=given).importance == importance


@each(
    ("field", "given", "expected"),
    [
        ("category", "finance", "finance"),
        ("category", " Finance ", "finance"),
        ("category", "money", "fact"),
        ("category", ["finance"], "fact"),
        ("memory_type", "long_term", "long_term"),
        ("memory_type", "LONG_TERM", "long_term"),
        ("memory_type", "for ever", "short_term"),
        ("kind", "episodic", "episodic"),
        ("kind", "event", "semantic"),
        ("event_type", "First_Kiss", "first_kiss"),
        ("event_type", "graduation", "graduation"),
        ("event_type", 3, None),
        ("emotion", " 开心 ", "开心"),
        ("emotion", {}, None),
        ("emotion_intensity", 1.7, 1.0),
        ("emotion_intensity", "strong", None),
        ("occurred_on", "2026-02-28", date(2026, 2, 28)),
        ("occurred_on", "2026-02-28T10:00:00Z", date(2026, 2, 28)),
        ("occurred_on", "2026-02-30", None),
        ("occurred_on", "next Friday", None),
        ("occurred_on", "20260228", None),
        ("occurred_on", 20260228, None),
        ("key_dialogue", ["a", "", 3, " b "], ("a", "b")),
        ("key_dialogue", "a", ("a",)),
        ("key_dialogue", {"a": 1}, ()),
    ],
)
def test_words_that_are_not_known_fall_back_and_known_ones_are_kept(field: str, given: object, expected: object):
    assert getattr(read_one(**{field: given}), field) == expected


@each(
    ("attribute", "value", "expected"),
    [
        ("likes", "咖啡", ("likes", "咖啡")),
        ("User_Name", " 张三 ", ("user_name", "张三")),
        ("shoe size", "42", ("shoe size", "42")),
        ("age", 30, ("age", "30")),
        ("likes", ["咖啡", "茶"], ("likes", "咖啡, 茶")),
        ("important_dates", {"妈妈生日": "03-14"}, ("important_dates", "妈妈生日: 03-14")),
        ("age", "blue", (None, None)),
        ("birthday", "banana", (None, None)),
        ("important_dates", "2020-05-20", (None, None)),
        ("likes", True, (None, None)),
        ("likes", None, (None, None)),
        ("likes", " ", (None, None)),
        (None, "咖啡", (None, None)),
    ],
)
def test_an_attribute_and_its_value_come_together_or_not_at_all(
    attribute: object, value: object, expected: tuple[str | None, str | None]
):
    proposal = read_one(attribute=attribute, value=value)
    assert (proposal.attribute, proposal.value) == expected


@each(
    ("cited", "pieces"),
    [
        ([1, 3], (0, 2)),
        ([3, 1, 3], (2, 0)),
        ([2], (1,)),
        ([9, 3, 0, -1], (2,)),
        (["2", "[3]", 1.0], (1, 2, 0)),
        (2, (1,)),
        ([9], (0, 2)),
        ([], (0, 2)),
        (["D1:3", 1.5, True, None, float("inf"), 10**400], (0, 2)),
        ("all", (0, 2)),
    ],
)
def test_sources_are_the_prompts_numbers_and_without_any_the_users_turns(cited: object, pieces: tuple[int, ...]):
    assert read_one(sources=cited).sources == pieces


@pytest.mark.parametrize("speaker", ["screenshot", "article", "assistant"])
def test_a_window_without_user_turns_is_cited_whole(speaker: Speaker):
    answer = read_answer('[{"content": "x", "sources": [7]}]', said_by(speaker, speaker))
    assert answer.proposals[0].sources == (0, 1)


def test_long_answers_are_bounded():
    answer = read_answer(json.dumps([{"content": "长" * (MAX_CONTENT + 1)}] * (MAX_ENTRIES + 2)), TALK)
    assert {len(proposal.content) for proposal in answer.proposals} == {MAX_CONTENT}
    assert (len(answer.proposals), len(answer.dropped)) == (MAX_ENTRIES, 2)
    assert len(read_one(key_dialogue=["q" * 1_000] * 50).key_dialogue) == 10


def test_control_characters_and_broken_surrogates_do_not_reach_the_log():
    assert read_one(content="a\u0000b\ud83dc\nd").content == "a\ufffdb\ufffdc\nd"


@each(
    ("sources", "importance"),
    [
        ([1], (2 + 0.4 + 0.2) / 4),
        ([1, 3], (2 + 0.4 + 1) / 4),
        ([3, 1], (2 + 0.4 + 1) / 4),
        ([1, 2], (2 + 0.4 + 0.2) / 4),
    ],
)
def test_an_episode_without_importance_takes_the_intimacy_of_its_newest_cited_turn_that_has_one(
    sources: list[int], importance: float
):
    talk = said_by("user", "assistant", "user", intimacies=(10, None, 60))
    entry = {"content": "x", "kind": "episodic", "event_type": "gift", "emotion_intensity": 0.8, "sources": sources}
    assert read_answer(json.dumps([entry]), talk).proposals[0].importance == pytest.approx(importance)


def test_what_a_plan_becomes_stands_in_the_place_of_an_attribute():
    plan = read_one(becomes="Employer", attribute="employer", value="Globex", occurred_on="2026-01-12")
    assert (plan.attribute, plan.becomes, plan.value) == (None, "employer", "Globex")


@each("given", [None, "", 3, ["employer"]])
def test_what_a_plan_becomes_is_a_word(given: object):
    plan = read_one(becomes=given, attribute="employer", value="Globex")
    assert (plan.attribute, plan.becomes) == ("employer", None)


def test_a_plan_without_a_value_becomes_nothing():
    plan = read_one(becomes="employer", occurred_on="2026-01-12")
    assert (plan.attribute, plan.becomes, plan.value) == (None, None, None)
