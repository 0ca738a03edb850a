"""Where a user takes back a word, the last word counts."""

import pytest
from support.tables import each

from streams.extraction.wishes.repairs import is_unclear, repaired, repaired_behind

REPAIRED = [
    ("I live in Paris, sorry, I mean Lyon.", "I live in Lyon."),
    ("My friend is Marik. Actually it's spelled Marek.", "My friend is Marek."),
    ("I have two kids. Correction: three.", "I have three kids."),
    ("My sister lives in New York, I mean Boston.", "My sister lives in Boston."),
    ("Her name is Margo, not Mango.", "Her name is Margo."),
    ("I work at Acme, no, at Globex.", "I work at Globex."),
    ("我住在上海，不对，是天津。", "我住在天津。"),
    ("可乐不是柯基，是柴犬。", "可乐是柴犬。"),
    ("我今年29岁，不对，30岁。", "我今年30岁。"),
    ("我叫小明，说错了，我叫小亮。", "我叫小亮。"),
    ("I'm allergic to latex. Not latex, lanolin!", "I'm allergic to lanolin!"),
    ("Call me Shaun. It's spelled Sean, typo, sorry.", "Call me Sean."),
    ("我是会计，哦不，现在该叫财务经理了。", "我是财务经理了。"),
]
LOOK_ALIKES = [
    "I am sorry, my dog died.",
    "I'm vegan, I mean it.",
    "I love Paris, I mean who doesn't",
    "I like tea, not coffee.",
    "I moved to Rome. Sorry, I live in Berlin.",
    "I love you, no matter what.",
    "我喜欢成都,我是说谁不喜欢呢",
    "I work for Vestas. Wait, scratch that, Vestas was the old job.",
]


@pytest.mark.parametrize(("text", "right"), REPAIRED)
def test_the_last_word_counts(text: str, right: str):
    assert repaired(text) == right
    assert repaired(right) == right


@each("text", LOOK_ALIKES)
def test_look_alikes_stay_as_they_are(text: str):
    assert repaired(text) == text


@each(
    "text",
    [
        "I was born in Rome, sorry, somewhere else near the big sea there. I like tea.",
        "i am a nurse, no wait, something with teeth and drills and so on",
        "我叫王晓宇，打错了",
    ],
)
def test_what_is_repaired_unclearly_stays_and_is_told(text: str):
    assert (repaired(text), is_unclear(text)) == (text, True)


@each("text", ["I live in Lyon.", "Sorry for the late reply, I work at Lidl", "我喜欢爬山，哎呀不早了我先睡了"])
def test_what_takes_back_nothing_is_not_unclear(text: str):
    assert (repaired(text), is_unclear(text)) == (text, False)


@pytest.mark.parametrize(
    ("before", "text", "right"),
    [
        ("I work for Delta.", "not Delta, United.", "I work for United."),
        ("I live in Calgary.", "oops, Edmonton.", "I live in Edmonton."),
        ("我住在长沙", "打错了,是株洲", "我住在株洲"),
        ("我弟弟在念大三。", "说错了，他大四了。", "他大四了。"),
        ("I live in Calgary.", "I like tea.", "I like tea."),
        (None, "oops, Edmonton.", "oops, Edmonton."),
    ],
)
def test_a_turn_may_repair_the_one_before(before: str | None, text: str, right: str):
    assert repaired_behind(before, text) == right
