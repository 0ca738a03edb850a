"""How the user likes to be answered, where they work, and what they take back: each in its place of the profile."""

from __future__ import annotations

import pytest
from unit.streams.extraction.test_rules_labelled import proposals


@pytest.mark.parametrize(
    ("said", "style"),
    [
        ("我喜欢简短的回复", "简短"),
        ("回答简短一点就好", "简短"),
        ("I prefer short answers.", "short"),
        ("I like your detailed explanations", "detailed"),
    ],
)
async def test_how_the_user_likes_to_be_answered_is_a_style_and_no_taste(said: str, style: str):
    assert [(p.attribute, p.value) for p in await proposals(said)] == [("communication_style", style)]


@pytest.mark.parametrize(
    ("said", "content"),
    [
        ("我在北京工作", "用户在北京工作"),
        ("我现在在上海上班", "用户在上海工作"),
        ("I work at Siemens in Munich.", "User works in Munich"),
        ("I work as a nurse in Leeds.", "User works in Leeds"),
    ],
)
async def test_where_somebody_works_is_not_where_they_live(said: str, content: str):
    found = await proposals(said)
    assert content in [p.content for p in found]
    assert "city" not in [p.attribute for p in found]


@pytest.mark.parametrize(
    ("said", "city"), [("我住在北京，在天津工作", "北京"), ("I live in Munich and work at Siemens.", "Munich")]
)
async def test_where_somebody_says_they_live_is_their_city(said: str, city: str):
    assert ("city", city) in [(p.attribute, p.value) for p in await proposals(said)]


@pytest.mark.parametrize(
    ("said", "content"),
    [
        ("I'm no longer allergic to nuts.", "User is no longer allergic to nuts"),
        ("I'm not allergic to nuts anymore.", "User is not allergic to nuts anymore"),
        ("I used to smoke.", "User used to smoke"),
        ("我不再对花生过敏了", "用户不再对花生过敏了"),
        ("我以前抽烟", "用户以前抽烟"),
        ("我从华为离职了", "用户从华为离职了"),
    ],
)
async def test_what_is_taken_back_is_said_as_such_and_fills_no_slot(said: str, content: str):
    assert [(p.attribute, p.content) for p in await proposals(said)] == [(None, content)]
