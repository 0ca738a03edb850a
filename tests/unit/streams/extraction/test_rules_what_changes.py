"""What changes in a life: a move in a month, a new number, a death, a new partner, and since when something is so."""

from __future__ import annotations

import pytest
from support.examples import candidate, extracted, later, piece
from support.given import given
from unit.streams.extraction.test_rules_labelled import proposals
from unit.streams.extraction.test_rules_what_ends import answer

from projections.queries.validity import validity


async def slots(said: str) -> list[tuple[str, str]]:
    return [(p.attribute, p.value or "") for p in await proposals(said) if p.attribute]


@pytest.mark.parametrize(
    ("said", "attribute", "value"),
    [
        ("我四月搬到了深圳。", "city", "深圳"),
        ("四月我搬到了深圳", "city", "深圳"),
        ("去年四月我搬到了深圳", "city", "深圳"),
        ("我2023年四月搬到了深圳", "city", "深圳"),
        ("我10月从北京搬到上海了", "city", "上海"),
        ("我四月搬家到杭州了", "city", "杭州"),
        ("四月份我终于搬到成都了", "city", "成都"),
        ("三月我跳槽到腾讯了", "employer", "腾讯"),
        ("我今年3月入职了字节跳动", "employer", "字节跳动"),
        ("我五月跳槽去了阿里", "employer", "阿里"),
        ("我三月加入了小米", "employer", "小米"),
        ("我五月转行做了厨师", "occupation", "厨师"),
    ],
)
async def test_a_move_or_a_new_job_in_a_month_is_one(said: str, attribute: str, value: str):
    assert await slots(said) == [(attribute, value)]


@pytest.mark.parametrize(
    "said",
    [
        "我打算四月搬到深圳",
        "我四月要搬到深圳了",
        "我四月就要搬到深圳了",
        "我四月搬到深圳",
        "四月我弟弟搬到了深圳",
        "我妈四月搬到了深圳",
        "四月我们公司搬到了深圳",
        "如果四月我搬到了深圳就好了",
        "我四月差点搬到了深圳",
        "我四月没搬到深圳",
        "我四月去深圳玩了",
        "我四月搬到了三楼",
        "我朋友三月跳槽到腾讯了",
        "听说他三月跳槽到腾讯了",
        "我三月想跳槽到腾讯了",
        "你四月搬到了深圳吗？",
        "我三月加入了一个读书会",
        "我三月加入了健身房",
        "我加入了篮球队",
        "我加入了微信群",
    ],
)
async def test_a_plan_another_one_or_a_club_is_no_move(said: str):
    assert await slots(said) == []


@pytest.mark.parametrize(
    ("before", "now", "active"),
    [
        ("我住在北京", "我四月搬到了深圳。", ["用户住在深圳"]),
        ("我在华为工作", "三月我跳槽到腾讯了", ["用户在腾讯工作"]),
        ("我的手机号是13800138000", "换手机号了，新号码是13900139000", ["用户的手机换成了13900139000"]),
        ("我的手机号是13800138000", "我的手机号换成13900139000了", ["用户的手机换成了13900139000"]),
        ("我的手机号是13800138000", "我换号了，新号是13900139000", ["用户的手机换成了13900139000"]),
        ("我的微信号是abc123", "我的微信号换成xyz789了", ["用户的微信换成了xyz789"]),
        ("我的邮箱是a@b.com", "我现在的邮箱是c@d.com", ["用户的邮箱换成了c@d.com"]),
        ("我的地址是北京市建国路88号", "我的新地址是深圳市科技园路8号", ["用户的地址换成了深圳市科技园路8号"]),
        ("My phone number is 07700 900123", "I got a new number: 07700 900456", ["User's number is now 07700 900456"]),
        ("My phone number is 07700 900123", "My number is now 07700 900456", ["User's number is now 07700 900456"]),
        (
            "My phone number is 07700 900123",
            "I've changed my number, it's now 07700 900456",
            ["User's number is now 07700 900456"],
        ),
        ("我的手机号是13800138000", "My new number is 604-555-0199", ["User's number is now 604-555-0199"]),
        ("My email is a@b.com", "I changed my email to c@d.com", ["User's email is now c@d.com"]),
        ("My email is a@b.com", "My new email is c@d.com", ["User's email is now c@d.com"]),
        ("My address is 12 Oak Street, York", "My new address is 5 Elm Road", ["User's address is now 5 Elm Road"]),
    ],
)
async def test_what_is_given_anew_takes_the_place_of_the_old(before: str, now: str, active: list[str]):
    after = given(await answer(before, "t-1", 0)).when(await answer(now, "t-2", 1))
    assert sorted(after.active(later(days=2))) == active


