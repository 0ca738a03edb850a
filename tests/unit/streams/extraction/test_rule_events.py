"""What happened, by the rules: Luna's events with feeling, importance, words and day, and what the upstream knew."""

from __future__ import annotations

from datetime import UTC, date, datetime
from typing import TYPE_CHECKING

import pytest
from support.own_words import OwnWordsHere
from support.tables import each

from projections.dates.cues import day_past
from schemas.messages.observations import TurnContext
from streams.extraction.event_importance import episode_importance
from streams.extraction.protocol import Piece, Window
from streams.extraction.rules.feelings import Feeling, chinese_feeling, english_feeling

if TYPE_CHECKING:
    from streams.extraction.protocol import Proposal

MONDAY = datetime(2026, 1, 5, 8, tzinfo=UTC)


async def proposals_of(text: str, context: TurnContext | None = None) -> list[Proposal]:
    piece = Piece(
        piece_id="t#0",
        event_id="t",
        speaker="user",
        text=text,
        occurred_at=MONDAY,
        recorded_at=MONDAY,
        context=context,
    )
    window = Window(
        tenant="default",
        user_id="u",
        agent_id="luna",
        session_id="s",
        source_type="chat",
        source_ref="s",
        pieces=(piece,),
    )
    return [p for p in (await OwnWordsHere().extract(window)).proposals if p.kind == "episodic"]


@pytest.mark.parametrize(
    ("text", "content"),
    [
        ("谢谢你送我的项链，我特别喜欢", "谢谢你送我的项链，我特别喜欢"),
        ("非常感谢你的生日礼物", "非常感谢你的生日礼物"),
        ("Thanks for the flowers you gave me!", "Thanks for the flowers you gave me!"),
        ("Thank you for the gift", "Thank you for the gift"),
        ("谢谢你送我回家", None),
        ("谢谢你的帮助", None),
        ("谢谢你送我的祝福", None),
        ("Thanks for the advice you gave me", None),
        ("Thanks for the file you sent me", None),
    ],
)
async def test_a_gift_is_known_by_the_thanks_for_it(text: str, content: str | None):
    assert [(p.event_type, p.content) for p in await proposals_of(text)] == ([("gift", content)] if content else [])


async def test_a_gift_is_told_with_the_reaction_to_it():
    [gift] = await proposals_of("男朋友送了我一条项链，我特别喜欢")
    assert (gift.event_type, gift.emotion, gift.emotion_intensity) == ("gift", "happy", 0.8)
    assert gift.content == "男朋友送了我一条项链，我特别喜欢"
    assert gift.key_dialogue == ("男朋友送了我一条项链，我特别喜欢",)
    assert (gift.memory_type, gift.attribute, gift.sources) == ("long_term", None, (0,))


@pytest.mark.parametrize(
    ("text", "event", "place"),
    [
        ("今天我们去了外滩约会", "date", "外滩"),
        ("昨天和男朋友去了动物园约会", "date", "动物园"),
        ("我们没去外滩约会", None, ""),
        ("今天是我们第一次约会！", "milestone", ""),
        ("We went to the beach for our date", "date", "the beach"),
        ("We went to Brighton on a date last night", "date", "Brighton"),
        ("We never went to the beach for our date", None, ""),
    ],
)
async def test_a_date_to_which_one_went_is_a_date(text: str, event: str | None, place: str):
    found = await proposals_of(text)
    assert [p.event_type for p in found] == ([event] if event else [])
    assert all(place in p.content for p in found)


async def test_a_date_is_told_with_its_place_and_the_first_one_is_a_milestone():
    [again] = await proposals_of("昨天我和小雨在西湖边约会了")
    assert (again.event_type, again.occurred_on) == ("date", date(2026, 1, 4))
    assert "西湖" in again.content
    [first] = await proposals_of("We had our first date at a jazz bar.")
    assert (first.event_type, first.content) == ("milestone", "We had our first date at a jazz bar.")
    [elsewhere] = await proposals_of("昨天我和小雨约会了", TurnContext(scene="外滩"))
    assert elsewhere.content == "昨天（2026-01-04）我和小雨约会了 (外滩)"
    [there] = await proposals_of("我们第一次约会了，好开心", TurnContext(scene="断桥"))
    assert (there.event_type, there.content) == ("milestone", "我们第一次约会了，好开心 (断桥)")
    [share] = await proposals_of("我们今天和好了", TurnContext(scene="断桥"))
    assert "断桥" not in share.content


@pytest.mark.parametrize(
    ("text", "content", "emotion"),
    [
        ("昨天我们第一次约会，在西湖，好开心", "昨天（2026-01-04）我们第一次约会，在西湖，好开心", "happy"),
        ("我们昨天约会了，去了外滩", "我们昨天（2026-01-04）约会了，去了外滩", None),
        ("我们昨天约会了，去了之后他走了", "我们昨天（2026-01-04）约会了，去了之后他走了", None),
        (
            "We had our first date yesterday, at a jazz bar, and I was so happy.",
            "We had our first date yesterday (2026-01-04), at a jazz bar, and I was so happy.",
            "happy",
        ),
        ("We went on a date, in Paris", "We went on a date, in Paris", None),
        ("We had a fight, in Paris", "We had a fight, in Paris", None),
    ],
)
async def test_where_a_date_was_may_be_said_after_it(text: str, content: str, emotion: str | None):
    [found] = [p for p in await proposals_of(text) if p.event_type != "personal_share"]
    assert (found.content, found.emotion) == (content, emotion)


