"""What people say when they introduce themselves and theirs, and what a "no" in the middle of a sentence denies."""

from __future__ import annotations

import pytest
from unit.streams.extraction.test_rules_labelled import proposals


async def contents(said: str) -> list[str]:
    return [p.content for p in await proposals(said)]


async def slots(said: str) -> list[tuple[str, str]]:
    return [(p.attribute, p.value or "") for p in await proposals(said) if p.attribute]


@pytest.mark.parametrize(
    ("said", "content"),
    [
        ("I have asthma, so no smoky places", "User has asthma, no smoky places"),
        ("I'm celiac, so no bread for me", "User is celiac, no bread for user"),
        ("I'm vegetarian now, so no more tonkotsu for me.", "User is vegetarian, no more tonkotsu for user"),
        ("I've got a bad back, so no heavy lifting for me", "User has got a bad back, no heavy lifting for user"),
        ("No, I live in Berlin.", "User lives in Berlin"),
        ("No I live in Berlin.", "User lives in Berlin"),
    ],
)
async def test_a_no_is_kept_where_it_denies_what_follows(said: str, content: str):
    assert await contents(said) == [content]


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ("My boss is called Mr. Henderson.", ["User's boss is called Mr. Henderson"]),
        ("I have a neighbour called Mrs. Green.", ["User's neighbour is called Mrs. Green"]),
        ("我女儿今年五岁，叫小雨", ["用户的女儿叫小雨", "用户女儿今年五岁"]),
        ("我弟弟今年十八岁，叫我去接他", ["用户弟弟今年十八岁"]),
        ("I'm now a bit tired.", ["User is now a bit tired"]),
    ],
)
async def test_a_name_is_kept_whole_and_beside_an_age(said: str, expected: list[str]):
    assert await contents(said) == expected


@pytest.mark.parametrize(
    ("said", "slot"),
    [
        ("I quit nursing, I'm now a teacher.", ("occupation", "teacher")),
        ("我儿子3岁了，名叫乐乐。", ("family", "儿子乐乐")),
        ("你好呀，我是小雅，今年28岁，在深圳做设计师。", ("user_name", "小雅")),
        ("你好，我是小明", ("user_name", "小明")),
        ("我是阿杰，在杭州做厨师", ("user_name", "阿杰")),
        ("I'm Ken, 我在Google做software engineer。", ("user_name", "Ken")),
        ("Hi, I'm Ken, 我在Google做software engineer。", ("user_name", "Ken")),
        ("Call me Kenji from now on.", ("nickname", "Kenji")),
        ("Please call me Kenji from now on.", ("nickname", "Kenji")),
        ("Please call me Kenji.", ("nickname", "Kenji")),
        ("I'm now working at a GP practice.", ("employer", "GP practice")),
        ("I'm currently working at Stripe.", ("employer", "Stripe")),
        ("现在自己开工作室。", ("occupation", "开工作室")),
        ("我有个弟弟，叫小军，在北京上大学。", ("family", "弟弟小军")),
        ("我有两个女儿，叫安安和宁宁。", ("family", "女儿安安、宁宁")),
        ("I prefer texting to calling.", ("likes", "texting")),
        ("I speak English, Spanish and a bit of French.", ("skills", "Spanish")),
        ("I speak English, Spanish and a bit of French.", ("skills", "French")),
    ],
)
async def test_an_introduction_fills_its_slots(said: str, slot: tuple[str, str]):
    assert slot in await slots(said)


@pytest.mark.parametrize(
    "said",
    [
        "你好，我是小学老师",
        "你好，我是小白",
        "我是小雅",
        "I'm Chinese, 我在北京工作",
        "I'm Vegan, 我在北京工作",
        "Call me tomorrow from now on.",
        "Please call me a taxi.",
    ],
)
async def test_what_is_no_name_fills_none(said: str):
    assert {slot for slot, _ in await slots(said)}.isdisjoint({"user_name", "nickname"})


@pytest.mark.parametrize(
    ("said", "content"),
    [
        ("My sister Anna, who lives in Paris, is a doctor.", "User's sister Anna lives in Paris and is a doctor"),
        ("My brother Tom, who works at Google, lives in Oslo.", "User's brother Tom works at Google and lives in Oslo"),
        (
            "I've got two kids, Leo who's six and Mia who's nine.",
            "User has got two kids, Leo who's six and Mia who's nine",
        ),
        ("我老公叫陈浩，在腾讯上班。", "用户的老公陈浩在腾讯上班"),
        ("我有个弟弟，叫小军，在北京上大学。", "用户的弟弟小军在北京上大学"),
        ("我有两个孩子，大宝六岁，小宝三岁。", "用户有两个孩子，大宝六岁，小宝三岁"),
        ("我有两个女儿，叫安安和宁宁。", "用户有两个女儿，叫安安和宁宁"),
        ("我最好的朋友叫林薇，她在上海。", "用户最好的朋友林薇在上海"),
    ],
)
async def test_what_is_said_beside_a_name_is_kept(said: str, content: str):
    assert content in await contents(said)


async def test_a_name_alone_makes_no_second_memory():
    assert await contents("My sister Anna, who would have thought!") == ["User's sister is called Anna"]


@pytest.mark.parametrize(
    "said",
    ["Who is that, is Bob here?", "My sister Anna, who is it that you mean?", "My colleague Bob, who knows!"],
)
async def test_a_question_beside_a_name_tells_nothing_more(said: str):
    assert all(" who " not in content and " is " + "Bob" not in content for content in await contents(said))


@pytest.mark.parametrize(
    ("said", "content"),
    [
        ("We hardly see each other.", "User hardly sees each other"),
        ("I apply for jobs every day.", "User applies for jobs every day"),
        ("I prefer trains to planes", "User prefers trains to planes"),
        ("I like to walk.", "User likes to walk"),
        ("the rent is due on the 1st", "The rent is due on the 1st"),
        ("iPhone cameras are my favourite thing.", "User likes iPhone cameras"),
    ],
)
async def test_a_memory_is_a_sentence(said: str, content: str):
    assert await contents(said) == [content]
