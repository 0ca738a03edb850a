"""A model's entries held against the window: answers of the kinds that a small real model gave."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from support import windows
from support.tables import each

from streams.extraction.model.answer import read_answer
from streams.extraction.model.grounding import grounded

if TYPE_CHECKING:
    from collections.abc import Iterator

    from streams.extraction.model.answer import Answer
    from streams.extraction.protocol import SourceType, Window

WINDOWS = Path(__file__).parents[4] / "bench" / "real_model" / "windows.jsonl"
TUESDAY = datetime(2026, 3, 10, 9, tzinfo=UTC)


def talk(*turns: str, source_type: SourceType = "chat", name: str | None = None) -> Window:
    """Return a window of turns, each `U: text` or `A: text`."""
    pieces = (
        windows.piece(
            number,
            turn[3:],
            speaker="user" if turn.startswith("U: ") else "assistant",
            occurred_at=TUESDAY + timedelta(seconds=10 * number),
            name=name if turn.startswith("U: ") else None,
        )
        for number, turn in enumerate(turns)
    )
    return windows.window(*pieces, source_type=source_type)


def ground(window: Window, *entries: dict[str, Any]) -> Answer:
    return grounded(read_answer(json.dumps(entries), window), window)


def entry(content: str, *sources: int, **fields: Any) -> dict[str, Any]:
    return {"content": content, "sources": list(sources), "memory_type": "long_term", **fields}


@each(
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
            talk("U: My daughter is six.", "A: Noted. Anything else?", "U: No."),
            entry("Noted. Anything else?", 1, 2),
            "it is the assistant's line",
        ),
        (
            talk("U: 我养了一只猫，叫小黑。", "A: 小黑真可爱！"),
            entry("小黑真可爱！", 1, 2),
            "it is the assistant's line",
        ),
        (talk("U: Hello", "A: Hi!"), entry("The user said hello.", 1), "it tells of the talk, not of the user"),
        (talk("U: 你好", "A: 您好"), entry("用户打招呼。", 1), "it tells of the talk, not of the user"),
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


@each(
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


@each(
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
        (talk("U: 小黑是邻居的猫。"), entry("小黑是用户邻居的猫。", 1, attribute="pet_names", value="小黑")),
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


@each(
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


TRUE_SLOTS = [
    ("user_name", "Amy", "My name is Amy."),
    ("user_name", "Amy", "hi, i'm Amy and I paint"),
    ("user_name", "Okan", "I'm Okan, 29, and I just moved from Izmir to Hamburg."),
    ("user_name", "Teddy", "Please call me Teddy, nobody calls me Theodore."),
    ("user_name", "Ana", "Me llamo Ana y vivo en Madrid."),
    ("user_name", "小雨", "我叫小雨"),
    ("user_name", "阿泰", "你叫我阿泰就行，大家都这么叫我。"),
    ("user_name", "沈薇", "你好，我叫沈薇，住在苏州，在远洋设计院做建筑师。"),
    ("user_name", "罗斌", "早上好！我是罗斌。"),
    ("city", "Bergen", "I live in Bergen and work as a nurse at Haukeland Hospital."),
    ("city", "Hamburg", "I'm Okan, 29, and I just moved from Izmir to Hamburg."),
    ("city", "Lisbon", "I moved from Krakow to Lisbon in September and work as a chemist at Biovia."),
    ("city", "Porto", "Good morning! My name is Rafael and I'm a pastry chef in Porto."),
    ("city", "Leeds", "My wife and I are based in Leeds."),
    ("city", "苏州", "你好，我叫沈薇，住在苏州，在远洋设计院做建筑师。"),
    ("city", "南京", "我叫江涛，29岁，刚从昆明搬到南京。"),
    ("city", "厦门", "早上好！我叫罗斌，是厦门的一名糕点师。我是厦门的。"),
    ("city", "济南", "我今年四十一岁，在济南开公交车。"),
    ("city", "北京", "我和老婆现在住在北京。"),
    ("employer", "Haukeland Hospital", "I live in Bergen and work as a nurse at Haukeland Hospital."),
    ("employer", "Casa Lima", "I work at Casa Lima, and my son Hugo is four."),
    ("employer", "Brightwater", "My company Brightwater signed a contract with Nordbank."),
    ("employer", "麦香坊", "我在麦香坊上班，儿子小虎今年四岁。"),
    ("employer", "远洋设计院", "你好，我叫沈薇，住在苏州，在远洋设计院做建筑师。"),
    ("employer", "明川科技", "我们公司明川科技跟北方银行签了五十万的合同。"),
    ("occupation", "nurse", "I live in Bergen and work as a nurse at Haukeland Hospital."),
    ("occupation", "pastry chef", "My name is Rafael and I'm a pastry chef in Porto."),
    ("occupation", "drive a bus", "I'm 41 and I drive a bus in Leeds."),
    ("occupation", "建筑师", "你好，我叫沈薇，住在苏州，在远洋设计院做建筑师。"),
    ("occupation", "糕点师", "早上好！我叫罗斌，是厦门的一名糕点师。"),
    ("occupation", "程序员", "我是一名程序员。"),
    ("age", "41", "I'm 41 and I drive a bus in Leeds."),
    ("age", "29", "I'm Okan, 29, and I just moved."),
    ("age", "29", "我叫江涛，29岁，刚从昆明搬到南京。"),
    ("age", "34", "I turned 34 last week."),
    ("relationship_status", "married", "I got married last year."),
    ("relationship_status", "单身", "我现在单身。"),
    ("language", "Polish", "I speak Polish at home."),
    ("communication_style", "short", "Please keep your answers short."),
    ("birthday", "05-04", "My birthday is May 4."),
]
FALSE_SLOTS = [
    ("user_name", "豆豆", "豆豆不喜欢吃鱼"),
    ("user_name", "小黑", "我养了一只猫，叫小黑。"),
    ("user_name", "Momo", "I'm Momo's owner."),
    ("user_name", "Rex", "My dog is called Rex."),
    ("user_name", "小虎", "我儿子叫小虎。"),
    ("user_name", "豆豆", "我给猫起名叫豆豆"),
    ("user_name", "Priya", "I flew to Lisbon with my colleague Priya."),
    ("city", "Paris", "I flew to Paris on Monday."),
    ("city", "Rome", "I used to live in Rome."),
    ("city", "Lisbon", "I might move to Lisbon."),
    ("city", "Cork", "I think Clara lives in Cork."),
    ("city", "Cork", "My sister Clara is a vet in Cork."),
    ("city", "Izmir", "I'm Okan, 29, and I just moved from Izmir to Hamburg."),
    ("city", "巴黎", "我周一飞去了巴黎。"),
    ("city", "昆明", "刚从昆明搬到南京。"),
    ("city", "广州", "我闺蜜住在广州。"),
    ("city", "上海", "我想搬到上海。"),
    ("city", "成都", "我在成都出差。"),
    ("city", "Paris", "I'm in Paris this week."),
    ("city", "Paris", "We moved the meeting to Paris."),
    ("city", "大理", "我在大理玩了三天"),
    ("employer", "Apple", "I started my Apple laptop."),
    ("employer", "星巴克", "我在星巴克工作了一下午"),
    ("occupation", "doctor", "I'm waiting for the doctor."),
    ("occupation", "lawyer", "I'm married to a lawyer."),
    ("occupation", "老师", "我是老师最喜欢的学生"),
    ("employer", "Google", "My friend Tom works at Google."),
    ("employer", "Gucci", "I bought a bag at Gucci."),
    ("employer", "IBM", "I quit my job at IBM."),
    ("employer", "阿里巴巴", "我老公在阿里巴巴上班。"),
    ("occupation", "vet", "My sister Clara is a vet in Cork."),
    ("occupation", "welder", "I'm looking for work as a welder."),
    ("occupation", "医生", "我想当医生。"),
    ("occupation", "医生", "我妻子是医生，她不吃猪肉"),
    ("age", "4", "我在麦香坊上班，儿子小虎今年四岁。"),
    ("age", "7", "My son Ben is 7."),
    ("age", "10", "I'm 10 minutes late."),
    ("relationship_status", "married", "My sister got married."),
    ("birthday", "05-04", "My sister's birthday is May 4."),
]


def of_the_user(text: str, attribute: str, value: str) -> str | None:
    """Return the slot that a model's entry keeps which says the line of the user, with the value."""
    [proposal] = ground(talk(f"U: {text}"), entry(f"用户：{text}", 1, attribute=attribute, value=value)).proposals
    return proposal.attribute


