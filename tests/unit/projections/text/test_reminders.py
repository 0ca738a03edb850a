"""Requests to be reminded are told by their words."""

from support.tables import each

from projections.text.reminders import asks_for_reminder


@each(
    "text",
    [
        "Remind me to call the dentist tomorrow",
        "can you remind me about the meeting?",
        "please set a reminder for Friday",
        "明天下午三点提醒我开会",
        "帮我设个提醒",
    ],
)
def test_who_asks_to_be_reminded_asks_for_a_reminder(text: str):
    assert asks_for_reminder(text)


@each("text", ["These songs remind me of Lisbon", "I forgot the reminder", "谢谢你的提醒", "hello"])
def test_who_is_reminded_of_something_does_not(text: str):
    assert not asks_for_reminder(text)