async def test_a_number_of_before_that_is_told_late_is_history():
    after = given(await answer("My number is now 07700 900456", "t-2", 1)).when(
        await answer("My phone number is 07700 900123", "t-1", 0)
    )
    assert after.active(later(days=2)) == ["User's number is now 07700 900456"]


@pytest.mark.parametrize(
    ("before", "now", "stays"),
    [
        ("我的手机号是13800138000", "我的手机号是13900139000", "用户的手机是13800138000"),
        ("我的手机号是13800138000", "我的微信号换成xyz789了", "用户的手机是13800138000"),
        ("我的手机号是13800138000", "我妈换手机号了，新号码是13900139000", "用户的手机是13800138000"),
        ("我的手机号是13800138000", "她的手机号换成13900139000了", "用户的手机是13800138000"),
        ("我的手机号是13800138000", "我换手机了，新的是iPhone15", "用户的手机是13800138000"),
        ("我的手机号是13800138000", "我的手机换成iPhone15了", "用户的手机是13800138000"),
        ("我的手机号是13800138000", "我想换手机号", "用户的手机是13800138000"),
        ("我的邮箱是a@b.com", "我的工作邮箱是c@d.com", "用户的邮箱是a@b.com"),
        ("My email is a@b.com", "My work email is c@d.com", "User's email is a@b.com"),
        ("My email is a@b.com", "My new number is 604-555-0199", "User's email is a@b.com"),
        ("My phone number is 07700 900123", "My sister's number is now 07700 900456", "User's phone is 07700 900123"),
        ("My phone number is 07700 900123", "I got a new phone, it's a Pixel8", "User's phone is 07700 900123"),
        ("My phone number is 07700 900123", "I got a new phone, it's great", "User's phone is 07700 900123"),
        ("My phone number is 07700 900123", "My lucky number is 7", "User's phone is 07700 900123"),
        ("My address is 12 Oak Street", "My office address is 5 Elm Road", "User's address is 12 Oak Street"),
        ("My address is 12 Oak Street", "The new address is 5 Elm Road", "User's address is 12 Oak Street"),
    ],
)
async def test_a_second_number_or_somebody_elses_ends_none(before: str, now: str, stays: str):
    after = given(await answer(before, "t-1", 0)).when(await answer(now, "t-2", 1))
    assert stays in after.active(later(days=2))


@pytest.mark.parametrize(
    ("said", "attribute", "begun"),
    [
        ("I've lived in Leeds since 2019.", "city", "2019-01-01"),
        ("Since 2019 I've lived in Leeds", "city", "2019-01-01"),
        ("I've been living in Leeds since March 2021", "city", "2021-03-01"),
        ("I've been working at Dell since March.", "employer", "2025-03-01"),
        ("I've worked at Dell since last month", "employer", "2025-12-01"),
        ("I've been a nurse since 2018", "occupation", "2018-01-01"),
        ("I've been married since 2010", "relationship_status", "2010-01-01"),
        ("I moved to York in April", "city", "2025-04-01"),
        ("I joined Dell in 2021", "employer", "2021-01-01"),
        ("我自2019年住在北京", "city", "2019-01-01"),
        ("我自2019年起住在北京", "city", "2019-01-01"),
        ("从2019年开始我住在北京", "city", "2019-01-01"),
        ("2019年以来我一直住在北京", "city", "2019-01-01"),
        ("我2019年就住在北京了", "city", "2019-01-01"),
        ("我2019年开始在腾讯上班", "employer", "2019-01-01"),
        ("我从三月开始在华为上班", "employer", "2025-03-01"),
        ("自2019年起我单身", "relationship_status", "2019-01-01"),
        ("我去年四月搬到了深圳", "city", "2025-04-01"),
    ],
)
async def test_what_fills_a_slot_is_so_since_the_year_or_month_that_is_named(said: str, attribute: str, begun: str):
    assert [(p.attribute, str(p.occurred_on)) for p in await proposals(said)] == [(attribute, begun)]


