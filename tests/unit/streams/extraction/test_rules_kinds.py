"""What people say of themselves in many wordings: the slot that it fills, and the memory that its clauses make."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from support.tables import each
from unit.streams.extraction.test_rules_labelled import MONDAY, proposals

from streams.extraction.protocol import Piece, Window
from streams.extraction.rules.extractor import read_window

if TYPE_CHECKING:
    from collections.abc import Iterable

    from streams.extraction.protocol import Proposal


@pytest.mark.parametrize(
    ("said", "attribute", "value"),
    [
        ("I drive a forklift at the port", "occupation", "a forklift"),
        ("I run a wee chip shop in Anstruther", "occupation", "a wee chip shop"),
        ("I write grant proposals for a homeless charity", "occupation", "write grant proposals"),
        ("I teach year 4 in a tiny village school", "occupation", "year 4 teacher"),
        ("I've just gone freelance as an illustrator", "occupation", "illustrator"),
        ("I work nights at a care home", "employer", "care home"),
        ("I've been driving for Lyft ever since", "employer", "Lyft"),
        ("在美团跑了三年外卖", "employer", "美团"),
        ("在美团跑了三年外卖", "occupation", "外卖"),
        ("在非遗工坊做漆器的", "occupation", "漆器"),
        ("我硕士读的是材料，毕业却去卖保险了", "occupation", "卖保险"),
        ("开了家小小的裁缝铺", "occupation", "开小小的裁缝铺"),
        ("本职是会计，下班做点皮具", "occupation", "会计"),
        ("I moved back in with my folks in Omaha", "city", "Omaha"),
        ("I've lived in the same house in Cork for all of my 44 years", "city", "Cork"),
        ("I've lived in the same house in Cork for all of my 44 years", "age", "44"),
        ("刚搬到东莞没几天", "city", "东莞"),
        ("我现在人在墨尔本留学", "city", "墨尔本"),
        ("我现在留在广州做跨境电商", "city", "广州"),
        ("I'm fifty-eight", "age", "58"),
        ("我刚满31岁", "age", "31"),
        ("本人男，三十六，未婚", "age", "36"),
        ("三十了还是母胎单身", "age", "30"),
        ("本人男，三十六，未婚", "relationship_status", "单身"),
        ("二婚，各带一个孩子", "relationship_status", "已婚"),
        ("我跟前女友分了快半年了", "relationship_status", "单身"),
        ("me and my gf broke up last night", "relationship_status", "single"),
        ("I've been a widower six years now", "relationship_status", "widowed"),
        ("I'm recently separated", "relationship_status", "separated"),
        ("Never married, no kids", "relationship_status", "single"),
        ("I'm not Jen, I'm Jan.", "user_name", "Jan"),
        ("My name's spelled Siobhan", "user_name", "Siobhan"),
        ("I'd describe myself as stubborn", "personality_traits", "stubborn"),
        ("I'm a bit of a hoarder", "personality_traits", "hoarder"),
        ("I can't stand podcasts where they just laugh", "dislikes", "podcasts"),
        ("My GitHub is quietotter42 if you need an example", "accounts", "github: quietotter42"),
        ("Answer in Spanish from now on please", "communication_style", "Answer in Spanish"),
    ],
)
async def test_a_slot_is_filled_in_many_wordings(said: str, attribute: str, value: str):
    assert (attribute, value) in [(p.attribute, p.value) for p in await proposals(said)]


@pytest.mark.parametrize(
    ("said", "content"),
    [
        ("我有高血压，每天都吃药", "用户有高血压，每天都吃药"),
        ("上个礼拜体检查出脂肪肝", "用户上个礼拜（2025-12-29至2026-01-04）体检查出脂肪肝"),
        ("从小在新疆长大", "用户从小在新疆长大"),
        ("睡前必须刷会儿手机", "用户睡前必须刷会儿手机"),
        ("I work nights, so I sleep till noon", "User works nights, sleeps till noon"),
        ("I grow chillies, mostly scotch bonnets", "User grows chillies, mostly scotch bonnets"),
        ("doing a PhD on coral reefs", "User is doing a PhD on coral reefs"),
        ("Being an introvert, I need quiet", "User is an introvert"),
        ("English isn't my first language", "English is not User's first language"),
        ("I sold my car yesterday", "User sold their car yesterday (2026-01-04)"),
    ],
)
async def test_what_clauses_tell_makes_one_memory(said: str, content: str):
    assert [p.content for p in await proposals(said)] == [content]


@pytest.mark.parametrize(
    "said",
    [
        "把这段话改成第一人称：我是一名医生，喜欢登山",
        "起个店名，卖手工饺子的，要接地气",
        "我给你举个例子，我有三个苹果",
        "呵呵，我可太爱加班了",
        "我朋友的朋友在迪拜开出租",
        "我们老板居然说他从来不用手机",
        "邻居家的狗叫旺财",
        "离婚率越来越高了",
        "养狗挺费钱的",
        "写一条朋友圈，语气像个刚失恋的女生",
        "我在路上送外卖",
        "昨晚的球赛看了没",
        "手机没电了，先下了",
        "Let's do a role play: I'm a detective",
        "in my next life I'm coming back as a cat",
        "I'm dying",
        "I'm on the bus, talk later",
        "My question was about the second one",
        "My friend's boss went to Harvard",
        "I didn't get it",
        "come here",
        "I'm going to paste the log now",
        "Thinking about it",
    ],
)
async def test_what_is_ordered_or_passes_or_is_of_others_makes_no_memory(said: str):
    assert [p.content for p in await proposals(said)] == []


OF_THE_USER_ALONE = {"age", "allergies", "city", "employer", "likes", "occupation", "relationship_status"}


def said_of_the_user(found: Iterable[Proposal]) -> list[tuple[str | None, str]]:
    """Return what is in the slots that hold what the user is, has and likes."""
    return [(p.attribute, p.content) for p in found if p.attribute in OF_THE_USER_ALONE]


@pytest.mark.parametrize(
    "said",
    [
        "有个新同事，叫王磊，是广州人，对海鲜过敏。",
        "我养了一只猫，叫咪咪，对鸡肉过敏。",
        "我有女儿，叫Lucy，今年5岁。",
        "我前男友叫陈浩，是程序员，住在北京。",
        "我在追一个女孩，叫小雅，是护士，住在静安。",
        "有个同学，在谷歌上班，单身。",
        "我有个朋友在谷歌上班，单身",
        "有个室友，是医生，喜欢摇滚。",
        "我同桌叫李明，喜欢打游戏，住在海淀。",
        "我养了一只狗，今年2岁，喜欢吃鸡肉。",
        "老公是医生，喜欢钓鱼",
        "有个新同事叫王磊。对海鲜过敏。",
        "I have a sister, got married last week.",
        "My ex was a pilot. Living in Rome.",
        "I met a guy, moved to Rome.",
    ],
)
async def test_what_is_said_behind_somebody_s_name_without_a_subject_is_not_the_user_s(said: str):
    assert said_of_the_user(await proposals(said)) == []


@pytest.mark.parametrize(
    ("said", "contents"),
    [
        ("我没有孩子，住在北京", ["用户住在北京"]),
        ("我想养一只猫，对花粉过敏", ["用户对花粉过敏"]),
        ("我叫小雨，养了一只猫，我住在杭州，对花生过敏", ["用户住在杭州", "用户对花生过敏"]),
        ("我爸是老师，我对花生过敏", ["用户对花生过敏"]),
        ("奶茶好喝，喜欢喝奶茶", ["用户喜欢喝奶茶"]),
        ("I live in Leeds with my wife, moved here last year.", ["User lives in Leeds"]),
    ],
)
async def test_what_is_said_of_the_user_stays_so_beside_others(said: str, contents: list[str]):
    assert [content for _, content in said_of_the_user(await proposals(said))] == contents


@pytest.mark.parametrize(
    ("said", "content"),
    [
        ("我养了一只狗，今年2岁，喜欢吃鸡肉。", "用户养了一只狗，今年2岁，喜欢吃鸡肉"),
        ("儿子三年级，数学老不及格", "用户的儿子三年级，数学老不及格"),
    ],
)
async def test_what_is_said_of_somebody_goes_on_from_their_name(said: str, content: str):
    assert [p.content for p in await proposals(said)] == [content]


def asked_and_answered(*turns: str) -> list[tuple[str | None, str]]:
    """Return what the slots of the user hold after turns; those that begin with `A: ` are the assistant's."""
    pieces = tuple(
        Piece(
            piece_id=f"{name}#0",
            event_id=f"{name}",
            speaker="assistant" if turn.startswith("A: ") else "user",
            text=turn.removeprefix("A: "),
            occurred_at=MONDAY,
            recorded_at=MONDAY,
        )
        for name, turn in enumerate(turns)
    )
    said = Window(
        tenant="default",
        user_id="u",
        agent_id=None,
        session_id="s",
        source_type="chat",
        source_ref="s",
        pieces=pieces,
    )
    return said_of_the_user(read_window(said).proposals)


