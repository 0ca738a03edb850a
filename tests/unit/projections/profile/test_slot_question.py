"""Which slot a question asks for, of whom, and which memories fill it."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from support.examples import LUNA, MONDAY, forget, later, remember
from support.given import Given, given
from support.tables import each

from projections.dates.questions import Span
from projections.profile.slot_question import MAX_CHARACTERS, filling, slot_asked

AT = later(days=1)


def fact(content: str, attribute: str, value: str, hour: int = 0, agent_id: str | None = LUNA):
    return remember(content, f"c-{content}", later(hours=hour), attribute=attribute, value=value, agent_id=agent_id)


def anna() -> Given:
    """Return what is known of a user with a name, a job that changed, people, pets and dates."""
    return given(
        fact("User's name is Anna Berg", "user_name", "Anna Berg"),
        fact("User works at Acme", "employer", "Acme"),
        fact("User works at Nordlicht", "employer", "Nordlicht", 2),
        fact("User works as a nurse", "occupation", "nurse"),
        fact("User lives in Oslo", "city", "Oslo"),
        fact("User's birthday is 05-20", "birthday", "05-20"),
        fact("User's sister's birthday is 07-01", "important_dates", "sister: 07-01"),
        fact("User's wedding anniversary is 09-09", "important_dates", "wedding anniversary: 09-09"),
        fact("User's sister is called Ines", "family", "sister Ines"),
        fact("User's corgi is called Max", "pet_names", "Max"),
        fact("User's cat is called Tom", "pet_names", "Tom"),
        fact("User likes tea", "likes", "tea"),
        fact("User's favorite color is green", "likes", "green"),
        fact("User doesn't like rain", "dislikes", "rain"),
        fact("User is allergic to nuts", "allergies", "nuts"),
    )


def xiaoyu() -> Given:
    """Return what is known of a Chinese user."""
    return given(
        fact("用户叫林晓雨", "user_name", "林晓雨"),
        fact("用户在蓝鲸工作", "employer", "蓝鲸"),
        fact("用户住在上海", "city", "上海"),
        fact("用户住在杭州", "city", "杭州", 2),
        fact("用户的生日是03-15", "birthday", "03-15"),
        fact("用户的姐姐的生日是11-20", "important_dates", "姐姐: 11-20"),
        fact("用户的姐姐叫林晓晴", "family", "姐姐林晓晴"),
        fact("用户的闺蜜叫许诺", "friends", "许诺"),
        fact("用户的狗叫豆豆", "pet_names", "豆豆"),
        fact("用户对花生过敏", "allergies", "花生"),
        fact("用户28岁", "age", "28"),
        fact("用户的职业是护士", "occupation", "护士"),
    )


def best(known: Given, question: str, **more: object) -> list[str]:
    """Return the memories that fill best what a question asks for."""
    asked = slot_asked(question)
    shares = filling(known.state, asked, AT, **more) if asked else {}  # type: ignore[arg-type]
    return sorted(known.state.memories[i].content for i, share in shares.items() if share == max(shares.values()))


@each(
    ("question", "answer"),
    [
        ("Where does she work?", "User works at Nordlicht"),
        ("Which company do I work for now?", "User works at Nordlicht"),
        ("What is the name of her company?", "User works at Nordlicht"),
        ("Where does Anna work?", "User works at Nordlicht"),
        ("What does she do for a living?", "User works as a nurse"),
        ("What's her job?", "User works as a nurse"),
        ("Where do I live?", "User lives in Oslo"),
        ("do you know where she lives", "User lives in Oslo"),
        ("Where did she use to live?", "User lives in Oslo"),
        ("When is her birthday?", "User's birthday is 05-20"),
        ("When was Anna Berg born?", "User's birthday is 05-20"),
        ("When is my sister's birthday?", "User's sister's birthday is 07-01"),
        ("When is their wedding anniversary?", "User's wedding anniversary is 09-09"),
        ("What is her name?", "User's name is Anna Berg"),
        ("Who is Ines?", "User's sister is called Ines"),
        ("Who is her sister?", "User's sister is called Ines"),
        ("What is her dog called?", "User's corgi is called Max"),
        ("What's the cat's name?", "User's cat is called Tom"),
        ("What is her favourite color?", "User's favorite color is green"),
        ("What doesn't she like?", "User doesn't like rain"),
        ("Do I have any nut allergies?", "User is allergic to nuts"),
        ("Which date was she born?", "User's birthday is 05-20"),
        ("Is there any food that she is allergic to?", "User is allergic to nuts"),
        ("她的狗叫什么名字？", "User's corgi is called Max"),
        ("妹妹叫什么？", "User's sister is called Ines"),
    ],
)
def test_a_question_finds_what_fills_its_slot(question: str, answer: str):
    assert best(anna(), question) == [answer]


@each(
    ("question", "answer"),
    [
        ("她在哪家公司工作？", "用户在蓝鲸工作"),
        ("她公司叫什么名字", "用户在蓝鲸工作"),
        ("我现在在哪里上班", "用户在蓝鲸工作"),
        ("她住在哪个城市？", "用户住在杭州"),
        ("妳住在哪裡？", "用户住在杭州"),
        ("我多大了", "用户28岁"),
        ("她是做什么的？", "用户的职业是护士"),
        ("她做什么工作？", "用户的职业是护士"),
        ("她在什么公司工作？", "用户在蓝鲸工作"),
        ("她的生日是哪一天？", "用户的生日是03-15"),
        ("晓雨的生日是哪一天？", "用户的生日是03-15"),
        ("姐姐的生日是几号", "用户的姐姐的生日是11-20"),
        ("她叫什么名字？", "用户叫林晓雨"),
        ("姐姐叫什么名字？", "用户的姐姐叫林晓晴"),
        ("许诺是谁", "用户的闺蜜叫许诺"),
        ("我家的狗叫什么", "用户的狗叫豆豆"),
        ("她对什么食物过敏？", "用户对花生过敏"),
        ("她有没有忌口", "用户对花生过敏"),
        ("What is her dog called?", "用户的狗叫豆豆"),
    ],
)
def test_a_chinese_question_finds_what_fills_its_slot(question: str, answer: str):
    assert best(xiaoyu(), question) == [answer]


@each(
    "question",
    [
        "Where does her sister work?",
        "Where does Ines live?",
        "How old is the house?",
        "What did she do yesterday?",
        "Where did she go on holiday?",
        "When does the train to work leave?",
        "Why did she help her cousin to find a new place to live?",
        "What was the name of the film that she saw?",
        "What does she love most about camping?",
        "她姐姐住在哪里？",
        "房子多大",
        "她在做什么",
        "什么时候体检？",
        "出差住哪里",
        "I work at Acme",
        "",
    ],
)
def test_what_is_asked_of_somebody_or_something_else_is_filled_by_nothing(question: str):
    assert best(anna(), question) == best(xiaoyu(), question) == []


def test_a_long_text_is_no_question():
    question = "Where does she work?"
    assert slot_asked(question.rjust(MAX_CHARACTERS)) is not None
    assert slot_asked(question.rjust(MAX_CHARACTERS + 1)) is None


def test_one_of_many_likings_counts_half_unless_the_question_names_it():
    known = anna()
    plain, named = slot_asked("What does she like?"), slot_asked("What is her favourite color?")
    assert plain is not None
    assert named is not None
    assert filling(known.state, plain, AT) == {
        known.of("User likes tea").memory_id: 0.5,
        known.of("User's favorite color is green").memory_id: 0.5,
    }
    assert filling(known.state, named, AT) == {known.of("User's favorite color is green").memory_id: 1.0}


@pytest.mark.parametrize(
    ("known", "question", "before", "now"),
    [
        (anna(), "Where did she work before?", "User works at Acme", "User works at Nordlicht"),
        (xiaoyu(), "她以前住在哪里？", "用户住在上海", "用户住在杭州"),
    ],
)
def test_what_was_before_is_filled_by_what_was_superseded(known: Given, question: str, before: str, now: str):
    asked = slot_asked(question)
    assert asked is not None
    past, present = known.of(before).memory_id, known.of(now).memory_id
    assert filling(known.state, asked, AT, with_past=True) == {past: 1.0}
    assert filling(known.state, asked, AT) == {present: 1.0}
    gone = known.when(forget(past, "f-1", AT))
    assert filling(gone.state, asked, AT, with_past=True) == {present: 1.0}


def test_an_agent_is_answered_by_what_it_knows():
    known = given(
        fact("User works at Acme", "employer", "Acme", agent_id="aria"),
        fact("User's name is Anna", "user_name", "Anna", agent_id="aria"),
    )
    assert best(known, "Where does Anna work?", agent_id="aria") == ["User works at Acme"]
    assert best(known, "Where does she work?", agent_id=LUNA) == []
    assert best(known, "Where does Anna work?", agent_id=LUNA) == []


def test_a_slot_whose_value_was_taken_out_is_filled_by_nothing():
    known = given(remember("User moved", "c-1", MONDAY, attribute="city", value=""))
    assert best(known, "Where does she live?") == []


@each(
    ("known", "question", "answers"),
    [
        (
            given(
                fact("User works at Airbus", "employer", "Airbus"), remember("User used to work at Boeing", "c-2", AT)
            ),
            "Where did she work before?",
            ["User used to work at Boeing"],
        ),
        (
            given(
                fact("User works at Airbus", "employer", "Airbus"), remember("User used to work at Boeing", "c-2", AT)
            ),
            "Where does she work now?",
            ["User works at Airbus"],
        ),
        (
            given(fact("用户在字节跳动工作", "employer", "字节跳动"), remember("用户以前在网易工作", "c-2", AT)),
            "她以前在哪里工作？",
            ["用户以前在网易工作"],
        ),
        (
            given(
                fact("用户在字节跳动工作", "employer", "字节跳动"),
                fact("用户以前在网易工作", "occupation", "在网易工作"),
            ),
            "她现在做什么工作？",
            ["用户在字节跳动工作"],
        ),
        (
            given(fact("User lives in Bonn", "city", "Bonn"), remember("User's wife used to live in Rome", "c-2", AT)),
            "Where did she live before?",
            ["User lives in Bonn"],
        ),
    ],
)
def test_before_is_answered_by_what_was_and_now_by_what_is(known: Given, question: str, answers: list[str]):
    assert best(known, question, found=known.state.memories.values()) == answers


@pytest.mark.parametrize(
    ("question", "hour", "answer"),
    [
        ("Where did she work?", 1, "User works at Acme"),
        ("Where did she work?", 3, "User works at Nordlicht"),
    ],
)
def test_in_a_span_that_is_named_a_slot_is_filled_by_what_was_true_then(question: str, hour: int, answer: str):
    span = Span(later(hours=hour), later(hours=hour, seconds=1))
    assert best(anna(), question, with_past=True, span=span) == [answer]


def test_before_anything_was_known_a_slot_is_filled_by_nothing_but_what_names_the_time():
    in_2019 = Span(datetime(2019, 1, 1, tzinfo=UTC), datetime(2020, 1, 1, tzinfo=UTC))
    paris = remember("In 2019 User lived in Paris", "c-2", AT)
    known = given(fact("User lives in Rome", "city", "Rome"), paris)
    memories = known.state.memories.values()
    assert best(known, "Where did she live in 2019?", span=in_2019, found=memories) == ["In 2019 User lived in Paris"]
    assert best(anna(), "Where did she live in 2019?", span=in_2019) == []


def test_what_is_the_same_at_all_times_fills_its_slot_in_any_span():
    in_2019 = Span(datetime(2019, 1, 1, tzinfo=UTC), datetime(2020, 1, 1, tzinfo=UTC))
    assert best(anna(), "When was her birthday?", span=in_2019) == ["User's birthday is 05-20"]
