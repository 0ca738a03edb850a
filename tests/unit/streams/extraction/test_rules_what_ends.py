"""What the user takes back or says anew ends what was true, from the rules' reading to the decision."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from support.examples import candidate, extracted, later, piece
from support.given import given
from unit.streams.extraction.test_rules_labelled import proposals

if TYPE_CHECKING:
    from schemas.messages.inbox import CandidatesExtracted


async def answer(text: str, name: str, days: int) -> CandidatesExtracted:
    """Return the answer of the rules to a turn that was said so many days later, without its events."""
    found = [p for p in await proposals(text) if p.kind == "semantic"]
    return extracted(
        *(candidate(p.content, name, attribute=p.attribute, value=p.value, category=p.category) for p in found),
        covers=[piece(name, later(days=days))],
    )


@pytest.mark.parametrize(
    ("before", "now", "active"),
    [
        ("I work at IKEA.", "I quit my job", ["User quit their job"]),
        ("I work at IKEA.", "I was laid off yesterday", ["User was laid off yesterday (2026-01-04)"]),
        ("I work at IKEA.", "I left IKEA", ["User left IKEA"]),
        ("我在宜家上班", "我辞职了", ["用户辞职了"]),
        ("我在宜家上班", "我被裁了", ["用户被裁了"]),
        ("我在宜家上班", "我离开宜家了", ["用户离开宜家了"]),
        ("My girlfriend is called Mia.", "I broke up with Mia", ["User broke up with Mia"]),
        ("My girlfriend is called Mia.", "Mia and I broke up.", ["User and Mia broke up"]),
        ("我女朋友叫小美", "我和小美分手了", ["用户和小美分手了"]),
        ("I have two cats", "I have three cats now", ["User has three cats now"]),
        ("我有两只猫", "我现在有三只猫了", ["用户现在有三只猫了"]),
        ("I'm 34 years old", "I turned 35 today", ["User is 35 years old"]),
        ("我今年34岁", "我今天35岁了", ["用户35岁"]),
        ("I love coffee", "I no longer drink coffee", ["User no longer drinks coffee"]),
        ("I love coffee", "I don't drink coffee anymore", ["User does not drink coffee anymore"]),
        ("I love coffee", "I gave up coffee last week", ["User gave up coffee last week (2025-12-29 to 2026-01-04)"]),
        ("我喜欢喝咖啡", "我不再喝咖啡", ["用户不再喝咖啡"]),
        ("我喜欢喝咖啡", "我不再喝咖啡了", ["用户不再喝咖啡了"]),
        ("我喜欢喝咖啡", "我已经戒咖啡了", ["用户已经戒咖啡了"]),
        ("I work at Airbus.", "I left Airbus, I'm at Lufthansa now", ["User left Airbus", "User works at Lufthansa"]),
        ("I work at Airbus.", "I left Airbus. I'm at Lufthansa now.", ["User left Airbus", "User works at Lufthansa"]),
        ("我在小米上班", "我离开小米了，现在在华为", ["用户离开小米了", "用户在华为工作"]),
        (
            "I'm allergic to cashews",
            "Turns out I'm not allergic to cashews after all, the doctor tested me.",
            ["User is not allergic to cashews after all, the doctor tested user"],
        ),
        ("我对花生过敏", "我不再对花生过敏了，脱敏治疗成功了", ["用户不再对花生过敏了，脱敏治疗成功了"]),
        ("我对花生过敏", "花生过敏是误诊", ["用户花生过敏是误诊"]),
        ("I work at St. Mary's Hospital.", "I quit my job at St. Mary's.", ["User quit their job at St. Mary's"]),
    ],
)
async def test_what_is_over_leaves_the_profile(before: str, now: str, active: list[str]):
    after = given(await answer(before, "t-1", 0)).when(await answer(now, "t-2", 1))
    assert sorted(after.active(later(days=2))) == sorted(active)


@pytest.mark.parametrize(
    ("before", "now", "stays"),
    [
        ("I work at IKEA.", "I quit my first job years ago", "User works at IKEA"),
        ("I work at IKEA.", "My sister quit her job", "User works at IKEA"),
        ("I work at IKEA.", "Should I quit my job?", "User works at IKEA"),
        ("I work at IKEA.", "I almost quit my job", "User works at IKEA"),
        ("我在宜家上班", "我想辞职了", "用户在宜家工作"),
        ("我在宜家上班", "我同事辞职了", "用户在宜家工作"),
        ("我在宜家上班", "我差点辞职了", "用户在宜家工作"),
        ("My girlfriend is called Mia.", "Tom broke up with Mia", "User's girlfriend is called Mia"),
        ("My sister is called Mia.", "I broke up with Mia", "User's sister is called Mia"),
        ("I have two cats", "My aunt has three cats now", "User has two cats"),
        ("I have two cats", "I have three dogs now", "User has two cats"),
        ("我有两只猫", "我现在有三只狗了", "用户有两只猫"),
        ("I love coffee", "I no longer drink tea", "User likes coffee"),
        ("I'm allergic to cashews", "I'm not allergic to nuts, the doctor tested me.", "User is allergic to cashews"),
        ("我对花生过敏", "虾过敏是误诊", "用户对花生过敏"),
        ("I work at St. Mary's Hospital.", "I quit my job at St. Jude's.", "User works at St. Mary's Hospital"),
        ("I work at Aston Villa.", "I left Aston.", "User works at Aston Villa"),
        ("我喜欢喝咖啡", "我妈不再喝咖啡了", "用户喜欢喝咖啡"),
    ],
)
async def test_what_is_said_of_something_else_ends_nothing(before: str, now: str, stays: str):
    after = given(await answer(before, "t-1", 0)).when(await answer(now, "t-2", 1))
    assert stays in after.active(later(days=2))


@pytest.mark.parametrize("said", ["I quit my job. I work at Lufthansa now.", "我辞职了。我现在在汉莎航空上班。"])
async def test_an_employer_that_is_told_with_the_parting_stays(said: str):
    after = given(await answer("I work at IKEA.", "t-1", 0)).when(await answer(said, "t-2", 1))
    assert any("Lufthansa" in content or "汉莎航空" in content for content in after.active(later(days=2)))
    assert not any("IKEA" in content for content in after.active(later(days=2)))


@pytest.mark.parametrize(
    ("said", "content", "day"),
    [
        ("上周我去了苏州", "上周（2025-12-29至2026-01-04）用户去了苏州", "2025-12-29"),
        ("我上个月搬家了", "用户上个月（2025-12）搬家了", "2025-12-01"),
        ("三天前我买了车", "三天前（2026-01-02）用户买了车", "2026-01-02"),
        ("下个月我打算去成都出差", "下个月（2026-02）用户打算去成都出差", "2026-02-01"),
        ("我下周要去北京开会", "用户下周（2026-01-12至2026-01-18）要去北京开会", "2026-01-12"),
        ("I went to Vienna last month", "User went to Vienna last month (2025-12)", "2025-12-01"),
        (
            "Last week I visited my grandma",
            "User visited their grandma last week (2025-12-29 to 2026-01-04)",
            "2025-12-29",
        ),
        ("two weeks ago I adopted a puppy", "User adopted a puppy two weeks ago (2025-12-22)", "2025-12-22"),
        ("I'm moving to Oslo next month", "User is moving to Oslo next month (2026-02)", "2026-02-01"),
    ],
)
async def test_weeks_and_months_are_named_by_their_days(said: str, content: str, day: str):
    assert [(p.content, str(p.occurred_on)) for p in await proposals(said)] == [(content, day)]


@pytest.mark.parametrize("said", ["下个月我打算去成都出差", "我下周要去北京开会", "I'm moving to Oslo next month"])
async def test_a_plan_for_a_week_or_month_is_of_the_schedule(said: str):
    assert [(p.category, p.memory_type) for p in await proposals(said)] == [("schedule", "long_term")]


@pytest.mark.parametrize(
    "said",
    [
        "I almost bought a house in Kyoto.",
        "I nearly bought a house",
        "I came close to quitting",
        "I was about to move to Spain",
        "我差点买了套房子",
        "我差一点就结婚了",
    ],
)
async def test_what_nearly_happened_did_not(said: str):
    assert await proposals(said) == []


@pytest.mark.parametrize("said", ["I almost always eat breakfast at home", "I'm almost 40 years old and live in Cork"])
async def test_nearly_always_is_a_habit(said: str):
    assert await proposals(said) != []


@pytest.mark.parametrize(
    ("said", "content"),
    [
        ("my sister Anna works at Bosch", "User's sister Anna works at Bosch"),
        ("My son Ben is seven.", "User's son Ben is seven"),
        ("My sister is called Anna and she works at Bosch", "User's sister Anna works at Bosch"),
        ("my brother has a peanut allergy", "User's brother has a peanut allergy"),
        ("I went to Rome with my sister Anna", "User went to Rome with their sister Anna"),
        ("我妻子是医生，她不吃猪肉", "用户妻子是医生，她不吃猪肉"),
        ("我妹妹叫小雪，她在广州当护士", "用户的妹妹小雪在广州当护士"),
    ],
)
async def test_of_those_around_the_user_more_is_kept_than_the_name(said: str, content: str):
    assert content in [p.content for p in await proposals(said)]


@pytest.mark.parametrize(
    ("said", "day"),
    [
        ("Next week I'm taking Miso to the vet on Tuesday.", "2026-01-13"),
        ("I'm seeing the dentist on Monday next week.", "2026-01-12"),
        ("Next week on Thursday I fly to Rome.", "2026-01-15"),
        ("I fly on Friday next week.", "2026-01-16"),
        ("下周我星期二考试。", "2026-01-13"),
        ("下周的星期五我要去北京", "2026-01-16"),
        ("我下下周的周三要去面试", "2026-01-21"),
        ("I have an exam on Friday.", "2026-01-09"),
        ("I have an exam on Friday and am off next week.", "2026-01-09"),
        ("我周五要考试下周要出差", "2026-01-09"),
    ],
)
async def test_a_weekday_is_of_the_week_that_its_clause_names(said: str, day: str):
    first, *_ = await proposals(said)
    assert (str(first.occurred_on), first.memory_type) == (day, "long_term")
