"""Who mixes Chinese and English, within a sentence or a clause, is remembered; what is asked or supposed so is not."""

from __future__ import annotations

import pytest
from support.examples import later
from support.given import given
from unit.streams.extraction.test_rules_labelled import proposals
from unit.streams.extraction.test_rules_what_changes import slots
from unit.streams.extraction.test_rules_what_ends import answer


@pytest.mark.parametrize(
    ("said", "filled"),
    [
        ("I'm allergic to 芒果。", [("allergies", "芒果")]),
        ("我allergic to peanuts", [("allergies", "peanuts")]),
        ("I love 火锅 and 麻辣烫。", [("likes", "火锅"), ("likes", "麻辣烫")]),
        ("I love eating 火锅", [("likes", "火锅")]),
        ("I hate 香菜", [("dislikes", "香菜")]),
        ("I don't like 香菜", [("dislikes", "香菜")]),
        ("我hate Mondays", [("dislikes", "Mondays")]),
        ("I like 芒果 but I'm allergic to 花生", [("likes", "芒果"), ("allergies", "花生")]),
        ("I live in 上海", [("city", "上海")]),
        ("I moved to 上海 last week", [("city", "上海")]),
        ("我上周搬到了Vancouver", [("city", "Vancouver")]),
        ("We moved to Vancouver 上个月。", [("city", "Vancouver")]),
        ("I work at 腾讯", [("employer", "腾讯")]),
        ("我叫Kai，I work at Shopify。", [("user_name", "Kai"), ("employer", "Shopify")]),
        (
            "I work at Shopify as a backend engineer，住在Toronto。",
            [("occupation", "backend engineer"), ("employer", "Shopify"), ("city", "Toronto")],
        ),
        (
            "我 quit 了 Shopify，现在在 Stripe 做 staff engineer。",
            [("employer", "Stripe"), ("occupation", "staff engineer")],
        ),
        ("我在 Google 做 PM。", [("employer", "Google"), ("occupation", "PM")]),
        ("I'm from 台湾，now living in Tokyo.", [("city", "Tokyo")]),
        ("I'm a 护士", [("occupation", "护士")]),
        ("I speak 中文", [("skills", "中文")]),
        ("I'm 28 岁", [("age", "28")]),
        ("My birthday is 5月3号", [("birthday", "05-03")]),
        ("my birthday 是五月三号", [("birthday", "05-03")]),
        ("我的 English name 是 Lily", [("user_name", "Lily")]),
        ("我的 dog 叫 Max", [("pet_names", "Max")]),
        ("我超级 love 抹茶 latte", [("likes", "抹茶latte")]),
        ("I'm a huge fan of 周杰伦", [("likes", "周杰伦")]),
        ("I never liked 香菜", [("dislikes", "香菜")]),
        ("I work in 上海 but live in 苏州", [("city", "苏州")]),
        ("我换手机了，my new number is 604-555-0199", [("accounts", "number: 604-555-0199")]),
        ("My son's name is 小宝", [("family", "儿子小宝")]),
        ("My 手机号 is 416-555-0101", [("accounts", "手机: 416-555-0101")]),
    ],
)
async def test_a_slot_is_filled_whichever_language_frames_it(said: str, filled: list[tuple[str, str]]):
    assert await slots(said) == filled


@pytest.mark.parametrize(
    ("said", "content", "day"),
    [
        ("My daughter 刚上 Grade 1。", "用户女儿刚上Grade 1", None),
        ("my mom 是护士", "用户妈妈是护士", None),
        ("我的 favorite movie 是 Inception", "用户最喜欢的movie是Inception", None),
        ("I'm learning 钢琴 since last month", "用户从上个月（2025-12）开始在学钢琴", "2025-12-01"),
        ("Next Monday 我有个 interview。", "下周一（2026-01-12）用户有个interview", "2026-01-12"),
        ("Next Friday 我要去 San Francisco 开会。", "下周五（2026-01-16）用户要去San Francisco开会", "2026-01-16"),
        ("I'm not allergic to 芒果 anymore", "用户对芒果不过敏", None),
        ("I play 羽毛球 every Saturday", "User plays 羽毛球 every Saturday", None),
        ("I graduated from 清华 in 2015", "User graduated from 清华 in 2015", None),
        ("I used to live in 北京", "User used to live in 北京", None),
        ("My friend works at 腾讯", "User's friend works at 腾讯", None),
        ("我 husband 在 Amazon 上班", "用户老公在Amazon上班", None),
    ],
)
async def test_what_is_told_in_both_is_one_memory_in_one_language(said: str, content: str, day: str | None):
    assert [(p.content, p.occurred_on and str(p.occurred_on)) for p in await proposals(said)] == [(content, day)]


@pytest.mark.parametrize(
    "said",
    [
        "I love 你",
        "I love 我老婆",
        "I wish I lived in 上海",
        "I think I'm allergic to 芒果",
        "Maybe I love 火锅",
        "I'd love 火锅",
        "If I'm allergic to 芒果，我就不吃",
        "Do you love 火锅？",
        "你 love 火锅吗",
        "他说I love 火锅",
        "听说了吗，I work at Google",
        "这句话怎么翻译，I work at Google",
        "I work at Google，这句话对吗？",
        "帮我改一下：I live in Beijing since 2019",
        "我最近在听一首歌，I love Paris",
        "如果我去美国，I work at Google",
        "开玩笑的，I live in Paris",
        "在 Stripe 做 staff engineer 很累",
        "我以前住在Toronto",
        "我弟弟住在Toronto",
        "我想搬到Vancouver",
        "我住在Canada",
        "我在 Google 做饭",
        "我在 LinkedIn 上做 research",
        "I work for 自己",
        "我准备 quit Google",
        "我老板 quit 了 Google",
        "我朋友 work at Google",
        "I live in 宿舍",
        "I moved to 新公司",
        "I work at 一家银行",
        "老师让我们造句：I live in London",
        "我在学英语，比如 I have a dog",
        "帮我写一封email给boss，I live in Leeds",
    ],
)
async def test_what_is_asked_supposed_or_quoted_in_both_fills_no_slot(said: str):
    assert await slots(said) == []


@pytest.mark.parametrize(
    ("before", "now", "gone"),
    [
        ("I'm allergic to 芒果。", "我对芒果不过敏了", "用户对芒果过敏"),
        ("我对芒果过敏", "I'm not allergic to 芒果 anymore", "用户对芒果过敏"),
        ("我在Shopify工作", "我 quit 了 Shopify", "用户在Shopify工作"),
        ("I love 火锅", "我不喜欢火锅了", "用户喜欢火锅"),
        ("我住在Toronto", "We moved to Vancouver 上个月。", "用户住在Toronto"),
    ],
)
async def test_what_was_said_in_one_language_ends_by_the_other(before: str, now: str, gone: str):
    first = await answer(before, "t-1", 0)
    assert given(first).when(await answer(now, "t-2", 1)).active(later(days=2)) != []
    assert gone not in given(first).when(await answer(now, "t-2", 1)).active(later(days=2))


async def test_a_list_of_latin_names_stays_a_chinese_sentence():
    assert await slots("我会Python，Java，Go") == [("skills", "Python")]
