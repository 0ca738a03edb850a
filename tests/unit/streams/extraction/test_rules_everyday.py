"""The rules over everyday sentences that once made false facts, each beside one of its kind that holds a true one."""

from __future__ import annotations

from typing import Any

import pytest
from unit.streams.extraction.test_rules_labelled import labelled, meets, proposals

ROWS = [row for language in ("zh", "en") for row in labelled("sentences_everyday.jsonl", language)]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["text"])
async def test_what_a_sentence_holds_is_found_and_nothing_else(row: dict[str, Any]):
    left = await proposals(row["text"])
    for expected in row["expect"]:
        hit = next((proposal for proposal in left if meets(proposal, expected)), None)
        assert hit is not None, expected
        left.remove(hit)
    assert [proposal.content for proposal in left] == []


@pytest.mark.parametrize(
    ("said", "content"),
    [
        ("I'm lactose intolerant.", "User is intolerant to lactose"),
        ("I'm allergic to lactose.", "User is allergic to lactose"),
        ("我乳糖不耐受", "用户乳糖不耐受"),
        ("我对乳糖过敏", "用户对乳糖过敏"),
    ],
)
async def test_an_intolerance_is_not_called_an_allergy(said: str, content: str):
    assert [(p.attribute, p.content) for p in await proposals(said)] == [("allergies", content)]


@pytest.mark.parametrize(
    ("said", "content"),
    [
        ("今天跟老板吵了一架，气死我了", "用户今天（2026-01-05）跟老板吵了一架，气死了"),
        ("今天跟老板吵了一架，我很难过", "今天（2026-01-05）跟老板吵了一架，用户很难过"),
    ],
)
async def test_the_user_is_named_where_the_words_mean_them_and_in_no_idiom(said: str, content: str):
    assert [p.content for p in await proposals(said)] == [content]


@pytest.mark.parametrize(
    ("said", "content", "quoted"),
    [
        ("我喜歡喝珍珠奶茶", "用户喜歡喝珍珠奶茶", ()),
        ("我下週三要去醫院", "用户下週三（2026-01-14）要去醫院", ()),
        ("昨天跟老闆吵架了，我很難過", "昨天（2026-01-04）跟老闆吵架了，用户很難過", ("昨天跟老闆吵架了，我很難過",)),
        ("我愛你", "用户表白了：“我愛你”", ("我愛你",)),
    ],
)
async def test_what_is_read_in_traditional_characters_is_kept_in_them(said: str, content: str, quoted: tuple[str, ...]):
    assert [(p.content, p.key_dialogue) for p in await proposals(said)] == [(content, quoted)]


@pytest.mark.parametrize(
    ("text", "attribute", "value"),
    [
        ("昨天我和小雨在西湖边约会了，我很喜欢那里", "likes", "西湖边"),
        ("我们昨天约会了，去了外滩，我特别喜欢那里", "likes", "外滩"),
        ("We had our first date at a jazz bar. I loved it there.", "likes", "jazz bar"),
        ("Tom and I went to the Blue Note last night, and we loved it there", "likes", "the Blue Note"),
        ("我男朋友送了我一条围巾，我很喜欢", "likes", "围巾"),
        ("你送了我一条手链，我好喜欢", "likes", "手链"),
        ("谢谢你送我的项链，我特别喜欢", "likes", "项链"),
        ("小雨送我一束向日葵，我不太喜欢", "dislikes", "向日葵"),
        ("My sister gave me a scarf for my birthday and I love it", "likes", "scarf"),
    ],
)
async def test_a_place_of_a_date_and_a_gift_that_are_liked_are_tastes(text: str, attribute: str, value: str):
    tastes = [(p.attribute, p.value) for p in await proposals(text) if p.attribute]
    assert tastes == [(attribute, value)]


@pytest.mark.parametrize(
    "text",
    [
        "他们去了外滩，我很喜欢那里",
        "如果我们去巴黎，我会喜欢那里",
        "你去过西湖吗？我很喜欢那里",
        "我们在西湖约会了，你喜欢那里吗？",
        "I watched it in Paris. I loved it there.",
        "My boss gave me a ride and I liked it",
        "我妈送我一本书，我喜欢死了",
        "我们去看了日落，真美，我很喜欢那里",
        "我们去吃了火锅，我超喜欢那里",
    ],
)
async def test_what_is_liked_must_be_named_and_have_happened(text: str):
    assert [p.value for p in await proposals(text) if p.attribute] == []
