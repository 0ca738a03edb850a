"""What is said of relatives, friends and pets fills keys about them, and none of the user's."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import UTC, datetime

from support import windows
from support.own_words import OwnWordsHere
from support.tables import each

from schemas.vocabulary.facts import subject_of
from streams.extraction.own_words.others import without_names
from streams.extraction.protocol import Known

NOW = datetime(2026, 11, 28, 10, tzinfo=UTC)


def told(*turns: str) -> list[tuple[str | None, str | None, str | None, str]]:
    pieces = (windows.piece(n, text, occurred_at=NOW) for n, text in enumerate(turns))
    found = asyncio.run(OwnWordsHere().extract(windows.window(*pieces))).proposals
    return [(one.about, one.attribute, one.value, one.content) for one in found if one.attribute]


def keys(*turns: str) -> list[str]:
    return [f"{about} {attribute}: {value}" for about, attribute, value, _ in told(*turns) if about]


OF_OTHERS = (
    ("My mum lives in Leeds", "mother city: Leeds"),
    ("my mum lives in leeds", "mother city: Leeds"),
    ("Our mother moved to York last year", "mother city: York"),
    ("My mother lives in Basel and works as a nurse.", "mother city: Basel, mother occupation: nurse"),
    ("My mother is a teacher. She lives in Bonn now.", "mother occupation: teacher, mother city: Bonn"),
    ("My mum loves gardening. She's 71.", "mother likes: gardening, mother age: 71"),
    ("My brother's 34 and he's allergic to nuts", "brother age: 34, brother allergies: nuts"),
    ("My brother Dev works at Shell", "brother employer: Shell"),
    ("My brother Dev lives in Oslo and my brother Sam lives in Rome", "brother Dev city: Oslo, brother Sam city: Rome"),
    ("My friend Lena is a nurse. Lena lives in Bonn.", "Lena occupation: nurse, Lena city: Bonn"),
    ("My dog is called Rex. Rex is 4 years old.", "dog age: 4"),
    ("Our landlord is called Henrik", "landlord name: Henrik"),
    ("My wife's name is Clara", ""),
    ("My mum lives in Lisbon, no wait, Porto.", "mother city: Porto"),
    ("My sister is moving to Rome in May.", "sister city: Rome"),
    ("我妈下个月搬到成都", "妈妈 city: 成都"),
    ("Our landlord is 62.", "landlord age: 62"),
    ("My mum was born on 3 May 1960", "mother birthday: 1960-05-03"),
    ("My boss lives in Hamburg and my sister works at Siemens.", "boss city: Hamburg, sister employer: Siemens"),
    ("I live in Oslo and my mother lives in Rome.", "mother city: Rome"),
    ("My daughter is married and lives in Turin", "daughter relationship_status: married, daughter city: Turin"),
    ("我妈住在成都", "妈妈 city: 成都"),
    ("我妈妈搬到昆明了", "妈妈 city: 昆明"),
    ("我妈是老师。她现在住在绵阳", "妈妈 occupation: 老师, 妈妈 city: 绵阳"),
    ("我弟弟李强在华为上班", "弟弟 employer: 华为"),
    ("我女儿今年五岁，她喜欢恐龙", "女儿 age: 5, 女儿 likes: 恐龙"),
    ("我妈叫王秀兰，住在绵阳", "妈妈 city: 绵阳"),
    ("我妈住在成都，我住在北京", "妈妈 city: 成都"),
    ("我女朋友是护士，在协和医院上班", "女朋友 occupation: 护士, 女朋友 employer: 协和医院"),
    ("我朋友小明住在深圳", "小明 city: 深圳"),
    ("我媽媽住在臺北", "妈妈 city: 臺北"),
)


@each("said,wanted", OF_OTHERS)
def test_a_sentence_about_somebody_fills_keys_about_them(said: str, wanted: str):
    assert ", ".join(keys(said)) == wanted


OF_NOBODY_KNOWN = (
    "My mother says she lives in Rome.",
    "If my mother lived in Rome I would visit.",
    "Does my mother live in Rome?",
    "My mother doesn't live in Rome any more",
    "My mother might live in Rome",
    "My mother used to live in Rome",
    "My brother wants to live in Oslo",
    "My brother's wife lives in Oslo",
    "My brother and I live in Oslo",
    "My mum and dad live in Leeds",
    "My cousin works at Bosch",
    "My mother lives with her sister. She works at Bosch.",
    "My sister works at my hospital",
    "I think my mum lives in Leeds",
    'My mother wrote "I live in Rome"',
    "Let's roleplay: my mother lives in Rome and works as a nurse.",
    "> My mother lives in Rome",
    "我妈说她住在成都",
    "如果我妈住在成都就好了",
    "我妈住在成都吗？",
    "我妈不住在成都",
    "我妈可能住在成都",
    "我妈的朋友住在上海",
    "我妈让我搬到上海",
    "我弟打算搬到深圳",
    "我朋友住在深圳",
    "听说我弟搬到上海了",
)


@each("said", OF_NOBODY_KNOWN)
def test_what_is_not_stated_of_somebody_known_fills_no_key(said: str):
    assert keys(said) == []


def test_the_words_stay_the_speakers_and_each_key_has_its_own():
    assert told("My mum is a teacher. She lives in Bonn now.") == [
        ("mother", "occupation", "teacher", "My mum is a teacher. She lives in Bonn now."),
        ("mother", "city", "Bonn", "My mum lives in Bonn now."),
    ]
    assert told("My mom is allergic to penicillin and shellfish.")[1][3] == "My mom is allergic to shellfish."
    assert told("我女儿在北京读研，她喜欢恐龙")[1][3] == "我女儿喜欢恐龙"


def test_names_of_those_whom_the_user_knows_are_the_users_as_before():
    assert (None, "family", "brother Dev", "User's brother is called Dev") in told("My brother Dev works at Shell")


SUBJECTS = (
    ("my mum", "Mother", "the user's mom"),
    ("我妈", "我的妈妈", "用户的母亲", "我们家老妈"),
    ("our neighbor", "neighbour"),
)


@each("spelt", SUBJECTS)
def test_the_words_for_a_relation_are_one_key(spelt: tuple[str, ...]):
    assert len({subject_of(one) for one in spelt}) == 1


def known(about: str, text: str) -> Known:
    return Known(memory_id="m", about=about, text=text)


DEV, SAM = known("brother", "My brother Dev lives in Oslo"), known("brother Sam", "My brother Sam lives in Rome")
TOLD_APART: tuple[tuple[str, tuple[Known, ...], str | None], ...] = (
    ("brother Dev", (), "brother"),
    ("brother Dev", (DEV,), "brother"),
    ("brother Sam", (DEV,), "brother Sam"),
    ("brother Dev", (DEV, SAM), "brother"),
    ("brother", (DEV,), "brother"),
    ("brother", (DEV, SAM), None),
    ("弟弟李强", (known("弟弟", "我弟弟李雷住在北京"),), "弟弟李强"),
    ("younger brother Dev", (DEV,), "younger brother"),
    ("Lena", (DEV,), "Lena"),
    ("meeting with Lena", (DEV,), "meeting with Lena"),
)


@each("about,others,kept", TOLD_APART)
def test_a_name_is_part_of_a_key_only_where_there_are_several(about: str, others: tuple[Known, ...], kept: str | None):
    assert without_names([about], others) == [kept]


def test_what_is_said_of_one_of_several_ends_nothing_of_theirs():
    pieces = windows.piece(0, "My brother moved to Paris.", occurred_at=NOW)
    others = [replace(one, memory_id=one.text, attribute="city", value=one.text[-4:]) for one in (DEV, SAM)]
    [one] = asyncio.run(OwnWordsHere(others).extract(windows.window(pieces))).proposals
    assert (one.about, one.attribute, one.ends) == ("brother", None, ())


THINGS = (
    ("The dentist got pushed to March 5.", "dentist appointment date: 2027-03-05"),
    ("房租涨到3500", "房租 price: 3500"),
    ("My rent is 850 a month", "rent price: 850"),
    ("The dentist got pushed to Monday at 9:30.", "dentist appointment date: 2026-11-30"),
    ("I have a dentist appointment on Friday at 9.", "dentist appointment date: 2026-12-04"),
    ("The meeting with my boss is tomorrow", "meeting with boss date: 2026-11-29"),
    ("周三跟王总开会", "和王总的会 date: 2026-12-02"),
    ("和王总的会改到周五", "和王总的会 date: 2026-12-04"),
    ("I had a meeting with Lena on Friday", ""),
    ("The meeting with Lena was cancelled.", ""),
    ("朋友的房租是3000", ""),
    ("My brother's rent is 900", ""),
)


@each("said,wanted", THINGS)
def test_an_amount_and_a_day_are_of_their_thing(said: str, wanted: str):
    assert ", ".join(keys(said)) == wanted
