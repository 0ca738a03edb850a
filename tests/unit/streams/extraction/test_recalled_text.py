"""What an agent recalled and put into the prompt is not remembered again; what the user said around it is."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from typing import Any

import pytest
from support.examples import remember
from support.given import given
from support.own_words import OwnWordsHere
from support.tables import each

from projections.queries.prompt import MESSAGE as POWERMEM_MESSAGE
from projections.queries.prompt import episodes_section, memorise, profile_section
from projections.state.provenance import marked
from schemas.inputs.pieces import MAX_PIECE_CHARACTERS
from schemas.messages.envelope import Envelope
from schemas.messages.observations import TurnRecorded
from streams.extraction.model.prompts import messages
from streams.extraction.recalled_text import recalled_spans, without_recalled
from streams.extraction.window import pieces_of, window_of

MONDAY = datetime(2026, 1, 5, 8, tzinfo=UTC)
MESSAGE = """Here's what I remember from our past conversations that might be relevant:

Memorise:
- I live in Berlin.
- 我叫张三

Now the user is asking: {query}

Please respond naturally, as if you're continuing our conversation. Reference the memories when relevant, but keep it \
conversational and helpful."""
BLOCK = "## 用户记忆\n- [long_term] [people] 我叫张三\n- [long_term] [fact] I live in Berlin.\n"
SECTIONS = "=== 🧑💼 用户信息 ===\n• 姓名: 张三\n• 喜好: 咖啡\n\n=== 💭 相关回忆 ===\n• 我喜欢喝咖啡 (重要性: 3/4)\n"


def turn(content: str, **more: object) -> TurnRecorded:
    envelope = Envelope(event_id="t-1", tenant="default", user_id="u1", occurred_at=MONDAY)
    given: dict[str, object] = {"envelope": envelope, "session_id": "s1", "role": "user", "content": content}
    return TurnRecorded(**(given | more))  # type: ignore[arg-type]


async def contents(content: str) -> list[str]:
    message = turn(content)
    window = window_of(message, tuple(pieces_of(message, MONDAY)))
    return [p.content for p in (await OwnWordsHere().extract(window)).proposals]


@pytest.mark.parametrize(
    ("said", "kept"),
    [
        (MESSAGE.format(query="I like green tea."), ["User likes green tea"]),
        (BLOCK + "\n我喜欢喝绿茶", ["用户喜欢喝绿茶"]),
        (SECTIONS + "\n我喜欢喝绿茶", ["用户喜欢喝绿茶"]),
        (BLOCK + "\nI live in Oslo", ["User lives in Oslo"]),
        (MESSAGE.format(query="hm")[: MESSAGE.index("Now")] + "I live in Oslo", ["User lives in Oslo"]),
        (MESSAGE.format(query=""), []),
    ],
)
async def test_what_was_recalled_is_not_remembered_again_and_what_was_asked_is(said: str, kept: list[str]):
    assert await contents(said) == kept


@pytest.mark.parametrize("said", [MESSAGE, BLOCK + "{query}", SECTIONS + "{query}"])
def test_the_model_does_not_see_what_was_recalled(said: str):
    message = turn(said.format(query="我喜欢喝绿茶"))
    question = messages(window_of(message, tuple(pieces_of(message, MONDAY))))[-1]["content"]
    assert "我喜欢喝绿茶" in question
    for word in ("张三", "Berlin", "咖啡", "naturally"):
        assert word not in question


@each(
    "said",
    [
        "Here's what I remember from school: I live in Berlin.",
        "- 我喜欢喝绿茶\n- 我住在北京",
        "I wrote: Memorise: the list",
        "Memorise:\n- My name is Anna\n- I live in Oslo",
        "Here's what I remember from our past conversations is nothing, so: my name is Anna.\n- I live in Oslo",
        "Here's what I remember from our past conversations that might be relevant: nothing. My name is Anna",
        "=== 我的用户信息 ===\n• 对花生过敏",
        "=== 🧑💼 用户信息 ===\n• 对花生过敏",
        "=== 💭 相关回忆 ===\n• 我喜欢喝绿茶",
        "## 用户记忆\n- 我叫张三",
        "## 用户记忆法\n- [long_term] [people] 我叫张三",
        "",
    ],
)
def test_the_users_own_words_stay(said: str):
    assert recalled_spans(said) == []
    assert [p.text for p in pieces_of(turn(said), MONDAY)] == [said]