@each(
    "turns",
    [
        ("A: 你弟弟住哪？", "住在上海。"),
        ("A: 你妈妈对什么过敏？", "对花生过敏。"),
        ("A: 你男朋友喜欢什么？", "喜欢打篮球。"),
        ("A: 你老公做什么的？", "是医生，在协和医院上班。"),
        ("A: 跟我说说你弟弟吧", "在谷歌上班，单身。"),
        ("A: 她对什么过敏？", "对花生过敏。"),
        ("A: What is your sister allergic to?", "Allergic to peanuts."),
        ("A: Does your sister have allergies?", "Allergic to cats."),
        ("A: Where does Anna live?", "Living in Rome."),
        ("A: Tell me about your brother.", "Working at IBM."),
        ("我弟弟来看我了。", "对花生过敏。"),
        ("我弟弟来看我了。", "A: 真好！", "对花生过敏。"),
        ("My sister Anna is visiting.", "Allergic to cats, works as a lawyer."),
    ],
)
def test_an_answer_to_a_question_about_somebody_else_is_not_of_the_user(turns: tuple[str, ...]):
    assert asked_and_answered(*turns) == []


@each(
    ("turns", "content"),
    [
        (("A: 你住哪？", "住在上海。"), "用户住在上海"),
        (("A: 你弟弟真可爱。你住哪？", "住在上海。"), "用户住在上海"),
        (("A: 你弟弟真可爱，你住哪？", "住在上海。"), "用户住在上海"),
        (("我妈妈是老师。", "A: 那你呢？", "对花生过敏。"), "用户对花生过敏"),
        (("A: 你弟弟住哪？", "住在上海。我住在北京。"), "用户住在北京"),
        (("A: What are you allergic to?", "Allergic to peanuts."), "User is allergic to peanuts"),
        (("A: Do you live with your sister?", "Living in Leeds on my own."), "User lives in Leeds"),
        (("My sister Anna is visiting.", "A: And you?", "Living in Leeds."), "User lives in Leeds"),
    ],
)
def test_an_answer_to_a_question_about_the_user_is(turns: tuple[str, ...], content: str):
    assert [said for _, said in asked_and_answered(*turns)] == [content]