@each(("attribute", "value", "text"), TRUE_SLOTS)
def test_a_slot_of_one_value_is_filled_by_what_the_user_says_of_themselves(attribute: str, value: str, text: str):
    assert of_the_user(text, attribute, value) == attribute


@each(("attribute", "value", "text"), FALSE_SLOTS)
def test_a_slot_of_one_value_is_not_filled_by_what_is_said_of_another_or_otherwise(
    attribute: str, value: str, text: str
):
    assert of_the_user(text, attribute, value) is None


def labelled() -> Iterator[tuple[str, Window, list[int], str, list[str]]]:
    """Yield each slot of the labelled windows of `make real-model`: window, the user's lines, and the values."""
    for line in WINDOWS.read_text("utf-8").splitlines():
        said = json.loads(line)
        window = talk(*(f"{speaker[0].upper()}: {text}" for speaker, text in said["turns"]))
        lines = [number for number, (speaker, _) in enumerate(said["turns"], 1) if speaker == "user"]
        for attribute, values in said["slots"].items():
            yield said["id"], window, lines, attribute, values.split("|")


def test_every_slot_of_the_labelled_windows_can_be_filled():
    lost = []
    for window_id, window, lines, attribute, values in labelled():
        who = "用户" if window_id.startswith("zh") else "The user: "
        said = [entry(f"{who}{value}", *lines, attribute=attribute, value=value) for value in values]
        if not any(p.attribute for p in ground(window, *said).proposals):
            lost.append((window_id, attribute))
    assert lost == []


