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
    "I had an abortion last week. don't save this, and don't tell anyone",
    "i owe my ex 5k. pls dont keep that in your notes ok thx",
    "(don't save!!) i failed my exam",
    "I'm bipolar [don't store!] and I was in hospital in may",
    "I cheated on Marc. I feel awful. don't keep this, my life would be over",
    "i slept with my boss dont save this lol",
    "keep this between us: I am moving out",
    "I was in prison, don't write that down. It was for fraud.",
    "Don't save this:\n\nI take Xanax.\n\nMy boss must not know.",
    "I wet the bed. You mustn't save this!",
    "我有痔疮，你不能存这个哦",
    "我欠了网贷八万。这个不要存，别跟别人说",
    "我打算离婚。律师都找好了。别记录，还没定呢",
    "我欠高利贷20万。不许存！谁也别说！",
    "接下来说的不要记：我老公出轨了。我在找律师。",
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
    "I don't save money, I spend it all on records.",
    "don't forget Lena's birthday on the 4th of May",
    "My parents don't keep sweets in the house.",
    "Please don't add cilantro to recipes.",
    "Don't tell anyone what the cake tastes like.",
    "Between us we have four kids.",
    "老师让我们别记笔记，光听课",
    "别忘了提醒我爸吃药",
    "谁也别想拦我去西藏",
]


@each("text", NOT_KEPT)
def test_nothing_is_kept_of_what_is_not_to_be_kept(text: str):
    assert wishes_of(text).kept == ""


@each("text", LOOK_ALIKES)
def test_look_alikes_ask_for_nothing(text: str):
    assert wishes_of(text) == Wishes(text, told=text)


APART = [
    ("just between us (don't write this down!!) i kissed him. anyway i do pottery now", "anyway i do pottery now"),
    ("I live in Rome. Off the record: I hate my boss. I want to leave him.", "I live in Rome."),
    ("I got 90k, don't log that.\n\nI also learn Greek.", "I also learn Greek."),
    ("我挂科了，别存。另外我养了只猫", "另外我养了只猫"),
    ("I drink. Forget I said that. Anyone can see that I play the harp.", "Anyone can see that I play the harp."),
    ("我在看心理医生。刚才那句当我没说，别存。我每天游泳。", "我每天游泳。"),
    (
        "I go by Mel. No need to remember what I told you about the audit. I teach maths.",
        "I go by Mel. I teach maths.",
    ),
]


@each(("text", "kept"), APART)
def test_what_is_clearly_apart_from_what_is_not_to_be_kept_is_kept(text: str, kept: str):
    assert wishes_of(text).kept == kept


@each("text", ["别记这个：我有抑郁症", "别记这个，我打算离职", "This is private: I have diabetes."])
def test_a_request_with_what_it_is_about_takes_nothing_before_it_away(text: str):
    wishes = wishes_of(text)
    assert (wishes.kept, wishes.is_withdrawal) == ("", False)


def test_a_sentence_that_only_asks_takes_the_one_before_it_away():
    assert wishes_of("I live in Rome. My salary is 80000. Please don't store that.").kept == "I live in Rome."


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("Forget that I live in Lisbon.", "I live in Lisbon"),
        ("Please forget what I told you about my salary.", "my salary"),
        ("Delete what I just said about my salary.", "my salary"),
        ("remove my therapist from your memory", "my therapist"),
        ("can you wipe anything about Tessa?", "Tessa"),
        ("Kindly erase whatever you have kept regarding my knee.", "my knee"),
        ("you can delete the Tessa stuff", "the Tessa"),
        ("忘掉我住在里斯本", "我住在里斯本"),
        ("把我的地址删掉", "我的地址"),
        ("Stop remembering where I live.", "where I live"),
        ("Don't tell anyone, but forget that I live in Lyon.", "I live in Lyon"),
        ("Forget Tom.", "Tom"),
        ("别再记得我住哪儿了，其他的留着。", "我住哪儿"),
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


@each(
    "text",
    [
        "Remember when we met?",
        "Forget it.",
        "Forget how my day was.",
        "我不记得我住哪儿了",
        "Do you remember my name?",
        "I forget that a lot.",
        "I always forget Tom.",
        "Don't forget Tom.",
        "Forget pasta.",
        "Forget Monday.",
        "Forget Everything.",
        "Don't tell anyone but I forget my keys.",
    ],
)
def test_talk_of_remembering_is_no_order(text: str):
    assert (wishes_of(text).to_remember, wishes_of(text).to_forget) == ((), ())


WITHDRAWN = [
    "pls dont save that and dont tell anyone ok",
    "don't keep this!! (seriously)",
    "先别记，还没跟家里说",
    "I don't want you to remember my last message.",
    "刚才那个别记！",
]


@each("asked", WITHDRAWN)
def test_a_turn_that_only_asks_takes_the_turn_before_it_back(asked: str):
    assert kept_of([(True, "I relapsed."), (True, asked)]) == ["", ""]


def test_a_turn_with_words_of_its_own_takes_only_these_back():
    turns = [(True, "I live in Rome."), (True, "Off the record, I know that Tom cheats on Ann.")]
    assert kept_of(turns) == ["I live in Rome.", ""]


def test_the_next_turn_takes_a_turn_back_and_the_answer_goes_with_it():
    turns = [
        (True, "I live in Rome."),
        (True, "My pin is 4471"),
        (False, "4471, noted."),
        (True, "wait don't save that"),
    ]
    assert kept_of(turns) == ["I live in Rome.", "", "", ""]
