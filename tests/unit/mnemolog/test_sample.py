"""The bundled sample: every line is accepted, it is as varied as it promises, and the rules read it sensibly."""

from __future__ import annotations

from collections import Counter, defaultdict
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import pytest
from support.sample_reading import ACCEPTED, is_chinese, observations, proposals

from mnemolog.sample import sample_events
from schemas.messages.observations import ArticleInferred, ScreenshotAnalysed, SessionEnded, TurnRecorded
from schemas.vocabulary.attributes import is_single
from streams.extraction.window import WindowLimits

if TYPE_CHECKING:
    from schemas.messages.observations import Observation

FIRST_DAY, LAST_DAY = datetime(2026, 10, 5, tzinfo=UTC), ACCEPTED

REMEMBERED = {
    "lin": [
        "我叫林晓雨，破晓的晓，下雨的雨",
        "用户29岁",
        "用户的职业是产品经理",
        "我在星河科技上班，做医疗软件的",
        "我跳槽到了蓝鲸智能",
        "我住在宁波，不过行李都打包好了",
        "不是，我今天（2026-10-06）刚搬到杭州",
        "我的生日是3月14日，是不是很好记",
        "其实我的生日是3月15日，上次打错了",
        "我喜欢喝抹茶拿铁，下班买了一杯",
        "用户不喜欢香菜",
        "我对花生过敏，所以点单都得备注一大堆",
        "我养了一只猫，叫年糕",
        "我妈妈叫周兰，退休了，在老家种花",
        "我姐姐叫林晓晴，她喜欢吃榴莲，我闻到就想跑",
        "我最好的朋友叫许诺，大学就认识了",
        "我每天早上跑步，今天（2026-10-09）跑了五公里",
        "我每个月房租4200元，看展都要精打细算",
        "我下周三（2026-10-21）要去北京出差",
        "我正在写一本科幻小说，别告诉别人",
        "2026年11月6日 10:00 体检",
        "项目：青鸟随访系统",
        "备用钥匙放在门口第三个花盆下面。",
    ],
    "maya": [
        "Hi, I'm Maya Lindqvist, nice to meet you.",
        "User is 31 years old",
        "I just turned 32.",
        "User works at Brightleaf",
        "I got a job at Nordlicht.",
        "I live in Lisbon, near the river.",
        "I moved to Berlin!",
        "My husband is called Tomas. He laughs at me for it.",
        "My sister Ines is vegetarian.",
        "User's best friend is called Priya",
        "I love grilled sardines.",
        "I hate mushrooms.",
        "I'm allergic to shellfish, so sardines it is.",
        "We got a dog called Biscuit.",
        "I go running every Sunday.",
        "I pay 950 euros rent every month.",
        "I'm building a habit tracker app.",
        "I have a team dinner on Thursday (2026-11-05).",
        "Project: Lantern onboarding",
        "The bike lock code is the year the wall fell, backwards.",
    ],
}
NEVER = [
    *(
        "火星",
        "秦始皇",
        "咖啡机",
        "月亮",
        "魔法",
        "五百万",
        "热搜",
        "9999",
    ),
    *(
        "雪山",
        "Batman",
        "Tokyo",
        "ramen",
        "Porsche",
        "keto",
        "surfing",
        "Megadeal",
        "19.99",
    ),
    *("podcast", "diving", "weather", "Doch", "Kreuzberg", "chamomile"),
]
"""Said in jokes, questions, hearsay and suppositions, by assistant and tools, or on screens that do not matter."""


def test_every_line_is_accepted_and_names_its_event_and_its_time():
    events = sample_events()
    assert all(e["event_id"] and e["occurred_at"] for e in events)
    assert len(observations()) >= 240
    times = [o.envelope.occurred_at for o in observations().values()]
    assert min(times) >= FIRST_DAY
    assert max(times) < LAST_DAY
    assert len({t.date() for t in times}) >= 20


def test_two_users_speak_two_languages():
    said: defaultdict[str, Counter[bool]] = defaultdict(Counter)
    for event in observations().values():
        if isinstance(event, TurnRecorded) and event.role == "user":
            said[event.envelope.user_id][is_chinese(event.content)] += 1
    assert set(said) == {"lin", "maya"}
    assert said["lin"][True] > 50
    assert said["lin"][False] < 5
    assert said["maya"][False] > 50
    assert said["maya"][True] < 5