def test_a_slot_that_is_left_empty_is_counted_and_its_memory_kept():
    answer = ground(talk("U: My dog is called Rex."), entry("Rex is a dog.", 1, attribute="user_name", value="Rex"))
    assert [(p.content, p.attribute, p.value) for p in answer.proposals] == [("Rex is a dog.", None, None)]
    assert answer.dropped == ("memory 1, user_name: no line of the user's says that of the user",)


@each(
    ("attribute", "value", "question", "text"),
    [
        ("user_name", "Amy", "What's your name?", "Amy."),
        ("city", "Oslo", "And where do you live?", "In Oslo, near the park."),
        ("age", "34", "你多大了？", "34岁"),
        ("occupation", "医生", "你是做什么工作的？", "医生。"),
    ],
)
def test_a_short_answer_fills_the_slot_that_the_assistant_asked_for(
    attribute: str, value: str, question: str, text: str
):
    window = talk("U: Hi", f"A: {question}", f"U: {text}")
    [proposal] = ground(window, entry(f"The user: {text}", 3, attribute=attribute, value=value)).proposals
    assert proposal.attribute == attribute


def test_a_short_answer_about_another_fills_nothing():
    window = talk("U: 我养了一只猫", "A: 它叫什么名字？", "U: 年糕。")
    [proposal] = ground(window, entry("用户的猫叫年糕。", 3, attribute="user_name", value="年糕")).proposals
    assert proposal.attribute is None