@pytest.mark.parametrize("intimacy", [None, 0.0, 25.0, 50.0, 100.0])
async def test_an_event_has_lunas_importance(intimacy: float | None):
    [fight] = await proposals_of("我跟她吵架了，好难过", TurnContext(intimacy=intimacy))
    assert fight.importance == episode_importance("fight", 0.8, intimacy)


async def test_the_upstreams_gift_is_remembered_with_the_words_that_came_with_it():
    [gift] = await proposals_of("给你的，喜欢吗", TurnContext(gift="玫瑰", mood="happy", intimacy=60))
    assert (gift.content, gift.event_type, gift.emotion) == ("用户送了礼物：玫瑰", "gift", "happy")
    assert gift.key_dialogue == ("给你的，喜欢吗",)
    assert gift.importance == 0.75
    [english] = await proposals_of("For you!", TurnContext(gift="rose"))
    assert english.content == "User gave a gift: rose"


async def test_the_upstreams_mood_stands_where_the_words_name_no_feeling():
    [fight] = await proposals_of("我跟她吵架了", TurnContext(mood="angry"))
    assert (fight.emotion, fight.emotion_intensity) == ("angry", None)
    [other] = await proposals_of("我跟她吵架了，好难过", TurnContext(mood="angry"))
    assert other.emotion == "sad"


async def test_a_feeling_of_an_event_is_no_event_of_its_own():
    assert [p.event_type for p in await proposals_of("小杰昨晚向我表白了，我好激动")] == ["confession"]
    assert [p.event_type for p in await proposals_of("我好激动，小杰要来了")] == ["personal_share"]


@each(
    ("text", "feeling"),
    [
        ("好开心", Feeling("happy", 0.8)),
        ("难过", Feeling("sad", 0.6)),
        ("有点紧张", Feeling("anxious", 0.3)),
        ("感动死了", Feeling("moved", 0.8)),
        ("不开心", None),
        ("没生气", None),
        ("去上班", None),
    ],
)
def test_chinese_words_name_a_feeling_and_how_strong_it_is(text: str, feeling: Feeling | None):
    assert chinese_feeling(text) == feeling


@each(
    ("text", "feeling"),
    [
        ("I am so happy", Feeling("happy", 0.8)),
        ("I was sad", Feeling("sad", 0.6)),
        ("a bit nervous", Feeling("anxious", 0.3)),
        ("I am not happy", None),
        ("at work", None),
    ],
)
def test_english_words_name_a_feeling_and_how_strong_it_is(text: str, feeling: Feeling | None):
    assert english_feeling(text) == feeling


@each(
    ("text", "day"),
    [("昨晚", 4), ("前天", 3), ("今天", 5), ("上周六", 3), ("1月2号", 2), ("明天", None), ("", None)],
)
def test_a_chinese_event_happened_today_at_the_latest(text: str, day: int | None):
    assert day_past(text, MONDAY.date()) == (None if day is None else date(2026, 1, day))


@each(
    ("text", "day"),
    [
        ("yesterday", 4),
        ("last night", 4),
        ("the day before yesterday", 3),
        ("last Friday", 2),
        ("today", 5),
        ("tomorrow", None),
    ],
)
def test_an_english_event_happened_today_at_the_latest(text: str, day: int | None):
    assert day_past(text, MONDAY.date()) == (None if day is None else date(2026, 1, day))


def test_last_monday_said_on_a_monday_is_a_week_ago():
    assert day_past("last Monday", MONDAY.date()) == date(2025, 12, 29)


@pytest.mark.parametrize(
    ("text", "event", "content"),
    [
        ("我喜欢你，做我女朋友吧", "confession", "我喜欢你，做我女朋友吧"),
        ("我们分手吧", "breakup", "我们分手吧"),
        ("对不起，昨天是我不好。原谅我吧", "makeup", "对不起，昨天（2026-01-04）是我不好。原谅我吧"),
        ("吵架了，好难过", "fight", "吵架了，好难过"),
        ("你亲了我", "first_kiss", "你亲了我"),
        ("送你一束玫瑰", "gift", "送你一束玫瑰"),
        ("I love you", "confession", "I love you"),
        ("We got married!", "milestone", "We got married!"),
    ],
)
async def test_what_is_said_straight_to_the_agent_is_an_event_with_the_whole_of_its_words(
    text: str, event: str, content: str
):
    [found] = await proposals_of(text)
    assert (found.event_type, found.content, len(found.key_dialogue)) == (event, content, 1)
    assert found.importance == episode_importance(event, found.emotion_intensity, None)


async def test_the_day_of_what_is_said_straight_is_that_of_its_own_clause():
    [kiss] = await proposals_of("昨天你亲了我，我好开心")
    assert (kiss.event_type, kiss.emotion, kiss.occurred_on) == ("first_kiss", "happy", date(2026, 1, 4))
    [sorry] = await proposals_of("对不起，昨天是我不好，原谅我吧")
    assert sorry.event_type == "makeup"


@pytest.mark.parametrize(
    "text",
    [
        "妈妈我爱你",
        "我爱你的歌",
        "他对我说，我爱你",
        "你爱我吗？",
        "I love you guys",
        "Let's break up the task",
        "She said I love you",
    ],
)
async def test_what_is_said_to_or_by_others_is_none_of_these(text: str):
    assert await proposals_of(text) == []