def test_every_kind_of_event_and_field_is_there():
    events = list(observations().values())
    turns = [e for e in events if isinstance(e, TurnRecorded)]
    screens = [e for e in events if isinstance(e, ScreenshotAnalysed)]
    assert len([e for e in screens if e.relevance != "low"]) >= 12
    assert len([e for e in screens if e.relevance == "low"]) == 2
    assert {e.envelope.user_id for e in events if isinstance(e, ArticleInferred)} == {"lin", "maya"}
    assert {t.role for t in turns} == {"user", "assistant", "system", "tool"}
    assert {t.envelope.agent_id for t in turns} == {"luna", "nova", None}
    assert len([t for t in turns if not t.infer]) == 2
    assert any(t.name for t in turns)
    assert any(t.metadata != "{}" for t in turns)
    contexts = [t.context for t in turns if t.context]
    for field in ("intimacy", "mood", "scene", "gift"):
        assert any(getattr(c, field) is not None for c in contexts)


def test_sessions_end_by_word_and_by_silence():
    sessions = {e.session_id for e in observations().values() if isinstance(e, TurnRecorded)}
    ended = {e.session_id for e in observations().values() if isinstance(e, SessionEnded)}
    assert ended < sessions
    assert len(sessions - ended) >= 4


def test_some_events_came_twice_with_the_same_body():
    bodies: defaultdict[str, list[dict[str, Any]]] = defaultdict(list)
    for event in sample_events():
        bodies[event["event_id"]].append(event)
    twice = [same for same in bodies.values() if len(same) > 1]
    assert len(twice) >= 5
    assert {same[0]["type"] for same in twice} >= {"TurnRecorded", "SessionEnded", "ScreenshotAnalysed"}
    assert all(body == same[0] for same in twice for body in same)


def test_some_events_came_late():
    by_user: defaultdict[str, list[Observation]] = defaultdict(list)
    for event in observations().values():
        by_user[event.envelope.user_id].append(event)
    for events in by_user.values():
        assert any(b.envelope.occurred_at < a.envelope.occurred_at - timedelta(days=1) for a, b in pairwise(events))


@pytest.mark.parametrize("user", ["lin", "maya"])
async def test_the_rules_find_what_is_worth_remembering(user: str):
    found = [p.content for window, p in await proposals() if window.user_id == user]
    assert [wanted for wanted in REMEMBERED[user] if wanted not in found] == []
    assert len(found) >= 40


async def test_greetings_jokes_hearsay_and_suggestions_are_not_remembered():
    words = [e.get("content", e.get("text", "")).casefold() for e in sample_events()]
    assert [w for w in NEVER if not any(w.casefold() in said for said in words)] == []  # each of them was said
    found = [p.content.casefold() for _, p in await proposals()]
    assert [(w, content) for w in NEVER for content in found if w.casefold() in content] == []


async def test_the_user_gives_what_the_context_calls_a_gift_and_nothing_that_was_got():
    given = [p.content for _, p in await proposals() if p.content.startswith(("用户送了礼物", "User gave a gift"))]
    assert given == ["用户送了礼物：一束雏菊"]


async def test_some_facts_are_short_lived_said_again_or_corrected():
    found = await proposals()
    assert len([p for _, p in found if p.memory_type == "short_term"]) >= 3
    values = Counter((w.user_id, p.attribute, p.value) for w, p in found if p.attribute)
    assert len([1 for count in values.values() if count > 1]) >= 8
    singles = Counter((user, attribute) for user, attribute, _ in values if is_single(attribute))
    assert {key for key, count in singles.items() if count > 1} == {
        ("lin", "city"),
        ("lin", "employer"),
        ("lin", "birthday"),
        ("maya", "city"),
        ("maya", "employer"),
        ("maya", "age"),
    }


async def test_nothing_depends_on_when_a_silent_session_is_noticed():
    """How long the log waits for silence is for the clock: so what was said there is said nowhere else."""
    silent = {e.session_id for e in observations().values() if isinstance(e, TurnRecorded)} - {
        e.session_id for e in observations().values() if isinstance(e, SessionEnded)
    }
    slots: defaultdict[tuple[str, str], set[str | None]] = defaultdict(set)
    for window, p in await proposals():
        single = p.attribute is not None and is_single(p.attribute)
        slot = f"{p.attribute}" if single else f"{p.attribute} {p.value}" if p.attribute else p.content
        slots[window.user_id, slot].add(window.session_id)
    assert {key: where for key, where in slots.items() if where & silent and len(where) > 1} == {}


async def test_the_cut_of_the_windows_changes_nothing_that_is_found():
    every_turn = await proposals(WindowLimits(rounds=1, idle=timedelta(seconds=1)))
    assert sorted((w.source_ref, p.content) for w, p in every_turn) == sorted(
        (w.source_ref, p.content) for w, p in await proposals()
    )