@each(
    ("text", "value"),
    [
        ("I have a cat, Momo.", "Momo"),
        ("My dog is called Rex.", "Rex"),
        ("We adopted two cats, Moss and Fern.", "Fern"),
        ("Rex is my dog.", "Rex"),
        ("我有一只猫，年糕。", "年糕"),
        ("我养了一只猫，叫小黑。", "小黑"),
        ("我养了两只猫，叫豆豆和花花。", "花花"),
        ("我养了一只叫豆豆的狗。", "豆豆"),
    ],
)
def test_a_line_that_names_the_user_s_pet_fills_its_slot(text: str, value: str):
    assert of_the_user(text, "pet_names", value) == "pet_names"


@pytest.mark.parametrize(
    ("text", "value"),
    [("My neighbour's dog Rex barks.", "barks"), ("I have two cats.", "cats"), ("Anna met Rex.", "Rex")],
)
def test_what_is_no_name_of_the_user_s_pet_fills_no_slot(text: str, value: str):
    assert of_the_user(text, "pet_names", value) is None


@each(
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


@each(
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
        ("周日小狗走了。", "用户的小狗周日走了。", date(2026, 3, 8), "周日（2026-03-08）走了"),
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


TWO_DAYS = "I went to the dentist last Monday, and last month I visited Vienna."


@each(
    ("line", "content", "day"),
    [
        (TWO_DAYS, "The user went to the dentist.", date(2026, 3, 9)),
        (TWO_DAYS, "The user visited Vienna.", date(2026, 2, 10)),
        ("昨天我去看了牙医，上个月我去了维也纳。", "用户去了维也纳。", date(2026, 2, 10)),
        ("昨天我去看了牙医，上个月我去了维也纳。", "用户去看了牙医。", date(2026, 3, 9)),
        (
            "I bought a piano yesterday, my brother Tom plays the cello.",
            "The user's brother Tom plays the cello.",
            None,
        ),
        ("昨天浩然送了我一条手链，我感动得快哭了。", "用户感动得快哭了。", date(2026, 3, 9)),
        ("The rent is due, next Friday.", "The user's rent is due.", date(2026, 3, 20)),
    ],
)
def test_a_day_goes_to_the_memory_whose_clause_names_it(line: str, content: str, day: date | None):
    [proposal] = ground(talk(f"U: {line}"), entry(content, 1)).proposals
    assert (proposal.content, proposal.occurred_on) == (content, day)


def test_a_day_that_the_model_gives_is_not_that_of_another_clause():
    line = "My brother Tom plays the cello, and yesterday I bought a piano."
    said = entry("The user's brother Tom plays the cello.", 1, occurred_on="2026-03-09")
    assert [p.occurred_on for p in ground(talk(f"U: {line}"), said).proposals] == [None]


@each(
    ("content", "day", "marked"),
    [
        ("The user bought a car three days ago.", date(2026, 3, 7), "three days ago (2026-03-07)"),
        ("The user bought a car two weeks ago.", date(2026, 2, 24), "two weeks ago (2026-02-24)"),
        ("The user visited Vienna last month.", date(2026, 2, 10), "last month (2026-02)"),
        ("The user visited Vienna 4 months ago.", date(2025, 11, 10), "4 months ago (2025-11)"),
        ("用户三天前买了车。", date(2026, 3, 7), "三天前（2026-03-07）"),
        ("用户两周前买了车。", date(2026, 2, 24), "两周前（2026-02-24）"),
        ("用户上个月去了维也纳。", date(2026, 2, 10), "上个月（2026-02）"),
        ("用户上周去了苏州。", date(2026, 3, 3), "上周（2026-03-02至2026-03-08）"),
        ("The user worked for the last month.", None, "the last month."),
    ],
)
def test_what_was_so_long_ago_is_reckoned_from_its_line(content: str, day: date | None, marked: str):
    [proposal] = ground(talk(f"U: {content}"), entry(content, 1)).proposals
    assert proposal.occurred_on == day
    assert marked in proposal.content


@each(
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