@pytest.mark.parametrize(
    "said",
    [
        "I've lived in Leeds since I was ten",
        "I've lived in Leeds since my divorce",
        "I've lived in Leeds since 2030",
        "I've lived in Leeds since May 3",
        "I've lived in Leeds for 3 years",
        "I live in Leeds and have had a dog since 2019",
        "I live in Leeds",
        "My sister has lived in York since 2019",
        "I lived in Leeds from 2015 to 2019",
        "I've loved tea since 2019",
        "我从小住在北京",
        "我住在北京三年了",
        "从2019年到2021年我住在北京",
        "我弟弟自2019年住在北京",
        "我2019年去过北京",
        "我2019年在北京住过",
        "我想从2027年起住在北京",
        "2019年我在北京工作",
        "我从2019年开始不吃肉",
    ],
)
async def test_what_begins_with_no_year_is_so_since_it_was_said(said: str):
    assert [p for p in await proposals(said) if p.occurred_on] == []


async def test_a_home_since_a_year_is_valid_from_it_and_its_text_has_no_date():
    (home,) = await proposals("I've lived in Leeds since 2019.")
    assert home.content == "User lives in Leeds"
    told = candidate(home.content, "t-1", attribute="city", value=home.value, occurred_on=str(home.occurred_on))
    after = given(extracted(told, covers=[piece("t-1", later())])).state
    (memory,) = after.memories.values()
    assert [str(at)[:10] for at in validity(memory, after.memories) if at] == ["2019-01-01"]


@pytest.mark.parametrize(
    ("before", "now", "active"),
    [
        ("My dog is called Rex", "Rex died.", ["Rex died"]),
        ("My dog is called Rex", "Rex died last month", ["Rex died last month (2025-12)"]),
        ("My dog is called Rex", "My dog Rex died", ["User's dog Rex died"]),
        ("My dog is called Rex", "We had to put Rex down", ["User had to put Rex down"]),
        ("My cat is called Pickle", "Pickle passed away", ["Pickle passed away"]),
        ("我养了一只猫，叫豆包", "豆包死了", ["豆包死了"]),
        ("我养了一只猫，叫豆包", "豆包上个月走了", ["豆包上个月（2025-12）走了"]),
        ("我养了一只猫，叫花花", "花花去喵星了", ["花花去喵星了"]),
        ("我养了一只狗，叫旺财", "我的狗旺财上周去世了", ["用户的狗旺财上周（2025-12-29至2026-01-04）去世了"]),
        ("我养了一只狗，叫旺财", "我们家狗旺财没了", ["用户家狗旺财没了"]),
    ],
)
async def test_a_pet_that_died_leaves_the_profile_and_its_death_is_known(before: str, now: str, active: list[str]):
    after = given(await answer(before, "t-1", 0)).when(await answer(now, "t-2", 1))
    assert sorted(after.active(later(days=2))) == active