@pytest.mark.parametrize(
    ("asked", "plain"),
    [
        ("记住我对青霉素过敏", "我对青霉素过敏"),
        ("请记住我每天早上7点起床", "我每天早上7点起床"),
        ("别忘了我喜欢喝茶", "我喜欢喝茶"),
        ("千万别忘了我住在杭州", "我住在杭州"),
        ("记得我叫小雨", "我叫小雨"),
        ("记住我弟弟对花生过敏", "我弟弟对花生过敏"),
        ("Remember that I'm allergic to penicillin", "I'm allergic to penicillin"),
        ("Please remember I take sugar in tea.", "I take sugar in tea."),
        ("Please remember that I wake up at 7.", "I wake up at 7."),
        ("Don't forget that I'm vegan.", "I'm vegan."),
        ("Don't forget my flight is on Friday.", "My flight is on Friday."),
    ],
)
async def test_what_one_asks_to_remember_is_read_as_if_it_were_said_plainly(asked: str, plain: str):
    said = [(p.attribute, p.content, p.occurred_on) for p in await proposals(plain)]
    assert said
    assert [(p.attribute, p.content, p.occurred_on) for p in await proposals(asked)] == said


@pytest.mark.parametrize(
    "said",
    [
        "Remember when I lived in Paris?",
        "Remember that I'm allergic to nuts?",
        "Remember that if I move to Rome I need a visa.",
        "Don't forget my birthday",
        "你还记得我对猫过敏吗？",
        "你记得我住在杭州吗",
        "记得提醒我周五交房租",
        "记住我",
    ],
)
async def test_a_question_whether_one_remembers_tells_nothing(said: str):
    assert await proposals(said) == []
