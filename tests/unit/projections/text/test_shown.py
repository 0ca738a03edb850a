"""What is pasted, quoted or filled in by somebody else is shown; what the user tells in lines or lists is said."""

from support.tables import each

from projections.text.shown import said_of

FORM = "Name: Aisha Rahman\nBorn: 3 May 1991, Dhaka\n2015-2019 Analyst, Barclays"
ALL_SHOWN = [
    f"CURRICULUM VITAE\n{FORM}\n\nis this candidate any good for a junior role",
    f"{FORM}\n\ndo we invite her?",
    f"what do you think of this profile?\n{FORM}",
    "个人简历\n姓名：赵敏\n现居：深圳\n\n看看我hr发来的这份简历，能约面试不",
    "姓名：周强\n过敏：青霉素\n\n这个病人能用阿莫西林吗",
    "Essay (grade it pls, im the teacher):\nLast summer I went to Crete. I have two brothers.",
    "lyrics I can't stop thinking about:\nI'm a cowboy from the plains\nI've got whiskey in my veins",
    "学生作文（三年级）：\n我家有一只小狗。我爸爸是司机。\n\n打个分吧",
    "这段自我介绍写得行不行\n我叫刘洋，来自武汉。我会三门语言。",
    "I was born in Leeds. I have three kids.\n\n^ fix the grammar in this paragraph please",
]
SAID_BESIDE = [
    ('这歌词写得真好：\n"我来自一个小城\n二十岁离开了家"\n是谁唱的来着', "是谁唱的来着"),
    ("朋友圈看到这段话：\n「我今年三十五岁，裸辞了。我对工作过敏。」\n你怎么看", "你怎么看"),
    ("I teach in Lyon.\n“I killed him.\nMy name is Medea.”", "I teach in Lyon.\n“…”"),
    ('I told him "No way. I\'m not going." and he left.', 'I told him "…" and he left.'),
    ("«I was born in a prison.\nI fear nothing", ""),
    ("I know Bob. Bob emailed me: I am allergic to wheat.", "I know Bob. Bob emailed me."),
    ("小陈发来的邮件：我对花生过敏", "小陈发来的邮件."),
    ("Summarise: From: Bob\nSubject: hi\n\nMy PIN is 9911.", ""),
    (
        "[09:14] Tom: I moved to Leeds\n[09:15] Me: no way\n\nHow do I answer him? He is my cousin.",
        "How do I answer him? He is my cousin.",
    ),
    ("I teach 5th grade.\nEssay (grade it):\nI have a horse. My uncle is a pilot.", "I teach 5th grade."),
]
SAID = [
    "Name: Leo\nCity: Berlin",
    "**Allergies:** penicillin\n**City:** Porto\n\nthat's me btw",
    "我的资料：\n姓名：林夕\n城市：珠海",
    "Mum's birthday: 4 May\nDad's birthday: 6 June\nhe likes whisky, she likes tea",
    "Is this normal?\nI wake up at 3 every night.\nI live alone.",
    "My landlord is awful.\nHe raised my rent.\nShould I answer the letter?",
    "老板骂我了。\n我想辞职。\n这封邮件我该怎么回",
    "今天很难过。我和男朋友分手了。我一个人在家。你怎么看",
    "My story:\nI was born in Accra.\nI'm a nurse now.",
    'I love the song "Blue Moon" and I play it on the sax. What do you think?',
    'I have a 27" monitor. I need glasses. My TV is 55" wide.',
    "我奶奶常说“吃亏是福”，我很想她。",
]


@each("text", ALL_SHOWN)
def test_a_text_that_is_handed_over_is_shown_with_the_words_that_hand_it_over(text: str):
    assert said_of(text).strip() == ""


@each(("text", "said"), SAID_BESIDE)
def test_what_stands_beside_a_text_is_said(text: str, said: str):
    assert said_of(text).strip() == said


@each("text", SAID)
def test_what_users_tell_in_lines_or_with_short_quotations_is_said(text: str):
    assert said_of(text) == text