@pytest.mark.parametrize(
    ("before", "now", "stays"),
    [
        ("My dog is called Rex", "Max died.", "User's dog is called Rex"),
        ("My dog is called Rex", "My brother Rex died", "User's dog is called Rex"),
        ("My dog is called Rex", "If Rex died I'd cry", "User's dog is called Rex"),
        ("My dog is called Rex", "Rex nearly died", "User's dog is called Rex"),
        ("My dog is called Rex", "Did Rex die?", "User's dog is called Rex"),
        ("My dog is called Rex", "I put Rex down on the sofa", "User's dog is called Rex"),
        ("My sister is called Anna", "My fish Anna died", "User's sister is called Anna"),
        ("我养了一只猫，叫豆包", "团团死了", "用户的猫叫豆包"),
        ("我养了一只猫，叫豆包", "豆包差点死了", "用户的猫叫豆包"),
        ("我养了一只猫，叫豆包", "豆包死了吗？", "用户的猫叫豆包"),
        ("我养了一只猫，叫豆包", "我梦见豆包死了", "用户的猫叫豆包"),
    ],
)
async def test_the_death_of_another_or_none_ends_no_pet(before: str, now: str, stays: str):
    after = given(await answer(before, "t-1", 0)).when(await answer(now, "t-2", 1))
    assert stays in after.active(later(days=2))


@pytest.mark.parametrize(
    "said",
    [
        "Lincoln died in 1865",
        "Everyone died laughing",
        "Batteries died",
        "She died",
        "The plant died",
        "Internet died",
        "花死了",
        "手机死了",
        "我快死了",
        "面包没了",
        "妈妈死了",
        "他走了",
        "公交走了",
        "钱包没了",
        "狗狗没了吗",
    ],
)
async def test_what_died_without_a_pets_name_is_no_memory(said: str):
    assert await proposals(said) == []


@pytest.mark.parametrize(
    ("said", "filled"),
    [
        ("I'm dating Daniel now.", [("relationship_status", "in a relationship"), ("family", "partner Daniel")]),
        ("I've started seeing someone", [("relationship_status", "in a relationship")]),
        (
            "I've started seeing someone, his name is Daniel",
            [("relationship_status", "in a relationship"), ("family", "partner Daniel")],
        ),
        (
            "I have a new boyfriend, Daniel",
            [("relationship_status", "in a relationship"), ("family", "boyfriend Daniel")],
        ),
        (
            "I have a new girlfriend called Sara",
            [("relationship_status", "in a relationship"), ("family", "girlfriend Sara")],
        ),
        ("我有新男朋友了", [("relationship_status", "恋爱中")]),
        ("我有新男朋友了，叫张伟", [("relationship_status", "恋爱中"), ("family", "男朋友张伟")]),
        ("我有新男朋友了，叫张伟，是个厨师。", [("relationship_status", "恋爱中"), ("family", "男朋友张伟")]),
        ("我交了新女朋友，叫小雅", [("relationship_status", "恋爱中"), ("family", "女朋友小雅")]),
        ("我找了个对象，她叫小雅", [("family", "对象小雅")]),
    ],
)
async def test_a_new_partner_is_known_by_name_and_ends_being_single(said: str, filled: list[tuple[str, str]]):
    assert sorted(await slots(said)) == sorted(filled)


@pytest.mark.parametrize(
    "said",
    [
        "I want a new boyfriend",
        "I don't have a new boyfriend",
        "I'm seeing Daniel for dinner",
        "I'm seeing Dr Miller tomorrow",
        "I'm seeing Daniel",
        "I was dating Daniel",
        "My sister is dating Daniel",
        "I'm not dating anyone",
        "Are you seeing someone?",
        "I'm dating the letter",
        "I have a new boss, Daniel",
        "我想找个男朋友",
        "我想交个新女朋友",
        "我姐有新男朋友了，叫张伟",
        "我没有女朋友",
        "我有新同事了，叫张伟",
        "她交了新男朋友，叫张伟",
        "你有新男朋友了吗？",
    ],
)
async def test_a_wish_an_appointment_or_anothers_partner_is_none(said: str):
    assert [each for each in await slots(said) if each[0] in ("relationship_status", "family")] == []


