"""A text keeps its words, and what would mean another day later gets its day in brackets."""

from __future__ import annotations

from datetime import UTC, date, datetime, time

from support.tables import each

from projections.dates.wording import annotated, first_day

AT = datetime(2026, 11, 28, 10, tzinfo=UTC)  # a Saturday


@each(
    ("said", "kept"),
    [
        ("I saw the dentist yesterday.", "I saw the dentist yesterday (2026-11-27)."),
        ("大前天我去看了牙医", "大前天（2026-11-25）我去看了牙医"),
        ("My exam is the Friday after next", "My exam is the Friday after next (2026-12-11)"),
        ("We go to Crete next month!", "We go to Crete next month (2026-12)!"),
        ("last summer we met", "last summer (2026-06 to 2026-08) we met"),
        ("下周三下午三点看牙医", "下周三（2026-12-02）下午三点看牙医"),
        ("今晚八点开会", "今晚（2026-11-28）八点开会"),
        ("周五我去看了牙医", "周五（2026-11-27）我去看了牙医"),
        ("周五我要去看牙医", "周五（2026-12-04）我要去看牙医"),
        ("我三月搬到了深圳", "我三月（2026-03）搬到了深圳"),
        ("上周我们去了苏州", "上周（2026-11-16至2026-11-22）我们去了苏州"),
        (
            "we moved yesterday and I start on Monday",
            "we moved yesterday (2026-11-27) and I start on Monday (2026-11-30)",
        ),
        ("today's meeting was long", "today's (2026-11-28) meeting was long"),
        ("tomorrow, November 29th, we eat", "tomorrow, November 29th (2026-11-29), we eat"),
        ("我昨天跟妈妈说明天气变了", "我昨天（2026-11-27）跟妈妈说明天气变了"),
    ],
)
def test_a_relative_time_gets_its_day_in_brackets(said: str, kept: str):
    assert annotated(said, AT) == kept
    assert annotated(kept, AT) == kept, "twice is once"


@each(
    "said",
    [
        "every Monday I run",
        "I swim on Fridays",
        "Monday to Friday I work",
        "每周一我去跑步",
        "周一到周五我上班",
        "每个星期天都给外婆打电话",
        "these days I am tired, one day I will go",
        "We met on May 4, 2023",
        "2023年5月3日我们认识",
        "My birthday is on March 3rd",
        "我的生日是三月三号",
        "Dentist on Monday",
        "目前天气很好，以前天天下雨",
        "I listened to “Yesterday” and see /log/today/x and today.py",
        "on the 3rd floor of Friday Harbor",
        "我住3号楼，坐5号线",
        "三个月的猫一周一次",
        "Good Friday is a holiday",
        "二月三十号",
        "农历三月三我要去",
        "农历八月初八我妈走的",
        "那时候冬天零下四十度",
        "as a kid I spent July in Wales",
        "first time in 4 years!",
        "the rent is due on the 1st",
        "it's Friday, and this may help",
        "讨厌开会，尤其周五下午那种",
        "周末都往郊外跑",
        "",
    ],
)
def test_what_names_its_year_comes_back_or_is_not_sure_stays_as_it_is(said: str):
    assert annotated(said, AT) == said


@each(
    ("said", "day", "hour"),
    [
        ("the dentist is on Friday at 9:30", date(2026, 12, 4), time(9, 30)),
        ("I have been ill since Tuesday and see the doctor tomorrow at 3pm", date(2026, 11, 29), time(15)),
        ("下周三下午三点看牙医", date(2026, 12, 2), time(15)),
        ("we go to Crete next month", date(2026, 12, 1), None),
        ("this month I want to leave on the 30th", date(2026, 11, 30), None),
        ("I like tea", None, None),
        ("the last two weeks were hard", None, None),
    ],
)
def test_what_is_said_happens_on_its_first_day(said: str, day: date | None, hour: time | None):
    found = first_day(said, AT)
    assert (found and found.first, found and found.hour) == (day, hour)
