"""A model's entries held against the window: answers of the kinds that a small real model gave."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest

from streams.extraction.model.answer import read_answer
from streams.extraction.model.grounding import grounded
from streams.extraction.protocol import Piece, Window

if TYPE_CHECKING:
    from streams.extraction.model.answer import Answer
    from streams.extraction.protocol import SourceType

TUESDAY = datetime(2026, 3, 10, 9, tzinfo=UTC)


def talk(*turns: str, source_type: SourceType = "chat", name: str | None = None) -> Window:
    """Return a window of turns, each `U: text` or `A: text`."""
    pieces = tuple(
        Piece(
            piece_id=f"t-{number}#0",
            event_id=f"t-{number}",
            speaker="user" if turn.startswith("U: ") else "assistant",
            text=turn[3:],
            occurred_at=TUESDAY + timedelta(seconds=10 * number),
            recorded_at=TUESDAY,
            name=name if turn.startswith("U: ") else None,
        )
        for number, turn in enumerate(turns)
    )
    return Window(
        tenant="default",
        user_id="u1",
        agent_id=None,
        session_id="s1",
        source_type=source_type,
        source_ref="s1",
        pieces=pieces,
    )


def ground(window: Window, *entries: dict[str, Any]) -> Answer:
    return grounded(read_answer(json.dumps(entries), window), window)


def entry(content: str, *sources: int, **fields: Any) -> dict[str, Any]:
    return {"content": content, "sources": list(sources), "memory_type": "long_term", **fields}


@pytest.mark.parametrize(
    ("window", "said", "reason"),
    [
        (
            talk("U: Hello", "A: Hello! How are you?"),
            entry("Hello! How are you?", 2),
            "only the assistant said it",
        ),
        (
            talk("U: I'm allergic to shellfish.", "A: You could try the vegetarian place in Alfama."),
            entry("The user could try the vegetarian place in Alfama.", 2),
            "only the assistant said it",
        ),
        (
            talk("U: I eat no shellfish. What can I try?", "A: You could try the vegetarian place in Alfama."),
            entry("The user could try the vegetarian place in Alfama.", 1, 2),
            "its words are the assistant's",
        ),
        (
            talk("U: My daughter is six.", "A: Noted. Anything else?", "U: No."),
            entry("Noted. Anything else?", 1, 2),
            "it is the assistant's line",
        ),
        (
            talk("U: 我养了一只猫，叫小黑。", "A: 小黑真可爱！"),
            entry("小黑真可爱！", 1, 2),
            "it is the assistant's line",
        ),
        (
            talk("U: What is the capital of Australia?", "A: Canberra."),
            entry("The capital of Australia is Canberra.", 1),
            "the user only asked",
        ),
        (talk("U: 一公斤等于多少斤？", "A: 两斤。", "U: 好的。"), entry("一公斤等于两斤。", 1), "the user only asked"),
        (talk("U: Hello", "A: Hi!"), entry("The user said hello.", 1), "it tells of the talk, not of the user"),
        (talk("U: 你好", "A: 您好"), entry("用户打招呼。", 1), "it tells of the talk, not of the user"),
        (
            talk("U: I run every morning."),
            entry("Max hates mushrooms.", 1),
            "it shares no name, number or word with what the user said",
        ),
        (talk("U: I run every morning."), entry("The user is allergic to eggs.", 1), "it repeats the form"),
        (talk("U: I run every morning."), entry("...", 1), "it repeats the form"),
        (talk("U: I run every morning."), entry("Great, thanks!", 1), "it repeats the form"),
        (
            talk("U: I run every morning."),
            entry("Rob brought me tulips yesterday, I was so touched!", 1),
            "it repeats the form",
        ),
        (talk("U: 我每天早上跑步。"), entry("知道了，谢谢！", 1), "it repeats the form"),
    ],
)
def test_what_does_not_stem_from_the_user_is_dropped_with_its_reason(window: Window, said: dict[str, Any], reason: str):
    answer = ground(window, said)
    assert answer.proposals == ()
    assert answer.dropped == (f"memory 1: {reason}",)


@pytest.mark.parametrize(
    ("window", "said"),
    [
        (talk("U: 我叫陈晓。", "A: 你好！", "U: 我对花生过敏。"), entry("用户对花生过敏。", 3)),
        (talk("U: I'm allergic to eggs."), entry("The user is allergic to eggs.", 1)),
        (talk("U: Did I tell you that my sister moved to Oslo?"), entry("The user's sister moved to Oslo.", 1)),
        (talk("U: What do people eat in Oslo?"), entry("What do people eat in Oslo?", 1)),
        (talk("U: 我喜欢咖啡"), entry("The user likes coffee.", 1)),
    ],
)
def test_what_the_user_said_stays(window: Window, said: dict[str, Any]):
    answer = ground(window, said)
    assert ([p.content for p in answer.proposals], answer.dropped) == ([said["content"]], ())


def test_a_line_that_was_cited_wrongly_is_found_by_its_words():
    window = talk("U: 我叫陈晓。", "A: 你好，陈晓！", "U: 我对花生过敏，请提醒我。")
    answer = ground(window, entry("用户对花生过敏。", 2, attribute="allergies", value="花生"))
    assert [(p.sources, p.value) for p in answer.proposals] == [((2,), "花生")]


@pytest.mark.parametrize("yes", ["Yes, exactly.", "That's right!", "Correct."])
def test_what_the_assistant_said_counts_where_the_user_confirms_it(yes: str):
    window = talk("U: Where do I live?", "A: You mentioned that you live in Oslo, is that right?", f"U: {yes}")
    answer = ground(window, entry("The user lives in Oslo.", 2, attribute="city", value="Oslo"))
    assert [(p.attribute, p.value, p.sources) for p in answer.proposals] == [("city", "Oslo", (1, 2))]


@pytest.mark.parametrize("no", ["Not really my thing.", "Hm.", "不对，是青岛。"])
def test_what_the_assistant_said_counts_for_nothing_where_the_user_does_not_confirm_it(no: str):
    window = talk("U: Hi!", "A: You live in Oslo, right?", f"U: {no}")
    assert ground(window, entry("The user lives in Oslo.", 2)).proposals == ()


@pytest.mark.parametrize(
    ("window", "said"),
    [
        (talk("U: Fine, thanks."), entry("Fine, thanks.", 1, attribute="communication_style", value="friendly")),
        (talk("U: 我花了五百块。"), entry("用户花了五百块。", 1, attribute="personality_traits", value="spent_money")),
        (talk("U: 我养了一只猫，叫小黑。"), entry("用户养了一只猫，叫小黑。", 1, attribute="likes", value="小黑")),
        (
            talk("U: My brother lives in Oslo."),
            entry("The user's brother lives in Oslo.", 1, attribute="city", value="Oslo"),
        ),
        (talk("U: 我妈妈的生日是5月4号。"), entry("用户妈妈的生日是5月4号。", 1, attribute="birthday", value="5月4号")),
        (talk("U: 我养了一只猫，叫小黑。"), entry("用户养了一只猫，叫小黑。", 1, attribute="pet_names", value="小黑")),
        (talk("U: 我弟弟今年三岁。"), entry("用户的弟弟今年三岁。", 1, attribute="age", value="3")),
        (talk("U: 高铁票花了五百。"), entry("用户买高铁票花了五百。", 1, attribute="allergies", value="高铁票")),
        (talk("U: 老师王琳很耐心。"), entry("用户老师王琳很耐心。", 1, attribute="occupation", value="老师")),
        (
            talk("U: Hm.", "A: Try the vegetarian place."),
            entry("Hm.", 1, attribute="likes", value="vegetarian"),
        ),
    ],
)
def test_a_slot_is_filled_only_by_words_of_the_user_about_the_user(window: Window, said: dict[str, Any]):
    answer = ground(window, said)
    assert [(p.content[:6], p.attribute, p.value) for p in answer.proposals] == [(said["content"][:6], None, None)]


@pytest.mark.parametrize(
    ("text", "attribute", "value"),
    [
        ("I'm 41 and I drive a bus.", "age", "41"),
        ("我今年三十二岁。", "age", "32"),
        ("I love Ethiopian food.", "likes", "Ethiopian food"),
        ("我受不了香菜。", "dislikes", "香菜"),
        ("My birthday is on May 4.", "birthday", "05-04"),
        ("我的生日是5月4号。", "birthday", "05-04"),
        ("I'm learning to paint, I paint every day.", "interests", "painting"),
    ],
)
def test_a_slot_stays_where_a_line_of_the_user_holds_its_words(text: str, attribute: str, value: str):
    answer = ground(talk(f"U: {text}"), entry(f"用户：{text}", 1, attribute=attribute, value=value))
    assert [(p.attribute, p.value) for p in answer.proposals] == [(attribute, value)]


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ("I like tea.", "The user likes tea."),
        ("I am a chemist and I've two cats.", "The user is a chemist and the user has two cats."),
        ("I moved to Lisbon.", "The user moved to Lisbon."),
        ("My sister gave me a ring.", "The user's sister gave the user a ring."),
        ("I don't study.", "The user doesn't study."),
        ("我每天早上跑步。", "用户每天早上跑步。"),
        ("我的妹妹送我一条围巾。", "用户的妹妹送用户一条围巾。"),
        ("用户说“我爱你”。", "用户说“我爱你”。"),
    ],
)
def test_what_is_said_in_the_first_person_is_remembered_of_the_user(said: str, expected: str):
    assert [p.content for p in ground(talk(f"U: {said}"), entry(said, 1)).proposals] == [expected]


@pytest.mark.parametrize("text", ["昨天我去了公园。我看到一朵樱花！", "昨天我去了公园，你呢"])
def test_a_turn_that_is_kept_word_for_word_stays_as_it_was_said(text: str):
    [proposal] = ground(talk(f"U: {text}"), entry(text, 1)).proposals
    assert (proposal.content, proposal.occurred_on) == (text, date(2026, 3, 9))


def test_a_speaker_with_a_name_is_remembered_by_it():
    answer = ground(talk("U: I like tea.", name="Caroline"), entry("I like tea.", 1))
    assert [p.content for p in answer.proposals] == ["Caroline likes tea."]


@pytest.mark.parametrize(
    ("line", "content", "day", "marked"),
    [
        (
            "My appointment is tomorrow.",
            "The user has an appointment tomorrow.",
            date(2026, 3, 11),
            "tomorrow (2026-03-11)",
        ),
        ("房租下周五要交。", "用户的房租下周五要交。", date(2026, 3, 20), "下周五（2026-03-20）"),
        ("昨天小雨送了我围巾。", "小雨送了用户围巾。", date(2026, 3, 9), "小雨送了用户围巾。"),
        ("We had a fight last night.", "The user had a fight last night.", date(2026, 3, 9), "last night (2026-03-09)"),
        ("I live in Oslo. The launch is on April 2.", "The user lives in Oslo.", None, "Oslo."),
        ("Our dog died on Sunday.", "The user's dog died on Sunday.", date(2026, 3, 8), "Sunday"),
        ("I was told that the exam will be on Friday.", "The exam will be on Friday.", date(2026, 3, 13), "Friday ("),
        ("周日小狗走了。", "用户的小狗周日走了。", date(2026, 3, 8), "周日走了"),
        ("I swim every Tuesday.", "The user swims every Tuesday.", None, "every Tuesday."),
        ("Yoga is on Thursdays.", "The user has yoga on Thursdays.", None, "Thursdays."),
        ("我每个星期天都给外婆打电话。", "用户每个星期天都给外婆打电话。", None, "每个星期天都"),
    ],
)
def test_a_day_that_the_model_does_not_give_is_read_from_the_line(
    line: str, content: str, day: date | None, marked: str
):
    [proposal] = ground(talk(f"U: {line}"), entry(content, 1)).proposals
    assert proposal.occurred_on == day
    assert marked in proposal.content


@pytest.mark.parametrize(
    ("line", "given", "day"),
    [
        ("I live in Oslo.", "2026-03-10", None),
        ("I moved to Oslo today.", "2026-03-10", date(2026, 3, 10)),
        ("The launch is on April 2.", "2026-03-10", date(2026, 4, 2)),
        ("The launch is after Easter.", "2026-04-07", date(2026, 4, 7)),
    ],
)
def test_a_day_that_the_model_gives_yields_to_the_words_and_is_not_merely_the_lines_own(
    line: str, given: str, day: date | None
):
    [proposal] = ground(talk(f"U: {line}"), entry(line, 1, occurred_on=given)).proposals
    assert proposal.occurred_on == day


@pytest.mark.parametrize(
    ("window", "said", "kept"),
    [
        (
            talk("U: Lily's birthday is on March 3.", "A: Noted.", "U: Sorry, I mean March 13."),
            "Lily's birthday is on March 3.",
            "Lily's birthday is on March 13.",
        ),
        (talk("U: 我的猫今年两岁。", "A: 好的", "U: 不对，三岁了。"), "用户的猫今年两岁。", "用户的猫今年三岁。"),
        (
            talk("U: My brother Dev arrives on Friday. Sorry, on Saturday."),
            "The user's brother Dev arrives on Friday.",
            "The user's brother Dev arrives on Saturday (2026-03-14).",
        ),
    ],
)
def test_a_correction_within_the_window_leaves_the_last(window: Window, said: str, kept: str):
    answer = ground(window, entry(said, 1))
    assert [p.content.replace(" (2026-03-13)", "") for p in answer.proposals] == [kept]
    assert len(window.pieces) - 1 in answer.proposals[0].sources


def test_a_quote_that_nobody_said_is_left_out():
    said = entry("The user got a scarf.", 1, kind="episodic", key_dialogue=["...", "I love it!", "She wove it"])
    [proposal] = ground(talk("U: I got a scarf. I love it!"), said).proposals
    assert proposal.key_dialogue == ("I love it!",)


def test_what_is_said_twice_is_remembered_once_with_the_slot():
    said = entry("The user likes tea.", 1)
    answer = ground(talk("U: I like tea."), said, {**said, "attribute": "likes", "value": "tea"}, said)
    assert [(p.attribute, p.value) for p in answer.proposals] == [("likes", "tea")]


def test_a_slot_stays_with_the_entry_that_says_its_value():
    slot = {"attribute": "allergies", "value": "walnuts"}
    answer = ground(
        talk("U: I love Ethiopian food, and I'm allergic to walnuts."),
        entry("The user loves Ethiopian food.", 1, **slot),
        entry("The user is allergic to walnuts.", 1, **slot),
    )
    assert [p.attribute for p in answer.proposals] == [None, "allergies"]


@pytest.mark.parametrize("source_type", ["photo", "inferred"])
def test_what_is_shown_is_held_against_nothing_the_user_said(source_type: SourceType):
    window = talk("A: Total 42 EUR", source_type=source_type)
    assert [p.content for p in ground(window, entry("A bill of 42 euros", 1)).proposals] == ["A bill of 42 euros"]


def test_what_the_user_says_with_an_example_s_words_is_kept():
    window = talk("U: Rob brought me tulips yesterday, I was so touched!")
    assert len(ground(window, entry("Rob brought me tulips yesterday, I was so touched!", 1)).proposals) == 1