def test_what_a_context_writes_is_recalled_to_its_last_word():
    episode = given(remember("在海边\n送花", "c-1", kind="episodic")).only
    known = {"user_name": "张三", "birthday": None, "occupation": None, "likes": ["茶"], "personality_traits": []}
    prompt = f"{profile_section(known)}\n{episodes_section([episode])}"
    message = POWERMEM_MESSAGE.format(related_memory=memorise(["one\ntwo", "three"]), user_query="What now?")
    for text, left in ((prompt, ""), (f"{prompt}\nI moved to Berlin", "I moved to Berlin"), (message, "What now?")):
        assert without_recalled([text])[0].strip() == left


def test_what_a_marked_context_writes_is_recalled_to_its_last_word():
    episode = given(remember("在海边\n送花", "c-1", kind="episodic")).only
    known: dict[str, Any] = {"birthday": None, "occupation": None, "personality_traits": []}
    known |= {"user_name": "张三", "likes": ["茶"]}
    known["sources"] = {"user_name": "m-1", "likes": {"茶": "m-2"}}
    section = profile_section(known, provenances={"m-1": "chat", "m-2": "photo"})
    assert "• 姓名: 张三 (from a conversation)\n" in section
    assert "• 喜好: 茶 (from a screenshot)\n" in section
    prompt = f"{section}\n{episodes_section([episode], marked)}"
    block = f"## 用户记忆\n- [long_term] [fact] {marked('在海边', 'photo')}"
    message = POWERMEM_MESSAGE.format(related_memory=memorise([marked("one", "import")]), user_query="What now?")
    for text, left in ((f"{prompt}\nI moved", "I moved"), (f"{block}\nI moved", "I moved"), (message, "What now?")):
        assert without_recalled([text])[0].strip() == left


def test_what_is_to_be_kept_verbatim_is_kept_as_it_is():
    assert [p.text for p in pieces_of(turn(BLOCK, infer=False), MONDAY)] == [BLOCK]


def test_what_was_recalled_is_left_out_where_pieces_cut_it():
    long = "## 用户记忆\n" + "- [long_term] [fact] I live in Berlin.\n" * 400 + "\nI like green tea."
    pieces = pieces_of(turn(long), MONDAY)
    assert len(long) > 2 * MAX_PIECE_CHARACTERS
    assert [p.text.strip() for p in pieces] == ["", "", "I like green tea."]
    assert [p.piece_id for p in pieces] == ["t-1#0", "t-1#1", "t-1#2"]


def test_pieces_that_hold_nothing_recalled_are_as_they_were():
    assert without_recalled(["one ", "two"]) == ["one ", "two"]


@each(
    "text",
    [
        "Memorise:" + "\n" * 60_000,
        "## 用户记忆\n" + "\n  " * 20_000,
        "Here's what I remember from our past conversations\n" * 1_200,
        "=== 用户信息 " * 5_000,
        "## 用户记忆\n" * 6_000,
        "Here's what I remember from our past conversations that might be relevant:\n- a\n" * 800,
        "=== 💭 相关回忆 ===\n• " * 3_000,
        "=== 💭 相关回忆 ===\n• " + "(重要性: " * 9_000,
        "=== 💭 相关回忆 ===\n• " + "(重要性: 1/4) " * 9_000,
    ],
)
def test_looking_for_it_takes_a_time_that_grows_with_the_text(text: str):
    started = time.process_time()
    recalled_spans(text)
    assert time.process_time() - started < 2


def test_the_system_message_says_so_too():
    assert "is known already" in messages(window_of(turn("hello"), ()))[0]["content"]
