"""What a user asks of the memory is told by their words; look-alikes ask for nothing."""

import pytest
from support.tables import each

from projections.text.wishes import Wishes, kept_of, wishes_of

NOT_KEPT = [
    "Don't save this, but I'm HIV positive.",
    "Please do not log the following. I live in Kiel.",
    "Between us: I am looking for a new job. Do not remember that.",
    "Off the record, I hate my job.",
    "I make 140k, but don't store that please.",
    "这个你别记，我离婚了。",
    "别记住这个：我讨厌我的老板。",
    "我怀孕了，就当我没说。",
]
LOOK_ALIKES = [
    "I saved the file.",
    "I never save money.",
    "My boss said don't record this.",
    "I don't remember that day.",
    "There is nothing between us anymore.",
    "The needle fell off the record player.",
    "别忘了带伞",
    "我总是忘记带钥匙",
    "我妈让我别存钱",
    "别记错了时间",
]


@each("text", NOT_KEPT)
def test_nothing_is_kept_of_what_is_not_to_be_kept(text: str):
    assert wishes_of(text).kept == ""


@each("text", LOOK_ALIKES)
def test_look_alikes_ask_for_nothing(text: str):
    assert wishes_of(text) == Wishes(text, told=text)


def test_a_sentence_that_only_asks_takes_the_one_before_it_away():
    assert wishes_of("I live in Rome. My salary is 80000. Please don't store that.").kept == "I live in Rome."


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("Forget that I live in Lisbon.", "I live in Lisbon"),
        ("Please forget what I told you about my salary.", "my salary"),
        ("remove my therapist from your memory", "my therapist"),
        ("can you wipe anything about Tessa?", "Tessa"),
        ("忘掉我住在里斯本", "我住在里斯本"),
        ("把我的地址删掉", "我的地址"),
    ],
)
def test_what_is_to_be_forgotten_is_no_statement(text: str, what: str):
    wishes = wishes_of(text)
    assert (wishes.to_forget, wishes.kept, wishes.told) == ((what,), text, "")


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("Remember this: the deploy command is make ship.", "the deploy command is make ship"),
        ("Don't forget that Lena is lactose intolerant.", "Lena is lactose intolerant"),
        ("note to self: the key is under the pot", "the key is under the pot"),
        ("请记住我周一没空。", "我周一没空"),
    ],
)
def test_what_is_to_be_remembered_is_taken_word_for_word(text: str, what: str):
    assert wishes_of(text).to_remember == (what,)


@each("text", ["Remember when we met?", "Forget it.", "Do you remember my name?", "I forget that a lot."])
def test_talk_of_remembering_is_no_order(text: str):
    assert (wishes_of(text).to_remember, wishes_of(text).to_forget) == ((), ())


def test_the_next_turn_takes_a_turn_back_and_the_answer_goes_with_it():
    turns = [
        (True, "I live in Rome."),
        (True, "My pin is 4471"),
        (False, "4471, noted."),
        (True, "wait don't save that"),
    ]
    assert kept_of(turns) == ["I live in Rome.", "", "", ""]