@pytest.mark.parametrize(
    ("before", "now", "gone"),
    [
        ("Tom and I broke up.", "I'm dating Daniel now.", "User and Tom broke up"),
        ("Tom and I broke up.", "My boyfriend is called Ben", "User and Tom broke up"),
        ("I'm single", "My girlfriend is called Sara", "User is single"),
        ("我和小丽分手了", "我有新男朋友了", "用户和小丽分手了"),
        ("我单身", "我女朋友叫小雅", "用户单身"),
        ("My girlfriend is called Sara", "I'm single", "User's girlfriend is called Sara"),
        ("My wife is called Mei", "We got divorced", "User's wife is called Mei"),
        ("我女朋友叫小丽", "我单身", "用户的女朋友叫小丽"),
        ("我老公叫李强", "我离婚了", "用户的老公叫李强"),
    ],
)
async def test_being_single_and_a_partner_end_each_other(before: str, now: str, gone: str):
    after = given(await answer(before, "t-1", 0)).when(await answer(now, "t-2", 1))
    assert gone not in after.active(later(days=2))
    assert after.active(later(days=2)) != []


@pytest.mark.parametrize(
    ("before", "now", "stays"),
    [
        ("I'm single", "My sister is called Sara", "User is single"),
        ("I'm single", "My sister's boyfriend is called Ben", "User is single"),
        ("I'm engaged", "My boyfriend is called Ben", "User is engaged"),
        ("I'm divorced", "My boyfriend is called Ben", "User is divorced"),
        ("My sister is called Sara", "I'm single", "User's sister is called Sara"),
        ("My partner is called Sam", "I'm divorced", "User's partner is called Sam"),
        ("我单身", "我妹妹叫小雪", "用户单身"),
        ("我妹妹叫小雪", "我单身", "用户的妹妹叫小雪"),
        ("我女朋友叫小丽", "我离婚了", "用户的女朋友叫小丽"),
    ],
)
async def test_relatives_and_other_statuses_stay(before: str, now: str, stays: str):
    after = given(await answer(before, "t-1", 0)).when(await answer(now, "t-2", 1))
    assert stays in after.active(later(days=2))


@pytest.mark.parametrize(
    ("before", "now", "active"),
    [
        ("My girlfriend is called Sara", "Sara dumped me.", ["User was dumped by Sara"]),
        ("我女朋友叫小丽", "我被小丽甩了", ["用户被小丽甩了"]),
        ("我28岁", "昨天是我29岁生日", ["用户29岁"]),
        ("我29岁", "昨天我满30岁了", ["用户30岁"]),
        ("我29岁", "我上周过了三十岁生日", ["用户30岁"]),
        ("I'm 31", "I'm actually 30", ["User is 30 years old"]),
        ("I'm 31", "Yesterday was my 32nd birthday.", ["User is 32 years old"]),
        ("I'm 31", "It was my 32nd birthday last Friday", ["User is 32 years old"]),
    ],
)
async def test_being_left_or_a_birthday_that_has_been_takes_the_place_of_before(
    before: str, now: str, active: list[str]
):
    after = given(await answer(before, "t-1", 0)).when(await answer(now, "t-2", 1))
    assert after.active(later(days=2)) == active


@pytest.mark.parametrize(
    "said",
    [
        "She dumped me",
        "My boss dumped me with work",
        "Sara dumped me on the sofa",
        "Sara dumped Tom",
        "我被老板甩了锅",
        "他被小丽甩了",
        "Tomorrow is my 30th birthday",
        "Yesterday was my wife's 30th birthday",
        "It's my 40th birthday next week",
        "I'm actually 30 minutes late",
        "明天是我29岁生日",
        "昨天是我妈60岁生日",
        "昨天我儿子满3岁了",
    ],
)
async def test_what_is_to_come_or_anothers_changes_no_age_and_no_love(said: str):
    assert await slots(said) == []


async def test_the_thing_of_a_second_allergy_has_no_grammar_word():
    assert await slots("我对花生过敏，对虾也过敏。") == [("allergies", "花生"), ("allergies", "虾")]
